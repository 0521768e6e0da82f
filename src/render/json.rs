//! One JSON object per line for each event and each row.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::local::{Event, JobRef, RunRef};
use gantry_actors::protocols::forge::{Annotation, Level, LogBatch};
use serde::Serialize;

use super::{BUFFER, Renderer, time};

/// Renders events as JSON lines for a program.
pub struct Json<W> {
    out: W,
    buffer: Vec<u8>,
}

/// One line; keys that do not apply are absent.
#[derive(Serialize, Default)]
struct Line<'a> {
    time: &'a str,
    event: &'static str,
    workflow: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotation: Option<Note<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

/// An annotation; keys that do not apply are absent.
#[derive(Serialize, Clone, Copy)]
struct Note<'a> {
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<u32>,
}

impl<'a> Note<'a> {
    fn of(annotation: &'a Annotation) -> Self {
        let Annotation {
            level,
            message,
            title,
            file,
            lines,
            columns,
            ..
        } = annotation;
        Self {
            level: match level {
                Level::Notice => "notice",
                Level::Warning => "warning",
                Level::Error => "error",
            },
            message,
            title: title.as_deref(),
            file: file.as_deref(),
            line: lines.map(|(first, _)| first),
            end_line: lines.map(|(_, last)| last),
            column: columns.map(|(first, _)| first),
            end_column: columns.map(|(_, last)| last),
        }
    }
}

impl<'a> Line<'a> {
    fn of_run(event: &'static str, run: &'a RunRef) -> Self {
        Self {
            event,
            workflow: &run.title,
            ..Self::default()
        }
    }

    fn of_job(event: &'static str, job: &'a JobRef) -> Self {
        Self {
            job: Some(&job.key),
            job_name: Some(&job.name),
            ..Self::of_run(event, &job.run)
        }
    }

    fn of_step(event: &'static str, job: &'a JobRef, index: usize, name: &'a str) -> Self {
        Self {
            step: Some(index),
            step_name: Some(name),
            ..Self::of_job(event, job)
        }
    }

    fn ended(self, conclusion: Conclusion) -> Self {
        Self {
            conclusion: Some(conclusion.as_str()),
            ..self
        }
    }

    fn after(self, duration: Duration) -> Self {
        Self {
            seconds: Some(duration.as_secs_f64()),
            ..self
        }
    }
}

impl<W: Write> Json<W> {
    /// Writes to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(BUFFER + (8 << 10)),
        }
    }

    fn line(&mut self, at: SystemTime, line: &Line<'_>) -> io::Result<()> {
        let time = time::rfc3339(at);
        serde_json::to_writer(&mut self.buffer, &Line { time: &time, ..*line })?;
        self.end_line()
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// All rows of a batch have the same head, which is written out once.
    fn rows(&mut self, job: &JobRef, batch: &LogBatch) -> io::Result<()> {
        let time = time::rfc3339(batch.time);
        let mut head = serde_json::to_vec(&Line {
            time: &time,
            job: Some(&job.key),
            step: batch.step,
            ..Line::of_run("row", &job.run)
        })?;
        head.pop();
        head.extend_from_slice(b",\"row\":");
        for row in batch.rows() {
            self.buffer.extend_from_slice(&head);
            serde_json::to_writer(&mut self.buffer, row)?;
            self.buffer.push(b'}');
            self.end_line()?;
        }
        Ok(())
    }
}

impl<W: Write + Send> Renderer for Json<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Rows { job, batch } => self.rows(job, batch),
            Event::RunStarted { run, time, .. } => self.line(*time, &Line::of_run("run_started", run)),
            Event::RunFinished {
                run,
                conclusion,
                time,
            } => self.line(*time, &Line::of_run("run_finished", run).ended(*conclusion)),
            Event::JobStarted { .. } | Event::JobSkipped { .. } | Event::JobFinished { .. } => {
                of_job_event(event).map_or(Ok(()), |(time, line)| self.line(time, &line))
            }
            _ => of_step_event(event).map_or(Ok(()), |(time, line)| self.line(time, &line)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        self.out.flush()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// The line of an event of a whole job.
fn of_job_event(event: &Event) -> Option<(SystemTime, Line<'_>)> {
    match event {
        Event::JobStarted { job, time } => Some((*time, Line::of_job("job_started", job))),
        Event::JobSkipped {
            job,
            conclusion,
            reason,
            time,
            ..
        } => {
            let line = Line {
                reason: Some(reason),
                ..Line::of_job("job_skipped", job)
            };
            Some((*time, line.ended(*conclusion)))
        }
        Event::JobFinished {
            job,
            conclusion,
            tolerated,
            duration,
            time,
        } => {
            let line = Line {
                tolerated: tolerated.then_some(true),
                ..Line::of_job("job_finished", job)
            };
            Some((*time, line.ended(*conclusion).after(*duration)))
        }
        _ => None,
    }
}

/// The line of an event within a job, unless it is about rows.
fn of_step_event(event: &Event) -> Option<(SystemTime, Line<'_>)> {
    match event {
        Event::StepStarted {
            job,
            index,
            name,
            time,
        } => Some((*time, Line::of_step("step_started", job, *index, name))),
        Event::StepFinished {
            job,
            index,
            name,
            outcome,
            conclusion,
            reason,
            duration,
            time,
        } => {
            let line = Line {
                outcome: Some(outcome.as_str()),
                reason: reason.as_deref(),
                ..Line::of_step("step_finished", job, *index, name)
            };
            Some((*time, line.ended(*conclusion).after(*duration)))
        }
        Event::Annotation {
            job,
            annotation,
            time,
        } => {
            let line = Line {
                step: annotation.step,
                annotation: Some(Note::of(annotation)),
                ..Line::of_job("annotation", job)
            };
            Some((*time, line))
        }
        Event::Summary { job, summary, time } => {
            let line = Line {
                step: summary.step,
                summary: Some(&summary.text),
                ..Line::of_job("summary", job)
            };
            Some((*time, line))
        }
        _ => None,
    }
}
