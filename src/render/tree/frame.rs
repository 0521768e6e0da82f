//! The picture: which lines the tree has, which of them fit, and how each looks.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::engine::plan::graph::PlannedJob;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::model::{JobNode, Model, RunNode, State, StepNode};
use crate::render::diagnostic::printable;
use crate::render::paint::{BOLD, DIM, colour_of, plain_row, push_coloured};
use crate::render::time;

/// The rows of a running step that are shown.
const SHOWN_ROWS: usize = 3;

/// What is shown of a row is cut out of its first bytes; no terminal is wider.
const ROW_PART: usize = 4 << 10;

/// Less than this is no name.
const MIN_NAME: usize = 8;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// How long each picture of the spinner stays.
pub const BEAT: Duration = Duration::from_millis(100);

/// How much a line matters where not all of them fit; the least comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Row,
    WaitingJob,
    DoneStep,
    DoneJob,
    BadStep,
    BadJob,
    Run,
    RunningJob,
    RunningStep,
}

/// What stands in front of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Running,
    Waiting,
    Ended(Conclusion),
    Tolerated,
    Row,
    More,
}

/// A line of the picture.
#[derive(Debug, Clone)]
pub struct Line {
    weight: Weight,
    depth: usize,
    mark: Mark,
    text: String,
    /// Times and reasons; it stays when a long text is cut.
    note: String,
}

/// The lines of everything, from top to bottom.
pub fn lines(model: &Model, now: SystemTime) -> Vec<Line> {
    let mut lines = Vec::new();
    for run in model.runs() {
        lines.push(run_line(run, now));
        for job in &run.jobs {
            lines.push(job_line(job, now));
            for step in &job.steps {
                push_step(&mut lines, step, now);
            }
        }
        lines.extend(run.waiting().map(|(job, needs)| waiting_line(job, &needs)));
    }
    lines
}

/// Leaves out what matters least, and says how many lines that were, until the picture is no higher than `height`.
pub fn fit(lines: Vec<Line>, height: usize) -> Vec<Line> {
    if lines.len() <= height {
        return lines;
    }
    let room = height.saturating_sub(1).max(1);
    let mut order: Vec<usize> = (0..lines.len()).collect();
    // Of lines that matter the same the last ones stay: they are the newest.
    order.sort_by_key(|index| std::cmp::Reverse((lines[*index].weight, *index)));
    let mut kept = order;
    kept.truncate(room);
    kept.sort_unstable();
    let hidden = lines.len() - kept.len();
    let mut shown: Vec<Line> = kept.into_iter().map(|index| lines[index].clone()).collect();
    if height > room {
        shown.push(Line {
            weight: Weight::Run,
            depth: 0,
            mark: Mark::More,
            text: format!("{hidden} more lines"),
            note: String::new(),
        });
    }
    shown
}

fn run_line(run: &RunNode, now: SystemTime) -> Line {
    Line {
        weight: Weight::Run,
        depth: 0,
        mark: mark(&run.state),
        text: run.title.to_string(),
        note: note(&run.state, now),
    }
}

fn job_line(job: &JobNode, now: SystemTime) -> Line {
    let weight = match &job.state {
        State::Running(_) => Weight::RunningJob,
        state if state.is_bad() => Weight::BadJob,
        _ => Weight::DoneJob,
    };
    Line {
        weight,
        depth: 1,
        mark: mark(&job.state),
        text: job.name.to_string(),
        note: note(&job.state, now),
    }
}

fn waiting_line(job: &PlannedJob, needs: &[&str]) -> Line {
    let note = if needs.is_empty() {
        "waits for its turn".to_owned()
    } else {
        format!("waits for {}", needs.join(", "))
    };
    Line {
        weight: Weight::WaitingJob,
        depth: 1,
        mark: Mark::Waiting,
        text: job.name.clone(),
        note,
    }
}

fn push_step(lines: &mut Vec<Line>, step: &StepNode, now: SystemTime) {
    let weight = match &step.state {
        State::Running(_) => Weight::RunningStep,
        state if state.is_bad() => Weight::BadStep,
        _ => Weight::DoneStep,
    };
    lines.push(Line {
        weight,
        depth: 2,
        mark: mark(&step.state),
        text: step.name.clone(),
        note: note(&step.state, now),
    });
    if !matches!(step.state, State::Running(_)) {
        return;
    }
    let rows = step.tail.rows();
    let left_out = rows.len().saturating_sub(SHOWN_ROWS);
    lines.extend(rows.skip(left_out).map(|row| Line {
        weight: Weight::Row,
        depth: 3,
        mark: Mark::Row,
        text: plain_row(&row[..row.floor_char_boundary(ROW_PART)]),
        note: String::new(),
    }));
}

