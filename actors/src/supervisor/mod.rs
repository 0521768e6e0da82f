//! The supervisor actor.
//!
//! # Owns
//! A runner's claimer and its jobs with their places, the deliveries that need no slot, and the stop ladder.
//! # Receives
//! [`RunUntilDrained`] once, [`RequestStop`] and [`Reconfigure`] any number of times.
//! # Emits
//! [`ClaimJobs`], [`SetPacing`] and [`StopClaiming`] to its claimer; [`RunJob`], [`CancelJob`] and [`KillJob`] to its jobs.
//! # Ends when
//! Nothing runs and nothing will; the process ends with the reason.

mod messages;
mod state;

use std::collections::HashMap;

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use gantry_engine::chain::Chain;
use gantry_protocols::forge::{Conclusion, TaskId};
use tokio::sync::oneshot;

pub use messages::{Drained, Reconfigure, RequestStop, RunUntilDrained, StopLevel};
use state::{Effect, State};

use crate::claimer::{ClaimJobs, Claimed, Claimer, Polling, SetPacing, Slot, StopClaiming, Taken};
use crate::courier::{Courier, LeftBehind};
use crate::job::{CancelJob, CancelReason, Job, JobContext, JobEnded, JobSpec, KillJob, RunJob};
use crate::journal::{Connection, TaskJournal};
use crate::mailbox::{answer, tell};

/// One runner.
pub struct Supervisor {
    context: JobContext,
    state: State,
    claimer: Addr<Claimer>,
    jobs: HashMap<TaskId, Running>,
    /// Jobs that have ended; they go on telling their forge.
    parked: HashMap<TaskId, Running>,
    reply: Option<oneshot::Sender<Drained>>,
}

/// A job with its journal, which outlives it.
struct Running {
    job: Addr<Job>,
    journal: Option<TaskJournal>,
    /// Its place among the jobs that run at the same time.
    slot: Option<Slot>,
}

impl Actor for Supervisor {
    type Context = Context<Self>;
}

impl Supervisor {
    /// Starts a runner that asks its forge as `polling` says; it waits for [`RunUntilDrained`].
    pub fn start_new(context: JobContext, polling: Polling) -> Addr<Self> {
        let (forge, journal) = (context.forge.clone(), context.journal.clone());
        let claimer = Claimer::start_new(forge, journal, context.clock, polling);
        Self {
            context,
            state: State::default(),
            claimer,
            jobs: HashMap::new(),
            parked: HashMap::new(),
            reply: None,
        }
        .start()
    }

    fn apply(&mut self, effects: Vec<Effect>, context: &mut Context<Self>) {
        for effect in effects {
            match effect {
                Effect::Recover => self.recover(context),
                Effect::Claim => self.claim(context),
                Effect::StopClaiming => tell(&self.claimer, StopClaiming),
                Effect::StartJob(taken) => self.start_job(taken, context),
                Effect::CancelJobs => {
                    for running in self.jobs.values() {
                        tell(&running.job, CancelJob(CancelReason::Shutdown));
                    }
                }
                Effect::KillJobs => {
                    for running in self.jobs.values() {
                        tell(&running.job, KillJob);
                    }
                }
                Effect::Finish(drained) => {
                    if let Some(reply) = self.reply.take() {
                        answer(reply, drained);
                    }
                }
            }
        }
    }

    fn claim(&self, context: &mut Context<Self>) {
        let ask = self.claimer.send(ClaimJobs);
        context.spawn(ask.into_actor(self).map(|answer, supervisor, context| {
            let claimed = answer.unwrap_or_else(|error| {
                tracing::error!(%error, "the claimer has died");
                Claimed::Ended
            });
            if let Claimed::Refused(error) = &claimed {
                tracing::error!(%error, "the forge gives this runner no more jobs");
            }
            let effects = supervisor.state.on_claimed(claimed);
            supervisor.apply(effects, context);
        }));
    }

    fn start_job(&mut self, taken: Taken, context: &mut Context<Self>) {
        let Taken { claim, journal, slot } = taken;
        let task = claim.task;
        let job = Job::start_new(JobSpec {
            claim,
            journal: journal.clone(),
            context: self.context.clone(),
        });
        let run = job.send(RunJob);
        self.jobs.insert(task, Running { job, journal, slot });
        context.spawn(run.into_actor(self).map(move |answer, supervisor, context| {
            let Some(mut running) = supervisor.jobs.remove(&task) else {
                return;
            };
            // Whatever the forge has yet to be told, nothing of the job runs any more.
            running.slot = None;
            let ended = answer.ok().flatten();
            let is_cancelled = ended
                .as_ref()
                .is_some_and(|ended| ended.conclusion == Conclusion::Cancelled);
            let is_parked = if let Some(ended) = ended {
                supervisor.on_ended(ended, running, context)
            } else {
                tracing::error!(%task, "the job's actor has died");
                supervisor.deliver(running.journal, LeftBehind::ByActor, context)
            };
            let effects = supervisor.state.on_job_ended(task, is_parked, is_cancelled);
            supervisor.apply(effects, context);
        }));
    }

