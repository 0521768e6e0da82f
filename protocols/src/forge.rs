//! What every forge offers a runner, in words that belong to no wire.
//!
//! ```text
//! claim ----> Claim                      a job that is now ours
//! append_log <---- LogBatches --> Ack    numbered rows; the forge says how far it has them
//! update <---- Progress ----> Directive  step states and outputs; the forge may want the job cancelled
//! complete <---- Report                  the last word, sent once every row is acknowledged
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use serde_json::{Map, Value};

/// The number under which a forge knows a job that it handed out (its "task").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub i64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a row in the one log stream of a task, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RowIndex(pub u64);

/// A job that the forge has handed to this runner.
#[derive(Clone)]
pub struct Claim {
    /// The forge's number for it.
    pub task: TaskId,
    /// The workflow document with this one job in it; empty if the intake knows the job by its number.
    pub payload: Arc<[u8]>,
    /// What the forge gives the job besides its workflow.
    pub given: Arc<Given>,
}

impl Claim {
    /// A claim of a job that the intake knows by its number.
    pub fn of(task: TaskId) -> Self {
        Self {
            task,
            payload: Arc::from([]),
            given: Arc::default(),
        }
    }
}

impl fmt::Debug for Claim {
    /// Without the payload and what is given with it: there are secrets among them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

/// What a forge gives a job besides its workflow. It cannot be printed: there are secrets in it.
#[derive(Clone, Default)]
pub struct Given {
    /// The `github` context with the tokens and addresses that the forge adds to it; whole numbers are integers.
    pub context: Map<String, Value>,
    /// The secrets by their names.
    pub secrets: BTreeMap<String, String>,
    /// The variables by their names.
    pub vars: BTreeMap<String, String>,
    /// The jobs that this one waited for, by their ids.
    pub needs: BTreeMap<String, Need>,
    /// What the forge says it can do, as the forge writes it; empty if it says nothing.
    pub capabilities: String,
}

/// A job that another one waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// How it ended.
    pub conclusion: Conclusion,
    /// Its outputs.
    pub outputs: BTreeMap<String, String>,
}

/// Rows of a task's log in the order in which they were written, all read at about the same time.
///
/// The rows share one buffer: a batch of ten thousand rows is two allocations.
#[derive(Debug, Clone)]
pub struct LogBatch {
    /// The task that the rows belong to.
    pub task: TaskId,
    /// The number of the first row.
    pub first: RowIndex,
    /// When the rows were read.
    pub time: SystemTime,
    /// The top-level step that wrote them, if any did.
    pub step: Option<usize>,
    /// The text of all rows, one after the other, without line ends.
    pub text: String,
    /// Where each row ends in `text`, in bytes.
    pub ends: Vec<u32>,
}

impl LogBatch {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Tells whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The number that the next row after this batch has.
    pub fn next(&self) -> RowIndex {
        RowIndex(self.first.0 + self.ends.len() as u64)
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = *end as usize;
            let row = self.text.get(start..end).unwrap_or_default();
            start = end;
            row
        })
    }
}

/// How far the forge has the rows of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// The number of the first row that the forge does not have.
    pub next: RowIndex,
}

/// How a step or a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    /// All went well.
    Success,
    /// Something failed that was not tolerated.
    Failure,
    /// It was cancelled.
    Cancelled,
    /// It never ran.
    Skipped,
}

/// What the forge is told of one top-level step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    /// The step's place in the job, from 0.
    pub index: usize,
    /// The name that a person sees.
    pub name: String,
    /// When it started; a skipped step starts and stops at the same moment.
    pub started: Option<SystemTime>,
    /// When it stopped.
    pub stopped: Option<SystemTime>,
    /// How it ended before `continue-on-error`, once it has.
    pub outcome: Option<Conclusion>,
    /// How it ended after `continue-on-error`, once it has.
    pub conclusion: Option<Conclusion>,
    /// The number of its first row.
    pub log_first: RowIndex,
    /// How many rows it has written so far.
    pub log_length: u64,
}

/// How grave an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// A note.
    Notice,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// A step has pointed at a place in the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The top-level step, if it was one.
    pub step: Option<usize>,
    /// How grave it is.
    pub level: Level,
    /// What it says.
    pub message: String,
    /// A short title.
    pub title: Option<String>,
    /// The file, relative to the workspace if it lies there.
    pub file: Option<String>,
    /// First and last line, from 1.
    pub lines: Option<(u32, u32)>,
    /// First and last column, from 1.
    pub columns: Option<(u32, u32)>,
}

/// What a step says of its work, in Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The top-level step, if it was one.
    pub step: Option<usize>,
    /// The text.
    pub text: String,
}

/// What has happened in a running task since the last progress that was acknowledged.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The task.
    pub task: TaskId,
    /// The steps that have changed, and maybe others that have begun: a later state of a step replaces an earlier one.
    pub steps: Vec<StepState>,
    /// The annotations that steps have made.
    pub annotations: Vec<Annotation>,
    /// The summaries that steps have written.
    pub summaries: Vec<Summary>,
}

