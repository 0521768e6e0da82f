//! What a local run tells the one who watches it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_engine::plan::graph::PlannedJob;
use gantry_engine::plan::{Conclusion, JobCondition};
use gantry_protocols::forge::{Annotation, LogBatch, Summary};

/// A run, as a watcher names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRef {
    /// Its place among the runs.
    pub index: usize,
    /// What a person calls its workflow.
    pub title: Arc<str>,
}

/// A job, as a watcher names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRef {
    /// The run that it belongs to.
    pub run: RunRef,
    /// Its key, unique in the run.
    pub key: Arc<str>,
    /// The name that a person sees.
    pub name: Arc<str>,
}

/// Something that has happened in a local run.
#[derive(Debug, Clone)]
pub enum Event {
    /// A run begins.
    RunStarted {
        /// The run.
        run: RunRef,
        /// Its jobs as they are written, in the order of the file.
        jobs: Vec<PlannedJob>,
        /// When.
        time: SystemTime,
    },
    /// A job waits for nothing more but a free place.
    JobOffered {
        /// The job.
        job: JobRef,
        /// When.
        time: SystemTime,
    },
    /// A job begins.
    JobStarted {
        /// The job.
        job: JobRef,
        /// When.
        time: SystemTime,
    },
    /// A job has ended that never ran.
    JobSkipped {
        /// The job.
        job: JobRef,
        /// How it ended: skipped, cancelled, or failed because it could not be evaluated.
        conclusion: Conclusion,
        /// Why.
        reason: String,
        /// The conditions behind the reason, as far as they were asked.
        conditions: Vec<JobCondition>,
        /// When.
        time: SystemTime,
    },
    /// A top-level step begins; all rows of the steps before it have been told.
    StepStarted {
        /// The job.
        job: JobRef,
        /// The step's place in the job, from 0.
        index: usize,
        /// The name that a person sees.
        name: String,
        /// When.
        time: SystemTime,
    },
    /// Rows of the job's log.
    Rows {
        /// The job.
        job: JobRef,
        /// The rows.
        batch: LogBatch,
    },
    /// A step has pointed at a place in the code.
    Annotation {
        /// The job.
        job: JobRef,
        /// What it says.
        annotation: Annotation,
        /// When it was told.
        time: SystemTime,
    },
    /// A step has written a summary.
    Summary {
        /// The job.
        job: JobRef,
        /// What it says.
        summary: Summary,
        /// When it was told.
        time: SystemTime,
    },
    /// A top-level step has ended; all its rows have been told.
    StepFinished {
        /// The job.
        job: JobRef,
        /// The step's place in the job, from 0.
        index: usize,
        /// The name that a person sees.
        name: String,
        /// How it ended before `continue-on-error`.
        outcome: Conclusion,
        /// How it ended after `continue-on-error`.
        conclusion: Conclusion,
        /// Why it was skipped, if it was and that is known.
        reason: Option<String>,
        /// How long it took.
        duration: Duration,
        /// When.
        time: SystemTime,
    },
    /// A job has ended; all its rows have been told.
    JobFinished {
        /// The job.
        job: JobRef,
        /// How it ended before `continue-on-error`.
        conclusion: Conclusion,
        /// It failed, and its `continue-on-error` lets the run go on as if it had not.
        tolerated: bool,
        /// How long it took.
        duration: Duration,
        /// When.
        time: SystemTime,
    },
    /// A run has ended.
    RunFinished {
        /// The run.
        run: RunRef,
        /// How it ended.
        conclusion: Conclusion,
        /// When.
        time: SystemTime,
    },
}
