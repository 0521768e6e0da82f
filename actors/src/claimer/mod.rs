//! The claimer actor.
//!
//! # Owns
//! The polling of one connection to a forge: one call at a time, and the pause between two of them. What is claimed is
//! in the journal before anyone hears of it.
//! # Receives
//! [`ClaimJobs`], one ask at a time; [`StopClaiming`].
//! # Emits
//! `claim` to the forge; the claims as the reply to the ask.
//! # Ends when
//! Its supervisor drops its address.

mod messages;
mod state;

use std::sync::Arc;
use std::time::SystemTime;

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use gantry_engine::chain::Chain;
use gantry_engine::clock::Clock;
use gantry_protocols::forge::{Claim, Forge};
use tokio::sync::oneshot;

pub use messages::{ClaimJobs, Claimed, StopClaiming, Taken};
use state::{Effect, State};

use crate::journal::{self, Connection};

/// Asks one forge for jobs.
pub struct Claimer {
    forge: Arc<dyn Forge>,
    journal: Option<Connection>,
    clock: Clock,
    state: State,
    reply: Option<oneshot::Sender<Claimed>>,
}

impl Actor for Claimer {
    type Context = Context<Self>;
}

impl Claimer {
    /// Starts the actor; it asks for nothing until it is told to.
    pub fn start_new(forge: Arc<dyn Forge>, journal: Option<Connection>, clock: Clock) -> Addr<Self> {
        Self {
            forge,
            journal,
            clock,
            state: State::default(),
            reply: None,
        }
        .start()
    }

    fn apply(&mut self, effect: Effect, context: &mut Context<Self>) {
        match effect {
            Effect::Ask { capacity } => {
                let forge = self.forge.clone();
                let journal = self.journal.clone();
                let clock = self.clock;
                let call = async move {
                    let claims = forge.claim(capacity).await?;
                    Ok(take(claims, journal.as_ref(), clock.now()).await)
                };
                context.spawn(call.into_actor(self).map(|answer, claimer, context| {
                    if let Err(error) = &answer {
                        tracing::debug!(%error, "no job was claimed");
                    }
                    let effect = claimer.state.on_answered(answer);
                    claimer.apply(effect, context);
                }));
            }
            Effect::AskAfter(pause) => {
                context.run_later(pause, |claimer, context| {
                    if let Some(effect) = claimer.state.on_pause_over() {
                        claimer.apply(effect, context);
                    }
                });
            }
            Effect::Reply(claimed) => {
                if let Some(reply) = self.reply.take()
                    && let Err(Claimed::Jobs(taken)) = reply.send(claimed)
                {
                    tracing::error!(count = taken.len(), "claimed jobs have nobody to run them");
                }
            }
        }
    }
}

/// Writes claims down. One that is there already was handed out twice, and is being worked on.
async fn take(claims: Vec<Claim>, journal: Option<&Connection>, now: SystemTime) -> Vec<Taken> {
    let mut taken = Vec::with_capacity(claims.len());
    for claim in claims {
        let task = claim.task;
        let Some(connection) = journal else {
            taken.push(Taken { claim, journal: None });
            continue;
        };
        match connection.begin(task, now, summary(&claim)).await {
            Ok(journal) => taken.push(Taken {
                claim,
                journal: Some(journal),
            }),
            Err(journal::Error::Known(_)) => {
                tracing::warn!(%task, "the forge handed out a task again that is not reported yet; once is enough");
            }
            Err(error) => {
                let error = Chain(&error);
                tracing::warn!(%task, %error, "the job runs without a journal: it is lost if the runner is killed");
                taken.push(Taken { claim, journal: None });
            }
        }
    }
    taken
}

/// What a person would call the job.
fn summary(claim: &Claim) -> String {
    let context = &claim.given.context;
    let words =
        ["repository", "workflow", "job"].map(|key| context.get(key).and_then(|value| value.as_str()));
    let words: Vec<&str> = words.into_iter().flatten().collect();
    words.join(" / ")
}

impl Handler<ClaimJobs> for Claimer {
    type Result = ResponseFuture<Claimed>;

    fn handle(&mut self, ClaimJobs { capacity }: ClaimJobs, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.reply = Some(sender);
        let effect = self.state.on_claim_jobs(capacity);
        self.apply(effect, context);
        Box::pin(async move { receiver.await.unwrap_or(Claimed::Ended) })
    }
}

impl Handler<StopClaiming> for Claimer {
    type Result = ();

    fn handle(&mut self, StopClaiming: StopClaiming, context: &mut Self::Context) {
        if let Some(effect) = self.state.on_stop() {
            self.apply(effect, context);
        }
    }
}
