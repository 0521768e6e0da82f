//! The job actor.
//!
//! # Owns
//! One claimed task: its phase, its steps' order, its time-outs, its conclusion.
//! # Receives
//! [`RunJob`] once, [`CancelJob`] and [`KillJob`] any number of times.
//! # Emits
//! `RunStep` and `StopStep` to its step, `CloseLog` to its log stream, `complete` to the forge; in this order:
//! the final state is sent once every row is acknowledged.
//! # Ends when
//! The forge has acknowledged the conclusion. A job whose forge cannot be reached says so in its reply and needs no slot
//! any more.

pub mod intake;
mod loose_ends;
mod messages;
mod prepare;
mod shell;
mod state;

use std::sync::Arc;

pub use messages::{CancelJob, CancelReason, JobEnded, KillJob, RunJob};
pub use shell::Job;

use futures::future::BoxFuture;
use gantry_engine::backend::Sandbox;
use gantry_engine::clock::Clock;
use gantry_engine::plan::{Conclusion, JobPlan};
use gantry_engine::run::Settings;
use gantry_protocols::forge::{self, Claim, Forge};

use intake::Intake;

use crate::journal::{Connection, TaskJournal};
use crate::log_stream::Batching;
use crate::operator::{LogCopies, PostTask};

/// Makes the sandbox that a job runs in.
pub trait Sandboxes: Send + Sync {
    /// Called once before the first job: prepares the process and removes what a runner that was killed has left.
    fn prepare(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Makes a fresh sandbox for the job; the text of an error is for the workflow's author.
    fn create<'a>(&'a self, plan: &'a JobPlan) -> BoxFuture<'a, Result<Arc<dyn Sandbox>, String>>;
}

/// What every job of a runner is given.
#[derive(Clone)]
pub struct JobContext {
    /// The forge that the job was claimed from.
    pub forge: Arc<dyn Forge>,
    /// Turns the claim into a plan.
    pub intake: Arc<dyn Intake>,
    /// Makes its sandbox.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// The time of its rows.
    pub clock: Clock,
    /// What the operator or the command line has decided.
    pub settings: Settings,
    /// `runner.name`
    pub runner_name: String,
    /// When the forge is told what.
    pub batching: Batching,
    /// Where claimed tasks are kept until the forge has all of them; without one, memory has to do.
    pub journal: Option<Connection>,
    /// Where the operator has copies of the logs, if anywhere.
    pub copies: Option<Arc<LogCopies>>,
    /// What the operator runs after each job, if anything; the job's place is free only after it.
    pub post_task: Option<Arc<PostTask>>,
}

/// A claim with what is needed to run it.
pub struct JobSpec {
    /// The claim.
    pub claim: Claim,
    /// The journal that the claim was written to.
    pub journal: Option<TaskJournal>,
    /// What every job of the runner is given.
    pub context: JobContext,
}

/// The wire's word for a conclusion.
pub(crate) fn wire_conclusion(conclusion: Conclusion) -> forge::Conclusion {
    match conclusion {
        Conclusion::Success => forge::Conclusion::Success,
        Conclusion::Failure => forge::Conclusion::Failure,
        Conclusion::Cancelled => forge::Conclusion::Cancelled,
        Conclusion::Skipped => forge::Conclusion::Skipped,
    }
}
