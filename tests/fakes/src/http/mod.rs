//! An HTTP server on loopback whose answers are written down beforehand, faults of the network among them.
//!
//! Here are the words that it is described with; `server` keeps the script, `connection` speaks HTTP/1.1.

pub(crate) mod connection;
mod server;

use std::time::Duration;

pub use server::HttpServer;

/// How an answer says where its body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// With `Content-Length`.
    Length,
    /// In chunks of at most so many bytes.
    Chunks(usize),
    /// With the end of the connection.
    Close,
}

/// What goes wrong while an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// Nothing.
    None,
    /// The connection is closed cleanly after so many bytes of the framed body.
    CutAfter(usize),
    /// The whole answer is sent twice, so that the second one waits where the next answer is expected.
    Twice,
    /// One byte at a time, with a pause after each.
    Drip(Duration),
}

/// What happens to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// It is answered.
    Answer(Answer),
    /// It is read, and nothing happens for ever.
    Never,
    /// It is read, and the connection is closed.
    Close,
    /// It is read, and these bytes come back before the connection is closed.
    Raw(Vec<u8>),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, without those that tell the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How the body ends.
    pub framing: Framing,
    /// How long the server thinks.
    pub delay: Duration,
    /// What goes wrong.
    pub breach: Breach,
}

impl Answer {
    /// An answer that comes at once and whole.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            framing: Framing::Length,
            delay: Duration::ZERO,
            breach: Breach::None,
        }
    }

    /// An answer with a message in the proto codec.
    pub fn proto(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/proto", body)
    }

    /// An answer with a value in JSON.
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        Self::new(status, "application/json", value.to_string())
    }

    /// A Connect error.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = format!("{{\"code\":\"{code}\",\"message\":\"{message}\"}}");
        Self::new(status, "application/json", body)
    }

    /// The same answer with one header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same answer with another end.
    #[must_use]
    pub fn framed(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// The same answer with a fault.
    #[must_use]
    pub fn breached(self, breach: Breach) -> Self {
        Self { breach, ..self }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// `POST /path HTTP/1.1`
    pub line: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of the connection that it came on, from 0.
    pub connection: usize,
}

impl Received {
    /// The verb of the request's line.
    pub fn method(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// The path of the request's line, with its query.
    pub fn path(&self) -> &str {
        self.line.split(' ').nth(1).unwrap_or_default()
    }

    /// The value of a header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}
