//! What one step writes to the job's log: masked, cut into rows, in order.

use std::fmt::Display;

use super::JobRuntime;
use super::entry::{Entry, EntrySender, ROW_LIMIT, Rows};
use crate::clock::Clock;
use crate::commands::Annotation;
use crate::mask::{LeakReport, Masks, Redactor};
use crate::plan::Conclusion;

/// The log of one top-level step, or of the runner's own work for the job.
pub struct StepLog {
    sender: EntrySender,
    clock: Clock,
    masks: Masks,
    redactor: Redactor,
    step: Option<usize>,
    /// What a leak report calls the step.
    name: String,
    /// Lines that are not masked yet; each ends with `\n`.
    pending: String,
    /// Masked text after the last line end.
    tail: String,
}

impl StepLog {
    /// Opens the log of a step, or of no step.
    pub fn open(runtime: &JobRuntime, step: Option<usize>) -> Self {
        let masks = runtime.log_masks();
        Self {
            sender: runtime.entries.clone(),
            clock: runtime.clock,
            redactor: masks.redactor(),
            masks,
            step,
            name: "Set up job".to_owned(),
            pending: String::new(),
            tail: String::new(),
        }
    }

    /// Adds a line; line breaks in it make more lines.
    pub fn line(&mut self, line: impl Display) {
        use std::fmt::Write as _;
        // Writing to a String cannot fail.
        let _ok = writeln!(self.pending, "{line}");
    }

    /// Adds `##[error]` and a message.
    pub fn error(&mut self, message: impl Display) {
        self.line(format_args!("##[error]{message}"));
    }

    /// Adds text as it comes: lines may be cut anywhere.
    pub fn text(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// Sends every complete line, and of a line without an end all but its last row. Waits while the job's stream is
    /// full.
    ///
    /// # Cancel safety
    /// Not cancel safe: rows may be lost. Never raced against anything.
    pub async fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.redactor.push(&self.pending, &mut self.tail);
        self.pending.clear();
        let end = self.tail.rfind('\n').map_or(0, |end| end + 1);
        // Output that never ends its line must not gather here: its rows are cut where they would be cut later.
        let end = end + full_rows(&self.tail[end..]);
        if end == 0 {
            return;
        }
        let rest = self.tail.split_off(end);
        let lines = std::mem::replace(&mut self.tail, rest);
        self.send_rows(&lines).await;
    }

    /// Sends everything, also a last line without its end.
    pub async fn finish(&mut self) {
        self.flush().await;
        self.redactor.flush(&mut self.tail);
        let lines = std::mem::take(&mut self.tail);
        if !lines.is_empty() {
            self.send_rows(&lines).await;
        }
    }

    /// Says that the step begins.
    pub async fn started(&mut self, name: &str) {
        self.name = self.masks.mask(name).into_owned();
        let Some(index) = self.step else { return };
        let name = self.name.clone();
        let at = self.clock.now();
        self.send(Entry::StepStarted { index, name, at }).await;
    }

    /// Adds what was masked so far to a report.
    pub fn report_leaks(&mut self, report: &mut LeakReport) {
        report.collect(&self.name, &mut self.redactor);
    }

    /// Sends everything and says that the step is done.
    pub async fn finished(mut self, outcome: Conclusion, conclusion: Conclusion) {
        self.finish().await;
        let Some(index) = self.step else { return };
        let at = self.clock.now();
        self.send(Entry::StepFinished {
            index,
            outcome,
            conclusion,
            at,
        })
        .await;
    }

    /// Reports an annotation; the rows before it go first.
    pub async fn annotate(&mut self, annotation: Annotation) {
        self.flush().await;
        let mask = |text: Option<String>| text.map(|text| self.masks.mask(&text).into_owned());
        let annotation = Annotation {
            message: self.masks.mask(&annotation.message).into_owned(),
            title: mask(annotation.title),
            file: mask(annotation.file),
            data: Vec::new(),
            ..annotation
        };
        let step = self.step;
        self.send(Entry::Annotation { step, annotation }).await;
    }

    /// Reports a step's summary; the rows before it go first.
    pub async fn summarize(&mut self, text: &str) {
        self.flush().await;
        let (step, text) = (self.step, self.masks.mask(text).into_owned());
        self.send(Entry::Summary { step, text }).await;
    }

    async fn send_rows(&mut self, lines: &str) {
        let rows = Rows::of_lines(self.clock.now(), self.step, lines);
        self.send(Entry::Rows(rows)).await;
    }

    async fn send(&mut self, entry: Entry) {
        if self.sender.send(entry).await.is_err() {
            tracing::error!(step = self.step, "the job's log stream is gone; rows are lost");
        }
    }
}

/// How many bytes of a line are rows of full length that more text follows.
fn full_rows(line: &str) -> usize {
    let mut end = 0;
    while line.len() - end > ROW_LIMIT {
        end = line.floor_char_boundary(end + ROW_LIMIT);
    }
    end
}
