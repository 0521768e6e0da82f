//! The last rows of a step: all that is kept of its log.

use std::collections::VecDeque;

use gantry_actors::protocols::forge::LogBatch;

/// How many rows are kept.
pub const KEPT_ROWS: usize = 200;

/// How many bytes of rows are kept; a single row is shorter than that.
const KEPT_BYTES: usize = 256 << 10;

/// A ring of rows.
#[derive(Debug, Default)]
pub struct Tail {
    rows: VecDeque<String>,
    bytes: usize,
    seen: u64,
}

impl Tail {
    /// Takes the rows of a batch; the oldest make room.
    pub fn extend(&mut self, batch: &LogBatch) {
        let count = batch.len();
        self.seen += count as u64;
        for row in batch.rows().skip(count.saturating_sub(KEPT_ROWS)) {
            self.bytes += row.len();
            self.rows.push_back(row.to_owned());
            while self.rows.len() > KEPT_ROWS || self.bytes > KEPT_BYTES && self.rows.len() > 1 {
                let gone = self.rows.pop_front();
                self.bytes -= gone.map_or(0, |row| row.len());
            }
        }
    }

    /// Takes the rows out, and counts them among those that came before.
    pub fn take(&mut self) -> Self {
        let seen = self.seen;
        let rest = Self {
            seen,
            ..Self::default()
        };
        std::mem::replace(self, rest)
    }

    /// The rows that are kept, the oldest first.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.rows.iter().map(String::as_str)
    }

    /// How many rows came before those that are kept.
    pub fn earlier(&self) -> u64 {
        self.seen - self.rows.len() as u64
    }
}
