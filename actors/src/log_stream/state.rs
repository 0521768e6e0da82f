//! What a stream does next, without a clock, a disk or a wire: the parts of the stream put together.

use std::time::Duration;

use gantry_engine::run::Entry;
use gantry_protocols::forge::{Ack, Directive, Error, LogBatch, Progress, RowIndex, TaskId};
use tokio::time::Instant;

use super::numbering::Numbering;
use super::outbox::{Answered, Call, Outbox};
use super::storage::Storage;
use super::{Batching, Sealed};
use crate::journal::{Backlog, Cursor, Item, Pending};

/// How many bytes may wait in memory without being on disk: a flood then slows the step.
const BOUND: usize = 4 * 1024 * 1024;

/// What the shell is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Take the next entries from the job.
    Receive,
    /// Write items to the journal.
    Write(Vec<Item>),
    /// Make what was written survive a loss of power.
    Sync,
    /// Read rows back, from this one on.
    ReadRows(RowIndex),
    /// Read progress back, from this item on.
    ReadProgress(u64),
    /// Note in the journal how far the forge is.
    Advance(Cursor),
    /// Deliver rows.
    Append(Vec<LogBatch>),
    /// Deliver progress.
    Update(Progress),
    /// The forge wants the job cancelled.
    CancelJob,
    /// Something is due then; an earlier wish of this kind is void.
    WakeAt(Instant),
    /// Tell the operator what is wrong.
    Warn(String),
    /// Tell the operator that it is not wrong any more.
    Recovered,
    /// Everything has its number and its place.
    Sealed(Sealed),
    /// The forge cannot be reached now.
    Away,
    /// Everything is delivered.
    Close,
}

/// Where the entries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Nobody waits for entries.
    Idle,
    /// The next entries are awaited.
    Receiving,
    /// The job will never write again.
    Exhausted,
}

/// How far the end of the stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// Nobody waits for it.
    Open,
    /// Somebody waits until everything is delivered, and wants to know if that cannot be now.
    Asked,
    /// Somebody waits until everything is delivered, however long it takes.
    Patient,
    /// It has closed.
    Closed,
}

/// The deliveries of one task.
#[derive(Debug)]
pub struct State {
    numbering: Numbering,
    storage: Storage,
    outbox: Outbox,
    source: Source,
    /// Somebody wants to know when everything has its number.
    sealing: bool,
    closing: Closing,
    armed: Option<Instant>,
    due: Vec<Effect>,
}

impl State {
    /// Nothing is said yet. With a journal, what is written must not wait longer than this for a sync.
    pub fn new(task: TaskId, batching: Batching, sync_interval: Option<Duration>) -> Self {
        Self::of(
            Numbering::new(task),
            Storage::new(sync_interval),
            Outbox::new(task, batching),
            Source::Idle,
        )
    }

    /// Everything is said, and in the journal.
    pub fn of_backlog(backlog: &Backlog, batching: Batching, sync_interval: Duration) -> Self {
        Self::of(
            Numbering::of_backlog(backlog),
            Storage::new(Some(sync_interval)),
            Outbox::of_backlog(backlog, batching),
            Source::Exhausted,
        )
    }

    fn of(numbering: Numbering, storage: Storage, outbox: Outbox, source: Source) -> Self {
        Self {
            numbering,
            storage,
            outbox,
            source,
            sealing: false,
            closing: Closing::Open,
            armed: None,
            due: Vec::new(),
        }
    }

    /// What to do first.
    pub fn on_started(&mut self, now: Instant) -> Vec<Effect> {
        self.outbox.on_started(now);
        self.next_effects(now)
    }

    /// The job has ended: say when everything has its number.
    pub fn on_seal(&mut self, now: Instant) -> Vec<Effect> {
        self.sealing = true;
        self.next_effects(now)
    }

    /// The job has ended: close once everything is delivered.
    pub fn on_close(&mut self, patient: bool, now: Instant) -> Vec<Effect> {
        if self.closing != Closing::Closed {
            self.closing = if patient { Closing::Patient } else { Closing::Asked };
        }
        self.next_effects(now)
    }

