//! Any interleaving of rows, writes, reads, lost answers, failures and restarts: exactly once, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use proptest::prelude::*;

use super::*;

/// What is under way outside of the stream.
enum Work {
    Receive,
    Write(Vec<Item>),
    Sync,
    ReadRows(u64),
    ReadProgress(u64),
    Advance(Cursor),
    Append(Vec<LogBatch>),
    Update(Progress),
}

/// How a piece of work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Half,
    LostAnswer,
    Refused,
}

#[derive(Debug, Clone, Copy)]
enum Move {
    /// Some piece of work that is under way ends.
    End(usize, Fate),
    /// Time goes on until something is due.
    Wait,
    /// The process is killed and started again.
    Restart,
}

/// Everything around a stream: a job that writes, a disk, a forge, a clock.
struct World {
    state: State,
    batching: Batching,
    now: Instant,
    wake: Option<Instant>,
    work: Vec<Work>,
    script: Vec<Entry>,
    disk: Option<Disk>,
    disk_fails: bool,
    forge: Vec<String>,
    lengths: BTreeMap<usize, (u64, u64)>,
    summaries: Vec<String>,
    closed: bool,
}

#[derive(Default)]
struct Disk {
    rows: Vec<LogBatch>,
    progress: Vec<Pending>,
    cursor: Cursor,
}

impl World {
    fn new(batching: Batching, script: Vec<Entry>, has_disk: bool, disk_fails: bool) -> Self {
        let mut world = Self {
            state: State::new(TASK, batching, has_disk.then_some(seconds(5))),
            batching,
            now: Instant::now(),
            wake: None,
            work: Vec::new(),
            script,
            disk: has_disk.then(Disk::default),
            disk_fails,
            forge: Vec::new(),
            lengths: BTreeMap::new(),
            summaries: Vec::new(),
            closed: false,
        };
        world.start();
        world
    }