    /// Returns whether the forge has yet to be told.
    fn on_ended(&mut self, ended: JobEnded, running: Running, context: &mut Context<Self>) -> bool {
        let JobEnded {
            task,
            conclusion,
            parked,
        } = ended;
        if running.journal.is_some() {
            let delivery = if parked.is_some() {
                ", and the forge is told as soon as it can be"
            } else {
                ""
            };
            tracing::info!(%task, "ended with {conclusion:?}{delivery}");
        } else {
            tracing::debug!(%task, ?conclusion, "ended");
        }
        let Some(parked) = parked else { return false };
        // The address is held: an actor without one ends before its work is done.
        self.parked.insert(task, running);
        context.spawn(
            parked
                .into_actor(self)
                .map(move |delivered, supervisor, context| {
                    let journal = supervisor
                        .parked
                        .remove(&task)
                        .and_then(|running| running.journal);
                    let goes_on = delivered.is_err() && {
                        tracing::error!(%task, "the actor of a job that has ended has died");
                        supervisor.deliver(journal, LeftBehind::ByActor, context)
                    };
                    if !goes_on {
                        let effects = supervisor.state.on_delivered(task);
                        supervisor.apply(effects, context);
                    }
                }),
        );
        true
    }

    /// Finds what earlier processes have left behind, and starts to deliver it.
    fn recover(&mut self, context: &mut Context<Self>) {
        let journal = self.context.journal.clone();
        let recover = async move { recover(journal).await };
        context.spawn(recover.into_actor(self).map(|journals, supervisor, context| {
            let tasks: Vec<TaskId> = journals.iter().map(TaskJournal::task).collect();
            for journal in journals {
                supervisor.deliver(Some(journal), LeftBehind::ByProcess, context);
            }
            let effects = supervisor.state.on_recovered(tasks);
            supervisor.apply(effects, context);
        }));
    }

    /// Delivers a task that nobody works on; returns whether there is anything to deliver.
    fn deliver(&self, journal: Option<TaskJournal>, left: LeftBehind, context: &mut Context<Self>) -> bool {
        let Some(journal) = journal else { return false };
        let task = journal.task();
        let courier = Courier {
            forge: self.context.forge.clone(),
            batching: self.context.batching,
            clock: self.context.clock,
        };
        let deliver = async move { courier.deliver(journal, left).await };
        context.spawn(deliver.into_actor(self).map(move |(), supervisor, context| {
            let effects = supervisor.state.on_delivered(task);
            supervisor.apply(effects, context);
        }));
        true
    }
}

async fn recover(journal: Option<Connection>) -> Vec<TaskJournal> {
    let Some(connection) = journal else {
        return Vec::new();
    };
    let recovered = connection.recover().await;
    recovered.unwrap_or_else(|error| {
        let error = Chain(&error);
        tracing::error!(%error, "what an earlier runner has left behind cannot be delivered");
        Vec::new()
    })
}

impl Handler<RunUntilDrained> for Supervisor {
    type Result = ResponseFuture<Drained>;

    fn handle(&mut self, RunUntilDrained: RunUntilDrained, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.reply = Some(sender);
        let effects = self.state.on_run();
        self.apply(effects, context);
        Box::pin(async move {
            receiver.await.unwrap_or(Drained {
                level: StopLevel::Killing,
                refused: false,
                cancelled_jobs: false,
                undelivered: 0,
            })
        })
    }
}

impl Handler<RequestStop> for Supervisor {
    type Result = ();

    fn handle(&mut self, RequestStop(level): RequestStop, context: &mut Self::Context) {
        let effects = self.state.on_stop(level);
        self.apply(effects, context);
    }
}

impl Handler<Reconfigure> for Supervisor {
    type Result = ();

    fn handle(&mut self, Reconfigure { context, pacing }: Reconfigure, _: &mut Self::Context) {
        self.context = context;
        tell(&self.claimer, SetPacing(pacing));
    }
}
