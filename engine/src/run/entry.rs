//! What a running job tells the world: rows, and the edges of its steps, in one ordered stream.

use std::time::SystemTime;

use tokio::sync::mpsc;

use crate::commands::Annotation;
use crate::plan::Conclusion;

/// The longest row in bytes; longer lines are split on a character boundary (forges cut at this length).
pub const ROW_LIMIT: usize = 64 * 1024;

/// One item of a job's stream.
#[derive(Debug)]
pub enum Entry {
    /// Rows of the log.
    Rows(Rows),
    /// A step has pointed at a place in the code; every text in it is masked.
    Annotation {
        /// The top-level step, if it was one.
        step: Option<usize>,
        /// What it says.
        annotation: Annotation,
    },
    /// A step has written a summary in Markdown, masked.
    Summary {
        /// The top-level step, if it was one.
        step: Option<usize>,
        /// The text.
        text: String,
    },
    /// A top-level step begins; rows that follow belong to it until it is finished.
    StepStarted {
        /// Its place in the job, from 0.
        index: usize,
        /// The name that a person sees, masked.
        name: String,
        /// When.
        at: SystemTime,
    },
    /// A top-level step is done, or was skipped.
    StepFinished {
        /// Its place in the job, from 0.
        index: usize,
        /// How it ended before `continue-on-error`.
        outcome: Conclusion,
        /// How it ended after `continue-on-error`.
        conclusion: Conclusion,
        /// When.
        at: SystemTime,
    },
}

/// Rows that were read at about the same time; they share one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// When they were read.
    pub time: SystemTime,
    /// The top-level step that wrote them, if any did.
    pub step: Option<usize>,
    /// The text of all rows, one after the other, without line ends.
    pub text: String,
    /// Where each row ends in `text`, in bytes.
    pub ends: Vec<u32>,
}

impl Rows {
    /// Makes rows of text in which each row ends with `\n`; rows over [`ROW_LIMIT`] are split.
    ///
    /// A `\r` before the line end is dropped, as forges do.
    pub fn of_lines(time: SystemTime, step: Option<usize>, lines: &str) -> Self {
        let mut rows = Self {
            time,
            step,
            text: String::with_capacity(lines.len()),
            ends: Vec::new(),
        };
        for line in lines.split_terminator('\n') {
            rows.push(line.trim_end_matches('\r'));
        }
        rows
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let end = *end as usize;
            let row = self.text.get(start..end).unwrap_or_default();
            start = end;
            row
        })
    }

    fn push(&mut self, mut line: &str) {
        while line.len() > ROW_LIMIT {
            let (head, tail) = line.split_at(line.floor_char_boundary(ROW_LIMIT));
            self.push_row(head);
            line = tail;
        }
        self.push_row(line);
    }

    fn push_row(&mut self, row: &str) {
        self.text.push_str(row);
        // The text of a batch is bounded by the writer far below 4 GiB.
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }
}

/// Where a job's entries go: bounded, so that a flood of output slows the job and never fills memory.
pub type EntrySender = mpsc::Sender<Entry>;

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &str) -> Vec<String> {
        Rows::of_lines(SystemTime::UNIX_EPOCH, None, lines)
            .iter()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn rows_are_lines_without_their_ends() {
        assert_eq!(rows("a\n\nb\r\nc"), ["a", "", "b", "c"]);
        assert_eq!(rows(""), [""; 0]);
    }

    #[test]
    fn long_lines_are_split_on_a_character_boundary() {
        let line = "ä".repeat(ROW_LIMIT);
        let split = rows(&line);
        assert!(split.iter().all(|row| row.len() <= ROW_LIMIT));
        assert_eq!(split.concat(), line);
    }
}
