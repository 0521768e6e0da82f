//! From what a forge handed out to a job that the engine can run: the only place that knows both.

mod context;
mod environment;
mod served;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gantry_engine::plan::JobPlan;
use gantry_engine::plan::claimed::Decision;
use gantry_engine::run::Settings;
use gantry_protocols::forge::{Claim, TaskId};

pub use served::{Served, ServerFacts};

/// Why a claim is no job.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The claim's number belongs to no job that was prepared here.
    #[error("the forge handed out task {0}, which nobody has prepared")]
    Unknown(TaskId),
    /// The document with the job is no text.
    #[error("the workflow that the forge handed out is not UTF-8 text")]
    NoText,
    /// The document with the job is no workflow with one job.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
    /// The forge has not said what a job must know.
    #[error("the forge handed out a job without {0}")]
    Missing(&'static str),
}

/// A claim as the engine sees it.
pub struct Intaken {
    /// Whether the job runs, and how it has ended if not.
    pub decision: Decision,
    /// What the forge gives this job beyond what every job of the runner is given.
    pub extra: Extra,
    /// The names of the job's steps, for a job that ends without running them.
    pub steps: Vec<String>,
    /// Rows for the workflow's author that come before all others.
    pub notes: Vec<String>,
}

impl Intaken {
    /// A job that runs and needs nothing else.
    pub fn of(plan: JobPlan) -> Self {
        Self {
            decision: Decision::Run(Box::new(plan)),
            extra: Extra::default(),
            steps: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// What belongs to one job only and is never shared between jobs.
#[derive(Clone, Default)]
pub struct Extra {
    /// Variables that every process of the job gets; they win over everything.
    pub env: Vec<(String, String)>,
    /// Values that nothing may show, by what they are called in messages.
    pub masks: Vec<(String, String)>,
    /// Where `uses: owner/repo@ref` is fetched from, if the forge says so.
    pub actions_url: Option<String>,
}

impl Extra {
    /// The settings of the runner with what this job adds.
    pub fn applied_to(self, mut settings: Settings) -> Settings {
        settings.extra_env.extend(self.env);
        settings.masks.extend(self.masks);
        if let (Some(url), Some(access)) = (self.actions_url, &mut settings.actions) {
            access.sources.default_url = url;
        }
        settings
    }
}

/// Turns claims into plans.
pub trait Intake: Send + Sync {
    /// The plan of a claimed job.
    ///
    /// # Errors
    /// The claim holds no job that can run; the text is for the workflow's author.
    fn plan(&self, claim: &Claim) -> Result<Intaken, Error>;
}

/// The intake of local runs, where the plan is made in the same process and the claim carries only its number.
#[derive(Debug, Default)]
pub struct Prepared {
    plans: Mutex<HashMap<TaskId, JobPlan>>,
}

impl Prepared {
    /// Keeps the plan of a task until it is claimed.
    pub fn put(&self, task: TaskId, plan: JobPlan) {
        self.plans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(task, plan);
    }
}

impl Intake for Prepared {
    fn plan(&self, claim: &Claim) -> Result<Intaken, Error> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans
            .remove(&claim.task)
            .map(Intaken::of)
            .ok_or(Error::Unknown(claim.task))
    }
}

impl<T: Intake + ?Sized> Intake for Arc<T> {
    fn plan(&self, claim: &Claim) -> Result<Intaken, Error> {
        (**self).plan(claim)
    }
}
