//! `gantry validate`: every mistake in workflow and action files, with its place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use gantry_actors::engine::model::{Action, Diagnostic, Workflow};
use gantry_actors::engine::plan::graph;
use serde::Serialize;

use super::exit::{Exit, Result};
use super::sources::Sources;
use super::{ValidateFlags, files};

/// Where actions of a repository are usually kept.
const ACTION_DIRECTORIES: [&str; 3] = [".gitea/actions", ".forgejo/actions", ".github/actions"];

/// A mistake as a program reads it.
#[derive(Serialize)]
struct Mistake<'a> {
    file: &'a str,
    line: Option<u32>,
    column: Option<u32>,
    message: &'a str,
}

/// Checks the files and prints what is wrong with them.
///
/// # Errors
/// There is nothing to check, a directory cannot be searched, or stdout is gone.
pub fn run(flags: &ValidateFlags) -> Result {
    let paths = if flags.files.is_empty() {
        default_files()?
    } else {
        named_files(&flags.files)?
    };
    if paths.is_empty() {
        return Err(anyhow!("no workflow or action.yml file found").into());
    }
    let mut sources = Sources::new(Path::new("."));
    let mut mistakes: Vec<Diagnostic> = Vec::new();
    for path in &paths {
        for mistake in check(path, &mut sources) {
            // A workflow that is called by several is checked with each of them.
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
    }
    print(flags, paths.len(), &mistakes, &sources).context("cannot write to stdout")?;
    Ok(if mistakes.is_empty() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

fn print(flags: &ValidateFlags, files: usize, mistakes: &[Diagnostic], sources: &Sources) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for mistake in mistakes {
        if flags.json {
            write_json(&mut out, mistake)?;
        } else {
            sources.show(&mut out, mistake)?;
        }
    }
    if !flags.json {
        writeln!(
            out,
            "{}, {}",
            count(files, "file"),
            count(mistakes.len(), "mistake")
        )?;
    }
    out.flush()
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

fn write_json(out: &mut impl Write, diagnostic: &Diagnostic) -> io::Result<()> {
    let place = diagnostic.place();
    let mistake = Mistake {
        file: &diagnostic.file,
        line: place.map(|place| place.line),
        column: place.map(|place| place.column),
        message: &diagnostic.message,
    };
    serde_json::to_writer(&mut *out, &mistake)?;
    out.write_all(b"\n")
}

/// Finds all mistakes of a file, and of the workflows that it calls.
fn check(path: &Path, sources: &mut Sources) -> Vec<Diagnostic> {
    let (name, text) = match sources.read(path) {
        Ok(read) => read,
        Err(mistake) => return vec![mistake],
    };
    if files::is_action(path) || looks_like_action(&text) {
        return Action::parse(&name, &text).err().unwrap_or_default();
    }
    let workflow = match Workflow::parse(&name, &text) {
        Ok(workflow) => workflow,
        Err(mistakes) => return mistakes,
    };
    // Reusable workflows are named from the root of the repository.
    let called = sources.called(&repository_of(path), &workflow);
    called.map_or_else(
        |mistakes| mistakes,
        |library| graph::diagnose(&workflow, &library),
    )
}

/// The directory that holds `.github/workflows` or its like, else the current one.
fn repository_of(path: &Path) -> PathBuf {
    let is_root = |root: &&Path| {
        let below = path.strip_prefix(root);
        below.is_ok_and(|below| {
            files::WORKFLOW_DIRECTORIES
                .iter()
                .any(|usual| below.starts_with(usual))
        })
    };
    path.ancestors().find(is_root).unwrap_or(Path::new("")).to_owned()
}

/// An action by another name: it has `runs` where a workflow has `jobs`.
fn looks_like_action(source: &str) -> bool {
    let has = |key: &str| source.lines().any(|line| line.starts_with(key));
    has("runs:") && !has("jobs:")
}

/// All workflows and actions at their usual places below the current directory.
fn default_files() -> anyhow::Result<Vec<PathBuf>> {
    let mut found = usual_files(Path::new("."))?;
    found.extend(
        ["action.yml", "action.yaml"]
            .map(PathBuf::from)
            .into_iter()
            .filter(|path| path.is_file()),
    );
    Ok(found)
}

fn usual_files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for directory in files::WORKFLOW_DIRECTORIES.iter().map(|name| root.join(name)) {
        if directory.is_dir() {
            found.extend(files::yaml_files(&directory, true)?);
        }
    }
    for directory in ACTION_DIRECTORIES.iter().map(|name| root.join(name)) {
        if directory.is_dir() {
            found.extend(
                files::yaml_files(&directory, true)?
                    .into_iter()
                    .filter(|path| files::is_action(path)),
            );
        }
    }
    Ok(found)
}

/// The files of the command line, with those that its directories hold.
fn named_files(arguments: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for argument in arguments {
        if argument.is_dir() {
            found.extend(search(argument)?);
        } else if argument.exists() {
            found.push(argument.clone());
        } else {
            return Err(anyhow!("no file {}: it does not exist", argument.display()));
        }
    }
    Ok(found)
}

/// Searches a directory: files in `workflows` directories and `action.yml` files, or all YAML files if there is
/// neither.
fn search(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let all = files::yaml_files(directory, true)?;
    let in_workflows = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with("workflows"));
    let usual: Vec<PathBuf> = all
        .iter()
        .filter(|path| files::is_action(path) || in_workflows(path))
        .cloned()
        .collect();
    let found = if usual.is_empty() { all } else { usual };
    if found.is_empty() {
        return Err(anyhow!(
            "no workflow or action.yml file found in {}",
            directory.display()
        ));
    }
    Ok(found)
}
