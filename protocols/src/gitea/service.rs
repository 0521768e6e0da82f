//! One call of a procedure, with what goes with each of them.

use std::time::Duration;

use prost::Message;

use super::quirks::{self, Seen};
use super::wire::{header, path};
use crate::connect::{Answer, Client};
use crate::forge::Error;

/// A text that neither a log nor a file may show by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever must have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Who this runner is to its server. It cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The name with which it authenticates.
    pub uuid: String,
    /// The secret that goes with it.
    pub token: Secret,
}

impl Credentials {
    /// The credentials of a runner that an operator has registered on the server itself, with a secret of 40 hexadecimal
    /// digits: Forgejo makes the UUID of the secret's first 16 characters.
    ///
    /// # Errors
    /// The text is no such secret; it is not shown.
    pub fn of_shared_secret(secret: &str) -> Result<Self, &'static str> {
        let is_hex = secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        let start: Option<[u8; 16]> = secret.as_bytes().first_chunk().copied();
        match start {
            Some(start) if secret.len() == 40 && is_hex => Ok(Self {
                uuid: uuid(start),
                token: Secret::new(secret),
            }),
            _ => Err("the secret has to be 40 hexadecimal digits"),
        }
    }
}

/// Sixteen bytes in the form of a UUID.
pub(super) fn uuid(bytes: [u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
    groups.join("-")
}

/// A procedure: how people know it, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Procedure {
    pub name: &'static str,
    path: &'static str,
}

pub(super) const PING: Procedure = Procedure {
    name: "Ping",
    path: path::PING,
};
pub(super) const REGISTER: Procedure = Procedure {
    name: "Register",
    path: path::REGISTER,
};
pub(super) const DECLARE: Procedure = Procedure {
    name: "Declare",
    path: path::DECLARE,
};
pub(super) const FETCH_TASK: Procedure = Procedure {
    name: "FetchTask",
    path: path::FETCH_TASK,
};
pub(super) const UPDATE_TASK: Procedure = Procedure {
    name: "UpdateTask",
    path: path::UPDATE_TASK,
};
pub(super) const UPDATE_LOG: Procedure = Procedure {
    name: "UpdateLog",
    path: path::UPDATE_LOG,
};

/// The server's services, to somebody or to nobody in particular.
#[derive(Clone)]
pub(super) struct Service {
    client: Client,
    credentials: Option<Credentials>,
}

impl Service {
    pub fn new(client: Client, credentials: Option<Credentials>) -> Self {
        Self { client, credentials }
    }

    /// The client, for what is not a procedure.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Calls a procedure and says in what manner it has failed.
    pub async fn call<M: Message + Default>(
        &self,
        procedure: Procedure,
        mut headers: Vec<(&'static str, String)>,
        message: &impl Message,
        deadline: Duration,
    ) -> Result<Answer<M>, Failure> {
        if let Some(credentials) = &self.credentials {
            headers.extend([
                (header::RUNNER_UUID, credentials.uuid.clone()),
                (header::RUNNER_TOKEN, credentials.token.reveal().to_owned()),
            ]);
        }
        let path = format!("api/actions/{}", procedure.path);
        let answer = self.client.call(&path, headers, message, deadline).await;
        answer.map_err(|error| Failure {
            seen: quirks::see(procedure.name, &error),
            error: quirks::translate(procedure.name, self.client.address(), &path, &error),
        })
    }
}

/// Why a call has failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// What only some callers want to know.
    pub seen: Seen,
    /// What everybody wants to know.
    pub error: Error,
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_secret_makes_the_uuid_that_the_server_makes_of_it() {
        let secret = "7c31591e8b67225a116d4a4519ea8e507e08f71f";
        let credentials = Credentials::of_shared_secret(secret).unwrap();
        assert_eq!(credentials.uuid, "37633331-3539-3165-3862-363732323561");
        assert_eq!(credentials.token.reveal(), secret);
        for text in ["", "7c31", &secret[1..], &secret.replace('7', "g")] {
            assert!(Credentials::of_shared_secret(text).is_err(), "{text}");
        }
    }
}
