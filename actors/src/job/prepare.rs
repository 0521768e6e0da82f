//! From a claim to a job whose steps can run, or to one that ends without them.

use std::sync::Arc;

use gantry_engine::job::Machine;
use gantry_engine::plan::claimed::Decision;
use gantry_engine::plan::{Conclusion, JobPlan};
use gantry_engine::run::{Entry, JobRuntime, Rows, SetUp, StopSignal, set_up};
use gantry_protocols::forge::Claim;
use tokio::sync::mpsc;

use super::JobContext;

/// A job that was set up, or could not be.
pub(super) struct Prepared {
    pub runtime: Option<Arc<JobRuntime>>,
    pub plan: Option<JobPlan>,
    /// The order of the steps, if they can run.
    pub machine: Option<Machine>,
    /// How the job ends if they cannot.
    pub conclusion: Conclusion,
}

impl Prepared {
    /// A job that could not be set up at all.
    pub fn failed() -> Self {
        Self::ended(Conclusion::Failure)
    }

    fn ended(conclusion: Conclusion) -> Self {
        Self {
            runtime: None,
            plan: None,
            machine: None,
            conclusion,
        }
    }
}

/// Plans the job, makes its sandbox and sets it up; what goes wrong is in the job's log.
pub(super) async fn prepare(
    shared: JobContext,
    claim: Claim,
    entries: mpsc::Sender<Entry>,
    stop: StopSignal,
) -> Prepared {
    let intaken = match shared.intake.plan(&claim) {
        Ok(intaken) => intaken,
        Err(error) => {
            tracing::warn!(task = %claim.task, %error, "the forge handed out what is no job");
            fail(&shared, &entries, &error.to_string()).await;
            return Prepared::failed();
        }
    };
    for note in &intaken.notes {
        say(&shared, &entries, note).await;
    }
    let plan = match intaken.decision {
        Decision::Run(plan) => *plan,
        Decision::End { conclusion, reason } => {
            match conclusion {
                Conclusion::Skipped => say(&shared, &entries, &format!("Skipped: {reason}")).await,
                _ => fail(&shared, &entries, &reason).await,
            }
            skip_steps(&shared, &entries, &intaken.steps).await;
            return Prepared::ended(conclusion);
        }
    };
    let sandbox = match shared.sandboxes.create(&plan).await {
        Ok(sandbox) => sandbox,
        Err(reason) => {
            fail(&shared, &entries, &reason).await;
            skip_steps(&shared, &entries, &intaken.steps).await;
            return Prepared::failed();
        }
    };
    let request = SetUp {
        plan,
        sandbox,
        entries: entries.clone(),
        clock: shared.clock,
        settings: intaken.extra.applied_to(shared.settings.clone()),
        runner_name: shared.runner_name.clone(),
        stop,
    };
    let (runtime, plan, machine) = set_up(request).await;
    if machine.is_none() {
        skip_steps(&shared, &entries, &intaken.steps).await;
    }
    Prepared {
        runtime: Some(runtime),
        plan: Some(plan),
        machine,
        conclusion: Conclusion::Failure,
    }
}

/// Says of every step that it is skipped: a forge takes a step that it is not told of for one that runs.
async fn skip_steps(shared: &JobContext, entries: &mpsc::Sender<Entry>, names: &[String]) {
    let at = shared.clock.now();
    for (index, name) in names.iter().enumerate() {
        let started = Entry::StepStarted {
            index,
            name: name.clone(),
            at,
        };
        let finished = Entry::StepFinished {
            index,
            outcome: Conclusion::Skipped,
            conclusion: Conclusion::Skipped,
            at,
        };
        send(entries, started).await;
        send(entries, finished).await;
    }
}

async fn fail(shared: &JobContext, entries: &mpsc::Sender<Entry>, reason: &str) {
    let lines = format!("##[error]{}", reason.trim_end().replace('\n', "\n##[error]"));
    say(shared, entries, &lines).await;
}

async fn say(shared: &JobContext, entries: &mpsc::Sender<Entry>, lines: &str) {
    let rows = Rows::of_lines(shared.clock.now(), None, &format!("{lines}\n"));
    send(entries, Entry::Rows(rows)).await;
}

async fn send(entries: &mpsc::Sender<Entry>, entry: Entry) {
    if entries.send(entry).await.is_err() {
        tracing::error!("a job's log stream is gone; rows are lost");
    }
}
