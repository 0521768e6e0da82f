//! Lines with the workflow's and the job's name in front, and a table of all jobs at the end.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::local::{Event, JobRef};
use gantry_actors::protocols::forge::LogBatch;

use super::closing::Closing;
use super::diagnostic::printable;
use super::paint::{BOLD, colour_of, push_coloured, push_row};
use super::terminal::Style;
use super::{BUFFER, Renderer, time};

/// Renders events as lines for a person.
pub struct Lines<W> {
    out: W,
    style: Style,
    buffer: Vec<u8>,
    prefixes: Prefixes,
    /// The steps that have started and shown nothing yet; one that is skipped needs no line about its start.
    silent: HashMap<JobKey, String>,
    closing: Closing,
}

/// The run's index and the job's key.
type JobKey = (usize, Arc<str>);

/// What stands in front of the rows of each job; made once for each job.
type Prefixes = HashMap<JobKey, Vec<u8>>;

/// The colours of prefixes, by the order in which the jobs start.
const PREFIX_COLOURS: [&str; 6] = ["36", "35", "34", "33", "32", "96"];

impl<W: Write> Lines<W> {
    /// Writes to `out`, which needs no buffer of its own.
    pub fn new(out: W, style: Style) -> Self {
        let buffer = Vec::with_capacity(BUFFER + (8 << 10));
        Self {
            out,
            style,
            buffer,
            prefixes: Prefixes::new(),
            silent: HashMap::new(),
            closing: Closing::default(),
        }
    }

    fn rows(&mut self, job: &JobRef, batch: &LogBatch) -> io::Result<()> {
        self.announce_step(job);
        let prefix = prefix(&mut self.prefixes, self.style, job);
        for row in batch.rows() {
            self.buffer.extend_from_slice(prefix);
            push_row(&mut self.buffer, row, self.style);
            self.buffer.push(b'\n');
            if self.buffer.len() >= BUFFER {
                self.out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    /// Says that the job's step has started, if that was not said yet.
    fn announce_step(&mut self, job: &JobRef) {
        if let Some(name) = self.silent.remove(&key(job)) {
            self.note(job, BOLD, &format!("> {name}"));
        }
    }

    /// Says something about a job; `code` is its colour.
    fn note(&mut self, job: &JobRef, code: &str, text: &str) {
        self.buffer
            .extend_from_slice(prefix(&mut self.prefixes, self.style, job));
        push_coloured(&mut self.buffer, self.style.colour, code, &printable(text));
        self.buffer.push(b'\n');
    }
}

/// What a person reads about the end of a step.
fn step_end(
    name: &str,
    outcome: Conclusion,
    conclusion: Conclusion,
    reason: Option<&str>,
    duration: Duration,
) -> String {
    if outcome == Conclusion::Skipped {
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        return format!("- skipped: {name}{reason}");
    }
    let tolerated = if outcome == conclusion { "" } else { ", tolerated" };
    format!(
        "- {}{tolerated}: {name} ({})",
        outcome.as_str(),
        time::human(duration)
    )
}

impl<W: Write + Send> Renderer for Lines<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::RunStarted { .. } | Event::RunFinished { .. } | Event::JobOffered { .. } => {}
            Event::JobStarted { job, .. } => self.note(job, BOLD, "started"),
            Event::JobSkipped {
                job,
                conclusion,
                reason,
                ..
            } => {
                let text = format!("{}: {reason}", conclusion.as_str());
                self.note(job, colour_of(*conclusion), &text);
                self.closing.job(job, conclusion.as_str(), String::new());
            }
            Event::StepStarted { job, name, .. } => {
                self.silent.insert(key(job), name.clone());
            }
            Event::Rows { job, batch } => self.rows(job, batch)?,
            Event::StepFinished {
                job,
                name,
                outcome,
                conclusion,
                reason,
                duration,
                ..
            } => {
                if *outcome == Conclusion::Skipped {
                    self.silent.remove(&key(job));
                }
                self.announce_step(job);
                let text = step_end(name, *outcome, *conclusion, reason.as_deref(), *duration);
                self.note(job, colour_of(*outcome), &text);
            }
            Event::Annotation { job, annotation, .. } => self.closing.annotation(job, annotation),
            Event::Summary { job, summary, .. } => self.closing.summary(job, summary),
            Event::JobFinished {
                job,
                conclusion,
                tolerated,
                duration,
                ..
            } => {
                let end = if *tolerated {
                    "failure, tolerated"
                } else {
                    conclusion.as_str()
                };
                let time = time::human(*duration);
                self.note(job, colour_of(*conclusion), &format!("{end} ({time})"));
                self.closing.job(job, end, time);
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.closing.write(&mut self.buffer, self.style)?;
        self.flush()
    }
}

fn key(job: &JobRef) -> JobKey {
    (job.run.index, Arc::clone(&job.key))
}

fn prefix<'a>(prefixes: &'a mut Prefixes, style: Style, job: &JobRef) -> &'a [u8] {
    let colour = PREFIX_COLOURS[prefixes.len() % PREFIX_COLOURS.len()];
    prefixes.entry(key(job)).or_insert_with(|| {
        let mut text = Vec::new();
        let name = printable(&format!("[{}/{}] ", job.run.title, job.name)).replace('\n', " ");
        push_coloured(&mut text, style.colour, colour, &name);
        text
    })
}
