//! Row numbers, step states and what must be delivered next, without a clock and without a wire.
//!
//! Deliveries go out one at a time and in order: the rows of a step before the state that says it is done.

use std::collections::VecDeque;
use std::time::Duration;

use gantry_engine::run::{Entry, Rows};
use gantry_protocols::forge::{Ack, Error, LogBatch, Progress, Retry, RowIndex, StepState, Summary, TaskId};

use super::wire::wire_annotation;
use crate::job::wire_conclusion;

/// How many bytes of rows may wait before the stream takes no more: a flood then slows the step.
const WINDOW: usize = 4 * 1024 * 1024;
/// The first pause after a failed delivery; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause after a failed delivery.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What the shell is to do.
#[derive(Debug, Clone)]
#[must_use]
pub enum Effect {
    /// Take the next entries from the job.
    Receive,
    /// Deliver rows.
    Append(LogBatch),
    /// Deliver step states.
    Update(Progress),
    /// Try the last delivery again after this pause.
    RetryAfter(Duration),
    /// Everything is delivered.
    Close,
}

/// Something that is to be delivered.
#[derive(Debug, Clone)]
enum Delivery {
    Rows(LogBatch),
    Progress(Progress),
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
    /// It is to close once everything is delivered.
    Asked,
    /// It has closed.
    Closed,
}

/// The deliveries of one task.
#[derive(Debug)]
pub struct State {
    task: TaskId,
    next_row: RowIndex,
    steps: Vec<StepState>,
    queue: VecDeque<Delivery>,
    queued_bytes: usize,
    source: Source,
    in_flight: bool,
    failures: u32,
    closing: Closing,
}

