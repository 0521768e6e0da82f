//! Numbered items on their way to the forge: a window of them in memory, the rest on disk.
//!
//! ```text
//! acked .. head ..... | disk ................. | tail ......... next
//!          in memory    written, to be read      the disk did not take them
//! ```

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use gantry_protocols::forge::{LogBatch, RowIndex, TaskId};

use crate::journal::Pending;

/// How many bytes of written items are kept in memory.
pub const WINDOW: usize = 1024 * 1024;
/// How many numbers one stand-in for lost items takes.
const STAND_IN: u64 = 1000;

/// An item, or a batch of items with consecutive numbers.
pub trait Numbered: Sized {
    /// The number of the first one.
    fn first(&self) -> u64;

    /// The number after the last one.
    fn next(&self) -> u64;

    /// About how many bytes of memory it takes.
    fn weight(&self) -> usize;

    /// Drops what comes before a number that lies within.
    fn drop_before(&mut self, number: u64);

    /// What takes the place of items that cannot be read any more, or of the first of them.
    fn stand_in(task: TaskId, lost: Range<u64>, time: SystemTime) -> Self;
}

impl Numbered for LogBatch {
    fn first(&self) -> u64 {
        self.first.0
    }

    fn next(&self) -> u64 {
        Self::next(self).0
    }

    fn weight(&self) -> usize {
        self.text.len() + self.ends.len() * size_of::<u32>() + size_of::<Self>()
    }

    fn drop_before(&mut self, number: u64) {
        let count = usize::try_from(number.saturating_sub(self.first.0)).unwrap_or(usize::MAX);
        let count = count.min(self.ends.len());
        let last = count.checked_sub(1).and_then(|last| self.ends.get(last));
        let Some(cut) = last.copied() else { return };
        self.ends.drain(..count);
        for end in &mut self.ends {
            *end -= cut;
        }
        self.text.drain(..cut as usize);
        self.first = RowIndex(number);
    }

    fn stand_in(task: TaskId, lost: Range<u64>, time: SystemTime) -> Self {
        // The numbers stay, or the rows of later steps would be shown with other steps.
        let text = "##[error]this row is lost: the runner could not read it from its disk";
        let count = (lost.end - lost.start).min(STAND_IN);
        let length = u32::try_from(text.len()).unwrap_or_default();
        let ends: Vec<u32> = (0..count).map(|_| length).collect();
        Self {
            task,
            first: RowIndex(lost.start),
            time,
            step: None,
            text: text.to_owned(),
            ends,
        }
    }
}

impl Numbered for Pending {
    fn first(&self) -> u64 {
        self.number
    }

    fn next(&self) -> u64 {
        self.number + 1
    }

    fn weight(&self) -> usize {
        let progress = &self.progress;
        let annotations = progress.annotations.iter();
        let summaries = progress.summaries.iter();
        size_of::<Self>()
            + annotations
                .map(|annotation| 200 + annotation.message.len())
                .sum::<usize>()
            + summaries.map(|summary| 50 + summary.text.len()).sum::<usize>()
            + progress.steps.len() * 200
    }

    fn drop_before(&mut self, _number: u64) {}

    fn stand_in(task: TaskId, lost: Range<u64>, _time: SystemTime) -> Self {
        Self::nothing(task, lost.start)
    }
}

/// The items of one kind that the forge has not acknowledged.
#[derive(Debug)]
pub struct Lane<T> {
    task: TaskId,
    acked: u64,
    next: u64,
    head: VecDeque<Arc<T>>,
    disk: Range<u64>,
    tail: VecDeque<Arc<T>>,
    /// How many bytes head and tail take.
    memory: usize,
    /// The number from which on items are being read.
    reading: Option<u64>,
}

impl<T: Numbered + Clone> Lane<T> {
    /// A lane whose items from `waiting.start` on are on disk.
    pub fn new(task: TaskId, waiting: Range<u64>) -> Self {
        Self {
            task,
            acked: waiting.start,
            next: waiting.end,
            head: VecDeque::new(),
            disk: waiting,
            tail: VecDeque::new(),
            memory: 0,
            reading: None,
        }
    }

    /// The number of the first item that the forge does not have.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// The number after the last item.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// How many items wait.
    pub fn waiting(&self) -> u64 {
        self.next - self.acked
    }

    /// How many bytes of memory the items take.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The items that can be sent now, in order.
    pub fn ready(&self) -> impl Iterator<Item = &Arc<T>> {
        self.head.iter()
    }

    /// Takes the next item; `written` ones need not stay in memory.
    pub fn accept(&mut self, item: Arc<T>, written: bool) {
        self.next = item.next();
        if item.next() <= self.acked {
            return;
        }
        let is_last_in_memory = self.disk.is_empty() && self.tail.is_empty();
        if is_last_in_memory && (!written || self.memory < WINDOW) {
            self.memory += item.weight();
            self.head.push_back(item);
        } else if written && self.tail.is_empty() {
            let start = if self.disk.is_empty() {
                item.first()
            } else {
                self.disk.start
            };
            self.disk = start..item.next();
        } else {
            self.memory += item.weight();
            self.tail.push_back(item);
        }
    }

