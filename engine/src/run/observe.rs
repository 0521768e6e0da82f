//! What a job tells one who wants to know more than its log says: why a step ran, with which environment, and where
//! its time went.
//!
//! Whatever is told is masked. Without an observer nothing is recorded and no clock is read.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use indexmap::IndexMap;

use super::environment::{Environment, Layer};
use super::session::Done;
use super::{JobRuntime, Session};
use crate::expr::{Explanation, shown};
use crate::job::EnvLayer;
use crate::plan::{Conclusion, JobCondition, JobPlan};

/// Takes the observations of jobs.
///
/// Within a job they come in the order in which things happen. A call must not wait: the job waits for it.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Takes one observation of a job.
    fn observe(&self, job: &ObservedJob, observation: Observation);
}

/// Which job an observation is of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObservedJob {
    /// The run of the job; see [`JobPlan::run`].
    pub run: usize,
    /// The job's key, unique in the run.
    pub key: Arc<str>,
}

impl ObservedJob {
    /// The job of a plan.
    pub fn of(plan: &JobPlan) -> Self {
        Self {
            run: plan.run,
            key: Arc::from(plan.key.as_str()),
        }
    }
}

/// Something that was observed in a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    /// The job is being set up, because its conditions and those of the jobs that call its workflow hold.
    Planned(Vec<JobCondition>),
    /// A step begins. Until it is closed everything is about it, or about the steps that are opened inside of it.
    StepOpened(OpenedStep),
    /// The condition of the open step was asked.
    Condition(Explanation),
    /// The complete environment of the process that the open step is about to start.
    Environment(Vec<Variable>),
    /// The open step is done.
    StepClosed {
        /// How it ended before `continue-on-error`.
        outcome: Conclusion,
        /// How it ended after `continue-on-error`.
        conclusion: Conclusion,
        /// When.
        at: SystemTime,
    },
    /// A phase of the open step, or of the job if none is open, is over. It may hold phases that were over before.
    Phase {
        /// Which.
        phase: Phase,
        /// When it began.
        from: SystemTime,
        /// When it ended.
        to: SystemTime,
    },
}

/// A step that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedStep {
    /// How many steps it stands in: 0 for a step of the job.
    pub depth: usize,
    /// The place in the job of the step that it is or belongs to, from 0.
    pub index: usize,
    /// Which part of it.
    pub part: Part,
    /// Its id, if one is written.
    pub id: Option<String>,
    /// The name that a person sees.
    pub name: String,
    /// The line on which it stands in its workflow or action.
    pub line: u32,
    /// When.
    pub at: SystemTime,
}

/// The parts of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What its action does before all steps.
    Pre,
    /// What the step is written for.
    Main,
    /// The clean-up of its action.
    Post,
}

/// A part of the time that a step or a job takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The contexts of the job are made, and its actions fetched.
    SetUp,
    /// An action, or all that the job names, is fetched or looked up.
    Fetch,
    /// Expressions: environment, name, condition, time-out, script.
    Evaluate,
    /// Script and command files are written.
    Files,
    /// The process is started.
    Spawn,
    /// The process runs.
    Run,
    /// The process has exited, and what it left in the pipe is read.
    Drain,
    /// The command files are read.
    Collect,
    /// A person decides what becomes of a failed step.
    Break,
    /// Outputs are evaluated, processes and directories removed.
    WindUp,
}

impl Phase {
    /// What a trace calls it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetUp => "set up",
            Self::Fetch => "fetch",
            Self::Evaluate => "evaluate",
            Self::Files => "files",
            Self::Spawn => "spawn",
            Self::Run => "run",
            Self::Drain => "drain",
            Self::Collect => "collect",
            Self::Break => "break",
            Self::WindUp => "wind up",
        }
    }
}

/// A variable of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value, masked and cut.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The sandbox, which every process starts from.
    Sandbox,
    /// What the operator or the command line gives to every job.
    Given,
    /// `env` of the workflow.
    Workflow,
    /// `env` of the job.
    Job,
    /// `GITHUB_ENV`, written by a step.
    Written {
        /// The place in the job of that step, from 0.
        index: usize,
        /// Its name, or that of the step inside of it.
        name: Arc<str>,
    },
    /// `env` of a step that uses a composite action around.
    Composite,
    /// `env` of the step.
    Step,
    /// `runs.env` of the action.
    Action,
    /// What the action has saved in its main part.
    State,
    /// An input of the action.
    Input,
    /// `GITHUB_PATH`, in front of the sandbox's search path.
    Path,
    /// The `github` context.
    GitHub,
    /// The `runner` context.
    Runner,
    /// The files of the step.
    Files,
    /// Gantry itself.
    Gantry,
}

/// What is known of a step that begins.
pub(super) struct About {
    pub name: String,
    /// Generated ids are not told.
    pub id: Option<String>,
    pub line: u32,
    pub part: Part,
}