impl State {
    /// Nothing is delivered yet.
    pub fn new(task: TaskId) -> Self {
        Self {
            task,
            next_row: RowIndex(0),
            steps: Vec::new(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            source: Source::Idle,
            in_flight: false,
            failures: 0,
            closing: Closing::Open,
        }
    }

    /// The number that the next row will have.
    pub fn next_row(&self) -> RowIndex {
        self.next_row
    }

    /// What to do first.
    pub fn on_started(&mut self) -> Vec<Effect> {
        self.next_effects()
    }

    /// The job has ended: close once everything is delivered.
    pub fn on_close(&mut self) -> Vec<Effect> {
        if self.closing == Closing::Open {
            self.closing = Closing::Asked;
        }
        self.next_effects()
    }

    /// The job has written entries; none at all means that it will never write again.
    pub fn on_entries(&mut self, entries: Vec<Entry>) -> Vec<Effect> {
        self.source = if entries.is_empty() {
            Source::Exhausted
        } else {
            Source::Idle
        };
        for entry in entries {
            self.enqueue(entry);
        }
        self.next_effects()
    }

    /// The forge has answered a delivery of rows.
    pub fn on_rows_answered(&mut self, answer: Result<Ack, Error>) -> Vec<Effect> {
        match answer {
            Ok(ack) => self.on_acked(ack),
            Err(error) => self.on_failed(&error),
        }
    }

    /// The forge has answered a delivery of step states.
    pub fn on_update_answered(&mut self, error: Option<&Error>) -> Vec<Effect> {
        if let Some(error) = error {
            return self.on_failed(error);
        }
        self.failures = 0;
        self.in_flight = false;
        self.queue.pop_front();
        self.next_effects()
    }

    /// The pause after a failed delivery is over.
    pub fn on_retry_due(&mut self) -> Vec<Effect> {
        self.in_flight = false;
        self.next_effects()
    }

    fn enqueue(&mut self, entry: Entry) {
        match entry {
            Entry::Rows(rows) => self.enqueue_rows(rows),
            Entry::Annotation { step, annotation } => {
                let annotations = vec![wire_annotation(step, annotation)];
                self.enqueue_progress(Progress {
                    annotations,
                    ..Progress::of(self.task)
                });
            }
            Entry::Summary { step, text } => {
                let summaries = vec![Summary { step, text }];
                self.enqueue_progress(Progress {
                    summaries,
                    ..Progress::of(self.task)
                });
            }
            Entry::StepStarted { index, name, at } => {
                let state = StepState {
                    index,
                    name,
                    started: Some(at),
                    stopped: None,
                    outcome: None,
                    conclusion: None,
                    log_first: self.next_row,
                    log_length: 0,
                };
                self.steps.retain(|step| step.index != index);
                self.steps.push(state.clone());
                self.enqueue_step(state);
            }
            Entry::StepFinished {
                index,
                outcome,
                conclusion,
                at,
            } => {
                let Some(step) = self.steps.iter_mut().find(|step| step.index == index) else {
                    return;
                };
                step.stopped = Some(at);
                step.outcome = Some(wire_conclusion(outcome));
                step.conclusion = Some(wire_conclusion(conclusion));
                let step = step.clone();
                self.enqueue_step(step);
            }
        }
    }

    fn enqueue_step(&mut self, step: StepState) {
        self.enqueue_progress(Progress {
            steps: vec![step],
            ..Progress::of(self.task)
        });
    }

    fn enqueue_progress(&mut self, progress: Progress) {
        self.queue.push_back(Delivery::Progress(progress));
    }

    fn enqueue_rows(&mut self, rows: Rows) {
        let Rows {
            time,
            step,
            text,
            ends,
        } = rows;
        let batch = LogBatch {
            task: self.task,
            first: self.next_row,
            time,
            step,
            text,
            ends,
        };
        self.next_row = batch.next();
        if let Some(state) = step.and_then(|index| self.steps.iter_mut().find(|state| state.index == index)) {
            state.log_length += batch.len() as u64;
        }
        self.queued_bytes += batch.text.len();
        self.queue.push_back(Delivery::Rows(batch));
    }

    /// The forge has everything before `ack.next`; what it does not have is sent again.
    fn on_acked(&mut self, ack: Ack) -> Vec<Effect> {
        self.failures = 0;
        self.in_flight = false;
        if let Some(Delivery::Rows(batch)) = self.queue.front_mut() {
            if ack.next >= batch.next() {
                self.queued_bytes = self.queued_bytes.saturating_sub(batch.text.len());
                self.queue.pop_front();
            } else if ack.next > batch.first {
                drop_rows(batch, ack.next);
            }
        }
        self.next_effects()
    }

    fn on_failed(&mut self, error: &Error) -> Vec<Effect> {
        match error.retry() {
            Retry::Later => {
                let pause = FIRST_PAUSE
                    .saturating_mul(1 << self.failures.min(16))
                    .min(LONGEST_PAUSE);
                self.failures += 1;
                vec![Effect::RetryAfter(pause)]
            }
            Retry::After(pause) => vec![Effect::RetryAfter(pause)],
            Retry::Never | Retry::Unregistered => {
                // The forge will never take it; what follows may still be wanted.
                self.in_flight = false;
                self.queue.pop_front();
                self.next_effects()
            }
        }
    }

    fn next_effects(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.source == Source::Idle && self.queued_bytes < WINDOW {
            self.source = Source::Receiving;
            effects.push(Effect::Receive);
        }
        if self.in_flight {
            return effects;
        }
        match self.queue.front() {
            Some(Delivery::Rows(batch)) => effects.push(Effect::Append(batch.clone())),
            Some(Delivery::Progress(progress)) => effects.push(Effect::Update(progress.clone())),
            None if self.source == Source::Exhausted && self.closing == Closing::Asked => {
                self.closing = Closing::Closed;
                effects.push(Effect::Close);
                return effects;
            }
            None => return effects,
        }
        self.in_flight = true;
        effects
    }
}

/// Drops the rows before `next` from the front of a batch.
fn drop_rows(batch: &mut LogBatch, next: RowIndex) {
    let count = usize::try_from(next.0 - batch.first.0)
        .unwrap_or(usize::MAX)
        .min(batch.ends.len());
    let Some(cut) = count
        .checked_sub(1)
        .and_then(|last| batch.ends.get(last))
        .copied()
    else {
        return;
    };
    batch.ends.drain(..count);
    for end in &mut batch.ends {
        *end -= cut;
    }
    batch.text.drain(..cut as usize);
    batch.first = next;
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use gantry_engine::plan::Conclusion;
    use proptest::prelude::*;

    use super::*;

    fn rows(lines: &str) -> Entry {
        Entry::Rows(Rows::of_lines(SystemTime::UNIX_EPOCH, Some(0), lines))
    }

    fn started() -> Entry {
        Entry::StepStarted {
            index: 0,
            name: "Run x".to_owned(),
            at: SystemTime::UNIX_EPOCH,
        }
    }

    fn finished() -> Entry {
        Entry::StepFinished {
            index: 0,
            outcome: Conclusion::Failure,
            conclusion: Conclusion::Success,
            at: SystemTime::UNIX_EPOCH,
        }
    }

    fn unavailable() -> Error {
        Error::Unavailable {
            operation: "append_log",
            reason: "gone".to_owned(),
        }
    }

    fn show(effects: &[Effect]) -> Vec<String> {
        effects
            .iter()
            .map(|effect| match effect {
                Effect::Append(batch) => {
                    format!(
                        "append {}: {}",
                        batch.first.0,
                        batch.rows().collect::<Vec<_>>().join("|")
                    )
                }
                Effect::Update(progress) => {
                    let step = progress.steps.first().unwrap();
                    let end = step
                        .outcome
                        .map_or_else(String::new, |outcome| format!(" {outcome:?}"));
                    format!("update {}+{}{end}", step.log_first.0, step.log_length)
                }
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_steps_rows_go_out_before_the_state_that_ends_it() {
        let mut state = State::new(TaskId(1));
        assert_eq!(show(&state.on_started()), ["Receive"]);
        let entries = vec![started(), rows("a\nb\n"), finished()];
        assert_eq!(show(&state.on_entries(entries)), ["Receive", "update 0+0"]);
        assert_eq!(show(&state.on_update_answered(None)), ["append 0: a|b"]);
        let ack = Ack { next: RowIndex(2) };
        assert_eq!(show(&state.on_rows_answered(Ok(ack))), ["update 0+2 Failure"]);
        assert_eq!(show(&state.on_update_answered(None)), [""; 0]);
        assert_eq!(show(&state.on_entries(Vec::new())), [""; 0]);
        assert_eq!(show(&state.on_close()), ["Close"]);
    }

    #[test]
    fn what_the_forge_does_not_have_is_sent_again() {
        let mut state = State::new(TaskId(1));
        drop(state.on_started());
        assert_eq!(
            show(&state.on_entries(vec![rows("a\nb\nc\n")])),
            ["Receive", "append 0: a|b|c"]
        );
        assert_eq!(
            show(&state.on_rows_answered(Err(unavailable()))),
            ["RetryAfter(250ms)"]
        );
        assert_eq!(show(&state.on_retry_due()), ["append 0: a|b|c"]);
        assert_eq!(
            show(&state.on_rows_answered(Ok(Ack { next: RowIndex(1) }))),
            ["append 1: b|c"]
        );
        // An acknowledgement that goes back, or too far, is taken for what it can mean.
        assert_eq!(
            show(&state.on_rows_answered(Ok(Ack { next: RowIndex(0) }))),
            ["append 1: b|c"]
        );
        assert_eq!(
            show(&state.on_rows_answered(Ok(Ack { next: RowIndex(99) }))),
            [""; 0]
        );
    }

    #[test]
    fn a_flood_is_not_taken_before_the_window_has_room() {
        let mut state = State::new(TaskId(1));
        drop(state.on_started());
        let flood = "x".repeat(60_000) + "\n";
        let entries = (0..80).map(|_| rows(&flood)).collect();
        let effects = state.on_entries(entries);
        assert!(
            !effects.iter().any(|effect| matches!(effect, Effect::Receive)),
            "the window is full"
        );
        let mut received = false;
        for next in 1..=80 {
            let effects = state.on_rows_answered(Ok(Ack { next: RowIndex(next) }));
            received |= effects.iter().any(|effect| matches!(effect, Effect::Receive));
        }
        assert!(received, "the window has room again");
    }

    proptest! {
        /// Any mixture of rows, partial acknowledgements, lost answers and failures delivers each row exactly once and
        /// in order, as a forge that skips what it has sees it.
        #[test]
        fn rows_arrive_exactly_once_and_in_order(
            batches in prop::collection::vec(1_usize..5, 1..8),
            faults in prop::collection::vec(0_u8..4, 0..64),
        ) {
            let mut state = State::new(TaskId(1));
            let mut forge: Vec<String> = Vec::new();
            let mut faults = faults.into_iter();
            let mut written = 0;
            let mut entries = Vec::new();
            for count in batches {
                let lines: String = (written..written + count).map(|row| format!("{row}\n")).collect();
                written += count;
                entries.push(rows(&lines));
            }
            drop(state.on_started());
            drop(state.on_close());
            let mut queue: VecDeque<Effect> = state.on_entries(entries).into();
            queue.extend(state.on_entries(Vec::new()));
            let mut closed = false;
            while let Some(effect) = queue.pop_front() {
                let answer = match effect {
                    Effect::Append(batch) => {
                        let fault = faults.next().unwrap_or(0);
                        let taken = if fault == 1 { batch.len() / 2 } else { batch.len() };
                        if fault != 2 {
                            let known = forge.len() as u64;
                            for (row, index) in batch.rows().take(taken).zip(batch.first.0..) {
                                if index >= known {
                                    forge.push(row.to_owned());
                                }
                            }
                        }
                        let answer = if fault >= 2 { Err(unavailable()) } else { Ok(Ack { next: RowIndex(forge.len() as u64) }) };
                        state.on_rows_answered(answer)
                    }
                    Effect::RetryAfter(_) => state.on_retry_due(),
                    Effect::Close => { closed = true; Vec::new() }
                    Effect::Receive => Vec::new(),
                    Effect::Update(_) => state.on_update_answered(None),
                };
                queue.extend(answer);
            }
            prop_assert!(closed);
            let want: Vec<String> = (0..written).map(|row| row.to_string()).collect();
            prop_assert_eq!(forge, want);
        }
    }
}
