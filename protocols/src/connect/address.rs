//! Addresses of servers.

use std::fmt;

use awc::http::Uri;

/// The two ways to speak HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// The address of a server, maybe with a path below which it lives: `https://forge.example/git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// How to speak to it.
    pub scheme: Scheme,
    /// Its name or its number; a number of IPv6 is in brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The path without its last slash; empty at the root.
    pub path: String,
}

/// Why a text is no address of a server.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It does not say how to speak to the server.
    #[error("an address starts with http:// or https://")]
    Scheme,
    /// It holds a user or a password, which would end in logs.
    #[error("an address holds no user and no password")]
    User,
    /// It is more than an address of a server.
    #[error("an address ends with its path: neither ? nor # belongs to it")]
    Query,
    /// It is no URL.
    #[error("not a valid URL")]
    Invalid,
}

impl Address {
    /// Reads an address; a slash at its end is dropped.
    ///
    /// # Errors
    /// The text is no address of an HTTP server.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or(Error::Scheme)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(Error::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(Error::User);
        }
        if rest.contains(['?', '#']) {
            return Err(Error::Query);
        }
        let uri: Uri = text.parse().map_err(|_invalid| Error::Invalid)?;
        let host = uri
            .host()
            .filter(|host| !host.is_empty())
            .ok_or(Error::Invalid)?
            .to_ascii_lowercase();
        let has_port = authority
            .rsplit_once(']')
            .map_or(authority, |(_, rest)| rest)
            .contains(':');
        let port = match uri.port_u16() {
            Some(0) => return Err(Error::Invalid),
            None if has_port => return Err(Error::Invalid),
            port => port.unwrap_or(scheme.default_port()),
        };
        Ok(Self {
            scheme,
            host,
            port,
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// The host without the brackets of IPv6: what is resolved, and what a certificate is checked against.
    pub fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Host and port with a port that is not the scheme's own left out: the value of a `Host` header.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.name(), self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_means_nothing() {
        let table = [
            ("http://a", "http://a", 80),
            (" https://A.example/ ", "https://a.example", 443),
            ("HTTPS://a:443/git//", "https://a/git", 443),
            ("http://a:443/x", "http://a:443/x", 443),
            ("http://[::1]:3000/", "http://[::1]:3000", 3000),
        ];
        for (text, shown, port) in table {
            let address = Address::parse(text).unwrap();
            assert_eq!(
                (address.to_string().as_str(), address.port),
                (shown, port),
                "{text}"
            );
        }
        assert_eq!(Address::parse("https://[::1]").unwrap().bare_host(), "::1");
    }

    #[test]
    fn other_texts_are_refused_with_a_reason() {
        let table = [
            ("", Error::Scheme),
            ("forge.example", Error::Scheme),
            ("ftp://forge.example", Error::Scheme),
            ("https://", Error::Invalid),
            ("https:///path", Error::Invalid),
            ("https://a:0", Error::Invalid),
            ("https://a:99999", Error::Invalid),
            ("https://a:x", Error::Invalid),
            ("https://a b", Error::Invalid),
            ("https://user:secret@a/", Error::User),
            ("https://a/?q", Error::Query),
            ("https://a/#f", Error::Query),
        ];
        for (text, expected) in table {
            assert_eq!(Address::parse(text), Err(expected), "{text}");
        }
    }
}
