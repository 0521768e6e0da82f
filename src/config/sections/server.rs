//! `server`: several forges in one process.

use std::collections::BTreeMap;

use crate::config::shape::section;
use crate::config::{GoDuration, Secret};

section! {
    /// `server`
    pub struct Server {
        /// The forges by names of your choice; if there are any, the runner file is not read.
        connections: BTreeMap<String, Connection>;
    }
}

section! {
    /// `server.connections.<name>`
    pub struct Connection {
        /// The address of the forge.
        url: String = "\"\"";
        /// Who the runner is there.
        uuid: String = "\"\"";
        /// The runner's token there.
        token: Secret = "\"\"";
        /// Where the token is instead: `file:` and the path of a file that holds it.
        token_url: String = "\"\"";
        /// The labels there.
        /// Empty: those of `runner.labels`.
        labels: Vec<String> = "[]";
        /// The pause between two questions for a job there; 0s means `runner.fetch_interval`.
        fetch_interval: GoDuration = "0s";
        /// Trusts whoever answers, without looking at certificates.
        insecure: bool = "false";
        /// Certificates for this connection.
        tls: Tls;
        /// Headers that go with every request there.
        extra_headers: BTreeMap<String, Secret> = "{}";
    }
}

section! {
    /// Certificates for a connection.
    pub struct Tls {
        /// A PEM file with certificates that are trusted besides those of the system.
        /// Empty: none.
        ca_file: String = "\"\"";
        /// A PEM file with the certificate that is shown to a server that asks for one.
        /// Empty: none.
        cert_file: String = "\"\"";
        /// The PEM file with its private key.
        key_file: String = "\"\"";
    }
}
