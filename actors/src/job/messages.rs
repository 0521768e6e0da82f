//! What a job is told.

use actix::Message;
use gantry_protocols::forge::{Conclusion, TaskId};
use tokio::sync::oneshot;

/// Run the claimed job to its end. No reply is that of a job that has died.
#[derive(Message)]
#[rtype(result = "Option<JobEnded>")]
pub struct RunJob;

/// The reply to [`RunJob`]: nothing of the job runs any more.
#[derive(Debug)]
pub struct JobEnded {
    /// The task.
    pub task: TaskId,
    /// How the job ended.
    pub conclusion: Conclusion,
    /// Resolves once the forge knows, if it could not be told yet.
    pub parked: Option<oneshot::Receiver<()>>,
}

/// Cancel the job: its `always()` and clean-up steps still run, for a bounded time.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CancelJob(pub CancelReason);

/// Kill the job's processes and report it.
#[derive(Message)]
#[rtype(result = "()")]
pub struct KillJob;

/// Why a job is cancelled; only a stronger reason changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CancelReason {
    /// The forge asked for it.
    Requested,
    /// The job ran out of time.
    Timeout,
    /// The runner shuts down.
    Shutdown,
}