    fn start(&mut self) {
        let mut effects = self.state.on_started(self.now);
        effects.extend(self.state.on_close(true, self.now));
        self.apply(effects);
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Receive => self.work.push(Work::Receive),
                Effect::Write(items) => self.work.push(Work::Write(items)),
                Effect::Sync => self.work.push(Work::Sync),
                Effect::ReadRows(from) => self.work.push(Work::ReadRows(from.0)),
                Effect::ReadProgress(from) => self.work.push(Work::ReadProgress(from)),
                Effect::Advance(cursor) => self.work.push(Work::Advance(cursor)),
                Effect::Append(batches) => self.work.push(Work::Append(batches)),
                Effect::Update(progress) => self.work.push(Work::Update(progress)),
                Effect::WakeAt(at) => self.wake = Some(at),
                Effect::Close => self.closed = true,
                Effect::CancelJob | Effect::Warn(_) | Effect::Recovered => {}
                Effect::Sealed(_) | Effect::Away => unreachable!("nobody has asked"),
            }
        }
    }

    fn make(&mut self, step: Move) {
        match step {
            Move::End(index, fate) if !self.work.is_empty() => {
                let work = self.work.swap_remove(index % self.work.len());
                self.end(work, fate);
            }
            Move::End(..) | Move::Wait => self.wait(),
            Move::Restart => self.restart(),
        }
    }

    fn wait(&mut self) {
        let Some(at) = self.wake.take() else { return };
        self.now = self.now.max(at);
        let effects = self.state.on_wake(self.now);
        self.apply(effects);
    }

    fn end(&mut self, work: Work, fate: Fate) {
        let now = self.now;
        let effects = match work {
            Work::Receive => {
                let count = self.script.len().min(2);
                let entries = self.script.drain(..count).collect();
                self.state.on_entries(entries, now)
            }
            Work::Write(items) => {
                let result = self.write(items, fate);
                self.state.on_written(result, now)
            }
            Work::Sync => self.state.on_synced(now),
            Work::ReadRows(from) => {
                let disk = self.disk.as_ref().unwrap();
                let found = disk.rows.iter().filter(|batch| batch.next().0 > from);
                let read = found.take(2).cloned().collect();
                self.state.on_rows_read(Some(read), now)
            }
            Work::ReadProgress(from) => {
                let disk = self.disk.as_ref().unwrap();
                let found = disk.progress.iter().filter(|item| item.number >= from);
                let read = found.take(2).cloned().collect();
                self.state.on_progress_read(Some(read), now)
            }
            Work::Advance(cursor) => {
                self.disk.as_mut().unwrap().cursor = cursor;
                self.state.on_advanced(now)
            }
            Work::Append(batches) => {
                let answer = self.take_rows(&batches, fate);
                self.state.on_rows_answered(answer, now)
            }
            Work::Update(progress) => {
                let answer = self.take_progress(progress, fate);
                self.state.on_update_answered(answer, now)
            }
        };
        self.apply(effects);
    }

    fn write(&mut self, items: Vec<Item>, fate: Fate) -> Result<(), String> {
        if self.disk_fails && fate != Fate::Good {
            return Err("the disk is full".to_owned());
        }
        let disk = self.disk.as_mut().unwrap();
        for item in items {
            match item {
                Item::Rows(batch) => disk.rows.push(LogBatch::clone(&batch)),
                Item::Progress(pending) => disk.progress.push(Pending::clone(&pending)),
            }
        }
        Ok(())
    }

    fn take_rows(&mut self, batches: &[LogBatch], fate: Fate) -> Result<Ack, Error> {
        if fate == Fate::Refused {
            return Err(unavailable());
        }
        let sent: usize = batches.iter().map(LogBatch::len).sum();
        let taken = if fate == Fate::Half { sent / 2 } else { sent };
        let numbered = batches.iter().flat_map(|batch| batch.rows().zip(batch.first.0..));
        for (row, number) in numbered.take(taken) {
            assert!(number <= self.forge.len() as u64, "a gap before row {number}");
            if number == self.forge.len() as u64 {
                self.forge.push(row.trim_end_matches('x').to_owned());
            }
        }
        if fate == Fate::LostAnswer {
            return Err(unavailable());
        }
        Ok(ack(self.forge.len() as u64))
    }

    fn take_progress(&mut self, progress: Progress, fate: Fate) -> Result<Directive, Error> {
        if fate == Fate::Refused {
            return Err(unavailable());
        }
        for step in progress.steps {
            let end = step.log_first.0 + step.log_length;
            assert!(
                end <= self.forge.len() as u64,
                "a step is told of before its rows"
            );
            self.lengths
                .insert(step.index, (step.log_first.0, step.log_length));
        }
        let summaries = progress.summaries.into_iter().map(|summary| summary.text);
        self.summaries.extend(summaries);
        if fate == Fate::LostAnswer {
            return Err(unavailable());
        }
        Ok(Directive::Continue)
    }

    /// What is under way is lost, and what the job had yet to say is never said.
    fn restart(&mut self) {
        let Some(disk) = &self.disk else { return };
        let next = |rows: Option<&LogBatch>| rows.map_or(0, |batch| batch.next().0);
        let mut steps = disk.cursor.steps.clone();
        for step in disk.progress.iter().flat_map(|item| item.progress.steps.clone()) {
            steps.retain(|known| known.index != step.index);
            steps.push(step);
        }
        let backlog = Backlog {
            task: TASK,
            claimed: None,
            summary: String::new(),
            rows: disk.cursor.rows.0..next(disk.rows.last()),
            row_bytes: 0,
            progress: disk.cursor.progress..disk.progress.len() as u64,
            progress_bytes: 0,
            steps,
            reported: disk.cursor.steps.clone(),
            last_row: None,
            concluded: false,
            damaged: false,
            report: None,
        };
        self.state = State::of_backlog(&backlog, self.batching, seconds(5));
        self.script.clear();
        self.work.clear();
        self.wake = None;
        self.closed = false;
        self.start();
    }

    /// Everything goes well from now on.
    fn finish(&mut self) {
        for _ in 0..10_000 {
            if self.closed {
                return;
            }
            self.make(Move::End(0, Fate::Good));
        }
        panic!("the stream does not come to its end");
    }
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Good),
        1 => Just(Fate::Half),
        1 => Just(Fate::LostAnswer),
        1 => Just(Fate::Refused),
    ]
}

