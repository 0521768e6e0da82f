//! The local runs behind the trait that every forge has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use gantry_engine::clock::Clock;
use gantry_engine::mask::Masks;
use gantry_engine::plan::Conclusion;
use gantry_engine::plan::graph::JobResult;
use gantry_protocols::forge::{
    self, Ack, Claim, Directive, Error, Forge, LogBatch, Progress, Report, RowIndex, StepState, TaskId,
};
use tokio::sync::{Notify, mpsc};

use super::reasons::Reasons;
use super::state::{Effect, State};
use super::{Event, JobRef, PlannedRun};
use crate::job::intake::Prepared;

/// The forge of local runs. Rows and states that reach it are told to the watcher and never kept.
pub(super) struct LocalForge {
    state: Mutex<State>,
    intake: Arc<Prepared>,
    events: mpsc::Sender<Event>,
    clock: Clock,
    /// What the runs know to be secret: a reason may quote it.
    masks: Masks,
    /// Why steps were skipped.
    reasons: Arc<Reasons>,
    /// Something can be claimed, or nothing ever will.
    offered: Notify,
    /// One for each job that may be cancelled.
    cancels: Mutex<HashMap<TaskId, Arc<Notify>>>,
}

impl LocalForge {
    pub fn new(
        runs: Vec<PlannedRun>,
        intake: Arc<Prepared>,
        events: mpsc::Sender<Event>,
        clock: Clock,
        masks: Masks,
        reasons: Arc<Reasons>,
    ) -> Self {
        Self {
            state: Mutex::new(State::new(runs)),
            intake,
            events,
            clock,
            masks,
            reasons,
            offered: Notify::new(),
            cancels: Mutex::default(),
        }
    }

    /// Starts all runs.
    pub async fn start(&self) {
        let (runs, effects) = {
            let mut state = self.state();
            (state.runs(), state.on_start())
        };
        for (run, jobs) in runs {
            self.tell(Event::RunStarted {
                run,
                jobs,
                time: self.clock.now(),
            })
            .await;
        }
        self.apply(effects).await;
    }

    /// Cancels all runs.
    pub async fn cancel(&self) {
        let effects = self.state().on_cancel();
        self.apply(effects).await;
    }

    /// How each run ended.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        self.state().conclusions()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel_of(&self, task: TaskId) -> Arc<Notify> {
        let mut cancels = self.cancels.lock().unwrap_or_else(PoisonError::into_inner);
        cancels.entry(task).or_default().clone()
    }

    fn job(&self, task: TaskId) -> Result<JobRef, Error> {
        let unknown = || Error::Refused {
            operation: "local",
            reason: format!("task {task} is not running"),
        };
        self.state().job(task).cloned().ok_or_else(unknown)
    }

    async fn apply(&self, effects: Vec<Effect>) {
        for effect in effects {
            let time = self.clock.now();
            match effect {
                Effect::Offer { task, plan } => {
                    self.intake.put(task, *plan);
                    let job = self.state().job(task).cloned();
                    if let Some(job) = job {
                        self.tell(Event::JobOffered { job, time }).await;
                    }
                }
                Effect::Cancel(task) => self.cancel_of(task).notify_one(),
                Effect::Skipped {
                    job,
                    conclusion,
                    reason,
                    conditions,
                } => {
                    self.tell(Event::JobSkipped {
                        job,
                        conclusion,
                        reason: self.masks.mask(&reason).into_owned(),
                        conditions,
                        time,
                    })
                    .await;
                }
                Effect::RunFinished(run, conclusion) => {
                    self.tell(Event::RunFinished {
                        run,
                        conclusion,
                        time,
                    })
                    .await;
                }
            }
        }
        // One claimer waits; a permit is kept for it if it is on its way.
        self.offered.notify_one();
    }

    async fn tell(&self, event: Event) {
        if self.events.send(event).await.is_err() {
            tracing::debug!("nobody watches the run any more");
        }
    }

    async fn hand_out(&self, tasks: Vec<TaskId>) -> Vec<Claim> {
        let mut claims = Vec::with_capacity(tasks.len());
        for task in tasks {
            let Ok(job) = self.job(task) else { continue };
            self.tell(Event::JobStarted {
                job,
                time: self.clock.now(),
            })
            .await;
            claims.push(Claim::of(task));
        }
        claims
    }

    async fn tell_step(&self, job: JobRef, step: StepState) {
        let StepState {
            index,
            name,
            started,
            stopped,
            outcome,
            conclusion,
            ..
        } = step;
        let event = match (stopped, outcome, conclusion) {
            (Some(time), Some(outcome), Some(conclusion)) => Event::StepFinished {
                reason: self
                    .reasons
                    .take(&job, index)
                    .filter(|_| outcome == forge::Conclusion::Skipped),
                job,
                index,
                name,
                outcome: engine_conclusion(outcome),
                conclusion: engine_conclusion(conclusion),
                duration: started
                    .and_then(|started| time.duration_since(started).ok())
                    .unwrap_or_default(),
                time,
            },
            _ => Event::StepStarted {
                job,
                index,
                name,
                time: started.unwrap_or_else(|| self.clock.now()),
            },
        };
        self.tell(event).await;
    }
}

