//! How somebody becomes a runner.

use std::time::Duration;

use super::CAPABILITIES;
use super::service::{Credentials, PING, REGISTER, Secret, Service};
use super::wire::{PingRequest, PingResponse, RegisterRequest, RegisterResponse};
use crate::connect::Client;
use crate::forge::Error;

/// The longest name that a server keeps, in bytes.
const NAME_BYTES: usize = 255;
/// How long the server may take for an answer.
const DEADLINE: Duration = Duration::from_mins(1);

/// What a runner says of itself to become one. It cannot be printed.
#[derive(Clone)]
pub struct Registration {
    /// The name that people see.
    pub name: String,
    /// The registration token.
    pub token: Secret,
    /// The runner's version.
    pub version: String,
    /// The names of its labels, without what they mean to the runner.
    pub labels: Vec<String>,
    /// Whether it is for one job only.
    pub ephemeral: bool,
}

/// A runner that the server knows now.
pub struct Registered {
    /// The server's number for it.
    pub id: i64,
    /// With what it authenticates.
    pub credentials: Credentials,
    /// Its name as the server keeps it.
    pub name: String,
    /// Whether the server removes it after one job; an old server does not, even if it was asked to.
    pub ephemeral: bool,
}

/// What a server answers to a runner that says what it is today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The names of the labels that the server has now.
    pub labels: Vec<String>,
    /// What the server can do, as it writes it; empty if it says nothing.
    pub capabilities: String,
}

/// A server, to somebody who is no runner yet.
pub struct Registrar {
    service: Service,
}

impl Registrar {
    /// The server at the other end of `client`, whose address is that of the instance.
    pub fn new(client: Client) -> Self {
        Self {
            service: Service::new(client, None),
        }
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// There is none, or it is not one of Gitea or Forgejo.
    pub async fn ping(&self, name: &str) -> Result<(), Error> {
        let request = PingRequest {
            data: name.to_owned(),
        };
        let answer = self
            .service
            .call::<PingResponse>(PING, Vec::new(), &request, DEADLINE);
        answer.await?;
        Ok(())
    }

    /// Makes a runner of whoever holds the token.
    ///
    /// # Errors
    /// The server was not reached or has refused; [`Error::retry`] tells whether another try can help.
    ///
    /// # Cancel safety
    /// A dropped call may leave a runner on the server that nobody knows the token of.
    pub async fn register(&self, registration: &Registration) -> Result<Registered, Error> {
        let request = request(registration)?;
        let answer = self
            .service
            .call::<RegisterResponse>(REGISTER, Vec::new(), &request, DEADLINE)
            .await?;
        let runner = answer.message.runner.unwrap_or_default();
        if runner.uuid.is_empty() || runner.token.is_empty() {
            return Err(Error::Unusable {
                operation: REGISTER.name,
                reason: format!(
                    "{}: the answer names no runner; is this a Gitea or Forgejo?",
                    self.service.client().address()
                ),
            });
        }
        Ok(Registered {
            id: runner.id,
            credentials: Credentials {
                uuid: runner.uuid,
                token: Secret::new(runner.token),
            },
            name: runner.name,
            ephemeral: runner.ephemeral,
        })
    }
}

/// The request of a registration, unless a server would cut or refuse it.
fn request(registration: &Registration) -> Result<RegisterRequest, Error> {
    let refused = |reason: &str| {
        let reason = reason.to_owned();
        Err(Error::Refused {
            operation: REGISTER.name,
            reason,
        })
    };
    let name = registration.name.trim();
    let token = registration.token.reveal().trim();
    if name.is_empty() {
        return refused("the runner has no name");
    }
    if name.len() > NAME_BYTES {
        return refused("the runner's name is longer than 255 bytes");
    }
    if token.is_empty() {
        return refused("the registration token is empty");
    }
    let labels = tidy(&registration.labels);
    Ok(RegisterRequest {
        name: name.to_owned(),
        token: token.to_owned(),
        agent_labels: labels.clone(),
        version: registration.version.clone(),
        labels,
        ephemeral: registration.ephemeral,
        capabilities: CAPABILITIES.map(str::to_owned).into(),
        ..RegisterRequest::default()
    })
}

/// Names of labels without spaces around them, empty ones, and repetitions.
pub(super) fn tidy(labels: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(labels.len());
    for label in labels.iter().map(|label| label.trim()) {
        if !label.is_empty() && !names.iter().any(|name| name == label) {
            names.push(label.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_would_refuse_is_refused_here() {
        let check = |name: &str, token: &str| {
            let registration = Registration {
                name: name.to_owned(),
                token: Secret::new(token),
                version: "1".to_owned(),
                labels: vec![" a".to_owned(), "b ".to_owned(), "a".to_owned(), " ".to_owned()],
                ephemeral: false,
            };
            request(&registration)
                .map(|request| (request.name, request.token, request.labels))
                .map_err(|error| error.to_string())
        };
        let (name, token, labels) = check(" runner ", " t\n").unwrap();
        assert_eq!((name.as_str(), token.as_str()), ("runner", "t"));
        assert_eq!(labels, ["a", "b"]);
        assert!(check(&"n".repeat(255), "t").is_ok());
        let table = [
            ("", "t", "the runner has no name"),
            (
                &"n".repeat(256),
                "t",
                "the runner's name is longer than 255 bytes",
            ),
            ("n", "\n", "the registration token is empty"),
        ];
        for (name, token, reason) in table {
            let expected = format!("Register: the forge refused: {reason}");
            assert_eq!(check(name, token).unwrap_err(), expected);
        }
    }
}
