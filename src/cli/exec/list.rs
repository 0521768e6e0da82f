//! `gantry exec --list`: the jobs of the workflows, stage by stage.

use std::io::{self, Write};
use std::sync::Arc;

use gantry_actors::engine::model::{Job, NodeKind, Workflow};
use serde::Serialize;

use super::select::event_names;
use crate::render::table;

/// One job of the list.
#[derive(Serialize)]
struct Row<'a> {
    stage: usize,
    job: &'a str,
    name: &'a str,
    workflow: &'a str,
    file: &'a str,
    events: Vec<&'a str>,
}

/// Writes the jobs as a table, or as one JSON object per line.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(out: &mut impl Write, workflows: &[Arc<Workflow>], json: bool) -> io::Result<()> {
    let rows: Vec<Row<'_>> = workflows.iter().flat_map(|workflow| rows(workflow)).collect();
    if json {
        for row in &rows {
            serde_json::to_writer(&mut *out, row)?;
            out.write_all(b"\n")?;
        }
        return Ok(());
    }
    let head = [
        "Stage",
        "Job ID",
        "Job name",
        "Workflow name",
        "Workflow file",
        "Events",
    ];
    let cells = rows.iter().map(|row| {
        let texts = [row.job, row.name, row.workflow, row.file].map(str::to_owned);
        [
            vec![row.stage.to_string()],
            texts.to_vec(),
            vec![row.events.join(",")],
        ]
        .concat()
    });
    table::write(out, &head, &cells.collect::<Vec<_>>())
}

fn rows(workflow: &Workflow) -> impl Iterator<Item = Row<'_>> {
    let stages = stages(&workflow.jobs);
    workflow.jobs.iter().zip(stages).map(|(job, stage)| Row {
        stage,
        job: &job.id,
        // An expression has no value before the run.
        name: literal_name(job).unwrap_or(&job.id),
        workflow: workflow.name.as_deref().unwrap_or(&workflow.file),
        file: &workflow.file,
        events: event_names(workflow).collect(),
    })
}

/// The name of a job, if no expression makes it.
pub fn literal_name(job: &Job) -> Option<&str> {
    match &job.name.as_ref()?.node().kind {
        NodeKind::String(text) => Some(text),
        _ => None,
    }
}

/// The stage of each job: 0 without needs, else one more than that of the latest job it needs.
///
/// A parsed workflow has no cycles, so this ends after as many rounds as the graph is deep.
pub fn stages(jobs: &[Arc<Job>]) -> Vec<usize> {
    let mut stages = vec![0; jobs.len()];
    for _ in 0..jobs.len() {
        let next: Vec<usize> = jobs.iter().map(|job| stage(job, jobs, &stages)).collect();
        if next == stages {
            break;
        }
        stages = next;
    }
    stages
}

fn stage(job: &Job, jobs: &[Arc<Job>], stages: &[usize]) -> usize {
    let needed = |id: &str| {
        jobs.iter()
            .position(|other| other.id == id)
            .map(|index| stages[index] + 1)
    };
    job.needs
        .iter()
        .filter_map(|id| needed(&id.value))
        .max()
        .unwrap_or(0)
}