impl Forge for LocalForge {
    fn claim(&self, capacity: usize) -> BoxFuture<'_, Result<Vec<Claim>, Error>> {
        Box::pin(async move {
            loop {
                let (tasks, over) = {
                    let mut state = self.state();
                    (state.on_claim(capacity), state.is_over())
                };
                if !tasks.is_empty() {
                    return Ok(self.hand_out(tasks).await);
                }
                if over {
                    return Err(Error::Exhausted);
                }
                self.offered.notified().await;
            }
        })
    }

    fn append_log(&self, batches: Vec<LogBatch>) -> BoxFuture<'_, Result<Ack, Error>> {
        Box::pin(async move {
            let mut next = RowIndex::default();
            for batch in batches {
                let job = self.job(batch.task)?;
                next = batch.next();
                self.tell(Event::Rows { job, batch }).await;
            }
            Ok(Ack { next })
        })
    }

    fn update(&self, progress: Progress) -> BoxFuture<'_, Result<Directive, Error>> {
        Box::pin(async move {
            let job = self.job(progress.task)?;
            let time = self.clock.now();
            for step in progress.steps {
                self.tell_step(job.clone(), step).await;
            }
            for annotation in progress.annotations {
                self.tell(Event::Annotation {
                    job: job.clone(),
                    annotation,
                    time,
                })
                .await;
            }
            for summary in progress.summaries {
                self.tell(Event::Summary {
                    job: job.clone(),
                    summary,
                    time,
                })
                .await;
            }
            Ok(Directive::Continue)
        })
    }

    fn complete(&self, report: Report) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            let tolerates = self.state().tolerates(report.task);
            let Ok(job) = self.job(report.task) else {
                return Ok(());
            };
            self.reasons.forget(&job);
            let conclusion = engine_conclusion(report.conclusion);
            let duration = report
                .stopped
                .duration_since(report.started)
                .unwrap_or(Duration::ZERO);
            self.tell(Event::JobFinished {
                job,
                conclusion,
                tolerated: tolerates && conclusion == Conclusion::Failure,
                duration,
                time: report.stopped,
            })
            .await;
            let result = JobResult {
                conclusion,
                outputs: report.outputs.into_iter().collect(),
            };
            let effects = self.state().on_completed(report.task, result);
            self.cancels
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&report.task);
            self.apply(effects).await;
            Ok(())
        })
    }

    fn cancelled(&self, task: TaskId) -> BoxFuture<'_, ()> {
        let cancel = self.cancel_of(task);
        Box::pin(async move { cancel.notified().await })
    }
}

fn engine_conclusion(conclusion: forge::Conclusion) -> Conclusion {
    match conclusion {
        forge::Conclusion::Success => Conclusion::Success,
        forge::Conclusion::Failure => Conclusion::Failure,
        forge::Conclusion::Cancelled => Conclusion::Cancelled,
        forge::Conclusion::Skipped => Conclusion::Skipped,
    }
}
