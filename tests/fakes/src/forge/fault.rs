//! What goes wrong, when, and how often.

use std::time::Duration;

use gantry_protocols::connect::Code;
use gantry_protocols::gitea::wire;

use super::journal::{Method, Subject};
use crate::http::Answer;

/// What goes wrong with a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The connection is closed before the server does anything.
    Close,
    /// The server does nothing for so long; a caller that gives up meanwhile was never heard.
    Delay(Duration),
    /// The server does its work and the answer comes so much later.
    DelayAnswer(Duration),
    /// The server does nothing, and never answers.
    Hang,
    /// Something before the server answers, which never sees the call.
    Answer(Answer),
    /// The server refuses, in the form of its dialect.
    Refuse(Code, String),
    /// The server does its work and the answer breaks off after so many bytes of its body.
    CutAfter(usize),
    /// The server does its work and the answer is lost.
    LoseAnswer,
    /// The server does its work and answers as if it had not: the acknowledgement from before, no state, no outputs.
    StaleAnswer,
    /// The server answers twice, so that the second answer waits where that to the next call is expected.
    AnswerTwice,
    /// Something before the server delivers the call twice; the second answer comes back.
    DeliverTwice,
    /// The rows of a log are acknowledged up to this number, whatever the server has.
    Acknowledge(i64),
    /// The newest task of the runner is handed out once more.
    DuplicateTask,
    /// A task comes with this document as its payload.
    Payload(Vec<u8>),
    /// A task comes without its context.
    WithoutContext,
}

impl Fault {
    /// A page of a proxy with this status.
    pub fn page(status: u16) -> Self {
        let body = format!("<html><body><h1>{status}</h1></body></html>");
        Self::Answer(Answer::new(status, "text/html; charset=utf-8", body))
    }

    /// Tells whether the server never gets to see the call.
    pub(super) fn is_before(&self) -> bool {
        matches!(
            self,
            Self::Close | Self::Hang | Self::Answer(_) | Self::Refuse(..)
        )
    }
}

/// Which calls go wrong, counted from the moment at which the fault is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// The next one.
    Next,
    /// Only this one, from 1.
    Nth(usize),
    /// So many from the next one on.
    First(usize),
    /// All from this one on, from 1.
    From(usize),
    /// All of them.
    All,
    /// Those that tell how a task ended.
    Ends,
}

impl Calls {
    fn holds(self, number: usize, tells_end: bool) -> bool {
        match self {
            Self::Next => number == 1,
            Self::Nth(nth) => number == nth,
            Self::First(count) => number <= count,
            Self::From(first) => number >= first,
            Self::All => true,
            Self::Ends => tells_end,
        }
    }
}

struct Entry {
    method: Method,
    calls: Calls,
    seen: usize,
    fault: Fault,
}

/// What will go wrong.
#[derive(Default)]
pub(super) struct Faults {
    entries: Vec<Entry>,
    /// A task is cancelled when its log has so many rows.
    pub cancel_at_row: Option<usize>,
}

impl Faults {
    pub fn add(&mut self, method: Method, calls: Calls, fault: Fault) {
        self.entries.push(Entry {
            method,
            calls,
            seen: 0,
            fault,
        });
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What goes wrong with a call that has just come.
    pub fn take(&mut self, method: Method, subject: &Subject) -> Vec<Fault> {
        let tells_end =
            matches!(subject, Subject::State { result, .. } if *result != wire::Result::Unspecified);
        let mut due = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.method == method) {
            entry.seen += 1;
            if entry.calls.holds(entry.seen, tells_end) {
                due.push(entry.fault.clone());
            }
        }
        due
    }
}
