//! What an HTTP answer says in Connect's words.

use std::time::Duration;

use prost::Message;
use serde::Deserialize;

use super::{Code, Error, Response};

/// The content type of messages in the proto codec.
pub(super) const PROTO: &str = "application/proto";

/// The longest text of a server's error that is kept, in bytes.
const MAX_MESSAGE: usize = 4096;
/// The longest pause that a server may ask for.
const MAX_PAUSE: Duration = Duration::from_hours(1);

/// The answer to a call.
pub struct Answer<M> {
    /// The message.
    pub message: M,
    /// The HTTP answer, with an empty body.
    pub http: Response,
}

/// A Connect error as JSON. Its details are of no use to a runner.
#[derive(Deserialize)]
struct WireError {
    code: String,
    #[serde(default)]
    message: String,
}

/// Reads the answer to a call that was sent in the proto codec.
pub(super) fn interpret<M: Message + Default>(
    host: &str,
    mut response: Response,
) -> Result<Answer<M>, Error> {
    if response.status != 200 {
        return Err(interpret_error(host, &response));
    }
    check_content_type(host, response.header("content-type").unwrap_or_default())?;
    let body = std::mem::take(&mut response.body);
    let message = M::decode(body).map_err(|error| Error::Malformed {
        host: host.to_owned(),
        code: Code::InvalidArgument,
        reason: format!("the answer is not a valid message: {error}"),
    })?;
    Ok(Answer {
        message,
        http: response,
    })
}

fn interpret_error(host: &str, response: &Response) -> Error {
    let retry_after = retry_after(response);
    let is_json = essence(response.header("content-type").unwrap_or_default()) == "application/json";
    let parsed: Option<WireError> = is_json
        .then(|| serde_json::from_slice(&response.body).ok())
        .flatten();
    match parsed {
        Some(WireError { code, message }) => Error::Rpc {
            host: host.to_owned(),
            // A code that is not known yet is at least an error of the server's own.
            code: Code::of_name(&code).unwrap_or(Code::of_status(response.status)),
            message: printable(&message),
            retry_after,
        },
        None => Error::Http {
            host: host.to_owned(),
            status: response.status,
            retry_after,
        },
    }
}

fn check_content_type(host: &str, content_type: &str) -> Result<(), Error> {
    let essence = essence(content_type);
    if essence == PROTO {
        return Ok(());
    }
    let (code, reason) = if essence.starts_with("application/") {
        (
            Code::Internal,
            format!("invalid content-type: {essence:?} where {PROTO:?} was asked for"),
        )
    } else {
        (
            Code::Unknown,
            format!("invalid content-type: {essence:?}; is this the address of a forge?"),
        )
    };
    Err(Error::Malformed {
        host: host.to_owned(),
        code,
        reason,
    })
}

/// A content type without its parameters, in lower case.
fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence
        .trim()
        .chars()
        .take(128)
        .collect::<String>()
        .to_ascii_lowercase()
}

/// `Retry-After` in seconds; the form with a date is left to the caller's own pauses, which need no clock.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.header("retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

/// A server's text, short enough for a log and without anything that acts on a terminal.
fn printable(text: &str) -> String {
    let mut printable = String::new();
    for c in text.chars() {
        if printable.len() + c.len_utf8() > MAX_MESSAGE {
            break;
        }
        printable.push(if c.is_control() { ' ' } else { c });
    }
    printable
}

#[cfg(test)]
#[path = "unary_tests.rs"]
mod tests;
