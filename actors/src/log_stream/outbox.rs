//! What the forge is told next, and when: one call at a time, rows before the states that speak of them.

use gantry_protocols::forge::{
    Ack, Directive, Error, LogBatch, Progress, Retry, RowIndex, StepState, TaskId,
};
use tokio::time::Instant;

use super::Batching;
use super::lane::{Lane, Numbered};
use crate::backoff::Backoff;
use crate::journal::{Backlog, Cursor, Item, Pending};

/// About how many bytes go out with one call.
const CALL_BYTES: usize = 1024 * 1024;

/// A call that is under way.
#[derive(Debug)]
enum Flight {
    Rows,
    Update { next: u64, steps: Vec<StepState> },
}

/// A call to the forge.
#[derive(Debug)]
pub enum Call {
    /// Deliver rows.
    Append(Vec<LogBatch>),
    /// Tell progress.
    Update(Progress),
}

/// What an answer means for others.
#[derive(Debug, Default)]
pub struct Answered {
    /// How many bytes of memory are free again, if the forge has taken anything.
    pub freed: Option<usize>,
    /// The job is to be cancelled.
    pub cancel: bool,
    /// What the operator should hear.
    pub warning: Option<String>,
    /// The forge could not be reached before, and was now.
    pub is_back: bool,
}

/// How calls of one kind go.
#[derive(Debug)]
struct Way {
    backoff: Backoff,
    blocked: Option<Instant>,
    /// The forge itself has named the pause.
    is_asked_for: bool,
}

impl Way {
    /// A call has failed; returns whether it may go well later.
    fn on_failure(&mut self, retry: Retry, now: Instant) -> bool {
        let Some(pause) = self.backoff.on_failure(retry) else {
            return false;
        };
        self.blocked = Some(now + pause);
        self.is_asked_for = matches!(retry, Retry::After(_));
        true
    }

    /// A call of the other kind went well: the forge can be reached again, so nothing but its own wish is waited for.
    fn on_reached(&mut self) {
        if !self.is_asked_for {
            self.blocked = None;
        }
    }

    fn is_open(&self, now: Instant) -> bool {
        self.blocked.is_none_or(|until| until <= now)
    }
}

/// What one task has to tell the forge.
#[derive(Debug)]
pub struct Outbox {
    task: TaskId,
    batching: Batching,
    rows: Lane<LogBatch>,
    progress: Lane<Pending>,
    /// The steps as the forge knows them.
    told: Vec<StepState>,
    flight: Option<Flight>,
    row_way: Way,
    update_way: Way,
    /// Since when rows wait.
    oldest: Option<Instant>,
    /// Rows before this one do not wait for a batch to be full.
    urgent_rows: u64,
    /// Progress before this item does not wait.
    urgent_progress: u64,
    /// The forge has new rows and does not know yet which steps they belong to.
    report_due: bool,
    heartbeat_at: Option<Instant>,
    /// The forge will never take a row of this task again.
    refuses_rows: bool,
    /// The forge will never take anything again.
    is_gone: bool,
}

impl Outbox {
    /// Nothing is to be told.
    pub fn new(task: TaskId, batching: Batching) -> Self {
        let way = |seed| Way {
            backoff: Backoff::new(TaskId(seed)),
            blocked: None,
            is_asked_for: false,
        };
        Self {
            task,
            batching,
            rows: Lane::new(task, 0..0),
            progress: Lane::new(task, 0..0),
            told: Vec::new(),
            flight: None,
            row_way: way(task.0),
            update_way: way(!task.0),
            oldest: None,
            urgent_rows: 0,
            urgent_progress: 0,
            report_due: false,
            heartbeat_at: None,
            refuses_rows: false,
            is_gone: false,
        }
    }

    /// What another process has left behind is to be told.
    pub fn of_backlog(backlog: &Backlog, batching: Batching) -> Self {
        Self {
            rows: Lane::new(backlog.task, backlog.rows.clone()),
            progress: Lane::new(backlog.task, backlog.progress.clone()),
            told: backlog.reported.clone(),
            ..Self::new(backlog.task, batching)
        }
    }

    /// The rows on their way.
    pub fn rows(&mut self) -> &mut Lane<LogBatch> {
        &mut self.rows
    }

    /// The progress on its way.
    pub fn progress(&mut self) -> &mut Lane<Pending> {
        &mut self.progress
    }

