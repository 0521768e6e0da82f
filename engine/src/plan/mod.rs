//! From a workflow and an event to jobs that can run: event filters, the job graph, the matrix, reusable workflows.

pub mod claimed;
pub mod concurrency;
pub mod contexts;
pub mod dispatch;
pub mod filters;
pub mod graph;
pub mod matrix;
pub mod preview;
pub mod suggest;

mod values;

use std::sync::Arc;
use std::time::Duration;

use crate::expr::{Explanation, Object, Value};
use crate::model::{Diagnostic, Job, RunsOn, Workflow};

/// One job that is ready to run: everything the forge's side decides has been evaluated.
#[derive(Debug, Clone)]
pub struct JobPlan {
    /// Which of its owner's runs the job belongs to; a run that knows of no other says 0.
    pub run: usize,
    /// Unique within the run: `caller.callee` ids with the matrix configuration, such as `build.test(_1_x)`.
    pub key: String,
    /// The name that a person sees, such as `build / test (1, x)`.
    pub name: String,
    /// The workflow that the job stands in; its `env` and `defaults` apply.
    pub workflow: Arc<Workflow>,
    /// The job as it is written; its body is [`crate::model::JobBody::Steps`].
    pub job: Arc<Job>,
    /// What the job's expressions see from its first moment.
    pub contexts: JobContexts,
    /// `runs-on`, evaluated.
    pub runs_on: RunsOn,
    /// `timeout-minutes`, default 360 minutes; none for a value of 0 or less.
    pub timeout: Option<Duration>,
    /// How long `always()` steps may run after a cancel; default 5 minutes.
    pub cancel_timeout: Duration,
    /// `continue-on-error`, evaluated: a failure of this job does not fail the run.
    pub continue_on_error: bool,
    /// Why it runs.
    pub conditions: Vec<JobCondition>,
}

/// What the `if` of a job came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCondition {
    /// The key of the job: that of the plan, or of a job that calls the workflow of the next one.
    pub key: String,
    /// How the condition came to its answer; the secrets of the run are masked in it.
    pub explanation: Arc<Explanation>,
}

/// The contexts that are fixed when a job starts.
#[derive(Debug, Clone)]
pub struct JobContexts {
    /// `github`
    pub github: Arc<Object>,
    /// `inputs`
    pub inputs: Arc<Object>,
    /// `vars`
    pub vars: Arc<Object>,
    /// `secrets`
    pub secrets: Arc<Object>,
    /// `needs`
    pub needs: Arc<Object>,
    /// `strategy`
    pub strategy: Arc<Object>,
    /// `matrix`: an object, or null.
    pub matrix: Value,
}

/// How a job or a run ended.
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

impl Conclusion {
    /// The word that contexts use: `success`, `failure`, `cancelled` or `skipped`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }
}

/// A field of a job could not be evaluated; the text is the one that GitHub's users know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Error when evaluating '{field}' for job '{job}'. {}", joined(.diagnostics))]
pub struct EvaluationError {
    /// The key of the field, such as `strategy`.
    pub field: &'static str,
    /// The id of the job.
    pub job: String,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

fn joined(diagnostics: &[Diagnostic]) -> String {
    diagnostics
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}
