//! Which workflows run, and on which event.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use gantry_actors::engine::model::Workflow;
use gantry_actors::engine::plan::filters::{self, EventFacts};

use super::super::exit::{Result, usage};
use super::super::sources::Sources;
use super::super::{ExecFlags, files};

/// The workflows of the directory in the order of their files.
#[derive(Debug, Default)]
pub struct Selection {
    /// Those without mistakes.
    pub workflows: Vec<Arc<Workflow>>,
    /// How many files have mistakes; they were named on stderr.
    pub broken: usize,
}

/// Reads all workflows and names the mistakes of the broken ones on stderr.
///
/// # Errors
/// There are none, or a directory cannot be read.
pub fn workflows(flags: &ExecFlags, directory: &Path, sources: &mut Sources) -> Result<Selection> {
    let mut selection = Selection::default();
    for path in workflow_files(flags, directory)? {
        match sources.workflow(&path) {
            Ok(workflow) => selection.workflows.push(Arc::new(workflow)),
            Err(mistakes) => {
                sources.report(&mistakes).context("cannot write to stderr")?;
                selection.broken += 1;
            }
        }
    }
    Ok(selection)
}

fn workflow_files(flags: &ExecFlags, directory: &Path) -> Result<Vec<PathBuf>> {
    let found = match &flags.workflows {
        Some(path) => {
            let path = resolve(path, directory);
            if !path.exists() {
                return Err(usage(anyhow!(
                    "no workflows at {}: it does not exist",
                    path.display()
                )));
            }
            path
        }
        None => default_directory(directory)?,
    };
    let all = if found.is_dir() {
        files::yaml_files(&found, !flags.no_recurse)?
    } else {
        vec![found.clone()]
    };
    if all.is_empty() {
        return Err(anyhow!("no workflow files in {}", found.display()).into());
    }
    Ok(all)
}

fn default_directory(directory: &Path) -> anyhow::Result<PathBuf> {
    let mut candidates = files::WORKFLOW_DIRECTORIES
        .iter()
        .map(|name| directory.join(name));
    candidates.find(|path| path.is_dir()).with_context(|| {
        format!(
            "no workflows in {}: none of {}",
            directory.display(),
            files::WORKFLOW_DIRECTORIES.join(", ")
        )
    })
}

/// A path of the command line: below the working directory `-C` if it exists there, else as the shell sees it.
pub fn resolve(path: &Path, directory: &Path) -> PathBuf {
    let below = directory.join(path);
    if below.exists() { below } else { path.to_owned() }
}

/// Chooses the event: the flag, else the only one that the workflows name, else `push`.
///
/// With `--detect-event` the first one stands for several.
pub fn event_name(flags: &ExecFlags, workflows: &[Arc<Workflow>]) -> String {
    if let Some(event) = &flags.event {
        return event.clone();
    }
    let mut names: Vec<&str> = Vec::new();
    for name in workflows.iter().flat_map(|workflow| event_names(workflow)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [only] => (*only).to_owned(),
        [first, ..] if flags.detect_event => (*first).to_owned(),
        _ => "push".to_owned(),
    }
}

/// The events that start a workflow by themselves; `workflow_call` is none.
pub fn event_names(workflow: &Workflow) -> impl Iterator<Item = &str> {
    workflow
        .on
        .events
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "workflow_call")
}

/// The workflows that run: those with the job of `-j`, else those that the event starts.
///
/// # Errors
/// No workflow has the job, or the event starts none.
pub fn started(flags: &ExecFlags, workflows: &[Arc<Workflow>], event: &str) -> Result<Vec<Arc<Workflow>>> {
    let chosen = |workflow: &Workflow| match &flags.job {
        Some(id) => workflow.jobs.iter().any(|job| job.id.eq_ignore_ascii_case(id)),
        None => event_names(workflow).any(|name| name == event),
    };
    let found: Vec<_> = workflows
        .iter()
        .filter(|workflow| chosen(workflow))
        .cloned()
        .collect();
    if !found.is_empty() || workflows.is_empty() {
        return Ok(found);
    }
    if let Some(id) = &flags.job {
        let jobs: Vec<&str> = workflows
            .iter()
            .flat_map(|workflow| &workflow.jobs)
            .map(|job| &*job.id)
            .collect();
        return Err(usage(anyhow!(
            "no job has the id {id}; there are: {}",
            jobs.join(", ")
        )));
    }
    let events: Vec<&str> = workflows
        .iter()
        .flat_map(|workflow| event_names(workflow))
        .collect();
    Err(anyhow!("no workflow runs on {event}; there are: {}", events.join(", ")).into())
}

/// What the filters of workflows make of an event.
#[derive(Debug, Default)]
pub struct Filtered {
    /// The workflows that the event starts.
    pub workflows: Vec<Arc<Workflow>>,
    /// How many have filters that are not valid; they were named on stderr.
    pub broken: usize,
}

/// Leaves out the workflows whose filters refuse the event, and says why on stderr.
pub fn filtered(workflows: Vec<Arc<Workflow>>, event: &EventFacts) -> Filtered {
    let mut filtered = Filtered::default();
    for workflow in workflows {
        match filters::decide_workflow(event, &workflow.on) {
            Ok(decision) if decision.runs => filtered.workflows.push(workflow),
            Ok(decision) => eprintln!("gantry: {} {decision}", workflow.file),
            Err(error) => {
                eprintln!("{}: {error}", workflow.file);
                filtered.broken += 1;
            }
        }
    }
    filtered
}

/// Reads the payload of the event, if one is given.
///
/// # Errors
/// The file cannot be read or is not a JSON object; the text names line and column.
pub fn payload(flags: &ExecFlags, directory: &Path) -> anyhow::Result<Option<serde_json::Value>> {
    let Some(path) = &flags.eventpath else {
        return Ok(None);
    };
    let path = resolve(path, directory);
    let subject = || format!("event file {} is not JSON", path.display());
    let text = files::read_text(&path)?;
    let value: serde_json::Value = serde_json::from_str(&text).with_context(subject)?;
    if value.is_object() {
        return Ok(Some(value));
    }
    Err(anyhow!("event file {} is not a JSON object", path.display()))
}
