//! What a top-level step carries through everything that runs in it.

use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::Instant;

use super::JobRuntime;
use super::evaluate::Evaluator;
use super::log::StepLog;
use super::stop::{Stop, StopSignal};
use crate::expr::Object;
use crate::job::{Frame, JobView, PostStep, Status, StepIdentity, StepReport, Work};
use crate::model::Condition;
use crate::plan::Conclusion;

/// A top-level step while it runs, with all that runs in it.
pub(super) struct Session<'a> {
    pub runtime: &'a JobRuntime,
    /// The place of the top-level step in the job.
    pub index: usize,
    /// The job as the steps so far have left it.
    pub view: JobView,
    pub log: StepLog,
    pub stop: StopSignal,
    /// The clean-ups that actions have asked for, in the order in which they started.
    pub posts: Vec<PostStep>,
    /// The steps that are being run, outermost first.
    pub guards: Vec<Guard>,
    /// When everything must end, whatever the steps say.
    pub limit: Option<Instant>,
    /// The names of the steps that an observer was told of and that are not done, outermost first.
    pub names: Vec<Arc<str>>,
}

/// A step that is being run: what decides whether it goes on when the job is cancelled, and when it must end.
pub(super) struct Guard {
    pub condition: Condition,
    pub frame: Frame,
    pub identity: StepIdentity,
    pub env: Object,
    pub deadline: Option<Instant>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Done {
    pub outcome: Conclusion,
    pub conclusion: Conclusion,
    pub outputs: IndexMap<String, String>,
    /// Whoever decides about failures was asked about this one.
    pub decided: bool,
}

impl Done {
    /// A step that ended without outputs and whose end is not tolerated.
    pub fn plain(outcome: Conclusion) -> Self {
        Self {
            outcome,
            conclusion: outcome,
            outputs: IndexMap::new(),
            decided: false,
        }
    }
}

impl<'a> Session<'a> {
    pub fn open(runtime: &'a JobRuntime, index: usize, work: &Work, view: JobView, stop: StopSignal) -> Self {
        // Rows of a clean-up stand behind all steps.
        let log = StepLog::open(runtime, matches!(work, Work::Main).then_some(index));
        Self {
            runtime,
            index,
            view,
            log,
            stop,
            posts: Vec::new(),
            guards: Vec::new(),
            limit: None,
            names: Vec::new(),
        }
    }

    /// The variables of the job that a step lists in its log.
    pub fn listed_environment(&self) -> impl Iterator<Item = (&String, &String)> {
        let unlisted = &self.runtime.settings.unlisted;
        let is_listed = move |(name, value): &(&String, &String)| {
            !unlisted
                .iter()
                .any(|(other, usual)| other == *name && usual == *value)
        };
        self.view.env.iter().filter(is_listed)
    }

    pub async fn close(mut self, done: Done) -> StepReport {
        self.log.finish().await;
        self.runtime.collect_leaks(&mut self.log);
        self.log.finished(done.outcome, done.conclusion).await;
        StepReport {
            index: self.index,
            outcome: done.outcome,
            conclusion: done.conclusion,
            outputs: done.outputs,
            env: self.view.env,
            path: self.view.path,
            states: self.view.states,
            posts: self.posts,
        }
    }

    /// Takes note of a cancel that has come since the last step began.
    pub fn refresh_status(&mut self) {
        if self.stop.level() >= Stop::Cancel {
            self.view.status = Status::Cancelled;
        }
    }

    /// The earliest moment at which what is being run must end.
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines = self.guards.iter().filter_map(|guard| guard.deadline);
        deadlines.chain(self.limit).min()
    }

    /// Awaits work of the runner's own as long as the step may go on; nothing if it may not.
    ///
    /// # Cancel safety
    /// The work is dropped with the call.
    pub async fn while_allowed<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let deadline = self.deadline();
        let mut stop = self.stop.clone();
        // A step that begins in a job that is cancelled already may run: its condition says so.
        let mut seen = stop.level();
        loop {
            let timer = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                value = &mut work => return Some(value),
                () = timer => return None,
                level = stop.above(seen) => {
                    seen = level;
                    if level >= Stop::Kill || !self.survives_cancel().await {
                        return None;
                    }
                }
            }
        }
    }

    /// Tells whether every step that is being run still holds its condition now that the job is cancelled.
    ///
    /// What is no step has no condition that could hold.
    pub async fn survives_cancel(&mut self) -> bool {
        self.view.status = Status::Cancelled;
        if self.guards.is_empty() {
            return false;
        }
        for guard in &self.guards {
            let evaluator = Evaluator {
                runtime: self.runtime,
                view: &self.view,
                frame: &guard.frame,
                identity: &guard.identity,
            };
            let holds = evaluator
                .condition(&guard.condition, guard.env.clone(), Status::Cancelled)
                .await;
            if !holds.unwrap_or(false) {
                return false;
            }
        }
        true
    }
}
