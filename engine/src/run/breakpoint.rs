//! Where a job stops because a step failed, and what a person may decide then.

use std::fmt;

use super::observe::ObservedJob;
use crate::backend::{BoxFuture, Command};

/// The row that the log of a job shows last before it stops at a breakpoint.
pub const BREAK_ROW: &str = "Stopped at a breakpoint, as this step failed";

/// Decides what becomes of steps that fail.
pub trait Breakpoint: fmt::Debug + Send + Sync {
    /// Waits for the decision about a step that has failed. The script and the command files of its process are still
    /// there. No time-out of the step or the job goes on meanwhile.
    ///
    /// # Cancel safety
    /// The call is dropped when the job is cancelled: whoever was asked is no longer needed.
    fn decide(&self, failed: FailedStep) -> BoxFuture<'_, Decision>;
}

/// A step that has failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedStep {
    /// Its job.
    pub job: ObservedJob,
    /// The name of the step, masked.
    pub name: String,
    /// How the process ended; none if a time-out ended it, or if there was none.
    pub code: Option<i32>,
    /// The process: program, arguments, complete environment and directory. Nothing in it is masked. None if the step
    /// has failed without one, for instance because an action is missing.
    pub command: Option<Command>,
    /// The script file, if the step is a script.
    pub script: Option<String>,
}

/// What becomes of a failed step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It has failed, and the job goes on as it does after a failure.
    Continue,
    /// It runs once more: its process, with the script file as it is now and with empty command files.
    Rerun,
    /// It counts as a success; what stands in its command files by now holds.
    Skip,
}