fn mark(state: &State) -> Mark {
    match state {
        State::Running(_) => Mark::Running,
        State::Ended { tolerated: true, .. } => Mark::Tolerated,
        State::Ended { outcome, .. } => Mark::Ended(*outcome),
        State::NeverRan { conclusion, .. } => Mark::Ended(*conclusion),
    }
}

fn note(state: &State, now: SystemTime) -> String {
    match state {
        State::Running(since) => running_for(now.duration_since(*since).unwrap_or_default()),
        State::Ended {
            outcome,
            tolerated,
            duration,
        } => {
            let tolerated = if *tolerated { ", tolerated" } else { "" };
            let time = time::human(*duration);
            match outcome {
                Conclusion::Success => time,
                other => format!("{}{tolerated}, {time}", other.as_str()),
            }
        }
        State::NeverRan { conclusion, reason } => match reason {
            Some(reason) => format!("{}: {reason}", conclusion.as_str()),
            None => conclusion.as_str().to_owned(),
        },
    }
}

/// Milliseconds would only flicker.
fn running_for(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(1) {
        format!("0.{} s", elapsed.subsec_millis() / 100)
    } else {
        time::human(elapsed)
    }
}

/// How many jobs ended how, and how long everything took.
pub fn sum_up(model: &Model, now: SystemTime) -> String {
    let mut counts: BTreeMap<usize, (&str, usize)> = BTreeMap::new();
    let jobs = || model.runs().iter().flat_map(|run| &run.jobs);
    for job in jobs() {
        let (rank, word) = match &job.state {
            State::Ended { tolerated: true, .. } => (2, "tolerated"),
            State::Ended { outcome: end, .. } | State::NeverRan { conclusion: end, .. } => {
                let rank = match end {
                    Conclusion::Success => 0,
                    Conclusion::Failure => 1,
                    Conclusion::Cancelled => 3,
                    Conclusion::Skipped => 4,
                };
                (rank, end.as_str())
            }
            State::Running(_) => continue,
        };
        counts.entry(rank).or_insert((word, 0)).1 += 1;
    }
    let parts: Vec<String> = counts
        .values()
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let lasted = model.runs().iter().map(|run| match run.state {
        State::Ended { duration, .. } => duration,
        State::Running(since) => now.duration_since(since).unwrap_or_default(),
        State::NeverRan { .. } => Duration::ZERO,
    });
    let lasted = time::human(lasted.max().unwrap_or_default());
    match jobs().count() {
        1 => format!("1 job: {} ({lasted})", parts.join(", ")),
        count => format!("{count} jobs: {} ({lasted})", parts.join(", ")),
    }
}

/// The text of a line, at most `width` columns wide; `beat` counts the pictures of the spinner.
pub fn text(line: &Line, width: usize, beat: usize, colour: bool) -> String {
    let (sign, code) = match line.mark {
        Mark::Running => (SPINNER[beat % SPINNER.len()], "36"),
        Mark::Waiting => ("·", DIM),
        Mark::Ended(conclusion) => (sign(conclusion), colour_of(conclusion)),
        Mark::Tolerated => ("!", "33"),
        Mark::Row => ("│", DIM),
        Mark::More => ("…", DIM),
    };
    let name = one_line(&line.text);
    let note = one_line(&line.note);
    let indent = (line.depth * 2).min(width.saturating_sub(MIN_NAME) / 2);
    let room = width.saturating_sub(indent + 2);
    // A name is more than when and why, but a little of it is enough.
    let name_room = room
        .saturating_sub(note.width() + 2)
        .max(MIN_NAME.max(room / 2))
        .min(room);
    let name = cut(&name, name_room);
    let note = cut(&note, room.saturating_sub(name.width() + 2));
    let mut out = " ".repeat(indent).into_bytes();
    push_coloured(&mut out, colour, code, sign);
    out.push(b' ');
    let dimmed = matches!(
        line.mark,
        Mark::Row | Mark::More | Mark::Waiting | Mark::Ended(Conclusion::Skipped)
    );
    match (dimmed, line.depth) {
        (true, _) => push_coloured(&mut out, colour, DIM, &name),
        (false, 0) => push_coloured(&mut out, colour, BOLD, &name),
        _ => out.extend_from_slice(name.as_bytes()),
    }
    if !note.is_empty() {
        out.extend_from_slice(b"  ");
        push_coloured(&mut out, colour, DIM, &note);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The sign of a conclusion.
pub fn sign(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Success => "✓",
        Conclusion::Failure => "✗",
        Conclusion::Cancelled => "⊘",
        Conclusion::Skipped => "-",
    }
}

fn one_line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

/// The text if it is at most `room` columns wide, else its start and an ellipsis.
fn cut(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut left = room.saturating_sub(1);
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        end = at + c.len_utf8();
    }
    let ellipsis = if room == 0 { "" } else { "…" };
    format!("{}{ellipsis}", text[..end].trim_end())
}
