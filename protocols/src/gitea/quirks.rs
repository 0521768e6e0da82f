//! How Gitea, Forgejo, and what stands before them, say that something went wrong.
//!
//! Forgejo answers with Connect's own codes. Gitea's handlers return errors of gRPC, which Connect does not know: they
//! arrive as `unknown` with the text `rpc error: code = Unauthenticated desc = unregistered runner`. Other errors of
//! its handlers are `unknown` with any text. Proxies answer with pages. No other file looks at the texts of a server.

use std::time::Duration;

use crate::connect::{Code, Error as Call};
use crate::forge::Error;

/// How long to wait for the server to be done with an earlier request of the same key.
const LOCKED: Duration = Duration::from_secs(1);

/// What a failure is beyond what [`Error`] tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing more.
    Failure,
    /// Time was up, here or on the server: for a question that may wait, that is no answer and no failure.
    TimeUp,
    /// The log is closed already.
    Archived,
    /// Something before the server does not let a request of this size pass.
    TooLarge,
}

/// Sees what only some callers want to know.
pub(super) fn see(operation: &str, error: &Call) -> Seen {
    let said = Said::of(error);
    match said.code {
        _ if matches!(error, Call::Http { status: 413, .. }) => Seen::TooLarge,
        Code::DeadlineExceeded => Seen::TimeUp,
        _ if operation == "UpdateLog" && said.text.contains("log file has been archived") => Seen::Archived,
        _ => Seen::Failure,
    }
}

/// Says what a failed call means to a runner. The text names the server's address.
pub(super) fn translate(operation: &'static str, address: &str, path: &str, error: &Call) -> Error {
    let said = Said::of(error);
    let text = |text: &str| format!("{address}: {text}");
    match error {
        Call::Rpc { retry_after, .. } => said.translate(operation, address, *retry_after),
        Call::Http {
            status, retry_after, ..
        } => page(operation, address, path, *status, *retry_after),
        Call::Malformed { reason, .. } => Error::Unusable {
            operation,
            reason: text(reason),
        },
        Call::Redirected { location, .. } => Error::Unusable {
            operation,
            reason: text(&format!("the server redirects to {location}; use that address")),
        },
        Call::Untrusted { reason, .. } => Error::Unusable {
            operation,
            reason: text(&format!("TLS: {reason}")),
        },
        Call::Deadline { after, .. } => Error::Unavailable {
            operation,
            reason: text(&format!("no answer within {after:?}")),
        },
        Call::Unreachable { reason, .. } => Error::Unavailable {
            operation,
            reason: text(reason),
        },
    }
}

/// What an error says, once the packing of gRPC is off.
struct Said<'a> {
    code: Code,
    text: &'a str,
}

impl<'a> Said<'a> {
    fn of(error: &'a Call) -> Self {
        let Call::Rpc { code, message, .. } = error else {
            let code = match error {
                Call::Deadline { .. } => Code::DeadlineExceeded,
                _ => Code::Unknown,
            };
            return Self { code, text: "" };
        };
        unpack(message).unwrap_or(Self {
            code: *code,
            text: message,
        })
    }

    fn translate(&self, operation: &'static str, address: &str, retry_after: Option<Duration>) -> Error {
        let text = if self.text.is_empty() {
            self.code.name()
        } else {
            self.text
        };
        let reason = format!("{address}: {text}");
        if self.is_unregistered() {
            return Error::Unregistered { operation, reason };
        }
        if self.is_bad_registration(operation) {
            return Error::Refused { operation, reason };
        }
        if self.is_locked() {
            let pause = retry_after.unwrap_or(LOCKED);
            return Error::Busy {
                operation,
                reason,
                pause,
            };
        }
        if self.is_gone(operation) {
            return Error::Gone { operation, reason };
        }
        match self.code {
            Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::AlreadyExists
            | Code::NotFound => Error::Refused { operation, reason },
            Code::Unimplemented => Error::Unsupported { operation, reason },
            // Only the phrase means that the runner is not known; a gate before the server has errors like these, too.
            Code::Unauthenticated | Code::PermissionDenied => Error::Unusable { operation, reason },
            _ => unavailable(operation, reason, retry_after),
        }
    }

    /// A runner that the server does not know, or a runner for one task after that task.
    fn is_unregistered(&self) -> bool {
        let text = self.text.trim_end();
        text.ends_with("unregistered runner") || text.ends_with("runner has been removed")
    }

    /// The registration token is wrong, used up or missing: trying again is of no use.
    fn is_bad_registration(&self, operation: &str) -> bool {
        let phrases = ["not found", "invalidated", "missing", "invalid", "expired"];
        operation == "Register"
            && self.text.contains("token")
            && phrases.iter().any(|phrase| self.text.contains(phrase))
    }

    /// Forgejo is not done with an earlier request of the same key.
    fn is_locked(&self) -> bool {
        self.text.contains("request key is currently locked")
    }

    /// The task was deleted, with its run or its repository, or is another runner's.
    fn is_gone(&self, operation: &str) -> bool {
        let phrases = ["does not exist", "invalid runner for task"];
        matches!(operation, "UpdateTask" | "UpdateLog")
            && (self.code == Code::NotFound || phrases.iter().any(|phrase| self.text.contains(phrase)))
    }
}

/// Takes an error of gRPC out of the text that it became: `rpc error: code = NotFound desc = no such task`.
fn unpack(message: &str) -> Option<Said<'_>> {
    let (_, rest) = message.split_once("rpc error: code = ")?;
    let (code, text) = rest.split_once(" desc = ")?;
    let code = code_of_grpc(code.trim())?;
    Some(Said { code, text })
}

/// gRPC writes the names of the codes in one word: `InvalidArgument` for `invalid_argument`.
fn code_of_grpc(name: &str) -> Option<Code> {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    Code::of_name(&snake)
}

/// Says what a status without an error of the server's own means: it is most often the page of something else.
fn page(
    operation: &'static str,
    address: &str,
    path: &str,
    status: u16,
    retry_after: Option<Duration>,
) -> Error {
    let url = format!("{address}/{path}");
    let unusable = |reason| Error::Unusable { operation, reason };
    match status {
        // Servers before 1.21 have no such procedure, and everything else of a forge.
        404 if operation == "Declare" => Error::Unsupported {
            operation,
            reason: format!("{url}: HTTP status 404"),
        },
        404 | 410 => unusable(format!(
            "{url}: HTTP status {status}: there is no Gitea or Forgejo with Actions at this address"
        )),
        401 | 403 | 407 => unusable(format!(
            "{url}: HTTP status {status} that is not the forge's own: something before it wants to know who we are"
        )),
        405 => unusable(format!(
            "{url}: HTTP status 405: what answers there takes no POST; is this the address of a forge?"
        )),
        413 => unusable(format!(
            "{url}: HTTP status 413: something before the forge does not let a request of this size pass; raise its limit"
        )),
        400..=499 if !matches!(status, 408 | 425 | 429) => unusable(format!(
            "{url}: HTTP status {status} without an error of the forge's own"
        )),
        _ => {
            let reason = format!("{url}: HTTP status {status} without an error of the forge's own");
            unavailable(operation, reason, retry_after)
        }
    }
}

fn unavailable(operation: &'static str, reason: String, pause: Option<Duration>) -> Error {
    match pause {
        Some(pause) => Error::Busy {
            operation,
            reason,
            pause,
        },
        None => Error::Unavailable { operation, reason },
    }
}

#[cfg(test)]
#[path = "quirks_tests.rs"]
mod tests;
