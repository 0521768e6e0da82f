//! What is decided about a server's connection before the first call.

use std::path::PathBuf;
use std::time::Duration;

use super::address::Address;
use super::proxy::Proxies;

/// How to reach a server, and how far to trust it.
#[derive(Clone)]
pub struct Options {
    /// Where it is.
    pub address: Address,
    /// The program's name and version: the value of `User-Agent`.
    pub user_agent: String,
    /// Whom to trust.
    pub tls: Tls,
    /// Headers that go with every request, for servers behind a gate of their own.
    pub headers: Vec<(String, String)>,
    /// The proxies of this machine.
    pub proxies: Proxies,
    /// How long a connection may take until it stands, handshakes included.
    pub connect_timeout: Duration,
    /// How large an answer may be, in bytes, packed as well as unpacked.
    pub body_limit: usize,
}

/// Whom to trust, and who we are.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// A PEM file with certificates that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// What we show to a server that asks who we are.
    pub client: Option<ClientCertificate>,
    /// Trust whoever answers.
    pub insecure: bool,
}

/// A certificate and its key, in PEM files.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The file of the certificate and of those between it and its root.
    pub certificate: PathBuf,
    /// The file of its private key.
    pub key: PathBuf,
}

impl Options {
    /// The usual: the system's trust, no proxy, no further headers.
    pub fn new(address: Address, version: &str) -> Self {
        Self {
            address,
            user_agent: format!("gantry/{version}"),
            tls: Tls::default(),
            headers: Vec::new(),
            proxies: Proxies::default(),
            connect_timeout: Duration::from_secs(20),
            // A task carries a workflow, an event and secrets: some megabytes at most.
            body_limit: 32 * 1024 * 1024,
        }
    }
}
