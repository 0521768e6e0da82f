//! What the processes of a job get of the runner's own environment.

use std::collections::BTreeMap;

use super::tree::TRACKING_VARIABLE;
use crate::backend::Layout;

/// What passes by default. Everything else of the runner's environment, such as its tokens, stays with the runner.
const PASSED: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "FTP_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Where programs are looked for when the runner itself has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Builds the environment that every process of the job starts from.
///
/// `allowed` names more variables that pass; a name may end in `*`.
pub(super) fn base(
    own: impl IntoIterator<Item = (String, String)>,
    allowed: &[String],
    layout: &Layout,
    tmp: &str,
    tracking: &str,
) -> Vec<(String, String)> {
    let passes = |name: &str| {
        PASSED
            .iter()
            .copied()
            .chain(allowed.iter().map(String::as_str))
            .any(|pattern| matches(pattern, name))
    };
    let mut variables: BTreeMap<String, String> = own.into_iter().filter(|(name, _)| passes(name)).collect();
    variables
        .entry("PATH".into())
        .or_insert_with(|| DEFAULT_PATH.into());
    variables.insert("HOME".into(), layout.home.clone());
    variables.insert("TMPDIR".into(), tmp.to_owned());
    variables.insert(TRACKING_VARIABLE.into(), tracking.to_owned());
    variables.into_iter().collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}
