//! The messages of `ping.v1` and `runner.v1`, with the numbers that their public definitions give them.
//!
//! They are written by hand: there are few of them, and neither `protoc` nor a build script is needed. Both forges are
//! served by the same messages; a field that only one of them knows is skipped by the other. Messages that hold a token
//! or a secret cannot be printed.

use std::collections::BTreeMap;

pub use prost_types::{ListValue, Struct, Timestamp, Value, value};

/// The path of a procedure below the instance's `/api/actions`.
pub mod path {
    /// `ping.v1.PingService/Ping`
    pub const PING: &str = "ping.v1.PingService/Ping";
    /// `runner.v1.RunnerService/Register`
    pub const REGISTER: &str = "runner.v1.RunnerService/Register";
    /// `runner.v1.RunnerService/Declare`
    pub const DECLARE: &str = "runner.v1.RunnerService/Declare";
    /// `runner.v1.RunnerService/FetchTask`
    pub const FETCH_TASK: &str = "runner.v1.RunnerService/FetchTask";
    /// `runner.v1.RunnerService/FetchSingleTask` (Forgejo)
    pub const FETCH_SINGLE_TASK: &str = "runner.v1.RunnerService/FetchSingleTask";
    /// `runner.v1.RunnerService/UpdateTask`
    pub const UPDATE_TASK: &str = "runner.v1.RunnerService/UpdateTask";
    /// `runner.v1.RunnerService/UpdateLog`
    pub const UPDATE_LOG: &str = "runner.v1.RunnerService/UpdateLog";
}

/// The headers that these services add to Connect's, in lower case.
pub mod header {
    /// Who calls: the UUID that the server gave at registration.
    pub const RUNNER_UUID: &str = "x-runner-uuid";
    /// The token that goes with the UUID.
    pub const RUNNER_TOKEN: &str = "x-runner-token";
    /// The runner's version, for servers that do not know `Declare`.
    pub const RUNNER_VERSION: &str = "x-runner-version";
    /// Names one request for tasks, so that its repetition gets the same tasks (Forgejo).
    pub const REQUEST_KEY: &str = "x-runner-request-key";
    /// What the server can do, as a list with commas (Gitea, in the answer to `Declare`).
    pub const CAPABILITIES: &str = "x-gitea-actions-capabilities";
}

/// What is known of a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum RunnerStatus {
    /// `RUNNER_STATUS_UNSPECIFIED`
    Unspecified = 0,
    /// `RUNNER_STATUS_IDLE`
    Idle = 1,
    /// `RUNNER_STATUS_ACTIVE`
    Active = 2,
    /// `RUNNER_STATUS_OFFLINE`
    Offline = 3,
}

/// How a step or a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Result {
    /// `RESULT_UNSPECIFIED`: it has not.
    Unspecified = 0,
    /// `RESULT_SUCCESS`
    Success = 1,
    /// `RESULT_FAILURE`
    Failure = 2,
    /// `RESULT_CANCELLED`
    Cancelled = 3,
    /// `RESULT_SKIPPED`
    Skipped = 4,
}

/// Asks for a sign of life.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PingRequest {
    /// Comes back in the answer.
    #[prost(string, tag = "1")]
    pub data: String,
}

/// `Hello, <data>!`
#[derive(Clone, PartialEq, prost::Message)]
pub struct PingResponse {
    /// The greeting.
    #[prost(string, tag = "1")]
    pub data: String,
}

/// Makes a runner of whoever holds a registration token.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct RegisterRequest {
    /// The runner's name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The registration token.
    #[prost(string, tag = "2")]
    pub token: String,
    /// Label names, for servers that do not know `labels`.
    #[prost(string, repeated, tag = "3")]
    pub agent_labels: Vec<String>,
    /// Label names; deprecated and never sent.
    #[prost(string, repeated, tag = "4")]
    pub custom_labels: Vec<String>,
    /// The runner's version.
    #[prost(string, tag = "5")]
    pub version: String,
    /// Label names: the part of each label before its first colon.
    #[prost(string, repeated, tag = "6")]
    pub labels: Vec<String>,
    /// Whether the runner is for one task only.
    #[prost(bool, tag = "7")]
    pub ephemeral: bool,
    /// What the runner can do (Gitea).
    #[prost(string, repeated, tag = "8")]
    pub capabilities: Vec<String>,
}

