//! A run as a pure state machine: which jobs start when, and how the run ends.
//!
//! ```text
//! Waiting --needs done, `if` true--> Expanded: legs  Queued -> Blocked -> Running | Calling -> Done
//!    '----`if` false, or an error--------------------------------------------------------------> Done
//! ```
//!
//! A leg waits as `Queued` for `max-parallel` and as `Blocked` for its concurrency group. A leg that calls a reusable
//! workflow opens a frame: the jobs of the called workflow, with needs and status functions of their own.

mod advance;
mod call;
mod cancel;
mod check;
mod condition;
mod evaluate;
mod frame;
mod launch;
mod permissions;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;

use super::concurrency::Registry;
use super::{Conclusion, JobCondition, JobPlan};
use crate::expr::Object;
use crate::mask::Masks;
use crate::model::{Concurrency, Diagnostic, FieldError, NodeKind, Workflow};
use frame::{Frame, FrameId, FramePhase, Holder, LegRef};
pub use source::{Library, WorkflowSource, called_workflows, qualify};

/// What a run is made of.
pub struct RunSpec<'a> {
    /// The workflow.
    pub workflow: Arc<Workflow>,
    /// The workflows that it calls, and those that they call; read beforehand.
    pub workflows: &'a dyn WorkflowSource,
    /// The `github` context.
    pub github: Arc<Object>,
    /// The `vars` context.
    pub vars: Arc<Object>,
    /// The `inputs` context, typed; see [`super::dispatch::inputs`].
    pub inputs: Arc<Object>,
    /// The `secrets` context.
    pub secrets: Arc<Object>,
    /// The id of one job: it and what it needs are the whole run.
    pub only: Option<String>,
}

/// Finds what is wrong with a workflow and those that it calls and that shows without an event.
///
/// A called workflow of another repository that `source` does not have is passed over.
pub fn diagnose(workflow: &Workflow, source: &dyn WorkflowSource) -> Vec<Diagnostic> {
    check::diagnose(workflow, source)
}

/// How a job ended that had been started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// The conclusion before the job's `continue-on-error`.
    pub conclusion: Conclusion,
    /// The job's outputs.
    pub outputs: IndexMap<String, String>,
}

/// A job as it is written, before anything of it is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedJob {
    /// Its id; the key of its plan, or of each leg's plan, begins with it.
    pub id: String,
    /// The name that a person sees, or the id where the name is an expression.
    pub name: String,
    /// The ids of the jobs that it needs.
    pub needs: Vec<String>,
}

impl PlannedJob {
    /// Tells whether a key is that of this job, of one of its legs, or of a job in a workflow that it calls.
    pub fn has(&self, key: &str) -> bool {
        let rest = key.strip_prefix(self.id.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['(', '.']))
    }
}

/// Why a job that runs must end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelReason {
    /// Another leg of the same matrix failed.
    FailFast,
    /// A newer job or run took the concurrency group of this name.
    Concurrency(String),
    /// The run was cancelled.
    Requested,
}

/// What the owner of a run must do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Start a job and report its end with [`Run::on_job_finished`].
    Start(Box<JobPlan>),
    /// Cancel a job that runs; its end is still reported.
    Cancel {
        /// The key of the job's plan.
        key: String,
        /// Why.
        reason: CancelReason,
    },
    /// Tell that a job ended without ever running.
    Concluded {
        /// The key that the job's plan would have had.
        key: String,
        /// The name that a person sees.
        name: String,
        /// How it ended.
        conclusion: Conclusion,
        /// Why, for a person.
        reason: String,
        /// The conditions of the jobs that call its workflow, outermost first, and its own if it was asked.
        conditions: Vec<JobCondition>,
    },
    /// The run is over; nothing follows.
    Finished(Conclusion),
}

/// A run of a workflow.
#[derive(Debug)]
pub struct Run {
    library: Library,
    github: Arc<Object>,
    vars: Arc<Object>,
    concurrency: Option<Concurrency>,
    frames: Vec<Frame>,
    registry: Registry<Holder>,
    running: HashMap<String, LegRef>,
    /// Jobs and legs so far.
    size: usize,
    /// Holders that have their group or need none, and do not go on yet.
    granted: VecDeque<Holder>,
    work: VecDeque<Work>,
    effects: Vec<Effect>,
    cancelled: bool,
    conclusion: Option<Conclusion>,
    /// What explanations conceal: the secrets of the run and those that calls make of them.
    masks: Masks,
}

/// A transition that is due; a queue of them takes the place of recursion.
#[derive(Debug)]
enum Work {
    /// All needs of the job are done: decide whether it runs.
    Consider(frame::JobRef),
    /// Start queued legs as far as `max-parallel` allows.
    Fill(frame::JobRef),
    /// All jobs of the frame are done.
    Close(FrameId),
}

