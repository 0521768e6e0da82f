//! What `gantry explain` prints for a person.

use std::io::{self, Write};
use std::time::Duration;

use super::find::Found;
use crate::record::{Condition, Job, Part, Record, Step, Variable};
use crate::render::diagnostic::printable;
use crate::render::{table, time};

/// The longest value or condition in characters where many stand below each other.
const SHORT: usize = 60;

/// Writes what was found in a record.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(
    out: &mut impl Write,
    record: &Record,
    found: &Found<'_>,
    all_variables: bool,
) -> io::Result<()> {
    match found {
        Found::All => overview(out, record)?,
        Found::Jobs(jobs) => {
            for (index, job) in jobs.iter().enumerate() {
                separate(out, index)?;
                write_job(out, job)?;
            }
        }
        Found::Steps(steps) => {
            for (index, (job, step)) in steps.iter().enumerate() {
                separate(out, index)?;
                write_step(out, job, step, all_variables)?;
            }
        }
    }
    if record.truncated {
        writeln!(out, "\nThe run was so large that a part of it was not kept.")?;
    }
    Ok(())
}

fn separate(out: &mut impl Write, index: usize) -> io::Result<()> {
    if index > 0 { writeln!(out) } else { Ok(()) }
}

fn overview(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let Record {
        directory,
        event,
        started,
        ..
    } = record;
    writeln!(
        out,
        "{}",
        printable(&format!("{directory}, event {event}, started {started}"))
    )?;
    writeln!(out)?;
    let row = |job: &Job| {
        let ended = ended(job.conclusion.as_deref(), job.tolerated);
        vec![
            job.workflow.clone(),
            job.name.clone(),
            ended,
            seconds(job.seconds),
            why_job(job),
        ]
    };
    let rows: Vec<_> = record.jobs.iter().map(row).collect();
    table::write(out, &["Workflow", "Job", "Conclusion", "Time", "Why"], &rows)
}

fn write_job(out: &mut impl Write, job: &Job) -> io::Result<()> {
    let Job { workflow, name, .. } = job;
    let ended = ended(job.conclusion.as_deref(), job.tolerated);
    line(out, &format!("{workflow}: {name}"))?;
    field(out, "conclusion", &ended)?;
    field(out, "time", &seconds(job.seconds))?;
    if let Some(reason) = &job.reason {
        field(out, "why", reason)?;
    }
    for condition in &job.conditions {
        let key = condition.job.as_deref().filter(|key| *key != job.key);
        write_condition(out, key, condition)?;
    }
    if job.steps.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut rows = Vec::new();
    let mut open: Vec<&Step> = job.steps.iter().rev().collect();
    while let Some(step) = open.pop() {
        rows.push(step_row(step));
        open.extend(step.steps.iter().rev());
    }
    table::write(out, &["#", "Step", "Conclusion", "Time", "If"], &rows)
}

fn step_row(step: &Step) -> Vec<String> {
    let depth = step.number.matches('.').count();
    let name = step.name.lines().next().unwrap_or_default();
    let why = step.condition.as_ref().map_or_else(String::new, short);
    vec![
        step.number.clone(),
        format!("{}{}", "  ".repeat(depth), cut(name)),
        step_ended(step),
        seconds(step.seconds),
        why,
    ]
}

fn write_step(out: &mut impl Write, job: &Job, step: &Step, all_variables: bool) -> io::Result<()> {
    let part = match step.part {
        Part::Main => "step",
        Part::Pre => "pre part of step",
        Part::Post => "post part of step",
    };
    line(out, &format!("{}: {} / {}", job.workflow, job.name, step.name))?;
    field(out, part, &format!("{}, line {}", step.number, step.line))?;
    if let Some(id) = &step.id {
        field(out, "id", id)?;
    }
    if let Some(outcome) = &step.outcome {
        field(out, "outcome", outcome)?;
    }
    field(out, "conclusion", &step_ended(step))?;
    field(out, "time", &seconds(step.seconds))?;
    if let Some(condition) = &step.condition {
        write_condition(out, None, condition)?;
    }
    if !step.env.is_empty() {
        write_variables(out, &step.env, all_variables)?;
    }
    if !step.steps.is_empty() {
        writeln!(out)?;
        let rows: Vec<_> = step.steps.iter().map(step_row).collect();
        table::write(out, &["#", "Step", "Conclusion", "Time", "If"], &rows)?;
    }
    Ok(())
}