/// The runner that was made.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct RegisterResponse {
    /// With the token, which is shown only here.
    #[prost(message, optional, tag = "1")]
    pub runner: Option<Runner>,
}

/// Says what the runner is today.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DeclareRequest {
    /// The runner's version.
    #[prost(string, tag = "1")]
    pub version: String,
    /// Label names; they replace those that the server has.
    #[prost(string, repeated, tag = "2")]
    pub labels: Vec<String>,
    /// What the runner can do (Gitea).
    #[prost(string, repeated, tag = "3")]
    pub capabilities: Vec<String>,
}

/// The runner as the server knows it now.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct DeclareResponse {
    /// Without a token.
    #[prost(message, optional, tag = "1")]
    pub runner: Option<Runner>,
}

/// Asks for a task.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchTaskRequest {
    /// The version of the server's queue that the runner has seen; 0 asks in any case.
    #[prost(int64, tag = "1")]
    pub tasks_version: i64,
    /// How many tasks the runner could take (Forgejo).
    #[prost(int64, optional, tag = "2")]
    pub task_capacity: Option<i64>,
}

/// At most one task, or with Forgejo at most `task_capacity` of them.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct FetchTaskResponse {
    /// The first task.
    #[prost(message, optional, tag = "1")]
    pub task: Option<Task>,
    /// The version of the server's queue before the task was picked; 0 from a server that keeps none.
    #[prost(int64, tag = "2")]
    pub tasks_version: i64,
    /// The other tasks (Forgejo).
    #[prost(message, repeated, tag = "3")]
    pub additional_tasks: Vec<Task>,
}

/// Asks for one task, or for a certain one (Forgejo).
#[derive(Clone, PartialEq, prost::Message)]
pub struct FetchSingleTaskRequest {
    /// As in [`FetchTaskRequest`].
    #[prost(int64, tag = "1")]
    pub tasks_version: i64,
    /// The attempt that is wanted.
    #[prost(string, optional, tag = "2")]
    pub handle: Option<String>,
}

/// At most one task (Forgejo). The numbers are those of [`FetchTaskResponse`] exchanged.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct FetchSingleTaskResponse {
    /// As in [`FetchTaskResponse`].
    #[prost(int64, tag = "1")]
    pub tasks_version: i64,
    /// The task.
    #[prost(message, optional, tag = "2")]
    pub task: Option<Task>,
}

/// Says how a task goes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateTaskRequest {
    /// The task's state.
    #[prost(message, optional, tag = "1")]
    pub state: Option<TaskState>,
    /// Outputs that the server has not acknowledged.
    #[prost(btree_map = "string, string", tag = "2")]
    pub outputs: BTreeMap<String, String>,
}

/// What the server makes of it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateTaskResponse {
    /// Only `id` and `result`; a result means that the task is over for the server.
    #[prost(message, optional, tag = "1")]
    pub state: Option<TaskState>,
    /// The outputs that the server has by now.
    #[prost(string, repeated, tag = "2")]
    pub sent_outputs: Vec<String>,
}

/// Appends rows to a task's log.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateLogRequest {
    /// The task.
    #[prost(int64, tag = "1")]
    pub task_id: i64,
    /// The number of the first row.
    #[prost(int64, tag = "2")]
    pub index: i64,
    /// The rows.
    #[prost(message, repeated, tag = "3")]
    pub rows: Vec<LogRow>,
    /// Whether the log ends here.
    #[prost(bool, tag = "4")]
    pub no_more: bool,
}

