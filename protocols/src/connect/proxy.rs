//! Which proxy a request goes through, as the environment says it.
//!
//! `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` are read in either case, the upper one first, and mean what they mean to
//! programs in Go, because that is what the operators of a forge have set them for: this machine is never reached
//! through a proxy; `example.com` in `NO_PROXY` covers its subdomains, `.example.com` only them; an entry may be a
//! number, a network, have a port, or be `*`.

use std::net::IpAddr;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::address::{Address, Scheme};

/// A proxy. It cannot be printed: it may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its host; a number of IPv6 is in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<String>,
    password: Option<String>,
}

/// The proxies of a program, and the hosts that are reached without one.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    direct: Vec<Rule>,
}

/// Why the environment names no proxy that can be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Only proxies that are reached by plain HTTP are known.
    #[error("{variable}: the proxy's scheme {scheme:?} is not supported; use http://")]
    Scheme {
        /// The variable.
        variable: String,
        /// The scheme.
        scheme: String,
    },
    /// The value is no address. It is not shown: it may hold a password.
    #[error("{variable}: not the address of a proxy")]
    Invalid {
        /// The variable.
        variable: String,
    },
}

/// An entry of `NO_PROXY`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    All,
    /// The number's first bits.
    Network(IpAddr, u32),
    /// A name and all below it.
    Tree(String),
    /// All below a name.
    Below(String),
}

impl Proxies {
    /// Reads the environment of this process.
    ///
    /// # Errors
    /// A variable names a proxy that cannot be used.
    pub fn from_env() -> Result<Self, Error> {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Reads variables from wherever they are.
    ///
    /// # Errors
    /// A variable names a proxy that cannot be used.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let value = |name: &str| {
            let either = [name.to_owned(), name.to_ascii_lowercase()];
            either.into_iter().find_map(|name| {
                let value = lookup(&name)?.trim().to_owned();
                (!value.is_empty()).then_some((name, value))
            })
        };
        let proxy = |name| {
            value(name)
                .map(|(name, value)| Proxy::parse(&name, &value))
                .transpose()
        };
        let direct = value("NO_PROXY").map_or_else(String::new, |(_, value)| value);
        Ok(Self {
            http: proxy("HTTP_PROXY")?,
            https: proxy("HTTPS_PROXY")?,
            direct: direct.split(',').filter_map(Rule::parse).collect(),
        })
    }

    /// The proxy through which a server is reached, if any.
    pub fn proxy_of(&self, server: &Address) -> Option<&Proxy> {
        let proxy = match server.scheme {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        }?;
        let host = server.bare_host();
        let number: Option<IpAddr> = host.parse().ok();
        let is_local = host == "localhost" || number.is_some_and(|number| number.is_loopback());
        let is_direct = self
            .direct
            .iter()
            .any(|rule| rule.covers(host, number, server.port));
        (!is_local && !is_direct).then_some(proxy)
    }

    /// The passwords in the proxies' addresses, which no log may show.
    pub fn passwords(&self) -> impl Iterator<Item = &str> {
        let proxies = self.http.iter().chain(&self.https);
        proxies.filter_map(|proxy| proxy.password.as_deref())
    }
}

impl Proxy {
    fn parse(variable: &str, value: &str) -> Result<Self, Error> {
        let invalid = || Error::Invalid {
            variable: variable.to_owned(),
        };
        let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
        if !scheme.eq_ignore_ascii_case("http") {
            return Err(Error::Scheme {
                variable: variable.to_owned(),
                scheme: scheme.chars().take(16).collect(),
            });
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let address = Address::parse(&format!("http://{host}")).map_err(|_invalid| invalid())?;
        let user = user.map(|user| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            (decode(name), decode(password))
        });
        Ok(Self {
            host: address.host,
            port: address.port,
            authorization: user.as_ref().map(|(name, password)| {
                format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
            }),
            password: user
                .map(|(_, password)| password)
                .filter(|password| !password.is_empty()),
        })
    }

    /// Host and port, for people.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl Rule {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_ascii_lowercase();
        if entry.is_empty() {
            return None;
        }
        let of = |hosts| Some(Self { hosts, port: None });
        if entry == "*" {
            return of(Hosts::All);
        }
        if let Some((network, bits)) = entry.split_once('/') {
            let network: IpAddr = network.parse().ok()?;
            let width = if network.is_ipv4() { 32 } else { 128 };
            let bits: u32 = bits.parse().ok().filter(|bits| *bits <= width)?;
            return of(Hosts::Network(network, bits));
        }
        let (host, port) = split_port(&entry);
        let hosts = match host.parse::<IpAddr>() {
            Ok(number) => Hosts::Network(number, if number.is_ipv4() { 32 } else { 128 }),
            Err(_) => match host.strip_prefix("*.").or_else(|| host.strip_prefix('.')) {
                Some(domain) => Hosts::Below(domain.to_owned()),
                None => Hosts::Tree(host.to_owned()),
            },
        };
        Some(Self { hosts, port })
    }

    fn covers(&self, host: &str, number: Option<IpAddr>, port: u16) -> bool {
        if self.port.is_some_and(|wanted| wanted != port) {
            return false;
        }
        let is_below = |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
        match &self.hosts {
            Hosts::All => true,
            Hosts::Network(network, bits) => {
                number.is_some_and(|number| same_network(*network, number, *bits))
            }
            Hosts::Tree(domain) => host == domain || is_below(domain),
            Hosts::Below(domain) => is_below(domain),
        }
    }
}

/// Splits `host:port`, `[number]:port`, `host` and a bare number of IPv6.
fn split_port(entry: &str) -> (&str, Option<u16>) {
    let split = match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            port.parse().ok().map(|port| (host, Some(port)))
        }
        _ => None,
    };
    let (host, port) = split.unwrap_or((entry, None));
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

fn same_network(network: IpAddr, number: IpAddr, bits: u32) -> bool {
    let prefix = |value: u128, width: u32| value.checked_shr(width - bits).unwrap_or(0);
    match (network, number) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            prefix(u128::from(u32::from(a)), 32) == prefix(u128::from(u32::from(b)), 32)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => prefix(u128::from(a), 128) == prefix(u128::from(b), 128),
        _ => false,
    }
}

/// Decodes the percent-escapes of a user or a password; what is no escape stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = &tail[if escaped.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "proxy_tests.rs"]
mod tests;