    /// How far the forge is.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            rows: RowIndex(self.rows.acked()),
            progress: self.progress.acked(),
            steps: self.told.clone(),
        }
    }

    /// How many bytes of memory everything takes.
    pub fn memory(&self) -> usize {
        self.rows.memory() + self.progress.memory()
    }

    /// Tells whether the forge could not be reached the last time.
    pub fn is_away(&self) -> bool {
        self.row_way.backoff.is_failing() || self.update_way.backoff.is_failing()
    }

    /// Tells whether the forge has everything that it will ever take.
    pub fn is_done(&self) -> bool {
        self.flight.is_none() && self.rows.waiting() == 0 && self.progress.waiting() == 0
    }

    /// The clock of the heartbeat starts.
    pub fn on_started(&mut self, now: Instant) {
        self.heartbeat_at = self.batching.next_heartbeat(now);
    }

    /// Takes what is to be told next; `written` items need not stay in memory.
    pub fn accept(&mut self, item: Item, written: bool, now: Instant) {
        match item {
            Item::Rows(batch) => {
                self.rows.accept(batch, written);
                self.oldest.get_or_insert(now);
            }
            Item::Progress(pending) => {
                if pending.urgent {
                    self.urgent_progress = pending.number + 1;
                    self.urgent_rows = pending.after.0;
                }
                self.progress.accept(pending, written);
            }
        }
        self.drop_unwanted();
    }

    /// The next call, if one is due; in a `hurry` nothing waits for a batch to be full. `live` is what is known of the
    /// steps.
    pub fn next_call(&mut self, live: &[StepState], hurry: bool, now: Instant) -> Option<Call> {
        if self.flight.is_some() || self.is_gone {
            return None;
        }
        if self.update_is_due(hurry, now) && self.update_way.is_open(now) {
            return Some(Call::Update(self.take_update(live)));
        }
        if self.rows_are_due(hurry, now) && self.row_way.is_open(now) {
            let batches = self.batches();
            if !batches.is_empty() {
                self.flight = Some(Flight::Rows);
                return Some(Call::Append(batches));
            }
        }
        None
    }

    /// When something is due that is not due now.
    pub fn deadline(&self, hurry: bool, now: Instant) -> Option<Instant> {
        if self.flight.is_some() || self.is_gone {
            return None;
        }
        let mut deadlines = Vec::new();
        if self.rows.waiting() > 0 {
            deadlines.extend(self.row_way.blocked);
            deadlines.extend(self.oldest.map(|oldest| oldest + self.batching.longest_wait()));
        }
        if self.update_is_due(hurry, now) {
            deadlines.extend(self.update_way.blocked);
        }
        deadlines.extend(self.heartbeat_at);
        deadlines.into_iter().filter(|at| *at > now).min()
    }

    /// The forge has answered a delivery of rows.
    pub fn on_rows_answered(&mut self, answer: Result<Ack, Error>, now: Instant) -> Answered {
        self.flight = None;
        let error = match answer {
            Ok(ack) if ack.next.0 > self.rows.acked() => return self.on_acked(ack, now),
            Ok(ack) => Error::Unavailable {
                operation: "append_log",
                reason: format!(
                    "it says that row {} is the next, and does not take it",
                    ack.next.0
                ),
            },
            Err(error) => error,
        };
        let first = !self.row_way.backoff.is_failing();
        if self.row_way.on_failure(error.retry(), now) {
            return Answered::failed(&error, first);
        }
        if error.retry() == Retry::Unregistered {
            return self.give_up(&error);
        }
        self.row_way.backoff.on_success();
        self.refuses_rows = true;
        let freed = self.drop_unwanted();
        Answered {
            freed: Some(freed),
            warning: Some(format!(
                "the forge takes no more rows, so the rest is dropped: {error}"
            )),
            ..Answered::default()
        }
    }

    /// The forge has answered an update.
    pub fn on_update_answered(&mut self, answer: Result<Directive, Error>, now: Instant) -> Answered {
        let Some(Flight::Update { next, steps }) = self.flight.take() else {
            return Answered::default();
        };
        self.heartbeat_at = self.batching.next_heartbeat(now);
        let first = !self.update_way.backoff.is_failing();
        let mut answered = Answered::default();
        match answer {
            Ok(directive) => {
                answered.is_back = !first;
                self.row_way.on_reached();
                answered.cancel = directive == Directive::Cancel;
            }
            Err(error) => {
                if self.update_way.on_failure(error.retry(), now) {
                    self.report_due = !self.batching.in_order;
                    return Answered::failed(&error, first);
                }
                if error.retry() == Retry::Unregistered {
                    return self.give_up(&error);
                }
                answered.warning = Some(format!("the forge does not take a step state: {error}"));
            }
        }
        self.update_way.backoff.on_success();
        self.update_way.blocked = None;
        self.told = steps;
        answered.freed = Some(self.progress.ack(next));
        answered
    }

    fn on_acked(&mut self, ack: Ack, now: Instant) -> Answered {
        let is_back = self.row_way.backoff.is_failing();
        self.row_way.backoff.on_success();
        self.row_way.blocked = None;
        self.update_way.on_reached();
        let freed = self.rows.ack(ack.next.0);
        self.oldest = (self.rows.waiting() > 0).then_some(now);
        self.report_due = !self.batching.in_order;
        Answered {
            freed: Some(freed),
            is_back,
            ..Answered::default()
        }
    }

    /// The forge does not know this runner any more: nothing that is said of the task will ever reach it.
    fn give_up(&mut self, error: &Error) -> Answered {
        self.is_gone = true;
        self.row_way.backoff.on_success();
        self.update_way.backoff.on_success();
        let freed = self.drop_unwanted();
        Answered {
            freed: Some(freed),
            cancel: true,
            warning: Some(format!("the forge takes nothing more of this task: {error}")),
            is_back: false,
        }
    }

    /// Drops what the forge will never take; a byte that is dropped is a byte that is free.
    fn drop_unwanted(&mut self) -> usize {
        let mut freed = 0;
        if self.is_gone || self.refuses_rows {
            freed += self.rows.ack(self.rows.next());
            self.oldest = None;
        }
        if self.is_gone {
            freed += self.progress.ack(self.progress.next());
        }
        freed
    }

    /// The first item of progress, if the forge has every row that comes before it.
    fn next_progress(&self) -> Option<&Pending> {
        let first = self.progress.ready().next()?;
        (first.after.0 <= self.rows.acked()).then_some(&**first)
    }

    fn update_is_due(&self, hurry: bool, now: Instant) -> bool {
        let hurry = hurry || self.batching.in_order || self.progress.acked() < self.urgent_progress;
        hurry && self.next_progress().is_some()
            || self.report_due
            || self.heartbeat_at.is_some_and(|at| at <= now)
    }

    fn rows_are_due(&self, hurry: bool, now: Instant) -> bool {
        let waits_long = || {
            self.oldest
                .is_some_and(|oldest| oldest + self.batching.longest_wait() <= now)
        };
        let waiting = self.rows.waiting();
        waiting > 0
            && (hurry
                || waiting >= self.batching.rows
                || self.rows.acked() < self.urgent_rows
                || waits_long())
    }

    /// The rows of the next call: in order, without a gap, and none that comes after progress that goes first.
    fn batches(&self) -> Vec<LogBatch> {
        let mut limit = u64::MAX;
        if self.batching.in_order && self.progress.waiting() > 0 {
            limit = self.progress.ready().next().map_or(0, |first| first.after.0);
        }
        let mut batches = Vec::new();
        let mut bytes = 0;
        for batch in self.rows.ready() {
            if bytes >= CALL_BYTES || batch.first.0 >= limit {
                break;
            }
            bytes += batch.weight();
            batches.push(LogBatch::clone(batch));
        }
        batches
    }

    fn take_update(&mut self, live: &[StepState]) -> Progress {
        self.report_due = false;
        let mut steps = self.told.clone();
        let mut update = Progress::of(self.task);
        let mut next = self.progress.acked();
        let mut bytes = 0;
        for pending in self.progress.ready() {
            let alone = self.batching.in_order && bytes > 0;
            if bytes >= CALL_BYTES || alone || pending.after.0 > self.rows.acked() {
                break;
            }
            bytes += pending.weight();
            next = pending.number + 1;
            for step in &pending.progress.steps {
                steps.retain(|known| known.index != step.index);
                steps.push(step.clone());
            }
            let Progress {
                annotations,
                summaries,
                steps: changed,
                ..
            } = &pending.progress;
            update.annotations.extend_from_slice(annotations);
            update.summaries.extend_from_slice(summaries);
            update.steps.extend_from_slice(changed);
        }
        if !self.batching.in_order {
            steps.sort_by_key(|step| step.index);
            for step in steps.iter_mut().filter(|step| step.conclusion.is_none()) {
                step.log_length = self.length_of(step, live);
            }
            update.steps.clone_from(&steps);
        }
        self.flight = Some(Flight::Update { next, steps });
        update
    }

    /// How many rows of a running step the forge has; no other rows are between them.
    fn length_of(&self, step: &StepState, live: &[StepState]) -> u64 {
        let written = live
            .iter()
            .find(|known| known.index == step.index)
            .map_or(step.log_length, |known| known.log_length);
        written.min(self.rows.acked().saturating_sub(step.log_first.0))
    }
}

impl Answered {
    fn failed(error: &Error, first: bool) -> Self {
        let warning =
            || format!("the forge cannot be told how the job goes; trying again until it can: {error}");
        Self {
            warning: first.then(warning),
            ..Self::default()
        }
    }
}
