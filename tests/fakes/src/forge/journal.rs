//! The calls that reached the server, in order.

use std::time::SystemTime;

use gantry_protocols::gitea::wire::{self, path};

/// A procedure of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `ping.v1.PingService/Ping`
    Ping,
    /// `runner.v1.RunnerService/Register`
    Register,
    /// `runner.v1.RunnerService/Declare`
    Declare,
    /// `runner.v1.RunnerService/FetchTask`
    FetchTask,
    /// `runner.v1.RunnerService/FetchSingleTask`
    FetchSingleTask,
    /// `runner.v1.RunnerService/UpdateTask`
    UpdateTask,
    /// `runner.v1.RunnerService/UpdateLog`
    UpdateLog,
}

impl Method {
    /// The procedure with this path below `/api/actions`.
    pub(super) fn of_path(text: &str) -> Option<Self> {
        Some(match text {
            path::PING => Self::Ping,
            path::REGISTER => Self::Register,
            path::DECLARE => Self::Declare,
            path::FETCH_TASK => Self::FetchTask,
            path::FETCH_SINGLE_TASK => Self::FetchSingleTask,
            path::UPDATE_TASK => Self::UpdateTask,
            path::UPDATE_LOG => Self::UpdateLog,
            _ => return None,
        })
    }
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// When it came.
    pub at: SystemTime,
    /// What was called.
    pub method: Method,
    /// Who called, if the server knows; the number of a runner.
    pub runner: Option<i64>,
    /// The number of the connection.
    pub connection: usize,
    /// What it was about.
    pub subject: Subject,
    /// The HTTP status of the answer; nothing if none was sent, or not yet.
    pub status: Option<u16>,
    /// Whether the server did what it was asked.
    pub done: bool,
}

/// What a call was about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Nothing of interest, or nothing that could be read.
    Other,
    /// Tasks.
    Fetch {
        /// The version of the queue that the runner had seen.
        version: i64,
        /// How many tasks it had room for, if it said.
        capacity: Option<i64>,
        /// The name of the request.
        key: Option<String>,
    },
    /// The state of a task.
    State {
        /// The task.
        task: i64,
        /// How it ended.
        result: wire::Result,
    },
    /// The log of a task.
    Rows {
        /// The task.
        task: i64,
        /// The number of the first row.
        first: i64,
        /// How many rows there were.
        count: usize,
        /// Whether the log ended.
        no_more: bool,
    },
}

/// An `UpdateLogRequest` without the content of its rows, which only the server itself unpacks.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Delivery {
    #[prost(int64, tag = "1")]
    pub task_id: i64,
    #[prost(int64, tag = "2")]
    pub index: i64,
    #[prost(message, repeated, tag = "3")]
    pub rows: Vec<Unread>,
    #[prost(bool, tag = "4")]
    pub no_more: bool,
}

/// A row that is only counted.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Unread {}
