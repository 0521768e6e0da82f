//! The claimer actor.
//!
//! # Owns
//! The polling of one connection to a forge: one call at a time, and the pause between two of them. What is claimed is
//! in the journal before anyone hears of it.
//! # Receives
//! [`ClaimJobs`], one ask at a time; [`SetPacing`]; [`StopClaiming`].
//! # Emits
//! `claim` to the forge; the claims as the reply to the ask.
//! # Ends when
//! Its supervisor drops its address.

mod messages;
mod slots;
mod state;
mod upkeep;

use std::sync::Arc;
use std::time::SystemTime;

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture};
use gantry_engine::chain::Chain;
use gantry_engine::clock::Clock;
use gantry_protocols::forge::{Claim, Error, Forge};
use tokio::sync::oneshot;

pub use messages::{ClaimJobs, Claimed, SetPacing, StopClaiming, Taken};
pub use slots::{Reservation, Slot, Slots};
pub use state::Pacing;
use state::{Effect, State};
pub use upkeep::{NoUpkeep, Upkeep};

use crate::journal::{self, Connection};

/// Where a claimer asks, and within which bounds.
#[derive(Clone)]
pub struct Polling {
    /// The places for jobs, which several claimers may share.
    pub slots: Slots,
    /// How often the forge is asked.
    pub pacing: Pacing,
    /// What the machine's state allows, and what is done while there is no job.
    pub upkeep: Arc<dyn Upkeep>,
}

impl Polling {
    /// So many places for jobs of one forge, and nothing to look after.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            slots: Slots::new(capacity),
            pacing: Pacing::default(),
            upkeep: Arc::new(NoUpkeep),
        }
    }
}

/// Asks one forge for jobs.
pub struct Claimer {
    forge: Arc<dyn Forge>,
    journal: Option<Connection>,
    clock: Clock,
    polling: Polling,
    state: State,
    reserved: Option<Reservation>,
    reply: Option<oneshot::Sender<Claimed>>,
    trouble: Trouble,
}

impl Actor for Claimer {
    type Context = Context<Self>;
}

impl Claimer {
    /// Starts the actor; it asks for nothing until it is told to.
    pub fn start_new(
        forge: Arc<dyn Forge>,
        journal: Option<Connection>,
        clock: Clock,
        polling: Polling,
    ) -> Addr<Self> {
        Self {
            forge,
            journal,
            clock,
            state: State::new(polling.pacing),
            polling,
            reserved: None,
            reply: None,
            trouble: Trouble::default(),
        }
        .start()
    }

    fn apply(&mut self, effect: Effect, context: &mut Context<Self>) {
        match effect {
            Effect::Reserve => self.reserve(context),
            Effect::Ask => self.ask(context),
            Effect::AskAfter(pause) => {
                self.reserved = None;
                context.run_later(pause, |claimer, context| {
                    if let Some(effect) = claimer.state.on_pause_over() {
                        claimer.apply(effect, context);
                    }
                });
            }
            Effect::Reply(claimed) => {
                self.reserved = None;
                if let Some(reply) = self.reply.take()
                    && let Err(Claimed::Jobs(taken)) = reply.send(claimed)
                {
                    tracing::error!(count = taken.len(), "claimed jobs have nobody to run them");
                }
            }
        }
    }

    fn reserve(&self, context: &mut Context<Self>) {
        let slots = self.polling.slots.clone();
        let reserve = async move { slots.reserve().await };
        context.spawn(reserve.into_actor(self).map(|reserved, claimer, context| {
            if let Some(effect) = claimer.state.on_reserved(reserved.is_some()) {
                claimer.reserved = reserved;
                claimer.apply(effect, context);
            }
        }));
    }

    fn ask(&mut self, context: &mut Context<Self>) {
        let Some(reserved) = self.reserved.take() else {
            return;
        };
        let forge = self.forge.clone();
        let journal = self.journal.clone();
        let clock = self.clock;
        let upkeep = self.polling.upkeep.clone();
        let call = async move {
            if let Some(reason) = upkeep.unready().await {
                // What is cleaned up may be what the machine lacks.
                upkeep.idle().await;
                return Asked::Unready(reason);
            }
            let claims = match forge.claim(reserved.count()).await {
                Ok(claims) => claims,
                Err(error) => return Asked::Answered(Err(error)),
            };
            let mut taken = take(claims, journal.as_ref(), clock.now()).await;
            let slots = reserved.into_slots(taken.len());
            for (taken, slot) in taken.iter_mut().zip(slots) {
                taken.slot = slot;
            }
            if taken.is_empty() {
                upkeep.idle().await;
            }
            Asked::Answered(Ok(taken))
        };
        context.spawn(call.into_actor(self).map(|asked, claimer, context| {
            claimer.trouble.note(&asked);
            let answer = match asked {
                Asked::Answered(answer) => answer,
                Asked::Unready(_) => Ok(Vec::new()),
            };
            let effect = claimer.state.on_answered(answer);
            claimer.apply(effect, context);
        }));
    }
}

/// What came of a question for jobs.
enum Asked {
    /// The forge was not asked, for this reason.
    Unready(String),
    /// It was.
    Answered(Result<Vec<Taken>, Error>),
}

/// What is wrong, as long as it is: the operator hears of it once, and once when it is over.
#[derive(Debug, Default)]
struct Trouble {
    unready: bool,
    failing: bool,
}

impl Trouble {
    fn note(&mut self, asked: &Asked) {
        match asked {
            Asked::Unready(reason) => {
                if !std::mem::replace(&mut self.unready, true) {
                    tracing::warn!("runner temporarily unavailable: {reason}");
                }
                return;
            }
            Asked::Answered(Err(Error::Exhausted)) => {}
            Asked::Answered(Err(error)) => {
                if !std::mem::replace(&mut self.failing, true) {
                    tracing::warn!(%error, "failed to fetch task, trying again until the forge answers");
                }
            }
            Asked::Answered(Ok(_)) => {
                if std::mem::take(&mut self.failing) {
                    tracing::info!("the forge answers again");
                }
            }
        }
        if std::mem::take(&mut self.unready) {
            tracing::info!("runner local health recovered");
        }
    }
}

/// Writes claims down. One that is there already was handed out twice, and is being worked on.
async fn take(claims: Vec<Claim>, journal: Option<&Connection>, now: SystemTime) -> Vec<Taken> {
    let mut taken = Vec::with_capacity(claims.len());
    for claim in claims {
        let task = claim.task;
        let Some(connection) = journal else {
            taken.push(Taken {
                claim,
                journal: None,
                slot: None,
            });
            continue;
        };
        let name = summary(&claim);
        match connection.begin(task, now, name.clone()).await {
            Ok(journal) => {
                tracing::info!(%task, "claimed {name}");
                taken.push(Taken {
                    claim,
                    journal: Some(journal),
                    slot: None,
                });
            }
            Err(journal::Error::Known(_)) => {
                tracing::warn!(%task, "the forge handed out a task again that is not reported yet; once is enough");
            }
            Err(error) => {
                let error = Chain(&error);
                tracing::warn!(%task, %error, "the job runs without a journal: it is lost if the runner is killed");
                taken.push(Taken {
                    claim,
                    journal: None,
                    slot: None,
                });
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

    fn handle(&mut self, ClaimJobs: ClaimJobs, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.reply = Some(sender);
        let effect = self.state.on_claim_jobs();
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

impl Handler<SetPacing> for Claimer {
    type Result = ();

    fn handle(&mut self, SetPacing(pacing): SetPacing, _: &mut Self::Context) {
        self.state.on_pacing(pacing);
    }
}
