//! The log-streaming actor.
//!
//! # Owns
//! Row numbers, step states and the deliveries of one task that the forge has not acknowledged.
//! # Receives
//! Entries of the job through a bounded channel, [`CloseLog`] once.
//! # Emits
//! `append_log` and `update` to the forge; a cancel that the forge asks for, to the job.
//! # Ends when
//! It was closed and everything is acknowledged.

mod messages;
mod state;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WeakRecipient,
    WrapFuture,
};
use gantry_engine::run::Entry;
use gantry_protocols::forge::{Directive, Forge, LogBatch, Progress, RowIndex, TaskId};
use tokio::sync::{mpsc, oneshot};

pub use messages::CloseLog;
use state::{Effect, State};

use crate::job::{CancelJob, CancelReason};
use crate::mailbox::answer;

/// How many entries are taken from the job at once.
const ENTRIES_AT_ONCE: usize = 64;

/// Delivers one task's log and step states.
pub struct LogStream {
    state: State,
    forge: Arc<dyn Forge>,
    entries: Option<mpsc::Receiver<Entry>>,
    job: WeakRecipient<CancelJob>,
    closing: Vec<oneshot::Sender<RowIndex>>,
}

impl Actor for LogStream {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let effects = self.state.on_started();
        self.apply(effects, context);
    }
}

impl LogStream {
    /// Starts to deliver what comes through `entries`.
    pub fn start_new(
        task: TaskId,
        forge: Arc<dyn Forge>,
        entries: mpsc::Receiver<Entry>,
        job: WeakRecipient<CancelJob>,
    ) -> Addr<Self> {
        let state = State::new(task);
        Self {
            state,
            forge,
            entries: Some(entries),
            job,
            closing: Vec::new(),
        }
        .start()
    }

    fn apply(&mut self, effects: Vec<Effect>, context: &mut Context<Self>) {
        for effect in effects {
            match effect {
                Effect::Receive => self.receive(context),
                Effect::Append(batch) => self.append(batch, context),
                Effect::Update(progress) => self.update(progress, context),
                Effect::RetryAfter(pause) => Self::retry_after(pause, context),
                Effect::Close => self.close(context),
            }
        }
    }

    fn receive(&mut self, context: &mut Context<Self>) {
        let Some(mut entries) = self.entries.take() else {
            return;
        };
        let receive = async move {
            let mut received = Vec::new();
            entries.recv_many(&mut received, ENTRIES_AT_ONCE).await;
            (received, entries)
        };
        context.spawn(
            receive
                .into_actor(self)
                .map(|(received, entries), stream, context| {
                    stream.entries = Some(entries);
                    let effects = stream.state.on_entries(received);
                    stream.apply(effects, context);
                }),
        );
    }

    fn append(&self, batch: LogBatch, context: &mut Context<Self>) {
        let forge = self.forge.clone();
        let call = async move { forge.append_log(vec![batch]).await };
        context.spawn(call.into_actor(self).map(|answer, stream, context| {
            if let Err(error) = &answer {
                tracing::warn!(%error, "failed to deliver log rows");
            }
            let effects = stream.state.on_rows_answered(answer);
            stream.apply(effects, context);
        }));
    }

    fn update(&self, progress: Progress, context: &mut Context<Self>) {
        let forge = self.forge.clone();
        let call = async move { forge.update(progress).await };
        context.spawn(call.into_actor(self).map(|answer, stream, context| {
            match &answer {
                Ok(Directive::Continue) => {}
                Ok(Directive::Cancel) => stream.cancel_job(),
                Err(error) => tracing::warn!(%error, "failed to deliver step states"),
            }
            let effects = stream.state.on_update_answered(answer.err().as_ref());
            stream.apply(effects, context);
        }));
    }

    fn cancel_job(&self) {
        let Some(job) = self.job.upgrade() else { return };
        if let Err(error) = job.try_send(CancelJob(CancelReason::Requested)) {
            tracing::debug!(%error, "the job has ended; it needs no cancel");
        }
    }

    fn retry_after(pause: Duration, context: &mut Context<Self>) {
        context.run_later(pause, |stream, context| {
            let effects = stream.state.on_retry_due();
            stream.apply(effects, context);
        });
    }

    fn close(&mut self, context: &mut Context<Self>) {
        for waiting in self.closing.drain(..) {
            answer(waiting, self.state.next_row());
        }
        context.stop();
    }
}

impl Handler<CloseLog> for LogStream {
    type Result = ResponseFuture<RowIndex>;

    fn handle(&mut self, CloseLog: CloseLog, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.closing.push(sender);
        let next = self.state.next_row();
        let effects = self.state.on_close();
        self.apply(effects, context);
        // A sender is dropped only with the stream itself, when the runtime ends.
        Box::pin(async move { receiver.await.unwrap_or(next) })
    }
}