impl Progress {
    /// A task about which there is nothing to say.
    pub fn of(task: TaskId) -> Self {
        Self {
            task,
            steps: Vec::new(),
            annotations: Vec::new(),
            summaries: Vec::new(),
        }
    }
}

/// What the forge wants to happen with a running task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Directive {
    /// Go on.
    #[default]
    Continue,
    /// Stop it: somebody cancelled the run, or the forge has given the task up.
    Cancel,
}

/// The last word on a task.
#[derive(Debug, Clone)]
pub struct Report {
    /// The task.
    pub task: TaskId,
    /// How the job ended.
    pub conclusion: Conclusion,
    /// The job's outputs.
    pub outputs: BTreeMap<String, String>,
    /// When the job started.
    pub started: SystemTime,
    /// When it ended.
    pub stopped: SystemTime,
    /// Every step that has begun or was skipped, as it ended: a forge may take a step that is not told of for a running one.
    pub steps: Vec<StepState>,
    /// The number that the next row would have: the forge has every row before it, and there will be no other.
    pub rows: RowIndex,
}

/// When a failed call may be tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// With the caller's usual back-off.
    Later,
    /// Not before this much time has passed.
    After(Duration),
    /// Never: the same call will fail in the same way.
    Never,
    /// Never: the forge does not know this runner.
    Unregistered,
}

/// Why a call to the forge failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The forge could not be reached, or did not answer in time.
    #[error("{operation}: the forge is unavailable: {reason}")]
    Unavailable {
        /// The call.
        operation: &'static str,
        /// What was seen of it.
        reason: String,
    },
    /// The forge wants to be left alone for a while.
    #[error("{operation}: the forge is busy: {reason}")]
    Busy {
        /// The call.
        operation: &'static str,
        /// What it said.
        reason: String,
        /// How long.
        pause: Duration,
    },
    /// What answered is not the forge that was configured: another program, another address, or not to be trusted.
    /// An operator can mend that, or time can.
    #[error("{operation}: {reason}")]
    Unusable {
        /// The call.
        operation: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The forge understood the call and refused it.
    #[error("{operation}: the forge refused: {reason}")]
    Refused {
        /// The call.
        operation: &'static str,
        /// What it said.
        reason: String,
    },
    /// The forge does not know the call.
    #[error("{operation}: the forge does not support this call: {reason}")]
    Unsupported {
        /// The call.
        operation: &'static str,
        /// What it said.
        reason: String,
    },
    /// The forge does not know this runner, or knows it no more.
    #[error("{operation}: the runner is not registered with the forge: {reason}")]
    Unregistered {
        /// The call.
        operation: &'static str,
        /// What it said.
        reason: String,
    },
    /// The forge does not know the task, or knows it no more.
    #[error("{operation}: the task is gone: {reason}")]
    Gone {
        /// The call.
        operation: &'static str,
        /// What the forge said.
        reason: String,
    },
    /// The forge has lost rows that it had acknowledged.
    #[error(
        "task {task}: submitted logs are lost: the forge has {kept} rows of the {acknowledged} that it acknowledged"
    )]
    LogLost {
        /// The task.
        task: TaskId,
        /// How many rows it has.
        kept: u64,
        /// How many it had acknowledged.
        acknowledged: u64,
    },
    /// There will never be a job again: the forge has nothing left to hand out.
    #[error("the forge has no more jobs")]
    Exhausted,
}

impl Error {
    /// When the call may be tried again.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unavailable { .. } | Self::Unusable { .. } => Retry::Later,
            Self::Busy { pause, .. } => Retry::After(*pause),
            Self::Refused { .. }
            | Self::Unsupported { .. }
            | Self::Gone { .. }
            | Self::LogLost { .. }
            | Self::Exhausted => Retry::Never,
            Self::Unregistered { .. } => Retry::Unregistered,
        }
    }
}

/// A forge, as a runner sees it.
///
/// # Cancel safety
/// A dropped `claim` may lose a job that the forge has just handed out; a forge that cannot repeat the answer must be
/// asked to the end. The other calls may be dropped and repeated.
pub trait Forge: Send + Sync {
    /// Asks for at most `capacity` jobs; an empty answer means that there is none now.
    fn claim(&self, capacity: usize) -> BoxFuture<'_, Result<Vec<Claim>, Error>>;

    /// Appends the rows of one task; rows that the forge already has are skipped by their number.
    ///
    /// The batches are in order and without a gap: each begins with the number after the last row of the one before.
    fn append_log(&self, batches: Vec<LogBatch>) -> BoxFuture<'_, Result<Ack, Error>>;

    /// Reports progress and learns what the forge wants.
    fn update(&self, progress: Progress) -> BoxFuture<'_, Result<Directive, Error>>;

    /// Says why this forge would not keep an output, if it would not; such an output is not reported.
    fn refuse_output(&self, _key: &str, _value: &str) -> Option<String> {
        None
    }

    /// Reports the end of a task. May be repeated.
    fn complete(&self, report: Report) -> BoxFuture<'_, Result<(), Error>>;

    /// Resolves when the forge wants the task to be cancelled; forges that cannot push never resolve it.
    fn cancelled(&self, _task: TaskId) -> BoxFuture<'_, ()> {
        Box::pin(futures::future::pending())
    }
}
