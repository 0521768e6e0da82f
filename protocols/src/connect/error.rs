//! Why a call has no answer.

use std::time::Duration;

use super::Code;

/// Why a call has no answer. Every text names the host, and none holds a header, a token or a password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server has answered with a Connect error.
    #[error("{host}: {code}: {message}")]
    Rpc {
        /// Who answered.
        host: String,
        /// Its code.
        code: Code,
        /// Its text.
        message: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// An HTTP status without a Connect error: most often the page of something between the server and us.
    #[error("{host}: HTTP status {status} without an error of the server's own")]
    Http {
        /// Who was asked.
        host: String,
        /// The status.
        status: u16,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// What answered does not speak Connect, or speaks it wrongly.
    #[error("{host}: {reason}")]
    Malformed {
        /// Who answered.
        host: String,
        /// The code that Connect gives such answers.
        code: Code,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The server is elsewhere.
    #[error("{host}: the server redirects to {location}; use that address")]
    Redirected {
        /// Who answered.
        host: String,
        /// Where it redirects to, without a query.
        location: String,
    },
    /// There was no answer in time.
    #[error("{host}: no answer within {after:?}")]
    Deadline {
        /// Who was asked.
        host: String,
        /// How long it had.
        after: Duration,
    },
    /// There is no connection, or it broke.
    #[error("{host}: {reason}")]
    Unreachable {
        /// Who was asked.
        host: String,
        /// What happened, in which part of the way.
        reason: String,
    },
    /// The other side of a TLS connection is not to be trusted, or does not trust us.
    #[error("{host}: TLS: {reason}")]
    Untrusted {
        /// Who was asked.
        host: String,
        /// Why.
        reason: String,
    },
}

impl Error {
    /// Connect's word for the failure.
    pub fn code(&self) -> Code {
        match self {
            Self::Rpc { code, .. } | Self::Malformed { code, .. } => *code,
            Self::Http { status, .. } => Code::of_status(*status),
            Self::Redirected { .. } => Code::Unknown,
            Self::Deadline { .. } => Code::DeadlineExceeded,
            Self::Unreachable { .. } | Self::Untrusted { .. } => Code::Unavailable,
        }
    }
}
