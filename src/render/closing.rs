//! What is said once everything has run: the table of jobs, what steps have pointed at, and their summaries.

use std::fmt::Write as _;
use std::io::{self, Write};

use gantry_actors::local::JobRef;
use gantry_actors::protocols::forge::{Annotation, Level, Summary};

use super::table;
use super::terminal::Style;

/// How many annotations are listed.
const MAX_ANNOTATIONS: usize = 50;
/// How many bytes of summaries are shown.
const MAX_SUMMARIES: usize = 64 * 1024;

/// What is to be said at the end; it grows no further than it will be shown.
#[derive(Default)]
pub struct Closing {
    jobs: Vec<Vec<String>>,
    annotations: Vec<String>,
    more_annotations: usize,
    summaries: String,
    cut: bool,
}

impl Closing {
    /// Adds a job: how it ended, and how long it took if it ran.
    pub fn job(&mut self, job: &JobRef, end: &str, time: String) {
        let texts = [&job.run.title, &job.name, end].map(str::to_owned);
        self.jobs.push([&texts[..], &[time]].concat());
    }

    /// Adds an annotation.
    pub fn annotation(&mut self, job: &JobRef, annotation: &Annotation) {
        if self.annotations.len() < MAX_ANNOTATIONS {
            self.annotations.push(describe(job, annotation));
        } else {
            self.more_annotations += 1;
        }
    }

    /// Adds a summary.
    pub fn summary(&mut self, job: &JobRef, summary: &Summary) {
        let size = self.summaries.len() + summary.text.len();
        if size > MAX_SUMMARIES {
            self.cut = true;
            return;
        }
        // Writing to a String cannot fail.
        let _ok = writeln!(self.summaries, "\n--- summary of {}/{}", job.run.title, job.name);
        self.summaries.push_str(summary.text.trim_end());
        self.summaries.push('\n');
    }

    /// Writes everything.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn write(&self, out: &mut Vec<u8>, style: Style) -> io::Result<()> {
        for row in self.summaries.lines() {
            style.push(out, row);
            out.push(b'\n');
        }
        if self.cut {
            writeln!(
                out,
                "(summaries beyond {} KiB are left out)",
                MAX_SUMMARIES / 1024
            )?;
        }
        if !self.annotations.is_empty() {
            writeln!(out)?;
        }
        for row in &self.annotations {
            style.push(out, row);
            out.push(b'\n');
        }
        if self.more_annotations > 0 {
            writeln!(out, "(and {} annotations more)", self.more_annotations)?;
        }
        if !self.jobs.is_empty() {
            writeln!(out)?;
            table::write(out, &["Workflow", "Job", "Conclusion", "Time"], &self.jobs)?;
        }
        Ok(())
    }
}

/// `error: src/a.c:3:7: title: message (workflow/job)`, without what is not known.
fn describe(job: &JobRef, annotation: &Annotation) -> String {
    let mut text = match annotation.level {
        Level::Notice => "notice: ".to_owned(),
        Level::Warning => "warning: ".to_owned(),
        Level::Error => "error: ".to_owned(),
    };
    if let Some(file) = &annotation.file {
        text.push_str(file);
        for number in [annotation.lines, annotation.columns]
            .into_iter()
            .map_while(|range| range)
        {
            let _ok = write!(text, ":{}", number.0);
        }
        text.push_str(": ");
    }
    if let Some(title) = &annotation.title {
        text.push_str(title);
        text.push_str(": ");
    }
    text.push_str(&annotation.message.replace('\n', " "));
    let _ok = write!(text, " ({}/{})", job.run.title, job.name);
    text
}