    /// The job has written entries; none at all means that it will never write again.
    pub fn on_entries(&mut self, entries: Vec<Entry>, now: Instant) -> Vec<Effect> {
        self.source = if entries.is_empty() {
            Source::Exhausted
        } else {
            Source::Idle
        };
        let is_full = self.must_drop();
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            if is_full && Numbering::may_drop(&entry) {
                self.numbering.drop_entry(entry);
                continue;
            }
            items.extend(self.numbering.take_notice(self.storage.reason()));
            items.extend(self.numbering.number(entry));
        }
        if self.source == Source::Exhausted {
            items.extend(self.numbering.take_notice(self.storage.reason()));
        }
        self.keep(items, now);
        self.next_effects(now)
    }

    /// Items are on disk, or this is why they are not.
    pub fn on_written(&mut self, result: Result<(), String>, now: Instant) -> Vec<Effect> {
        let (items, written, warning) = self.storage.on_written(result, now);
        self.due.extend(warning.map(Effect::Warn));
        for item in items {
            self.outbox.accept(item, written, now);
        }
        self.next_effects(now)
    }

    /// Rows were read back, or cannot be.
    pub fn on_rows_read(&mut self, rows: Option<Vec<LogBatch>>, now: Instant) -> Vec<Effect> {
        let lost = self.outbox.rows().on_read(rows, self.numbering.time());
        self.on_read(lost, now)
    }

    /// Progress was read back, or cannot be.
    pub fn on_progress_read(&mut self, items: Option<Vec<Pending>>, now: Instant) -> Vec<Effect> {
        let lost = self.outbox.progress().on_read(items, self.numbering.time());
        self.on_read(lost, now)
    }

    /// A sync is over.
    pub fn on_synced(&mut self, now: Instant) -> Vec<Effect> {
        self.storage.on_synced();
        self.next_effects(now)
    }

    /// The cursor was moved.
    pub fn on_advanced(&mut self, now: Instant) -> Vec<Effect> {
        self.storage.on_advanced();
        self.next_effects(now)
    }

    /// The forge has answered a delivery of rows.
    pub fn on_rows_answered(&mut self, answer: Result<Ack, Error>, now: Instant) -> Vec<Effect> {
        let answered = self.outbox.on_rows_answered(answer, now);
        self.on_answered(answered, now)
    }

    /// The forge has answered an update.
    pub fn on_update_answered(&mut self, answer: Result<Directive, Error>, now: Instant) -> Vec<Effect> {
        let answered = self.outbox.on_update_answered(answer, now);
        self.on_answered(answered, now)
    }

    /// Something is due.
    pub fn on_wake(&mut self, now: Instant) -> Vec<Effect> {
        self.armed = None;
        self.next_effects(now)
    }

    /// Writes items, or hands them on if there is nothing that takes them.
    fn keep(&mut self, items: Vec<Item>, now: Instant) {
        if items.is_empty() {
            return;
        }
        if self.storage.is_writing() {
            self.storage.on_write(items.clone());
            self.due.push(Effect::Write(items));
            return;
        }
        for item in items {
            self.outbox.accept(item, false, now);
        }
    }

    /// Neither disk nor memory have room, and nobody can say for how long.
    fn must_drop(&self) -> bool {
        self.storage.is_refusing() && self.outbox.memory() >= BOUND && self.outbox.is_away()
    }

    fn has_room(&self) -> bool {
        self.storage.is_writing() || self.outbox.memory() < BOUND || self.must_drop()
    }

    fn on_read(&mut self, lost: bool, now: Instant) -> Vec<Effect> {
        if lost {
            let text = "rows or step states of a job are lost: the journal cannot be read";
            self.due.push(Effect::Warn(text.to_owned()));
        }
        self.next_effects(now)
    }

    fn on_answered(&mut self, answered: Answered, now: Instant) -> Vec<Effect> {
        let Answered {
            freed,
            cancel,
            warning,
            is_back,
        } = answered;
        if let Some(freed) = freed {
            self.storage.on_acked(freed, now);
        }
        self.due.extend(warning.map(Effect::Warn));
        if is_back && !self.outbox.is_away() {
            self.due.push(Effect::Recovered);
        }
        if cancel {
            self.due.push(Effect::CancelJob);
        }
        self.next_effects(now)
    }

    fn next_effects(&mut self, now: Instant) -> Vec<Effect> {
        let mut effects = std::mem::take(&mut self.due);
        if self.closing == Closing::Closed {
            return effects;
        }
        if self.outbox.is_done() {
            self.storage.on_all_delivered();
        }
        if self.source == Source::Idle && !self.storage.is_busy() && self.has_room() {
            self.source = Source::Receiving;
            effects.push(Effect::Receive);
        }
        effects.extend(self.outbox.rows().wanted().map(RowIndex).map(Effect::ReadRows));
        effects.extend(self.outbox.progress().wanted().map(Effect::ReadProgress));
        if self.storage.take_sync(now) {
            effects.push(Effect::Sync);
        }
        let is_over = self.source == Source::Exhausted && !self.storage.is_busy();
        let call = self.outbox.next_call(self.numbering.steps(), is_over, now);
        effects.extend(call.map(|call| match call {
            Call::Append(batches) => Effect::Append(batches),
            Call::Update(progress) => Effect::Update(progress),
        }));
        self.end(is_over, now, &mut effects);
        self.arm(is_over, now, &mut effects);
        effects
    }

    /// The last things: the cursor, and the answers to those who wait.
    fn end(&mut self, is_over: bool, now: Instant, effects: &mut Vec<Effect>) {
        let is_delivered = is_over && self.outbox.is_done();
        if self.storage.take_advance(now, is_delivered) {
            effects.push(Effect::Advance(self.outbox.cursor()));
        }
        if is_over && std::mem::take(&mut self.sealing) {
            effects.push(Effect::Sealed(Sealed {
                rows: self.numbering.next_row(),
                steps: self.numbering.steps().to_vec(),
            }));
        }
        if self.closing == Closing::Open {
            return;
        }
        if is_delivered && self.storage.is_settled() {
            self.closing = Closing::Closed;
            effects.push(Effect::Close);
        } else if self.closing == Closing::Asked && self.outbox.is_away() {
            self.closing = Closing::Open;
            effects.push(Effect::Away);
        }
    }

    fn arm(&mut self, is_over: bool, now: Instant, effects: &mut Vec<Effect>) {
        if self.closing == Closing::Closed {
            return;
        }
        let outbox = self.outbox.deadline(is_over, now);
        let storage = self.storage.deadline().filter(|at| *at > now);
        let Some(at) = outbox.into_iter().chain(storage).min() else {
            return;
        };
        if self.armed != Some(at) {
            self.armed = Some(at);
            effects.push(Effect::WakeAt(at));
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
