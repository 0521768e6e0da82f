//! The in-process forge behind `gantry exec`: the same runner, the same jobs, and no server.
//!
//! # Owns
//! The runs of the chosen workflows, which decide what is ready; the forge hands that out and takes the conclusions.

mod event;
mod forge;
mod host;
mod reasons;
mod state;

use std::sync::Arc;

pub use event::{Event, JobRef, RunRef};
use gantry_engine::clock::Clock;
use gantry_engine::mask::Masks;
use gantry_engine::plan::Conclusion;
use gantry_engine::plan::graph::Run;
use gantry_engine::run::Settings;
pub use host::HostSandboxes;
pub(crate) use host::report_stale;
use tokio::sync::mpsc;

use crate::claimer::Polling;
use crate::job::intake::Prepared;
use crate::job::{JobContext, Sandboxes};
use crate::log_stream::Batching;
use crate::mailbox::tell;
use crate::supervisor::{RequestStop, RunUntilDrained, StopLevel, Supervisor};
use forge::LocalForge;
use reasons::Reasons;

/// A run that is checked and ready to start.
pub struct PlannedRun {
    /// What a person calls the workflow.
    pub title: String,
    /// The run.
    pub run: Run,
}

/// What [`execute`] needs.
pub struct Options {
    /// The runs; they run at the same time.
    pub runs: Vec<PlannedRun>,
    /// How many jobs run at the same time.
    pub capacity: usize,
    /// Makes the sandbox of each job.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// What the command line has decided.
    pub settings: Settings,
    /// `runner.name`
    pub runner_name: String,
    /// The values that nothing may show, by name.
    pub secrets: Vec<(String, String)>,
}

/// What a person asks of runs that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// Cancel them as a forge does: clean-up still runs.
    Cancel,
    /// Kill them.
    Kill,
}

/// Runs everything to its end and returns how each run ended.
///
/// Events go to `events`, which slows the jobs down when it is full; `stops` is read until it is closed.
pub async fn execute(
    options: Options,
    events: mpsc::Sender<Event>,
    mut stops: mpsc::Receiver<StopRequest>,
) -> Vec<Conclusion> {
    let Options {
        runs,
        capacity,
        sandboxes,
        mut settings,
        runner_name,
        secrets,
    } = options;
    let hidden = if settings.show_secrets { &[][..] } else { &secrets };
    let masks = masks(hidden);
    sandboxes.prepare().await;
    let clock = Clock::start();
    let intake = Arc::new(Prepared::default());
    let reasons = Arc::new(Reasons::new(settings.observer.take()));
    settings.observer = Some(reasons.clone());
    let forge = LocalForge::new(runs, intake.clone(), events, clock, masks, reasons);
    let forge = Arc::new(forge);
    forge.start().await;
    let context = JobContext {
        forge: forge.clone(),
        intake,
        sandboxes,
        clock,
        settings,
        runner_name,
        batching: Batching::IMMEDIATE,
        journal: None,
        copies: None,
        post_task: None,
    };
    let supervisor = Supervisor::start_new(context, Polling::with_capacity(capacity));
    let run = supervisor.send(RunUntilDrained);
    tokio::pin!(run);
    let mut listening = true;
    loop {
        tokio::select! {
            drained = &mut run => {
                if let Err(error) = drained {
                    tracing::error!(%error, "the supervisor has died");
                }
                return forge.conclusions();
            }
            stop = stops.recv(), if listening => match stop {
                Some(StopRequest::Cancel) => forge.cancel().await,
                Some(StopRequest::Kill) => {
                    forge.cancel().await;
                    tell(&supervisor, RequestStop(StopLevel::Killing));
                }
                None => listening = false,
            },
        }
    }
}

fn masks(secrets: &[(String, String)]) -> Masks {
    let masks = Masks::default();
    for (name, value) in secrets {
        // The job that is given the secret says why it is not masked.
        if let Err(refusal) = masks.add_secret(name, value) {
            tracing::debug!(name, %refusal, "a secret is not masked");
        }
    }
    masks
}
