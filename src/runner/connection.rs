//! The way to a forge, as the configuration has it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use gantry_actors::engine::action::Trust;
use gantry_actors::protocols::connect::{Address, Client, ClientCertificate, Options, Proxies, Tls};

use crate::config::{self, Secret};

/// The version that forges are told.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the configuration says about the way to one forge.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    insecure: bool,
    tls: &'a config::Tls,
    headers: &'a BTreeMap<String, Secret>,
}

impl Way<'_> {
    /// The same for git: whom it trusts below the address `prefix`.
    pub fn trust(&self, prefix: String) -> Trust {
        Trust {
            prefix,
            insecure: self.insecure,
            ca_file: path(&self.tls.ca_file),
            client: path(&self.tls.cert_file).zip(path(&self.tls.key_file)),
        }
    }
}

impl<'a> From<&'a config::Runner> for Way<'a> {
    /// The forge of the runner file.
    fn from(runner: &'a config::Runner) -> Self {
        Self {
            insecure: runner.insecure,
            tls: &runner.tls,
            headers: &runner.extra_headers,
        }
    }
}

impl<'a> From<&'a config::Connection> for Way<'a> {
    fn from(connection: &'a config::Connection) -> Self {
        Self {
            insecure: connection.insecure,
            tls: &connection.tls,
            headers: &connection.extra_headers,
        }
    }
}

/// Reads the address of a forge as an operator writes it.
///
/// # Errors
/// It is no address.
pub fn address(text: &str) -> anyhow::Result<Address> {
    Address::parse(text).map_err(|error| {
        // A password would end in the log of whoever runs this.
        let shown = if text.contains('@') {
            "the text"
        } else {
            text.trim()
        };
        anyhow!("{shown} is no address of a forge: {error}")
    })
}

/// Starts a client for a forge; the proxies are those of the environment.
///
/// Call it in an actix system or in a `LocalSet`.
///
/// # Errors
/// The environment names a proxy that cannot be used, or a file of certificates cannot be read.
pub fn connect<'a>(address: Address, way: impl Into<Way<'a>>) -> anyhow::Result<Client> {
    let way = way.into();
    let subject = format!("cannot connect to {address}");
    let mut options = Options::new(address, VERSION);
    options.proxies = Proxies::from_env().context("a proxy cannot be used")?;
    options.tls = Tls {
        ca_file: path(&way.tls.ca_file),
        client: certificate(way.tls),
        insecure: way.insecure,
    };
    let headers = way.headers.iter();
    options.headers = headers
        .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
        .collect();
    Client::start(options).context(subject)
}

fn certificate(tls: &config::Tls) -> Option<ClientCertificate> {
    Some(ClientCertificate {
        certificate: path(&tls.cert_file)?,
        key: path(&tls.key_file)?,
    })
}

fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_address_is_explained_without_a_password() {
        let table = [
            (
                "forge.example",
                "forge.example is no address of a forge: an address starts with http:// or https://",
            ),
            (
                "https://forge.example?a=b",
                "https://forge.example?a=b is no address of a forge: an address ends with its path: neither ? nor # belongs to it",
            ),
            (
                "https://me:hunter2@forge.example",
                "the text is no address of a forge: an address holds no user and no password",
            ),
        ];
        for (text, expected) in table {
            let error = address(text).expect_err("no address").to_string();
            assert_eq!(error, expected);
        }
    }
}
