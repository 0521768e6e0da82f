//! The supervisor actor.
//!
//! # Owns
//! The runner's slots, its claimer and its jobs, and the stop ladder.
//! # Receives
//! [`RunUntilDrained`] once, [`RequestStop`] any number of times.
//! # Emits
//! [`ClaimJobs`] and [`StopClaiming`] to its claimer; [`RunJob`], [`CancelJob`] and [`KillJob`] to its jobs.
//! # Ends when
//! Nothing runs and nothing will; the process ends with the reason.

mod messages;
mod state;

use std::collections::HashMap;

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use gantry_protocols::forge::{Claim, TaskId};
use tokio::sync::oneshot;

pub use messages::{Drained, RequestStop, RunUntilDrained, StopLevel};
use state::{Effect, State};

use crate::claimer::{ClaimJobs, Claimed, Claimer, StopClaiming};
use crate::job::{CancelJob, CancelReason, Job, JobContext, JobSpec, KillJob, RunJob};
use crate::mailbox::{answer, tell};

/// One runner.
pub struct Supervisor {
    context: JobContext,
    state: State,
    claimer: Addr<Claimer>,
    jobs: HashMap<TaskId, Addr<Job>>,
    reply: Option<oneshot::Sender<Drained>>,
}

impl Actor for Supervisor {
    type Context = Context<Self>;
}

impl Supervisor {
    /// Starts a runner with so many slots; it waits for [`RunUntilDrained`].
    pub fn start_new(context: JobContext, capacity: usize) -> Addr<Self> {
        let claimer = Claimer::start_new(context.forge.clone());
        Self {
            context,
            state: State::new(capacity),
            claimer,
            jobs: HashMap::new(),
            reply: None,
        }
        .start()
    }

    fn apply(&mut self, effects: Vec<Effect>, context: &mut Context<Self>) {
        for effect in effects {
            match effect {
                Effect::Claim { capacity } => self.claim(capacity, context),
                Effect::StopClaiming => tell(&self.claimer, StopClaiming),
                Effect::StartJob(claim) => self.start_job(claim, context),
                Effect::CancelJobs => {
                    for job in self.jobs.values() {
                        tell(job, CancelJob(CancelReason::Shutdown));
                    }
                }
                Effect::KillJobs => {
                    for job in self.jobs.values() {
                        tell(job, KillJob);
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

    fn claim(&self, capacity: usize, context: &mut Context<Self>) {
        let ask = self.claimer.send(ClaimJobs { capacity });
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

    fn start_job(&mut self, claim: Claim, context: &mut Context<Self>) {
        let task = claim.task;
        let job = Job::start_new(JobSpec {
            claim,
            context: self.context.clone(),
        });
        self.jobs.insert(task, job.clone());
        context.spawn(
            job.send(RunJob)
                .into_actor(self)
                .map(move |answer, supervisor, context| {
                    match answer {
                        Ok(ended) => {
                            tracing::debug!(task = %ended.task, conclusion = ?ended.conclusion, "job ended");
                        }
                        Err(error) => tracing::error!(%task, %error, "the job's actor has died"),
                    }
                    supervisor.jobs.remove(&task);
                    let effects = supervisor.state.on_job_ended(task);
                    supervisor.apply(effects, context);
                }),
        );
    }
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
