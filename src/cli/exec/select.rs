//! Which workflows run, and on which event.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use gantry_actors::engine::model::Workflow;

use super::super::exit::{Result, usage};
use super::super::{ExecFlags, files};
use crate::render;

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
pub fn workflows(flags: &ExecFlags, directory: &Path) -> Result<Selection> {
    let mut selection = Selection::default();
    for path in workflow_files(flags, directory)? {
        match read(&path, directory)? {
            Some(workflow) => selection.workflows.push(Arc::new(workflow)),
            None => selection.broken += 1,
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

/// Reads one workflow, or names its mistakes on stderr.
fn read(path: &Path, directory: &Path) -> anyhow::Result<Option<Workflow>> {
    let mut stderr = std::io::stderr().lock();
    let told = "cannot write to stderr";
    let text = match files::read_text(path) {
        Ok(text) => text,
        Err(error) => {
            writeln!(stderr, "{error:#}").context(told)?;
            return Ok(None);
        }
    };
    match Workflow::parse(&files::shown(path, directory).to_string_lossy(), &text) {
        Ok(workflow) => Ok(Some(workflow)),
        Err(mistakes) => {
            for mistake in &mistakes {
                render::diagnostic::write(&mut stderr, mistake, &text).context(told)?;
            }
            Ok(None)
        }
    }
}

/// Chooses the event: the flag, else the only one that the workflows name, else `push`.
///
/// With `--detect-event` the first one stands for several.
pub fn event(flags: &ExecFlags, workflows: &[Arc<Workflow>]) -> String {
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

/// Reads the payload of the event.
///
/// # Errors
/// The file cannot be read or is not a JSON object; the text names line and column.
pub fn payload(flags: &ExecFlags, directory: &Path) -> anyhow::Result<serde_json::Value> {
    let Some(path) = &flags.eventpath else {
        return Ok(serde_json::Value::Object(serde_json::Map::new()));
    };
    let path = resolve(path, directory);
    let subject = || format!("event file {} is not JSON", path.display());
    let text = files::read_text(&path)?;
    let value: serde_json::Value = serde_json::from_str(&text).with_context(subject)?;
    if value.is_object() {
        return Ok(value);
    }
    Err(anyhow!("event file {} is not a JSON object", path.display()))
}
