//! Running one step of a job in a sandbox, from its conditions to its outputs.
//!
//! [`run_step`] is the way in. A step inside of a composite action takes the same way as a step of the job: there is
//! one step engine, and it is recursive (`step`).
//!
//! ```text
//! run_step --> Session::step --> script | node | composite --> Session::process --> Sandbox
//!                   ^                        |                       |
//!                   '---- inner steps -------'                       '--> StepLog --> Entry (bounded)
//! ```

mod action;
mod attempt;
mod breakpoint;
mod builtin;
mod checkout;
mod composite;
mod download;
mod entry;
mod environment;
mod evaluate;
mod file_commands;
mod held;
mod hooks;
pub mod ladder;
mod log;
mod node;
mod observe;
mod output;
mod pre;
mod process;
mod remote;
mod script;
mod session;
mod set_up;
mod shell;
mod step;
mod stop;
mod wind_up;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub use action::{ActionCall, LoadedAction};
pub use breakpoint::{BREAK_ROW, Breakpoint, Decision, FailedStep};
pub use entry::{Entry, EntrySender, ROW_LIMIT, Rows};
pub use hooks::Hooks;
pub use log::StepLog;
pub use observe::{Observation, ObservedJob, Observer, OpenedStep, Origin, Part, Phase, Variable};
pub use set_up::{SetUp, set_up};
pub use stop::{Stop, StopSignal, StopSwitch};
pub use wind_up::{WoundUp, wind_up};

use held::Held;
use observe::Observed;
use remote::RemoteActions;
use session::Session;

use crate::action::ActionAccess;
use crate::backend::Sandbox;
use crate::clock::Clock;
use crate::commands::{Customs, Matchers};
use crate::job::{Frame, JobView, StepPlan, StepReport, Work};
use crate::mask::{LeakReport, Masks};
use crate::plan::JobPlan;

/// What all steps of a job share.
pub struct JobRuntime {
    /// Where processes run.
    pub sandbox: Arc<dyn Sandbox>,
    /// The values that no log may show.
    pub masks: Masks,
    /// Where rows and step edges go.
    pub entries: EntrySender,
    /// The time of rows.
    pub clock: Clock,
    /// What the operator or the command line has decided.
    pub settings: Settings,
    /// The actions of other repositories.
    remote: RemoteActions,
    /// Which secrets the steps have printed, and in which form.
    leaks: Mutex<LeakReport>,
    /// The problem matchers that steps have added.
    matchers: Mutex<Matchers>,
    /// Makes names that are unique in the job.
    names: AtomicU64,
    /// The job as those know it who watch it.
    job: Option<ObservedJob>,
    /// Who wants to know more than the log says.
    observed: Option<Observed>,
    /// How long the job has waited for a person.
    held: Held,
    /// The job as it was before its first step, for the hook after its last one: a job that could not be set up has
    /// none.
    hooked: OnceLock<(JobView, Frame)>,
}

/// What the operator or the command line has decided about a job.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `ACTIONS_STEP_DEBUG`: debug lines are shown.
    pub step_debug: bool,
    /// The log, the annotations and the summaries show secrets as they are.
    pub show_secrets: bool,
    /// Variables below the `env` of the workflow; the `env` context has them too.
    pub env: Vec<(String, String)>,
    /// Those of these variables that a step does not list in its log as long as they have this value.
    pub unlisted: Vec<(String, String)>,
    /// The longest time that a job may take, whatever its `timeout-minutes` says.
    pub max_timeout: Option<Duration>,
    /// How actions of other repositories are had; without it only local ones run.
    pub actions: Option<ActionAccess>,
    /// A checkout of the job's own commit does nothing, because the workspace holds a copy of the repository.
    pub local_checkout: bool,
    /// Variables that every process gets beyond GitHub's, such as `ACT`; they win over everything.
    pub extra_env: Vec<(String, String)>,
    /// Values beyond the secrets that nothing may show, by what they are called in messages.
    pub masks: Vec<(String, String)>,
    /// Who wants to know more of the job than its log says.
    pub observer: Option<Arc<dyn Observer>>,
    /// Who decides what becomes of a step that fails.
    pub breakpoint: Option<Arc<dyn Breakpoint>>,
    /// Whose customs hold where those of the forges differ.
    pub customs: Customs,
    /// Programs of the operator that run in every job.
    pub hooks: Hooks,
}

impl JobRuntime {
    /// A runtime without annotations and matchers.
    pub fn new(
        sandbox: Arc<dyn Sandbox>,
        masks: Masks,
        entries: EntrySender,
        clock: Clock,
        settings: Settings,
    ) -> Self {
        let remote = RemoteActions::new(settings.actions.clone());
        Self {
            sandbox,
            masks,
            entries,
            clock,
            settings,
            remote,
            leaks: Mutex::default(),
            matchers: Mutex::default(),
            names: AtomicU64::new(0),
            job: None,
            observed: None,
            held: Held::default(),
            hooked: OnceLock::new(),
        }
    }

    /// Takes the time that the job's time-out still has to grant, because the job waited for a person; nothing if it
    /// has not waited since the last call.
    pub fn take_held(&self) -> Option<Duration> {
        self.held.take()
    }

    /// Lets the observer and the breakpoint of the settings know that this is the job of a plan.
    fn observed_as(mut self, plan: &JobPlan) -> Self {
        let job = ObservedJob::of(plan);
        let observer = self.settings.observer.clone();
        self.observed = observer.map(|observer| Observed::of(job.clone(), observer));
        self.job = Some(job);
        self
    }

    /// The values that what people read does not show: none if somebody has decided to see secrets.
    fn log_masks(&self) -> Masks {
        if self.settings.show_secrets {
            Masks::default()
        } else {
            self.masks.clone()
        }
    }

    /// A name that no other file of the job has.
    fn unique_name(&self) -> String {
        format!("{:08x}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    fn collect_leaks(&self, log: &mut StepLog) {
        log.report_leaks(&mut self.leaks.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The lines that name what the job's steps have printed of its secrets.
    fn leak_lines(&self) -> Vec<String> {
        let leaks = self.leaks.lock().unwrap_or_else(PoisonError::into_inner);
        leaks.leaks().map(|leak| format!("##[warning]{leak}")).collect()
    }

    fn matchers(&self) -> Matchers {
        self.matchers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn set_matchers(&self, matchers: Matchers) {
        *self.matchers.lock().unwrap_or_else(PoisonError::into_inner) = matchers;
    }
}

/// Runs one step, or what its actions do before all steps or after them, to its end. It never fails: what goes wrong is the step's outcome.
///
/// # Cancel safety
/// Not cancel safe: a dropped step loses rows and leaves its processes to the sandbox. End it with `stop`.
pub async fn run_step(runtime: &JobRuntime, plan: StepPlan, stop: StopSignal) -> StepReport {
    let StepPlan {
        index,
        step,
        work,
        view,
        frame,
    } = plan;
    let mut session = Session::open(runtime, index, &work, view, stop);
    let done = match &work {
        Work::Pre => session.pre_step(&step, &frame).await,
        Work::Main => session.top_level_step(&step, &frame).await,
        Work::Post(post) => session.post_step(&step, post).await,
    };
    session.close(done).await
}
