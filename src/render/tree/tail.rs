//! The log of a step: its last rows at hand, and all of them where they are kept until the step has ended.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::mem;

use gantry_actors::protocols::forge::LogBatch;
use tempfile::SpooledTempFile;

/// How many of the last rows are at hand.
pub const KEPT_ROWS: usize = 200;

/// How many bytes of them are; a single row is shorter than that.
const KEPT_BYTES: usize = 256 << 10;

/// A log up to this size stays in memory.
const IN_MEMORY: usize = 256 << 10;

/// So much of a log is kept; of a longer one only the last rows are known beyond that.
const MAX_BYTES: u64 = 256 << 20;

/// The log of a step while it runs.
#[derive(Debug, Default)]
pub struct Tail {
    rows: VecDeque<String>,
    bytes: usize,
    seen: u64,
    /// Rows that came before those, and were shown at once.
    shown: u64,
    kept: Kept,
}

/// The rows from the first one on.
#[derive(Debug, Default)]
struct Kept {
    file: Option<SpooledTempFile>,
    rows: u64,
    bytes: u64,
    /// No more rows are kept: there are too many, or there is no room for them.
    is_closed: bool,
}

/// A log that is complete, or says how many rows it lacks.
#[derive(Debug, Default)]
pub struct Log {
    shown: u64,
    first: Kept,
    left_out: u64,
    last: VecDeque<String>,
}

/// A part of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A row.
    Row(&'a str),
    /// So many rows are not there.
    LeftOut(u64),
    /// So many rows were shown before.
    Shown(u64),
}

impl Tail {
    /// Takes the rows of a batch.
    pub fn extend(&mut self, batch: &LogBatch) {
        let count = batch.len();
        self.seen += count as u64;
        self.kept.extend(batch);
        for row in batch.rows().skip(count.saturating_sub(KEPT_ROWS)) {
            self.bytes += row.len();
            self.rows.push_back(row.to_owned());
            while self.rows.len() > KEPT_ROWS || self.bytes > KEPT_BYTES && self.rows.len() > 1 {
                let gone = self.rows.pop_front();
                self.bytes -= gone.map_or(0, |row| row.len());
            }
        }
    }

    /// Takes the rows out to be shown now; what comes later says that they stand above.
    pub fn take(&mut self) -> Self {
        let rest = Self {
            shown: self.shown + self.seen,
            ..Self::default()
        };
        mem::replace(self, rest)
    }

    /// The last rows, the oldest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.rows.iter().map(String::as_str)
    }

    /// Turns it into the whole log.
    pub fn into_log(mut self) -> Log {
        let missing = self.seen - self.kept.rows;
        let known = usize::try_from(missing)
            .unwrap_or(usize::MAX)
            .min(self.rows.len());
        let last = self.rows.split_off(self.rows.len() - known);
        Log {
            shown: self.shown,
            first: self.kept,
            left_out: missing - known as u64,
            last,
        }
    }

    /// Turns it into a log of the last rows, at most `count`.
    pub fn into_end(mut self, count: usize) -> Log {
        let last = self.rows.split_off(self.rows.len().saturating_sub(count));
        Log {
            shown: self.shown,
            first: Kept::default(),
            left_out: self.seen - last.len() as u64,
            last,
        }
    }
}

impl Kept {
    fn extend(&mut self, batch: &LogBatch) {
        if self.is_closed {
            return;
        }
        let mut text = String::with_capacity(batch.text.len() + batch.len());
        for row in batch.rows() {
            text.push_str(row);
            text.push('\n');
        }
        let after = self.bytes + text.len() as u64;
        let file = self.file.get_or_insert_with(|| SpooledTempFile::new(IN_MEMORY));
        if after <= MAX_BYTES && file.write_all(text.as_bytes()).is_ok() {
            self.rows += batch.len() as u64;
            self.bytes = after;
        } else {
            tracing::debug!(rows = self.rows, "the rest of a long log is not kept");
            self.is_closed = true;
        }
    }