/// Writes a condition, its operands with their values, and what it came to; `job` names the job if it is another one.
fn write_condition(out: &mut impl Write, job: Option<&str>, condition: &Condition) -> io::Result<()> {
    let name = job.map_or_else(|| "if".to_owned(), |job| format!("if of {job}"));
    field(out, &name, &condition.text)?;
    let operands = &condition.operands;
    let widths = operands.iter().map(|operand| operand.text.chars().count());
    let width = widths.max().unwrap_or(0).min(SHORT);
    for operand in operands {
        line(out, &format!("      {:width$}  {}", operand.text, operand.value))?;
    }
    line(out, &format!("    {}", answer(condition)))
}

/// Writes variables below the places that they come from.
fn write_variables(out: &mut impl Write, variables: &[Variable], all: bool) -> io::Result<()> {
    let is_shown = |variable: &&Variable| all || variable.origin.is_given();
    let shown: Vec<_> = variables.iter().filter(is_shown).collect();
    let mut places: Vec<String> = Vec::new();
    for place in shown.iter().map(|variable| place(variable)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    writeln!(out, "  env:")?;
    for from in places {
        line(out, &format!("    from {from}"))?;
        for variable in shown.iter().filter(|variable| place(variable) == from) {
            let value = variable.value.replace('\n', "\\n");
            line(out, &format!("      {}={value}", variable.name))?;
        }
    }
    match variables.len() - shown.len() {
        0 => Ok(()),
        hidden => writeln!(out, "    ({hidden} more of the sandbox and the contexts: --env)"),
    }
}

/// Where a variable comes from.
fn place(variable: &Variable) -> String {
    let origin = variable.origin.as_str();
    match &variable.step {
        Some(step) => format!("{origin} of step {}", cut(step)),
        None => origin.to_owned(),
    }
}

/// Why a job ran, or why it did not.
fn why_job(job: &Job) -> String {
    match (&job.reason, job.conditions.last()) {
        (Some(reason), _) => cut(reason.lines().next().unwrap_or_default()),
        (None, Some(condition)) => short(condition),
        (None, None) => String::new(),
    }
}

/// A condition and its answer in one line.
fn short(condition: &Condition) -> String {
    let answer = match condition.holds {
        Some(answer) => answer.to_string(),
        None => "error".to_owned(),
    };
    format!("{answer}: {}", cut(&condition.text))
}

fn answer(condition: &Condition) -> String {
    match (condition.holds, &condition.error) {
        (Some(true), _) => "is true: it ran".to_owned(),
        (Some(false), _) => "is false: it was skipped".to_owned(),
        (None, error) => format!("failed: {}", error.as_deref().unwrap_or_default()),
    }
}

fn step_ended(step: &Step) -> String {
    let tolerated =
        step.outcome.as_deref() == Some("failure") && step.conclusion.as_deref() == Some("success");
    ended(step.conclusion.as_deref(), tolerated)
}

fn ended(conclusion: Option<&str>, tolerated: bool) -> String {
    let tolerated = if tolerated { " (continue-on-error)" } else { "" };
    format!("{}{tolerated}", conclusion.unwrap_or("did not end"))
}

fn seconds(seconds: Option<f64>) -> String {
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.map_or_else(String::new, time::human)
}

fn field(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    if value.is_empty() {
        return Ok(());
    }
    line(out, &format!("  {:12}{value}", format!("{name}:")))
}

fn line(out: &mut impl Write, text: &str) -> io::Result<()> {
    writeln!(out, "{}", printable(text))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
