//! What values must be beside each other, and what their author should know about them.

use std::path::Path;

use super::derived::secret_in;
use super::layers::Layers;
use super::mistake::{Findings, Mistake};
use super::yaml::{Content, Place};
use super::{Cache, Config, Connection, Container, GoDuration, Runner, Secret, Tls, ToolCacheMode};

/// The longest that one question for a job may take.
const MAX_FETCH_TIMEOUT: GoDuration = GoDuration::from_secs(60);

/// Checks all values, and puts right what has one meaning only.
pub fn all(values: &mut Config, layers: &Layers, findings: &mut Findings) {
    let mut check = Check { layers, findings };
    check.runner(&mut values.runner);
    for (name, connection) in &values.server.connections {
        // What is no mapping has been named already.
        if !check.is_section(&["server", "connections", name]) {
            continue;
        }
        check.connection(&format!("server.connections.{name}"), name, connection);
    }
    check.cache(&mut values.cache);
    check.container(&mut values.container);
    check.address("metrics.addr", &values.metrics.addr);
}

struct Check<'a> {
    layers: &'a Layers,
    findings: &'a mut Findings,
}

impl Check<'_> {
    fn place(&self, path: &[String]) -> Place {
        let nearest = (1..=path.len())
            .rev()
            .find_map(|length| self.layers.find(path.get(..length)?));
        nearest.map_or(Place::Default, |node| node.place.clone())
    }

    fn is_given(&self, path: &str) -> bool {
        self.layers.find(&names(path)).is_some()
    }

    fn is_section(&self, path: &[&str]) -> bool {
        let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let mut nodes = self.layers.all(&path);
        nodes.all(|node| node.is_null() || matches!(node.content, Content::Map(_)))
    }

    fn mistake(&mut self, path: &str, message: impl std::fmt::Display) {
        self.mistake_at(&names(path), message);
    }

    fn mistake_at(&mut self, path: &[String], message: impl std::fmt::Display) {
        let mistake = Mistake::new(self.place(path), path, message);
        self.findings.mistakes.push(mistake);
    }

    fn warn(&mut self, path: &str, message: impl std::fmt::Display) {
        let names = names(path);
        let warning = Mistake::new(self.place(&names), &names, message);
        self.findings.warnings.push(warning);
    }

    fn runner(&mut self, runner: &mut Runner) {
        if runner.file.is_empty() {
            self.mistake("runner.file", "expected the path of a file, found an empty text");
        }
        if runner.fetch_timeout > MAX_FETCH_TIMEOUT {
            self.warn(
                "runner.fetch_timeout",
                format!("it is more than {MAX_FETCH_TIMEOUT}, which is used instead"),
            );
            runner.fetch_timeout = MAX_FETCH_TIMEOUT;
        }
        if runner.fetch_interval_max < runner.fetch_interval {
            let interval = runner.fetch_interval;
            self.warn(
                "runner.fetch_interval_max",
                format!("it is less than `runner.fetch_interval`, {interval}, which is used instead"),
            );
            runner.fetch_interval_max = interval;
        }
        if runner.log_report_max_latency >= runner.log_report_interval {
            self.warn(
                "runner.log_report_max_latency",
                "it has no effect, because `runner.log_report_interval` is not longer",
            );
        }
        if runner.tool_cache_mode == ToolCacheMode::Shared && runner.capacity.get() > 1 {
            self.warn(
                "runner.tool_cache_mode",
                "jobs that run at the same time write to one tool cache",
            );
        }
        self.url("runner.github_mirror", &runner.github_mirror);
        self.labels(&names("runner.labels"), &runner.labels);
        self.tls("runner.tls", &runner.tls);
        self.headers(&names("runner.extra_headers"), runner.extra_headers.iter());
    }

    fn connection(&mut self, section: &str, name: &str, connection: &Connection) {
        let at =
            |key: &str| -> Vec<String> { ["server", "connections", name, key].map(str::to_owned).to_vec() };
        if let Some(wrong) = wrong_url(&connection.url) {
            self.mistake_at(&at("url"), wrong);
        }
        if !is_uuid(&connection.uuid) {
            self.mistake_at(
                &at("uuid"),
                "expected a UUID, as the forge shows it for the runner",
            );
        }
        match (connection.token.is_empty(), connection.token_url.is_empty()) {
            (true, true) => self.mistake_at(&at("token"), "expected a token, here or by `token_url`"),
            (false, false) => self.mistake_at(&at("token_url"), "there is a `token` too; give one of them"),
            _ => {}
        }
        if !connection.token_url.is_empty() && connection.token_file().is_none() {
            self.mistake_at(&at("token_url"), "expected `file:` and the path of a file");
        }
        self.labels(&at("labels"), &connection.labels);
        self.tls(&format!("{section}.tls"), &connection.tls);
        self.headers(&at("extra_headers"), connection.extra_headers.iter());
    }

    fn labels(&mut self, path: &[String], labels: &[String]) {
        if labels.iter().any(|label| label.trim().is_empty()) {
            self.mistake_at(path, "a label is empty");
        }
    }

    fn tls(&mut self, section: &str, tls: &Tls) {
        match (tls.cert_file.is_empty(), tls.key_file.is_empty()) {
            (false, true) => self.mistake(&format!("{section}.key_file"), "expected the key of `cert_file`"),
            (true, false) => self.mistake(
                &format!("{section}.cert_file"),
                "expected the certificate of `key_file`",
            ),
            _ => {}
        }
    }

    fn headers<'h>(&mut self, path: &[String], headers: impl Iterator<Item = (&'h String, &'h Secret)>) {
        for (name, value) in headers {
            let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if name.is_empty() || !name.chars().all(is_token) {
                self.mistake_at(path, format!("'{name}' is no name of a header"));
            } else if value.reveal().chars().any(|c| c.is_control() && c != '\t') {
                self.mistake_at(
                    path,
                    format!("the value of '{name}' has a line break or another control character"),
                );
            }
        }
    }

    fn container(&mut self, container: &mut Container) {
        if !container.network_mode.is_empty() {
            self.warn(
                "container.network_mode",
                "this is the old name of `container.network`",
            );
            if container.network.is_empty() && container.network_mode != "bridge" {
                container.network.clone_from(&container.network_mode);
            }
        }
    }

    fn cache(&mut self, cache: &mut Cache) {
        if ["0.0.0.0", "::"].contains(&cache.host.as_str()) {
            self.mistake(
                "cache.host",
                "expected an address by which jobs reach this machine",
            );
        }
        self.secret(
            "cache.external_secret",
            &mut cache.external_secret,
            &cache.external_secret_file,
        );
        self.secret(
            "cache.s3.access_key",
            &mut cache.s3.access_key,
            &cache.s3.access_key_file,
        );
        self.secret(
            "cache.s3.secret_key",
            &mut cache.s3.secret_key,
            &cache.s3.secret_key_file,
        );
        self.url("cache.external_server", &cache.external_server);
        let is_external = !cache.external_server.is_empty();
        if is_external && cache.external_secret.is_empty() && cache.external_secret_file.is_empty() {
            self.mistake("cache.external_secret", "`cache.external_server` needs a secret");
        }
        if !is_external && !cache.external_secret.is_empty() {
            self.warn(
                "cache.external_secret",
                "it has no effect without `cache.external_server`",
            );
        }
        let has_bucket = self.bucket(cache);
        if is_external && has_bucket {
            self.mistake(
                "cache.s3",
                "there is a `cache.external_server` too; give one of them",
            );
        }
        if is_external || has_bucket {
            for key in ["retention", "repo_size_limit", "size_limit", "sweep_interval"] {
                let path = format!("cache.{key}");
                if self.is_given(&path) {
                    self.warn(&path, "it has no effect where another server keeps the cache");
                }
            }
        }
    }

    /// Checks the bucket; tells whether there is one.
    fn bucket(&mut self, cache: &mut Cache) -> bool {
        let s3 = &mut cache.s3;
        s3.prefix = s3.prefix.trim_matches('/').to_owned();
        let needed = [
            ("endpoint", s3.endpoint.is_empty()),
            ("bucket", s3.bucket.is_empty()),
            (
                "access_key",
                s3.access_key.is_empty() && s3.access_key_file.is_empty(),
            ),
            (
                "secret_key",
                s3.secret_key.is_empty() && s3.secret_key_file.is_empty(),
            ),
        ];
        let missing: Vec<&str> = needed
            .iter()
            .filter(|(_, is_missing)| *is_missing)
            .map(|(key, _)| *key)
            .collect();
        if missing.len() == needed.len() {
            return false;
        }
        for key in missing {
            self.mistake(
                &format!("cache.s3.{key}"),
                "a bucket needs it, and it is not given",
            );
        }
        self.url("cache.s3.endpoint", &cache.s3.endpoint);
        true
    }

    /// Takes a secret from its file, if it has one.
    fn secret(&mut self, path: &str, value: &mut Secret, file: &str) {
        if file.is_empty() {
            return;
        }
        let file_key = format!("{path}_file");
        if !value.is_empty() {
            return self.mistake(&file_key, format!("there is a `{path}` too; give one of them"));
        }
        match secret_in(Path::new(file)) {
            Ok(found) => *value = found,
            Err(message) => self.mistake(&file_key, message),
        }
    }

    fn url(&mut self, path: &str, url: &str) {
        if let Some(wrong) = wrong_url(url).filter(|_| !url.is_empty()) {
            self.mistake(path, wrong);
        }
    }

    fn address(&mut self, path: &str, address: &str) {
        let parts = address.rsplit_once(':');
        if !parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok()) {
            let shown = super::redact::text(address);
            self.mistake(
                path,
                format!("expected an address and a port such as 127.0.0.1:9101, found '{shown}'"),
            );
        }
    }
}

fn names(path: &str) -> Vec<String> {
    path.split('.').map(str::to_owned).collect()
}

/// Says what is wrong with the address of a server.
fn wrong_url(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let host = rest
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    let host = host.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') || url.contains(is_blank) {
        let shown = super::redact::text(url);
        return Some(format!(
            "expected a URL such as https://forge.example, found '{shown}'"
        ));
    }
    None
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts
            .iter()
            .zip(lengths)
            .all(|(part, length)| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
