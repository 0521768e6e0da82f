//! One JSON object per line for each event and each row.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use serde::Serialize;

use super::{BUFFER, Event, JobRef, Renderer, StepRef};
use crate::clock;

/// Renders events as JSON lines for a program.
pub struct Json<W> {
    out: W,
    now: fn() -> SystemTime,
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
    row: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl<'a> Line<'a> {
    fn job(self, job: &'a JobRef) -> Self {
        Self {
            job: Some(&job.key),
            job_name: Some(&job.name),
            ..self
        }
    }

    fn step(self, step: &'a StepRef) -> Self {
        Self {
            step: Some(step.index),
            step_name: Some(&step.name),
            ..self
        }
    }

    fn ended(self, conclusion: Conclusion, duration: Option<Duration>) -> Self {
        let seconds = duration.map(|duration| duration.as_secs_f64());
        Self {
            conclusion: Some(conclusion.as_str()),
            seconds,
            ..self
        }
    }
}

impl<W: Write> Json<W> {
    /// Writes to `out`, which needs no buffer of its own; `now` is the wall clock.
    pub fn new(out: W, now: fn() -> SystemTime) -> Self {
        Self {
            out,
            now,
            buffer: Vec::with_capacity(BUFFER + (8 << 10)),
        }
    }

    fn line(&mut self, line: &Line<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, line)?;
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl<W: Write> Renderer for Json<W> {
    fn event(&mut self, workflow: &str, event: &Event) -> io::Result<()> {
        let time = clock::rfc3339((self.now)());
        let line = |event| Line {
            time: &time,
            event,
            workflow,
            ..Line::default()
        };
        match event {
            Event::RunStarted { .. } => self.line(&line("run_started")),
            Event::JobStarted { job } => self.line(&line("job_started").job(job)),
            Event::JobSkipped { job, reason } => {
                let skipped = line("job_skipped").job(job).ended(Conclusion::Skipped, None);
                self.line(&Line {
                    reason: Some(reason),
                    ..skipped
                })
            }
            Event::StepStarted { job, step } => self.line(&line("step_started").job(job).step(step)),
            Event::Rows { job, rows } => {
                let row = |row| Line {
                    job: Some(&job.key),
                    row: Some(row),
                    ..line("row")
                };
                rows.iter().try_for_each(|text| self.line(&row(text)))
            }
            Event::StepFinished {
                job,
                step,
                outcome,
                conclusion,
                duration,
            } => {
                let ended = line("step_finished")
                    .job(job)
                    .step(step)
                    .ended(*conclusion, Some(*duration));
                self.line(&Line {
                    outcome: Some(outcome.as_str()),
                    ..ended
                })
            }
            Event::JobFinished {
                job,
                conclusion,
                duration,
            } => self.line(&line("job_finished").job(job).ended(*conclusion, Some(*duration))),
            Event::RunFinished { conclusion, .. } => {
                self.line(&line("run_finished").ended(*conclusion, None))
            }
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

#[cfg(test)]
mod tests {
    use super::super::event::Rows;
    use super::*;

    #[test]
    fn each_row_is_an_object() {
        let mut out = Vec::new();
        let mut json = Json::new(&mut out, || SystemTime::UNIX_EPOCH);
        let job = JobRef {
            key: "a".to_owned(),
            name: "A".to_owned(),
        };
        let mut rows = Rows::default();
        rows.push("one \"1\"\u{1b}[0m");
        rows.push("");
        for event in [
            Event::Rows {
                job: job.clone(),
                rows,
            },
            Event::JobFinished {
                job,
                conclusion: Conclusion::Failure,
                duration: Duration::from_millis(1500),
            },
        ] {
            json.event("ci", &event).expect("a vector takes all");
        }
        json.finish().expect("a vector takes all");
        let head = r#"{"time":"1970-01-01T00:00:00.000Z","event":"#;
        let want = [
            r#""row","workflow":"ci","job":"a","row":"one \"1\"\u001b[0m"}"#,
            r#""row","workflow":"ci","job":"a","row":""}"#,
            r#""job_finished","workflow":"ci","job":"a","job_name":"A","conclusion":"failure","seconds":1.5}"#,
        ];
        let want: String = want.iter().map(|tail| format!("{head}{tail}\n")).collect();
        assert_eq!(String::from_utf8_lossy(&out), want);
    }
}