/// Where the variables come from that all steps of a job share.
type Shared = IndexMap<String, Origin>;

/// The observer of one job.
pub(super) struct Observed {
    observer: Arc<dyn Observer>,
    job: ObservedJob,
    shared: Mutex<Shared>,
}

/// When a phase began; nothing if nobody observes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(Option<SystemTime>);

impl Observed {
    pub fn of(job: ObservedJob, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer,
            job,
            shared: Mutex::default(),
        }
    }

    fn variables(&self, environment: &Environment, conceal: &dyn Fn(&str) -> String) -> Vec<Variable> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let variable = |(name, (value, layer)): (&String, &(String, Layer))| Variable {
            name: shown(name, conceal),
            value: shown(value, conceal),
            origin: match layer {
                Layer::Shared => shared.get(name).cloned().unwrap_or(Origin::Job),
                Layer::Sandbox => Origin::Sandbox,
                Layer::Composite => Origin::Composite,
                Layer::Step => Origin::Step,
                Layer::Action => Origin::Action,
                Layer::State => Origin::State,
                Layer::Input => Origin::Input,
                Layer::Path => Origin::Path,
                Layer::GitHub => Origin::GitHub,
                Layer::Runner => Origin::Runner,
                Layer::Files => Origin::Files,
                Layer::Gantry => Origin::Gantry,
            },
        };
        environment.0.iter().map(variable).collect()
    }
}

impl JobRuntime {
    /// Tells the observer what `observation` makes, if there is an observer.
    pub(super) fn observe(&self, observation: impl FnOnce() -> Observation) {
        if let Some(observed) = &self.observed {
            observed.observer.observe(&observed.job, observation());
        }
    }

    pub(super) fn is_observed(&self) -> bool {
        self.observed.is_some()
    }

    /// A text as the observer may see it.
    pub(super) fn concealed(&self, text: &str) -> String {
        self.masks.mask(text).into_owned()
    }

    /// The moment at which a phase begins.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.observed.as_ref().map(|_| self.clock.now()))
    }

    /// Tells that a phase is over, and returns the mark of the next one.
    pub(super) fn phase(&self, phase: Phase, since: Mark) -> Mark {
        let Mark(Some(from)) = since else { return since };
        let to = self.clock.now();
        self.observe(|| Observation::Phase { phase, from, to });
        Mark(Some(to))
    }

    /// Tells the environment of a process.
    pub(super) fn observe_environment(&self, environment: &Environment) {
        if let Some(observed) = &self.observed {
            let variables = observed.variables(environment, &|text| self.concealed(text));
            self.observe(|| Observation::Environment(variables));
        }
    }

    /// Takes note of where the job's variables come from.
    pub(super) fn note_layers(&self, layers: &IndexMap<String, EnvLayer>) {
        let Some(observed) = &self.observed else { return };
        let origin = |layer: &EnvLayer| match layer {
            EnvLayer::Given => Origin::Given,
            EnvLayer::Workflow => Origin::Workflow,
            EnvLayer::Job => Origin::Job,
        };
        let mut shared = observed.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.extend(layers.iter().map(|(name, layer)| (name.clone(), origin(layer))));
    }
}

impl Session<'_> {
    /// Tells that a step has begun at a mark; `about` says what is known of it.
    pub(super) fn observe_opened(&mut self, mark: Mark, about: impl FnOnce() -> About) {
        let Mark(Some(at)) = mark else { return };
        let About { name, id, line, part } = about();
        let step = OpenedStep {
            depth: self.names.len(),
            index: self.index,
            part,
            id: id.filter(|id| !id.starts_with("__")),
            name: self.runtime.concealed(&name),
            line,
            at,
        };
        self.names.push(Arc::from(step.name.as_str()));
        self.runtime.observe(|| Observation::StepOpened(step));
    }

    /// Tells that the step that was opened last is done.
    pub(super) fn observe_closed(&mut self, done: &Done) {
        self.names.pop();
        self.runtime.observe(|| Observation::StepClosed {
            outcome: done.outcome,
            conclusion: done.conclusion,
            at: self.runtime.clock.now(),
        });
    }

    /// Takes note of the variables that the open step has written to `GITHUB_ENV` since the job had `before`.
    pub(super) fn note_written(&self, before: &Arc<IndexMap<String, String>>) {
        let (Some(observed), Some(name)) = (&self.runtime.observed, self.names.last()) else {
            return;
        };
        let after = &self.view.env;
        if Arc::ptr_eq(before, after) {
            return;
        }
        let written = after
            .iter()
            .filter(|(name, value)| before.get(*name) != Some(*value));
        let origin = Origin::Written {
            index: self.index,
            name: Arc::clone(name),
        };
        let mut shared = observed.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.extend(written.map(|(name, _)| (name.clone(), origin.clone())));
    }
}
