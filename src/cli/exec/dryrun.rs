//! `gantry exec --dryrun`: what would run, and nothing does.

use std::io::{self, Write};

use gantry_actors::engine::plan::preview::{Outline, Outlook, PreviewJob, PreviewStep, StepOutlook, Unknown};
use serde_json::{Map, Value as Json, json};

use crate::render::diagnostic::printable;

/// The plan of one workflow.
pub struct Plan {
    /// What a person calls the workflow.
    pub title: String,
    /// Its file.
    pub file: String,
    /// Its jobs in the order in which they would start.
    pub jobs: Vec<PreviewJob>,
}

impl Plan {
    /// Tells whether every job could be planned.
    pub fn is_sound(&self) -> bool {
        !self
            .jobs
            .iter()
            .any(|job| matches!(job.outlook, Outlook::Fails(_)))
    }
}

/// Writes plans for a person.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(out: &mut impl Write, plans: &[Plan], event: &str) -> io::Result<()> {
    let mut jobs = 0;
    for plan in plans {
        writeln!(
            out,
            "{}  ({}, on {})",
            line(&plan.title),
            line(&plan.file),
            line(event)
        )?;
        for group in groups(&plan.jobs) {
            write_group(out, group)?;
        }
        writeln!(out)?;
        jobs += plan
            .jobs
            .iter()
            .filter(|job| matches!(job.outlook, Outlook::Runs(_)))
            .count();
    }
    let jobs = match jobs {
        1 => "1 job".to_owned(),
        count => format!("{count} jobs"),
    };
    writeln!(out, "{jobs} would run if all goes well; nothing was run")
}

/// Legs of the same job whose steps do the same are shown together.
fn groups(jobs: &[PreviewJob]) -> impl Iterator<Item = &[PreviewJob]> {
    jobs.chunk_by(|one, other| match (&one.outlook, &other.outlook) {
        (Outlook::Runs(one), Outlook::Runs(other)) => {
            one.file == other.file && one.id == other.id && one.steps == other.steps
        }
        _ => false,
    })
}

fn write_group(out: &mut impl Write, group: &[PreviewJob]) -> io::Result<()> {
    for job in group {
        let name = line(&job.name);
        match &job.outlook {
            Outlook::Runs(outline) => writeln!(out, "  {name}{}", line(&after(outline)))?,
            Outlook::Skipped(reason) => writeln!(out, "  - {name}  skipped: {}", line(reason))?,
            Outlook::Fails(reason) => writeln!(out, "  ✗ {name}  cannot run: {}", line(reason))?,
        }
    }
    let Some(Outlook::Runs(outline)) = group.first().map(|job| &job.outlook) else {
        return Ok(());
    };
    for Unknown { key, written } in &outline.unknown {
        writeln!(out, "      {key} is known only when it runs: {}", line(written))?;
    }
    for (index, step) in outline.steps.iter().enumerate() {
        writeln!(out, "      {:>2}. {}", index + 1, line(&step_text(step)))?;
    }
    Ok(())
}

fn after(outline: &Outline) -> String {
    if outline.needs.is_empty() {
        String::new()
    } else {
        format!("  after {}", outline.needs.join(", "))
    }
}

fn step_text(step: &PreviewStep) -> String {
    let mut text = step.name.clone();
    if let Some(uses) = step.uses.as_ref().filter(|uses| !step.name.contains(*uses)) {
        text = format!("{text}  uses {uses}");
    }
    match &step.outlook {
        StepOutlook::Runs => text,
        StepOutlook::Skipped(condition) => format!("{text}  skipped: {condition}"),
        StepOutlook::Depends(condition) => format!("{text}  if {condition}"),
    }
}

fn line(text: &str) -> String {
    printable(text).replace('\n', " ")
}

/// Writes plans for a program: one object per line and job.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_json(out: &mut impl Write, plans: &[Plan]) -> io::Result<()> {
    for plan in plans {
        for job in &plan.jobs {
            serde_json::to_writer(&mut *out, &object(plan, job))?;
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn object(plan: &Plan, job: &PreviewJob) -> Json {
    let mut object = Map::new();
    let mut set = |key: &str, value: Json| {
        object.insert(key.to_owned(), value);
    };
    let event = match &job.outlook {
        Outlook::Runs(_) => "job_planned",
        Outlook::Skipped(_) => "job_skipped",
        Outlook::Fails(_) => "job_failed",
    };
    set("event", event.into());
    set("workflow", plan.title.as_str().into());
    set("file", plan.file.as_str().into());
    set("job", job.key.as_str().into());
    set("job_name", job.name.as_str().into());
    match &job.outlook {
        Outlook::Skipped(reason) | Outlook::Fails(reason) => set("reason", reason.as_str().into()),
        Outlook::Runs(outline) => {
            set("needs", json!(outline.needs));
            set("runs_on", json!(outline.runs_on.labels));
            let matrix = serde_json::from_str(&outline.matrix.to_json()).unwrap_or_default();
            set("matrix", matrix);
            let unknown = outline.unknown.iter();
            let unknown: Map<String, Json> = unknown
                .map(|Unknown { key, written }| ((*key).to_owned(), written.as_str().into()))
                .collect();
            set("unknown", unknown.into());
            set("steps", outline.steps.iter().map(step_object).collect());
        }
    }
    object.into()
}

fn step_object(step: &PreviewStep) -> Json {
    let PreviewStep { name, uses, outlook } = step;
    let (runs, condition) = match outlook {
        StepOutlook::Runs => (Some(true), None),
        StepOutlook::Skipped(condition) => (Some(false), Some(condition)),
        StepOutlook::Depends(condition) => (None, Some(condition)),
    };
    json!({"name": name, "uses": uses, "runs": runs, "if": condition})
}
