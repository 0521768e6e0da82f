//! The last mile of a task: its report until the forge has it, and what a runner that was killed has left behind.
//!
//! A task that cannot be reported now waits here or in its job, without a slot, for as long as it takes.

use std::sync::Arc;
use std::time::Duration;

use gantry_engine::chain::Chain;
use gantry_engine::clock::Clock;
use gantry_protocols::forge::{Error, Forge, Report, TaskId};

use crate::backoff::Backoff;
use crate::journal::{self, TaskJournal};
use crate::log_stream::{Batching, CloseLog, LogStream};

/// What the log of a job says whose runner was killed.
const KILLED: &str = "The runner was stopped while this job ran; the job can be run again.";
/// What the log of a job says whose actor has died.
pub(crate) const DIED: &str = "runner bug, please report it: the job has ended without a word";
/// How long to wait before a journal that cannot be read is tried again.
const JOURNAL_PAUSE: Duration = Duration::from_secs(30);

/// Why a task that has no report is to be reported as failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftBehind {
    /// Another process was killed while it ran.
    ByProcess,
    /// An actor of this process has died.
    ByActor,
}

/// What is needed to deliver anything.
#[derive(Clone)]
pub(crate) struct Courier {
    pub forge: Arc<dyn Forge>,
    pub batching: Batching,
    pub clock: Clock,
}

impl Courier {
    /// Delivers a task that nobody works on any more: rows, states, report. Ends when the forge has all of it, or will
    /// never take it.
    ///
    /// # Cancel safety
    /// May be dropped: the task stays in the journal for the next process.
    pub async fn deliver(&self, journal: TaskJournal, left: LeftBehind) {
        let task = journal.task();
        // The stream of a job that has died still delivers what it was given.
        while left == LeftBehind::ByActor && journal.is_shared() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let reason = match left {
            LeftBehind::ByProcess => KILLED,
            LeftBehind::ByActor => DIED,
        };
        let (backlog, report) = loop {
            match journal.conclude(self.clock.now(), reason).await {
                Ok(concluded) => break concluded,
                Err(error) => {
                    tracing::error!(%task, error = %Chain(&error), "a task of the journal cannot be delivered now");
                    tokio::time::sleep(JOURNAL_PAUSE).await;
                }
            }
        };
        tracing::info!(
            %task,
            job = backlog.summary,
            rows = backlog.rows.end - backlog.rows.start,
            conclusion = ?report.conclusion,
            "delivering what an earlier runner has left behind"
        );
        let log = LogStream::start_for(&backlog, journal.clone(), self.forge.clone(), self.batching);
        if let Err(error) = log.send(CloseLog { patient: true }).await {
            tracing::error!(%task, %error, "the task's log stream has died; it is tried again with the next start");
            return;
        }
        self.report(report).await;
        forget(Some(journal)).await;
    }

    /// Tells the forge the last word until it has it, or will never take it; that is said to the operator.
    async fn report(&self, report: Report) {
        let mut backoff = Backoff::new(report.task);
        let mut attempt = attempt(&self.forge, &report, &mut backoff).await;
        while let Attempt::Again(pause) = attempt {
            tokio::time::sleep(pause).await;
            attempt = self::attempt(&self.forge, &report, &mut backoff).await;
        }
    }
}

/// What came of one try to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The forge has the report, or will never take it.
    Done,
    /// To be tried again after this pause.
    Again(Duration),
}

/// Tells the forge the last word once.
pub(crate) async fn attempt(forge: &Arc<dyn Forge>, report: &Report, backoff: &mut Backoff) -> Attempt {
    let task = report.task;
    let first = !backoff.is_failing();
    let Err(error) = forge.complete(report.clone()).await else {
        if !first {
            tracing::info!(%task, "the forge has the job's conclusion now");
        }
        return Attempt::Done;
    };
    let Some(pause) = backoff.on_failure(error.retry()) else {
        refused(task, &error);
        return Attempt::Done;
    };
    if first {
        tracing::warn!(%task, %error, "the forge cannot be told how the job ended; trying until it can");
    }
    Attempt::Again(pause)
}

fn refused(task: TaskId, error: &Error) {
    tracing::error!(%task, %error, "the forge will never take the job's conclusion; the task is dropped");
}

/// Removes a task from its journal: the forge has everything of it that it will ever take.
pub(crate) async fn forget(journal: Option<TaskJournal>) {
    let Some(journal) = journal else { return };
    let task = journal.task();
    if let Err(error) = journal.forget().await {
        report_leftover(task, &error);
    }
}

fn report_leftover(task: TaskId, error: &journal::Error) {
    let error = Chain(error);
    tracing::warn!(%task, %error, "a task that is delivered stays in the journal; the next start delivers it once more");
}
