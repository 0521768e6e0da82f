//! Whom git trusts: what an operator has said about the certificates of a server.

use std::path::PathBuf;

use super::reference::Address;

/// What holds for the certificates of everything below a URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// The server: `https://host[:port][/path]`.
    pub prefix: String,
    /// Trust whoever answers.
    pub insecure: bool,
    /// A PEM file with the certificates that are trusted in the place of those of the system.
    pub ca_file: Option<PathBuf>,
    /// The PEM files of the certificate that is shown to a server that asks for one, and of its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

impl Trust {
    /// Tells whether nothing holds beyond what holds everywhere.
    pub fn is_trivial(&self) -> bool {
        self.settings().is_empty()
    }

    /// Tells whether it holds for this URL.
    pub(super) fn covers(&self, url: &Address) -> bool {
        Address::parse(&self.prefix).is_some_and(|prefix| prefix.covers(url))
    }

    /// The settings of git, such as `http.sslVerify=false`.
    pub(super) fn settings(&self) -> Vec<String> {
        let mut settings = Vec::new();
        if self.insecure {
            settings.push("http.sslVerify=false".to_owned());
        }
        if let Some(path) = &self.ca_file {
            settings.push(format!("http.sslCAInfo={}", path.display()));
        }
        if let Some((certificate, key)) = &self.client {
            settings.push(format!("http.sslCert={}", certificate.display()));
            settings.push(format!("http.sslKey={}", key.display()));
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_what_the_operator_has_said() {
        assert!(Trust::default().settings().is_empty());
        let trust = Trust {
            prefix: "https://forge.example".to_owned(),
            insecure: true,
            ca_file: Some("/ca.pem".into()),
            client: Some(("/cert.pem".into(), "/key.pem".into())),
        };
        let wanted = [
            "http.sslVerify=false",
            "http.sslCAInfo=/ca.pem",
            "http.sslCert=/cert.pem",
            "http.sslKey=/key.pem",
        ];
        assert_eq!(trust.settings(), wanted);
        let covers = |url: &str| trust.covers(&Address::parse(url).unwrap());
        assert!(covers("https://forge.example/o/r") && !covers("https://github.com/o/r"));
    }
}
