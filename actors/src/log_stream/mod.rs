//! The log-streaming actor.
//!
//! ```text
//! entries --number--> items --write--> journal --window in memory--> append_log, update --ack--> cursor
//! ```
//!
//! Whatever the forge is told is on disk before, if there is a journal: a number is never given twice, whenever the
//! process is killed.
//!
//! # Owns
//! Row numbers, step states and the deliveries of one task that the forge has not acknowledged.
//! # Receives
//! Entries of the job through a bounded channel, [`SealLog`] once, then [`CloseLog`].
//! # Emits
//! `append_log` and `update` to the forge; a cancel that the forge asks for, to the job.
//! # Ends when
//! It was closed and everything is acknowledged.

mod batching;
mod lane;
mod messages;
mod numbering;
mod outbox;
mod state;
mod storage;
mod wire;

use std::sync::Arc;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, SpawnHandle,
    WeakRecipient, WrapFuture,
};
use gantry_engine::chain::Chain;
use gantry_engine::run::Entry;
use gantry_protocols::forge::{Forge, LogBatch, Progress, RowIndex, TaskId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

pub use batching::Batching;
pub use messages::{CloseLog, LogClosed, SealLog, Sealed};
use state::{Effect, State};

use crate::job::{CancelJob, CancelReason};
use crate::journal::{Backlog, Item, TaskJournal};
use crate::mailbox::answer;
use crate::operator::LogCopy;

/// How many entries are taken from the job at once.
const ENTRIES_AT_ONCE: usize = 64;
/// About how many bytes are read back from the journal at once.
const READ_BYTES: u64 = lane::WINDOW as u64 / 2;

/// What a stream works with.
pub struct Delivery {
    /// The forge.
    pub forge: Arc<dyn Forge>,
    /// When what goes out.
    pub batching: Batching,
    /// Where everything is kept until it is acknowledged, if anywhere.
    pub journal: Option<TaskJournal>,
    /// Where the rows are copied to for the operator, if anywhere.
    pub copy: Option<LogCopy>,
}

/// Delivers one task's log and step states.
pub struct LogStream {
    task: TaskId,
    state: State,
    delivery: Delivery,
    entries: Option<mpsc::Receiver<Entry>>,
    job: Option<WeakRecipient<CancelJob>>,
    timer: Option<SpawnHandle>,
    sealing: Option<oneshot::Sender<Sealed>>,
    closing: Option<oneshot::Sender<LogClosed>>,
}

impl Actor for LogStream {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let effects = self.state.on_started(Instant::now());
        self.apply(effects, context);
    }
}

impl LogStream {
    /// Starts to deliver what comes through `entries`.
    pub fn start_new(
        task: TaskId,
        delivery: Delivery,
        entries: mpsc::Receiver<Entry>,
        job: WeakRecipient<CancelJob>,
    ) -> Addr<Self> {
        let sync_interval = delivery.journal.as_ref().map(TaskJournal::sync_interval);
        let state = State::new(task, delivery.batching, sync_interval);
        Self::start_with(task, state, delivery, Some(entries), Some(job))
    }

    /// Starts to deliver what another process has left behind.
    pub fn start_for(
        backlog: &Backlog,
        journal: TaskJournal,
        forge: Arc<dyn Forge>,
        batching: Batching,
    ) -> Addr<Self> {
        let state = State::of_backlog(backlog, batching, journal.sync_interval());
        let delivery = Delivery {
            forge,
            batching,
            journal: Some(journal),
            copy: None,
        };
        Self::start_with(backlog.task, state, delivery, None, None)
    }

    fn start_with(
        task: TaskId,
        state: State,
        delivery: Delivery,
        entries: Option<mpsc::Receiver<Entry>>,
        job: Option<WeakRecipient<CancelJob>>,
    ) -> Addr<Self> {
        Self {
            task,
            state,
            delivery,
            entries,
            job,
            timer: None,
            sealing: None,
            closing: None,
        }
        .start()
    }

    fn apply(&mut self, effects: Vec<Effect>, context: &mut Context<Self>) {
        for effect in effects {
            match effect {
                Effect::Receive => self.receive(context),
                Effect::Write(items) => self.write(items, context),
                Effect::Append(batches) => self.append(batches, context),
                Effect::Update(progress) => self.update(progress, context),
                Effect::WakeAt(at) => self.wake_at(at, context),
                Effect::CancelJob => self.cancel_job(),
                Effect::Warn(text) => tracing::warn!(task = %self.task, "{text}"),
                Effect::Recovered => tracing::info!(task = %self.task, "the forge can be reached again"),
                Effect::Sealed(sealed) => {
                    if let Some(waiting) = self.sealing.take() {
                        answer(waiting, sealed);
                    }
                }
                Effect::Away => self.reply(LogClosed::Away),
                Effect::Close => {
                    self.reply(LogClosed::Delivered);
                    context.stop();
                }
                journaled => self.apply_to_journal(journaled, context),
            }
        }
    }

