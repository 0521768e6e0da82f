//! The claimer actor.
//!
//! # Owns
//! The polling of one connection to a forge: one call at a time, and the pause between two of them.
//! # Receives
//! [`ClaimJobs`], one ask at a time; [`StopClaiming`].
//! # Emits
//! `claim` to the forge; the claims as the reply to the ask.
//! # Ends when
//! Its supervisor drops its address.

mod messages;
mod state;

use std::sync::Arc;

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use gantry_protocols::forge::Forge;
use tokio::sync::oneshot;

pub use messages::{ClaimJobs, Claimed, StopClaiming};
use state::{Effect, State};

/// Asks one forge for jobs.
pub struct Claimer {
    forge: Arc<dyn Forge>,
    state: State,
    reply: Option<oneshot::Sender<Claimed>>,
}

impl Actor for Claimer {
    type Context = Context<Self>;
}

impl Claimer {
    /// Starts the actor; it asks for nothing until it is told to.
    pub fn start_new(forge: Arc<dyn Forge>) -> Addr<Self> {
        Self {
            forge,
            state: State::default(),
            reply: None,
        }
        .start()
    }

    fn apply(&mut self, effect: Effect, context: &mut Context<Self>) {
        match effect {
            Effect::Ask { capacity } => {
                let forge = self.forge.clone();
                let call = async move { forge.claim(capacity).await };
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
                    && let Err(Claimed::Jobs(claims)) = reply.send(claimed)
                {
                    tracing::error!(count = claims.len(), "claimed jobs have nobody to run them");
                }
            }
        }
    }
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
