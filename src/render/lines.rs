//! Lines with the workflow's and the job's name in front, and a table of all jobs at the end.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use gantry_actors::engine::plan::Conclusion;

use super::diagnostic::printable;
use super::terminal::{Style, push_harmless};
use super::{BUFFER, Event, JobRef, Renderer, Rows, StepRef, table};
use crate::clock;

/// Renders events as lines for a person.
pub struct Lines<W> {
    out: W,
    style: Style,
    buffer: Vec<u8>,
    prefixes: HashMap<(String, String), Vec<u8>>,
    summary: Vec<Vec<String>>,
}

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
            prefixes: HashMap::new(),
            summary: Vec::new(),
        }
    }

    fn rows(&mut self, workflow: &str, job: &JobRef, rows: &Rows) -> io::Result<()> {
        let style = self.style;
        let prefix = prefix(&mut self.prefixes, style, workflow, job);
        for row in rows.iter() {
            self.buffer.extend_from_slice(prefix);
            push_row(&mut self.buffer, row, style);
            self.buffer.push(b'\n');
            if self.buffer.len() >= BUFFER {
                self.out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    /// Says something about a job; `code` is its colour.
    fn note(&mut self, workflow: &str, job: &JobRef, code: &str, text: &str) {
        self.buffer
            .extend_from_slice(prefix(&mut self.prefixes, self.style, workflow, job));
        push_coloured(&mut self.buffer, self.style.colour, code, &printable(text));
        self.buffer.push(b'\n');
    }

    fn step_finished(&mut self, workflow: &str, job: &JobRef, step: &StepRef, end: StepEnd) {
        let StepEnd {
            outcome,
            conclusion,
            duration,
        } = end;
        let tolerated = if outcome == conclusion { "" } else { ", tolerated" };
        let text = match outcome {
            Conclusion::Skipped => format!("- skipped: {}", step.name),
            _ => format!(
                "- {}{tolerated}: {} ({})",
                outcome.as_str(),
                step.name,
                clock::human(duration)
            ),
        };
        self.note(workflow, job, colour_of(outcome), &text);
    }

    fn sum_up(&mut self, workflow: &str, job: &JobRef, conclusion: Conclusion, detail: String) {
        let texts = [workflow, &job.name, conclusion.as_str()].map(str::to_owned);
        self.summary.push([&texts[..], &[detail]].concat());
    }
}

/// How a step ended.
struct StepEnd {
    outcome: Conclusion,
    conclusion: Conclusion,
    duration: Duration,
}

impl<W: Write> Renderer for Lines<W> {
    fn event(&mut self, workflow: &str, event: &Event) -> io::Result<()> {
        match event {
            Event::RunStarted { .. } | Event::RunFinished { .. } => {}
            Event::JobStarted { job } => self.note(workflow, job, "1", "started"),
            Event::JobSkipped { job, reason } => {
                self.note(
                    workflow,
                    job,
                    colour_of(Conclusion::Skipped),
                    &format!("skipped: {reason}"),
                );
                self.sum_up(workflow, job, Conclusion::Skipped, String::new());
            }
            Event::StepStarted { job, step } => self.note(workflow, job, "1", &format!("> {}", step.name)),
            Event::Rows { job, rows } => self.rows(workflow, job, rows)?,
            Event::StepFinished {
                job,
                step,
                outcome,
                conclusion,
                duration,
            } => {
                let end = StepEnd {
                    outcome: *outcome,
                    conclusion: *conclusion,
                    duration: *duration,
                };
                self.step_finished(workflow, job, step, end);
            }
            Event::JobFinished {
                job,
                conclusion,
                duration,
            } => {
                let time = clock::human(*duration);
                let text = format!("{} ({time})", conclusion.as_str());
                self.note(workflow, job, colour_of(*conclusion), &text);
                self.sum_up(workflow, job, *conclusion, time);
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
        if !self.summary.is_empty() {
            self.buffer.push(b'\n');
            table::write(
                &mut self.buffer,
                &["Workflow", "Job", "Conclusion", "Time"],
                &self.summary,
            )?;
        }
        self.flush()
    }
}

/// What stands in front of the rows of a job; made once for each job.
fn prefix<'a>(
    prefixes: &'a mut HashMap<(String, String), Vec<u8>>,
    style: Style,
    workflow: &str,
    job: &JobRef,
) -> &'a [u8] {
    let colour = PREFIX_COLOURS[prefixes.len() % PREFIX_COLOURS.len()];
    prefixes
        .entry((workflow.to_owned(), job.key.clone()))
        .or_insert_with(|| {
            let mut text = Vec::new();
            let name = printable(&format!("[{workflow}/{}] ", job.name)).replace('\n', " ");
            push_coloured(&mut text, style.colour, colour, &name);
            text
        })
}

fn push_coloured(out: &mut Vec<u8>, colour: bool, code: &str, text: &str) {
    if colour {
        out.extend([b"\x1b[", code.as_bytes(), b"m", text.as_bytes(), b"\x1b[0m"].concat());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

fn colour_of(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Success => "32",
        Conclusion::Failure => "31",
        Conclusion::Cancelled => "33",
        Conclusion::Skipped => "90",
    }
}

/// The markers that the log of a job has at the start of a row: colour, and what a person reads instead.
const MARKERS: [(&str, &str, &str); 7] = [
    ("##[error]", "31", "error: "),
    ("##[warning]", "33", "warning: "),
    ("##[notice]", "36", "notice: "),
    ("##[debug]", "90", "debug: "),
    ("##[command]", "34", ""),
    ("##[group]", "1", "▾ "),
    ("##[endgroup]", "90", "▴"),
];

/// Appends a row of a job; markers stay as they are where there are no colours, so that programs find them.
fn push_row(out: &mut Vec<u8>, row: &str, style: Style) {
    if style.colour
        && row.starts_with("##[")
        && let Some((marker, code, label)) = MARKERS.iter().find(|(marker, ..)| row.starts_with(marker))
    {
        out.extend([b"\x1b[", code.as_bytes(), b"m", label.as_bytes()].concat());
        push_harmless(out, &row[marker.len()..], false);
        out.extend_from_slice(b"\x1b[0m");
    } else if style.terminal {
        push_harmless(out, row, style.colour);
    } else {
        out.extend_from_slice(row.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::event;
    use super::*;

    fn job() -> JobRef {
        JobRef {
            key: "build".to_owned(),
            name: "Build it".to_owned(),
        }
    }

    fn show(style: Style, events: &[Event]) -> String {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, style);
        for event in events {
            lines.event("ci", event).expect("a vector takes all");
        }
        lines.finish().expect("a vector takes all");
        String::from_utf8(out).expect("text")
    }

    fn rows(texts: &[&str]) -> Event {
        let mut rows = event::Rows::default();
        texts.iter().for_each(|row| rows.push(row));
        Event::Rows { job: job(), rows }
    }

    #[test]
    fn a_run_reads_as_a_story() {
        let step = StepRef {
            index: 0,
            name: "Run make".to_owned(),
        };
        let duration = Duration::from_millis(1234);
        let (outcome, conclusion) = (Conclusion::Failure, Conclusion::Success);
        let docs = JobRef {
            key: "docs".to_owned(),
            name: "docs".to_owned(),
        };
        let text = show(
            Style {
                colour: false,
                terminal: false,
            },
            &[
                Event::RunStarted {
                    workflow: "ci".to_owned(),
                },
                Event::JobStarted { job: job() },
                Event::StepStarted {
                    job: job(),
                    step: step.clone(),
                },
                rows(&["make: \u{1b}[31mno rule", "##[error]exit code 2"]),
                Event::StepFinished {
                    job: job(),
                    step,
                    outcome,
                    conclusion,
                    duration,
                },
                Event::JobFinished {
                    job: job(),
                    conclusion,
                    duration,
                },
                Event::JobSkipped {
                    job: docs,
                    reason: "its `if` is false".to_owned(),
                },
                Event::RunFinished {
                    workflow: "ci".to_owned(),
                    conclusion,
                },
            ],
        );
        let want = "\
            [ci/Build it] started\n\
            [ci/Build it] > Run make\n\
            [ci/Build it] make: \u{1b}[31mno rule\n\
            [ci/Build it] ##[error]exit code 2\n\
            [ci/Build it] - failure, tolerated: Run make (1.2 s)\n\
            [ci/Build it] success (1.2 s)\n\
            [ci/docs] skipped: its `if` is false\n\
            \n\
            Workflow  Job       Conclusion  Time\n\
            ci        Build it  success     1.2 s\n\
            ci        docs      skipped     \n";
        assert_eq!(text, want);
    }

    #[test]
    fn markers_are_coloured_on_a_terminal() {
        let style = Style {
            colour: true,
            terminal: true,
        };
        let text = show(
            style,
            &[rows(&["##[error]a\u{1b}[2Jb", "x\u{1b}[2Jy", "##[group]Title"])],
        );
        let prefix = "\u{1b}[36m[ci/Build it] \u{1b}[0m";
        let want = [
            format!("{prefix}\u{1b}[31merror: ab\u{1b}[0m\n"),
            format!("{prefix}xy\n"),
            format!("{prefix}\u{1b}[1m▾ Title\u{1b}[0m\n"),
        ];
        assert_eq!(text, want.concat());
    }
}