fn any_moves(restarts: u32) -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        20 => (0_usize..8, any_fate()).prop_map(|(index, fate)| Move::End(index, fate)),
        4 => Just(Move::Wait),
        restarts => Just(Move::Restart),
    ];
    prop::collection::vec(one, 0..120)
}

/// What a job says: each number stands for rows of a step, some of them so long that memory does not hold them all.
fn script_of(counts: &[usize]) -> (Vec<Entry>, Vec<String>) {
    let mut script = Vec::new();
    let mut rows_of_all = Vec::new();
    for (index, count) in counts.iter().copied().enumerate() {
        let at = SystemTime::UNIX_EPOCH;
        let name = format!("step {index}");
        script.push(Entry::StepStarted { index, name, at });
        let mut lines = String::new();
        for _ in 0..count {
            let row = format!("row {} ", rows_of_all.len());
            let padding = if count % 3 == 0 { 100_000 } else { 0 };
            lines.push_str(&row);
            lines.extend(std::iter::repeat_n('x', padding));
            lines.push('\n');
            rows_of_all.push(row);
        }
        // Long lines would be split, so the rows are made by hand.
        let mut rows = Rows {
            time: at,
            step: Some(index),
            text: String::new(),
            ends: Vec::new(),
        };
        for line in lines.lines() {
            rows.text.push_str(line);
            rows.ends.push(u32::try_from(rows.text.len()).unwrap());
        }
        script.push(Entry::Rows(rows));
        script.push(Entry::Summary {
            step: Some(index),
            text: index.to_string(),
        });
        script.push(Entry::StepFinished {
            index,
            outcome: Conclusion::Success,
            conclusion: Conclusion::Success,
            at,
        });
    }
    (script, rows_of_all)
}

fn any_batching() -> impl Strategy<Value = Batching> {
    prop_oneof![Just(Batching::IMMEDIATE), Just(Batching::SERVER)]
}

fn any_counts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..7, 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_exactly_once_and_in_order(
        batching in any_batching(), counts in any_counts(), moves in any_moves(0),
        has_disk in any::<bool>(), disk_fails in any::<bool>(),
    ) {
        let (script, want) = script_of(&counts);
        let mut world = World::new(batching, script, has_disk, disk_fails);
        for step in moves {
            world.make(step);
        }
        world.finish();
        prop_assert_eq!(&world.forge, &want);
        let mut first = 0;
        for (index, count) in counts.iter().enumerate() {
            prop_assert_eq!(world.lengths.get(&index), Some(&(first, *count as u64)));
            first += *count as u64;
        }
        // A summary whose answer was lost is told again; none is never told.
        let told: BTreeSet<&String> = world.summaries.iter().collect();
        prop_assert_eq!(told.len(), counts.len());
    }

    #[test]
    fn a_restart_loses_and_doubles_nothing_that_was_written(
        batching in any_batching(), counts in any_counts(), moves in any_moves(1),
    ) {
        let (script, want) = script_of(&counts);
        let mut world = World::new(batching, script, true, false);
        for step in moves {
            world.make(step);
        }
        world.make(Move::Restart);
        world.finish();
        let written: usize = world.disk.as_ref().unwrap().rows.iter().map(LogBatch::len).sum();
        prop_assert_eq!(&world.forge, &want[..written]);
        let cursor = &world.disk.as_ref().unwrap().cursor;
        prop_assert_eq!(cursor.rows.0, written as u64);
    }
}