/// How far the server has the log.
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateLogResponse {
    /// The number of the first row that the server does not have.
    #[prost(int64, tag = "1")]
    pub ack_index: i64,
}

/// A runner as its server knows it.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct Runner {
    /// The server's number for it.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// The name with which it authenticates.
    #[prost(string, tag = "2")]
    pub uuid: String,
    /// The secret with which it authenticates; only in the answer to `Register`.
    #[prost(string, tag = "3")]
    pub token: String,
    /// The name that people see.
    #[prost(string, tag = "4")]
    pub name: String,
    /// Whether it is there.
    #[prost(enumeration = "RunnerStatus", tag = "5")]
    pub status: i32,
    /// Deprecated.
    #[prost(string, repeated, tag = "6")]
    pub agent_labels: Vec<String>,
    /// Deprecated.
    #[prost(string, repeated, tag = "7")]
    pub custom_labels: Vec<String>,
    /// The version that it declared.
    #[prost(string, tag = "8")]
    pub version: String,
    /// The names of its labels.
    #[prost(string, repeated, tag = "9")]
    pub labels: Vec<String>,
    /// Whether it is for one task only.
    #[prost(bool, tag = "10")]
    pub ephemeral: bool,
}

/// A job that was handed out.
#[derive(Clone, PartialEq, prost::Message)]
#[prost(skip_debug)]
pub struct Task {
    /// The server's number for it.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// A workflow document with exactly one job.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub workflow_payload: Option<Vec<u8>>,
    /// The `github` context and what the forge adds to it.
    #[prost(message, optional, tag = "3")]
    pub context: Option<Struct>,
    /// Secrets by their upper-case names, the task's token among them.
    #[prost(btree_map = "string, string", tag = "4")]
    pub secrets: BTreeMap<String, String>,
    /// Not used by any server.
    #[prost(string, tag = "5")]
    pub machine: String,
    /// The jobs that this one waited for, by their ids.
    #[prost(btree_map = "string, message", tag = "6")]
    pub needs: BTreeMap<String, TaskNeed>,
    /// Variables by their upper-case names.
    #[prost(btree_map = "string, string", tag = "7")]
    pub vars: BTreeMap<String, String>,
}

/// A job that another one waited for.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TaskNeed {
    /// Its outputs.
    #[prost(btree_map = "string, string", tag = "1")]
    pub outputs: BTreeMap<String, String>,
    /// How it ended.
    #[prost(enumeration = "Result", tag = "2")]
    pub result: i32,
}

/// How a task goes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TaskState {
    /// The task.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// How it ended, once it has.
    #[prost(enumeration = "Result", tag = "2")]
    pub result: i32,
    /// When it started.
    #[prost(message, optional, tag = "3")]
    pub started_at: Option<Timestamp>,
    /// When it stopped.
    #[prost(message, optional, tag = "4")]
    pub stopped_at: Option<Timestamp>,
    /// Its steps.
    #[prost(message, repeated, tag = "5")]
    pub steps: Vec<StepState>,
}

/// How a step goes.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StepState {
    /// Its place in the payload's list of steps, from 0.
    #[prost(int64, tag = "1")]
    pub id: i64,
    /// How it ended, once it has.
    #[prost(enumeration = "Result", tag = "2")]
    pub result: i32,
    /// When it started.
    #[prost(message, optional, tag = "3")]
    pub started_at: Option<Timestamp>,
    /// When it stopped.
    #[prost(message, optional, tag = "4")]
    pub stopped_at: Option<Timestamp>,
    /// The number of its first row in the task's log.
    #[prost(int64, tag = "5")]
    pub log_index: i64,
    /// How many rows it has.
    #[prost(int64, tag = "6")]
    pub log_length: i64,
}

/// A row of a task's log.
#[derive(Clone, PartialEq, prost::Message)]
pub struct LogRow {
    /// When it was written.
    #[prost(message, optional, tag = "1")]
    pub time: Option<Timestamp>,
    /// Its text without a line end.
    #[prost(string, tag = "2")]
    pub content: String,
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