impl Run {
    /// Checks a run and makes it ready to start.
    ///
    /// # Errors
    /// Everything that is wrong with the workflow and those that it calls and that shows without running them.
    pub fn new(spec: RunSpec<'_>) -> Result<Self, Vec<Diagnostic>> {
        let selected = check::selection(&spec.workflow, spec.only.as_deref())?;
        let library = check::check(&spec.workflow, &selected, spec.workflows)?;
        let masks = Masks::default();
        condition::conceal(&masks, &spec.secrets);
        let root = Frame::new(spec.workflow, &selected, spec.inputs, spec.secrets);
        let mut run = Self {
            library,
            github: spec.github,
            vars: spec.vars,
            concurrency: None,
            frames: vec![root],
            registry: Registry::default(),
            running: HashMap::new(),
            size: 0,
            granted: VecDeque::new(),
            work: VecDeque::new(),
            effects: Vec::new(),
            cancelled: false,
            conclusion: None,
            masks,
        };
        run.default_root_inputs().map_err(diagnostics)?;
        run.concurrency = run.frame_concurrency(FrameId::ROOT).map_err(diagnostics)?;
        Ok(run)
    }

    /// The workflow's concurrency group, for an owner that keeps groups across runs.
    pub fn concurrency(&self) -> Option<&Concurrency> {
        self.concurrency.as_ref()
    }

    /// The jobs of the workflow that the run is for.
    pub fn planned_jobs(&self) -> Vec<PlannedJob> {
        let nodes = &self.frame(FrameId::ROOT).jobs;
        let planned = nodes.iter().map(|node| {
            let job = &node.job;
            let name = match job.name.as_ref().map(|name| &name.node().kind) {
                Some(NodeKind::String(name)) if !name.is_empty() => name.to_string(),
                _ => job.id.clone(),
            };
            PlannedJob {
                id: job.id.clone(),
                name,
                needs: node
                    .needs
                    .iter()
                    .map(|need| nodes[*need].job.id.clone())
                    .collect(),
            }
        });
        planned.collect()
    }

    /// How the run ended, once it has.
    pub fn conclusion(&self) -> Option<Conclusion> {
        self.conclusion
    }

    /// Starts the run; a second call does nothing.
    pub fn start(&mut self) -> Vec<Effect> {
        if self.frame(FrameId::ROOT).phase == FramePhase::New {
            let concurrency = self.concurrency.clone();
            self.admit(Holder::Frame(FrameId::ROOT), concurrency);
        }
        self.settle()
    }

    /// Takes the end of a job that was started; the end of any other job is ignored.
    pub fn on_job_finished(&mut self, key: &str, result: JobResult) -> Vec<Effect> {
        let Some(leg) = self.running.remove(key) else {
            return Vec::new();
        };
        self.finish_leg(leg, result.conclusion, result.outputs);
        self.settle()
    }

    /// Cancels the run; a second call does nothing.
    ///
    /// The conditions of all jobs that run or wait for their turn are asked again: those that still hold, as `always()`
    /// and `cancelled()` do, let their jobs go on (GitHub: docs, "Canceling a workflow").
    pub fn on_cancel(&mut self) -> Vec<Effect> {
        if self.cancelled || self.conclusion.is_some() {
            return Vec::new();
        }
        self.cancelled = true;
        self.cancel_frame(FrameId::ROOT, &CancelReason::Requested);
        self.settle()
    }

    /// Makes all transitions that are due and returns what the owner must do.
    fn settle(&mut self) -> Vec<Effect> {
        loop {
            while self.step() {}
            let idle = self.running.is_empty() && self.frame(FrameId::ROOT).phase == FramePhase::Open;
            if !idle {
                return std::mem::take(&mut self.effects);
            }
            // Nothing runs and nothing is due: what still waits, waits for itself.
            self.break_deadlock();
        }
    }

    /// Makes the next transition that is due; false if there is none.
    ///
    /// What was granted goes first, so that jobs start in the order of the file.
    fn step(&mut self) -> bool {
        if let Some(holder) = self.granted.pop_front() {
            self.proceed(holder);
            return true;
        }
        match self.work.pop_front() {
            Some(Work::Consider(job)) => self.consider(job),
            Some(Work::Fill(job)) => self.fill(job),
            Some(Work::Close(frame)) => self.close(frame),
            None => return false,
        }
        true
    }
}

fn diagnostics(error: FieldError) -> Vec<Diagnostic> {
    match error {
        FieldError::Invalid(diagnostics) => diagnostics,
        // Only steps may call `hashFiles`; the parser rejects it elsewhere.
        FieldError::NeedsFiles(_) => Vec::new(),
    }
}