    /// Gives the rows to `take`; returns how many could not be read again.
    fn read(self, take: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<u64> {
        let Some(mut file) = self.file.filter(|_| self.rows > 0) else {
            return Ok(0);
        };
        let mut left = self.rows;
        if file.rewind().is_err() {
            return Ok(left);
        }
        let mut reader = BufReader::new(file.take(self.bytes));
        let mut row = String::new();
        while left > 0 && reader.read_line(&mut row).is_ok_and(|length| length > 0) {
            take(row.trim_end_matches('\n'))?;
            row.clear();
            left -= 1;
        }
        Ok(left)
    }
}

impl Log {
    /// Gives its pieces to `take`, in their order.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn read(mut self, take: &mut dyn FnMut(Piece<'_>) -> io::Result<()>) -> io::Result<()> {
        if self.shown > 0 {
            take(Piece::Shown(self.shown))?;
        }
        let first = mem::take(&mut self.first);
        let unread = first.read(&mut |row| take(Piece::Row(row)))?;
        let left_out = self.left_out + unread;
        if left_out > 0 {
            take(Piece::LeftOut(left_out))?;
        }
        self.last.iter().try_for_each(|row| take(Piece::Row(row)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use gantry_actors::protocols::forge::{RowIndex, TaskId};

    use super::*;

    fn batch(rows: &[String]) -> LogBatch {
        let mut text = String::new();
        let mut ends = Vec::new();
        for row in rows {
            text.push_str(row);
            ends.push(u32::try_from(text.len()).expect("short"));
        }
        LogBatch {
            task: TaskId(1),
            first: RowIndex(0),
            time: SystemTime::UNIX_EPOCH,
            step: None,
            text,
            ends,
        }
    }

    fn pieces(log: Log) -> Vec<String> {
        let mut all = Vec::new();
        let mut take = |piece: Piece<'_>| {
            all.push(match piece {
                Piece::Row(row) => row.to_owned(),
                Piece::LeftOut(count) => format!("({count})"),
                Piece::Shown(count) => format!("(+{count})"),
            });
            Ok(())
        };
        log.read(&mut take).expect("read");
        all
    }

    fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
        range
            .map(|number| format!("{number} {}", "x".repeat(100)))
            .collect()
    }

    #[test]
    fn a_log_that_is_longer_than_memory_is_complete() {
        let mut tail = Tail::default();
        for start in 0..10 {
            tail.extend(&batch(&numbers(start * 1000..(start + 1) * 1000)));
        }
        assert_eq!(tail.rows().len(), KEPT_ROWS);
        assert_eq!(pieces(tail.into_log()), numbers(0..10_000));
    }

    #[test]
    fn rows_that_were_not_kept_are_counted_and_the_last_ones_stay() {
        for (more, left_out) in [(1000, Some("(800)")), (200, None), (3, None)] {
            let mut tail = Tail::default();
            tail.extend(&batch(&numbers(0..10)));
            tail.kept.is_closed = true;
            tail.extend(&batch(&numbers(10..10 + more)));
            let mut want = numbers(0..10);
            want.extend(left_out.map(str::to_owned));
            want.extend(numbers(10 + more - more.min(KEPT_ROWS)..10 + more));
            assert_eq!(pieces(tail.into_log()), want);
        }
    }

    #[test]
    fn rows_that_were_taken_out_are_not_shown_again() {
        let mut tail = Tail::default();
        tail.extend(&batch(&numbers(0..1000)));
        assert_eq!(pieces(tail.take().into_log()), numbers(0..1000));
        assert_eq!(tail.rows().len(), 0);
        tail.extend(&batch(&numbers(1000..1500)));
        let mut want = vec!["(+1000)".to_owned()];
        want.extend(numbers(1000..1500));
        assert_eq!(pieces(tail.take().into_log()), want);
        assert_eq!(pieces(tail.take().into_log()), ["(+1500)"]);
        tail.extend(&batch(&numbers(1500..1510)));
        let mut want = ["(+1500)", "(9)"].map(str::to_owned).to_vec();
        want.extend(numbers(1509..1510));
        assert_eq!(pieces(tail.into_end(1)), want);
    }

    #[test]
    fn the_end_of_a_log_says_what_came_before() {
        let mut tail = Tail::default();
        tail.extend(&batch(&numbers(0..10)));
        let mut want = vec!["(8)".to_owned()];
        want.extend(numbers(8..10));
        assert_eq!(pieces(tail.into_end(2)), want);
        assert_eq!(pieces(Tail::default().into_log()), [""; 0]);
    }
}
