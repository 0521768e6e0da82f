//! Gets the actions of other repositories before the first step.

use std::sync::Arc;

use super::JobRuntime;
use super::action::load_local;
use super::checkout::{is_surely_local, may_be_local};
use super::log::StepLog;
use super::remote::Prepared;
use super::stop::{Stop, StopSignal};
use crate::action::{ActionKey, remote_uses};
use crate::model::{ActionRef, Runs, Step, StepAction, UsesStep};

/// How deep local composite actions are looked into, as when they run.
const MAX_DEPTH: usize = 10;

/// The actions that a job's steps name.
#[derive(Debug, Default)]
struct Named {
    /// Without these the job does not start, as on GitHub.
    needed: Vec<ActionKey>,
    /// What the local actions that are there by now name; a step may still replace them.
    hoped: Vec<ActionKey>,
}

/// Makes the actions ready that the steps name, and says in the log which ones; false if one that the job needs is
/// not to be had.
///
/// A job that is cancelled meanwhile goes on without them: its steps will not run.
pub(super) async fn download_actions(
    runtime: &JobRuntime,
    steps: &[Arc<Step>],
    stop: &StopSignal,
    log: &mut StepLog,
) -> bool {
    let named = named(runtime, steps).await;
    if named.needed.is_empty() && named.hoped.is_empty() {
        return true;
    }
    log.line("Prepare all required actions");
    log.line("Getting action download info");
    log.flush().await;
    let mut stop = stop.clone();
    let (needed, hoped) = tokio::select! {
        prepared = prepare(runtime, named) => prepared,
        _ = stop.above(Stop::No) => return true,
    };
    for line in needed.lines.iter().chain(&hoped.lines) {
        log.line(line);
    }
    // Whether a checkout that could be local needs the real one is known when it runs.
    let missing: Vec<_> = needed
        .failed
        .iter()
        .filter(|(key, _)| !may_be_local(runtime, key))
        .collect();
    for line in missing.iter().flat_map(|(_, text)| text.lines()) {
        log.error(line);
    }
    missing.is_empty()
}

async fn prepare(runtime: &JobRuntime, named: Named) -> (Prepared, Prepared) {
    let (remote, sandbox) = (&runtime.remote, &*runtime.sandbox);
    let is_wanted = |uses: &UsesStep| !is_surely_local(runtime, uses);
    let needed = remote.prepare(sandbox, named.needed, &is_wanted).await;
    let hoped = remote.prepare(sandbox, named.hoped, &is_wanted).await;
    (needed, hoped)
}

async fn named(runtime: &JobRuntime, steps: &[Arc<Step>]) -> Named {
    let is_wanted = |uses: &UsesStep| !is_surely_local(runtime, uses);
    let mut named = Named {
        needed: remote_uses(steps, is_wanted),
        hoped: Vec::new(),
    };
    let mut seen: Vec<String> = Vec::new();
    let mut waiting = vec![(local_uses(steps), 1)];
    while let Some((paths, depth)) = waiting.pop() {
        for path in paths {
            if seen.contains(&path) {
                continue;
            }
            // What is not there yet, or has mistakes, is told by its step.
            let loaded = load_local(runtime, &path).await;
            seen.push(path);
            if let Ok(loaded) = loaded
                && let Runs::Composite(steps) = &loaded.metadata.runs
                && depth < MAX_DEPTH
            {
                named.hoped.extend(remote_uses(steps, is_wanted));
                waiting.push((local_uses(steps), depth + 1));
            }
        }
    }
    named
}

fn local_uses(steps: &[Arc<Step>]) -> Vec<String> {
    let paths = steps.iter().filter_map(|step| match &step.action {
        StepAction::Uses(uses) => match &uses.uses.value {
            ActionRef::Local(path) => Some(path.clone()),
            ActionRef::Builtin(_) | ActionRef::Remote { .. } | ActionRef::Docker(_) => None,
        },
        StepAction::Run(_) => None,
    });
    paths.collect()
}