    /// The number from which on items should be read now, if any should.
    pub fn wanted(&mut self) -> Option<u64> {
        let head = || self.head.iter().map(|item| item.weight()).sum::<usize>();
        if self.reading.is_some() || self.disk.is_empty() || head() >= WINDOW / 2 {
            return None;
        }
        self.reading = Some(self.disk.start);
        self.reading
    }

    /// Items were read; returns whether some are lost, for which others stand in.
    pub fn on_read(&mut self, items: Option<Vec<T>>, time: SystemTime) -> bool {
        let items = items.unwrap_or_default();
        // The forge may have acknowledged all of them meanwhile; then the next ones are read.
        let is_answer = |from: u64| {
            items
                .first()
                .is_some_and(|first| first.first() <= from && from < first.next())
        };
        let lost = !self.disk.is_empty() && !self.reading.take().is_some_and(is_answer);
        for mut item in items {
            if self.disk.is_empty() || item.first() > self.disk.start {
                break;
            }
            if item.next() > self.disk.start {
                item.drop_before(self.disk.start);
                self.take_from_disk(item);
            }
        }
        if lost {
            let stand_in = T::stand_in(self.task, self.disk.clone(), time);
            self.take_from_disk(stand_in);
        }
        lost
    }

    /// The forge has everything before `next`; returns how many bytes of memory are free again.
    pub fn ack(&mut self, next: u64) -> usize {
        let next = next.min(self.next);
        if next <= self.acked {
            return 0;
        }
        self.acked = next;
        let before = self.memory;
        drop_acked(&mut self.head, next, &mut self.memory);
        self.disk.start = self.disk.start.max(next).min(self.disk.end);
        if self.disk.is_empty() {
            self.head.append(&mut self.tail);
            drop_acked(&mut self.head, next, &mut self.memory);
        }
        before - self.memory
    }

    fn take_from_disk(&mut self, item: T) {
        self.disk.start = item.next();
        self.memory += item.weight();
        self.head.push_back(Arc::new(item));
        if self.disk.is_empty() {
            self.head.append(&mut self.tail);
        }
    }
}

/// Drops what the forge has from the front of a queue.
fn drop_acked<T: Numbered + Clone>(items: &mut VecDeque<Arc<T>>, acked: u64, memory: &mut usize) {
    while let Some(first) = items.front_mut() {
        if first.first() >= acked {
            return;
        }
        *memory -= first.weight();
        if first.next() > acked {
            let first = Arc::make_mut(first);
            first.drop_before(acked);
            *memory += first.weight();
            return;
        }
        items.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: TaskId = TaskId(1);

    fn batch(first: u64, rows: &[&str]) -> LogBatch {
        let mut batch = LogBatch {
            task: TASK,
            first: RowIndex(first),
            time: SystemTime::UNIX_EPOCH,
            step: None,
            text: String::new(),
            ends: Vec::new(),
        };
        for row in rows {
            batch.text.push_str(row);
            batch.ends.push(u32::try_from(batch.text.len()).unwrap());
        }
        batch
    }

    fn ready(lane: &Lane<LogBatch>) -> Vec<String> {
        let rows = lane.ready().flat_map(|batch| batch.rows());
        rows.map(str::to_owned).collect()
    }

    #[test]
    fn rows_are_read_back_from_where_the_forge_is() {
        let mut lane = Lane::new(TASK, 1..4);
        assert_eq!(lane.wanted(), Some(1));
        assert_eq!(lane.wanted(), None, "one read at a time");
        let read = vec![batch(0, &["a", "b"]), batch(2, &["c", "d"])];
        assert!(!lane.on_read(Some(read), SystemTime::UNIX_EPOCH));
        assert_eq!(ready(&lane), ["b", "c", "d"]);
        assert_eq!(lane.wanted(), None);
        lane.ack(3);
        assert_eq!(ready(&lane), ["d"]);
    }

    #[test]
    fn a_read_that_the_forge_has_overtaken_is_no_loss() {
        let mut lane = Lane::new(TASK, 0..4);
        assert_eq!(lane.wanted(), Some(0));
        // The forge had more than this runner knew.
        lane.ack(3);
        assert!(!lane.on_read(Some(vec![batch(0, &["a", "b"])]), SystemTime::UNIX_EPOCH));
        assert_eq!(lane.wanted(), Some(3));
    }

    #[test]
    fn rows_that_cannot_be_read_keep_their_numbers() {
        let mut lane = Lane::new(TASK, 0..3);
        assert_eq!(lane.wanted(), Some(0));
        assert!(lane.on_read(None, SystemTime::UNIX_EPOCH));
        let rows = ready(&lane);
        assert_eq!(rows.len(), 3);
        assert!(rows[0].starts_with("##[error]this row is lost"), "{rows:?}");
        lane.ack(3);
        assert_eq!((lane.waiting(), lane.memory()), (0, 0));
    }

    #[test]
    fn what_the_disk_did_not_take_comes_after_what_it_has() {
        let mut lane = Lane::new(TASK, 0..2);
        lane.accept(Arc::new(batch(2, &["c"])), false);
        assert_eq!(ready(&lane), [""; 0]);
        assert_eq!(lane.wanted(), Some(0));
        lane.on_read(Some(vec![batch(0, &["a", "b"])]), SystemTime::UNIX_EPOCH);
        assert_eq!(ready(&lane), ["a", "b", "c"]);
    }
}
