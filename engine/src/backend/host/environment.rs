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

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let path = String::new;
        Layout {
            workspace: path(),
            runner_workspace: path(),
            temp: path(),
            home: "/jobs/1/home".into(),
            tool_cache: path(),
            actions: path(),
            file_commands: path(),
            workflow: path(),
            os: "Linux",
            arch: "X64",
        }
    }

    fn check(own: &[(&str, &str)], allowed: &[&str], expected: &[(&str, &str)]) {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        let made = base(pairs(own), &allowed, &layout(), "/jobs/1/tmp", "github_x");
        let fixed = [
            ("HOME", "/jobs/1/home"),
            (TRACKING_VARIABLE, "github_x"),
            ("TMPDIR", "/jobs/1/tmp"),
        ];
        let mut expected = pairs(&[expected, &fixed].concat());
        expected.sort();
        assert_eq!(made, expected);
    }

    #[test]
    fn only_what_is_named_passes_and_the_job_has_its_own_places() {
        check(&[], &[], &[("PATH", DEFAULT_PATH)]);
        check(
            &[
                ("PATH", "/bin"),
                ("HOME", "/root"),
                ("TMPDIR", "/tmp"),
                ("RUNNER_TRACKING_ID", "outer"),
                ("LC_ALL", "C"),
                ("https_proxy", "http://p"),
                ("GANTRY_TOKEN", "secret"),
                ("LANGX", "x"),
            ],
            &[],
            &[("PATH", "/bin"), ("LC_ALL", "C"), ("https_proxy", "http://p")],
        );
        check(
            &[
                ("PATH", "/bin"),
                ("JAVA_HOME", "/j"),
                ("CARGO_HOME", "/c"),
                ("CARGO", "x"),
            ],
            &["JAVA_HOME", "CARGO_*"],
            &[("PATH", "/bin"), ("JAVA_HOME", "/j"), ("CARGO_HOME", "/c")],
        );
    }
}
