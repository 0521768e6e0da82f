//! Tokens, and the place that each of them belongs to.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::reference::Address;
use crate::mask;

/// A secret text; it has no `Debug`, so that it reaches neither a log nor an error.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// Wraps a secret.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The secret itself.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

/// A token for everything below a URL.
#[derive(Clone)]
pub struct Credential {
    /// Where the token belongs: `https://host[:port][/path]`.
    pub prefix: String,
    /// What a person calls the token, such as `secret GITHUB_TOKEN`.
    pub name: String,
    /// The user that the token is the password of; forges accept any name.
    pub user: String,
    /// The token.
    pub token: Token,
}

impl Credential {
    /// A token that is a password of any user, as forges have them.
    pub fn of_token(prefix: &str, name: &str, token: Token) -> Self {
        Self {
            prefix: prefix.to_owned(),
            name: name.to_owned(),
            user: "x-access-token".to_owned(),
            token,
        }
    }

    /// Tells whether the token may be shown to the server of this URL.
    pub(super) fn belongs_to(&self, url: &Address) -> bool {
        Address::parse(&self.prefix).is_some_and(|prefix| prefix.covers(url))
    }

    /// The header that shows the token to a server.
    pub(super) fn header(&self) -> String {
        format!("Authorization: Basic {}", self.basic())
    }

    /// A copy of a text in which neither the token nor its header can be read.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in [self.token.reveal(), &self.basic()] {
            if !secret.is_empty() {
                text = text.replace(secret, "***");
            }
        }
        text
    }

    /// Tells tokens apart without keeping them.
    pub(super) fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.basic()).into()
    }

    fn basic(&self) -> String {
        let mut text = mask::base64(
            format!("{}:{}", self.user, self.token.reveal()).as_bytes(),
            mask::BASE64_DIGITS,
        );
        while !text.len().is_multiple_of(4) {
            text.push('=');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential(prefix: &str) -> Credential {
        Credential::of_token(prefix, "secret T", Token::new("abc"))
    }

    #[test]
    fn a_token_belongs_to_one_server() {
        let rows = [
            ("https://code.example", "https://code.example/o/r", true),
            ("https://code.example/", "https://CODE.example:443/o/r", true),
            ("https://code.example", "http://code.example/o/r", false),
            ("https://code.example", "https://code.example:8443/o/r", false),
            ("https://code.example", "https://code.example.evil/o/r", false),
            ("https://code.example", "https://evil/code.example", false),
            ("https://code.example/o", "https://code.example/o/r", true),
            ("https://code.example/o", "https://code.example/other/r", false),
            ("https://code.example/o", "https://code.example/o/../x", false),
            ("", "https://code.example/o/r", false),
        ];
        for (prefix, url, expected) in rows {
            let belongs = Address::parse(url).is_some_and(|url| credential(prefix).belongs_to(&url));
            assert_eq!(belongs, expected, "{prefix} {url}");
        }
    }

    #[test]
    fn the_header_is_basic_and_redacted() {
        let credential = credential("https://code.example");
        assert_eq!(
            credential.header(),
            "Authorization: Basic eC1hY2Nlc3MtdG9rZW46YWJj"
        );
        let text = format!("fatal: abc {}", credential.header());
        assert_eq!(credential.redact(&text), "fatal: *** Authorization: Basic ***");
    }
}