    /// What only a stream with a journal wants.
    fn apply_to_journal(&self, effect: Effect, context: &mut Context<Self>) {
        let Some(journal) = self.delivery.journal.clone() else {
            return;
        };
        let task = self.task;
        match effect {
            Effect::ReadRows(from) => Self::read_rows(journal, from, context),
            Effect::ReadProgress(from) => Self::read_progress(journal, from, context),
            Effect::Sync => {
                let sync = async move { journal.sync().await };
                context.spawn(actix::fut::wrap_future(sync).map(
                    move |result, stream: &mut Self, context| {
                        if let Err(error) = result {
                            let error = Chain(&error);
                            tracing::warn!(%task, %error, "rows may be lost if the machine loses its power");
                        }
                        let effects = stream.state.on_synced(Instant::now());
                        stream.apply(effects, context);
                    },
                ));
            }
            Effect::Advance(cursor) => {
                let advance = async move { journal.advance(cursor).await };
                context.spawn(actix::fut::wrap_future(advance).map(
                    move |result, stream: &mut Self, context| {
                        if let Err(error) = result {
                            let error = Chain(&error);
                            tracing::debug!(%task, %error, "rows may be delivered once more after a restart");
                        }
                        let effects = stream.state.on_advanced(Instant::now());
                        stream.apply(effects, context);
                    },
                ));
            }
            _ => {}
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
                    stream.copy(&received);
                    let is_last = received.is_empty();
                    let effects = stream.state.on_entries(received, Instant::now());
                    stream.apply(effects, context);
                    if is_last {
                        stream.close_without_job(context);
                    }
                }),
        );
    }

    fn copy(&self, entries: &[Entry]) {
        let Some(copy) = &self.delivery.copy else { return };
        for entry in entries {
            if let Entry::Rows(rows) = entry {
                copy.rows(rows);
            }
        }
    }

    fn write(&self, items: Vec<Item>, context: &mut Context<Self>) {
        let journal = self.delivery.journal.clone();
        let write = async move {
            let journal = journal.ok_or("there is no journal")?;
            journal.has_room()?;
            let written = journal.append(items).await;
            written.map_err(|error| Chain(&error).to_string())
        };
        context.spawn(write.into_actor(self).map(|result, stream, context| {
            let effects = stream.state.on_written(result, Instant::now());
            stream.apply(effects, context);
        }));
    }

    fn read_rows(journal: TaskJournal, from: RowIndex, context: &mut Context<Self>) {
        let read = async move { journal.read_rows(from, READ_BYTES).await };
        context.spawn(
            actix::fut::wrap_future(read).map(|result, stream: &mut Self, context| {
                let effects = stream.state.on_rows_read(stream.logged(result), Instant::now());
                stream.apply(effects, context);
            }),
        );
    }

    fn read_progress(journal: TaskJournal, from: u64, context: &mut Context<Self>) {
        let read = async move { journal.read_progress(from, READ_BYTES).await };
        context.spawn(
            actix::fut::wrap_future(read).map(|result, stream: &mut Self, context| {
                let effects = stream
                    .state
                    .on_progress_read(stream.logged(result), Instant::now());
                stream.apply(effects, context);
            }),
        );
    }

    fn logged<T>(&self, result: Result<T, crate::journal::Error>) -> Option<T> {
        let log = |error: &crate::journal::Error| {
            let error = Chain(error);
            tracing::error!(task = %self.task, %error, "the journal cannot be read");
        };
        result.inspect_err(log).ok()
    }

    fn append(&self, batches: Vec<LogBatch>, context: &mut Context<Self>) {
        let forge = self.delivery.forge.clone();
        let call = async move { forge.append_log(batches).await };
        context.spawn(call.into_actor(self).map(|answer, stream, context| {
            let effects = stream.state.on_rows_answered(answer, Instant::now());
            stream.apply(effects, context);
        }));
    }

    fn update(&self, progress: Progress, context: &mut Context<Self>) {
        let forge = self.delivery.forge.clone();
        let call = async move { forge.update(progress).await };
        context.spawn(call.into_actor(self).map(|answer, stream, context| {
            let effects = stream.state.on_update_answered(answer, Instant::now());
            stream.apply(effects, context);
        }));
    }

    fn cancel_job(&self) {
        let Some(job) = self.job.as_ref().and_then(WeakRecipient::upgrade) else {
            return;
        };
        if let Err(error) = job.try_send(CancelJob(CancelReason::Requested)) {
            tracing::debug!(%error, "the job has ended; it needs no cancel");
        }
    }

    /// A job that has died will never say that the stream may end.
    fn close_without_job(&mut self, context: &mut Context<Self>) {
        let Some(job) = &self.job else { return };
        if job.upgrade().is_some_and(|job| job.connected()) {
            return;
        }
        self.job = None;
        let effects = self.state.on_close(true, Instant::now());
        self.apply(effects, context);
    }

    fn wake_at(&mut self, at: Instant, context: &mut Context<Self>) {
        if let Some(timer) = self.timer.take() {
            context.cancel_future(timer);
        }
        let pause = at.saturating_duration_since(Instant::now());
        self.timer = Some(context.run_later(pause, |stream, context| {
            stream.timer = None;
            let effects = stream.state.on_wake(Instant::now());
            stream.apply(effects, context);
            stream.close_without_job(context);
        }));
    }

    fn reply(&mut self, closed: LogClosed) {
        if let Some(waiting) = self.closing.take() {
            answer(waiting, closed);
        }
    }
}

impl Handler<SealLog> for LogStream {
    type Result = ResponseFuture<Sealed>;

    fn handle(&mut self, SealLog: SealLog, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.sealing = Some(sender);
        let effects = self.state.on_seal(Instant::now());
        self.apply(effects, context);
        // A sender is dropped only with the stream itself, when the runtime ends.
        Box::pin(async move { receiver.await.unwrap_or_default() })
    }
}

impl Handler<CloseLog> for LogStream {
    type Result = ResponseFuture<LogClosed>;

    fn handle(&mut self, CloseLog { patient }: CloseLog, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.closing = Some(sender);
        let effects = self.state.on_close(patient, Instant::now());
        self.apply(effects, context);
        Box::pin(async move { receiver.await.unwrap_or(LogClosed::Delivered) })
    }
}
