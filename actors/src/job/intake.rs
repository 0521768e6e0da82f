//! From what a forge handed out to a job that the engine can run: the only place that knows both.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gantry_engine::plan::JobPlan;
use gantry_protocols::forge::{Claim, TaskId};

/// Why a claim is no job.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The claim's number belongs to no job that was prepared here.
    #[error("the forge handed out task {0}, which nobody has prepared")]
    Unknown(TaskId),
}

/// Turns claims into plans.
pub trait Intake: Send + Sync {
    /// The plan of a claimed job.
    ///
    /// # Errors
    /// The claim holds no job that can run.
    fn plan(&self, claim: &Claim) -> Result<JobPlan, Error>;
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
    fn plan(&self, claim: &Claim) -> Result<JobPlan, Error> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.remove(&claim.task).ok_or(Error::Unknown(claim.task))
    }
}

impl<T: Intake + ?Sized> Intake for Arc<T> {
    fn plan(&self, claim: &Claim) -> Result<JobPlan, Error> {
        (**self).plan(claim)
    }
}
