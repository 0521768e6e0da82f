//! Connect's codes of errors, and how they travel as HTTP statuses.

use std::fmt;

/// Why a call has failed, in Connect's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The caller has given up.
    Canceled,
    /// Nothing better is known.
    Unknown,
    /// The request makes no sense, whatever the state of the server.
    InvalidArgument,
    /// Time ran out before the call was done.
    DeadlineExceeded,
    /// Something that the request names does not exist.
    NotFound,
    /// Something that the request would make exists.
    AlreadyExists,
    /// The caller is known and may not do this.
    PermissionDenied,
    /// A quota or a rate is used up.
    ResourceExhausted,
    /// The server is not in the state that the request needs.
    FailedPrecondition,
    /// Somebody else was faster.
    Aborted,
    /// The request reaches beyond a valid range.
    OutOfRange,
    /// The server does not know the procedure.
    Unimplemented,
    /// The server or the answer is broken.
    Internal,
    /// The server cannot be reached now.
    Unavailable,
    /// Data is lost for good.
    DataLoss,
    /// The caller is not known.
    Unauthenticated,
}

/// Code, name on the wire, HTTP status of an answer with it.
const CODES: [(Code, &str, u16); 16] = [
    (Code::Canceled, "canceled", 499),
    (Code::Unknown, "unknown", 500),
    (Code::InvalidArgument, "invalid_argument", 400),
    (Code::DeadlineExceeded, "deadline_exceeded", 504),
    (Code::NotFound, "not_found", 404),
    (Code::AlreadyExists, "already_exists", 409),
    (Code::PermissionDenied, "permission_denied", 403),
    (Code::ResourceExhausted, "resource_exhausted", 429),
    (Code::FailedPrecondition, "failed_precondition", 400),
    (Code::Aborted, "aborted", 409),
    (Code::OutOfRange, "out_of_range", 400),
    (Code::Unimplemented, "unimplemented", 501),
    (Code::Internal, "internal", 500),
    (Code::Unavailable, "unavailable", 503),
    (Code::DataLoss, "data_loss", 500),
    (Code::Unauthenticated, "unauthenticated", 401),
];

impl Code {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The HTTP status of an answer with this code.
    pub fn status(self) -> u16 {
        self.row().2
    }

    /// The code with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        let row = CODES.iter().find(|(_, known, _)| *known == name)?;
        Some(row.0)
    }

    /// The code that an HTTP status stands for if there is no Connect error with it (Connect: "HTTP to error code").
    ///
    /// This is not [`Code::status`] the other way round: a page of a proxy says nothing of the procedure, so that its
    /// 404 means that there is no such service.
    pub fn of_status(status: u16) -> Self {
        match status {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502..=504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    fn row(self) -> &'static (Self, &'static str, u16) {
        CODES.iter().find(|(code, ..)| *code == self).unwrap_or(&CODES[1])
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (code, name, status) in CODES {
            assert_eq!(Code::of_name(name), Some(code));
            assert_eq!((code.name(), code.status()), (name, status));
        }
        assert_eq!(Code::of_name("cancelled"), None);
    }

    #[test]
    fn statuses_of_pages_have_their_own_meaning() {
        let table = [
            (400, Code::Internal),
            (401, Code::Unauthenticated),
            (403, Code::PermissionDenied),
            (404, Code::Unimplemented),
            (429, Code::Unavailable),
            (500, Code::Unknown),
            (502, Code::Unavailable),
            (503, Code::Unavailable),
            (504, Code::Unavailable),
            (418, Code::Unknown),
        ];
        for (status, code) in table {
            assert_eq!(Code::of_status(status), code, "{status}");
        }
    }
}
