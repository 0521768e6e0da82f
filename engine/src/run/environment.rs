//! The environment of a step's process.
//!
//! Later wins: sandbox, job-wide variables, `env` of the composites around, `env` of the step, `runs.env` of an
//! action where nothing is set, `STATE_*`, `INPUT_*`, `PATH`, the context variables, the runtime variables.

use indexmap::IndexMap;

use super::JobRuntime;
use super::file_commands::FileCommands;
use crate::commands::files;
use crate::expr::Object;
use crate::job::{Frame, JobView};
use crate::plan::contexts::exported_environment;

/// The layers that differ from process to process.
#[derive(Debug, Default)]
pub(super) struct Layers<'a> {
    /// The step's own `env`, evaluated.
    pub step: &'a [(String, String)],
    /// `runs.env` of a Docker action.
    pub action: &'a [(String, String)],
    /// `STATE_*`.
    pub state: &'a [(String, String)],
    /// `INPUT_*`.
    pub inputs: &'a [(String, String)],
}

/// Builds the complete environment of a process.
pub(super) fn build(
    runtime: &JobRuntime,
    view: &JobView,
    frame: &Frame,
    github: &Object,
    layers: &Layers<'_>,
    files: &FileCommands,
) -> Vec<(String, String)> {
    let mut env: IndexMap<String, String> = runtime.sandbox.base_environment().iter().cloned().collect();
    extend(&mut env, view.env.iter());
    extend(&mut env, frame.env.iter());
    extend_pairs(&mut env, layers.step);
    for (name, value) in layers.action {
        env.entry(name.clone()).or_insert_with(|| value.clone());
    }
    extend_pairs(&mut env, layers.state);
    extend_pairs(&mut env, layers.inputs);
    prepend_path(&mut env, &view.path);
    env.extend(exported_environment(github));
    env.extend(runner_environment(&view.runner));
    extend_pairs(&mut env, &files.variables());
    extend_pairs(&mut env, &runtime.settings.extra_env);
    env.entry("CI".to_owned()).or_insert_with(|| "true".to_owned());
    env.insert("GITHUB_ACTIONS".to_owned(), "true".to_owned());
    env.into_iter().collect()
}

fn extend<'a>(env: &mut IndexMap<String, String>, more: impl Iterator<Item = (&'a String, &'a String)>) {
    env.extend(more.map(|(name, value)| (name.clone(), value.clone())));
}

fn extend_pairs(env: &mut IndexMap<String, String>, more: &[(String, String)]) {
    env.extend(more.iter().cloned());
}

/// Puts what steps have added in front of `PATH`, the last addition first.
fn prepend_path(env: &mut IndexMap<String, String>, additions: &[String]) {
    if !additions.is_empty() {
        let path = env.entry("PATH".to_owned()).or_default();
        *path = files::join_path(additions, path);
    }
}

/// `RUNNER_<NAME>` for each text in the `runner` context.
fn runner_environment(runner: &Object) -> Vec<(String, String)> {
    runner
        .iter()
        .map(|(name, value)| {
            (
                format!("RUNNER_{}", name.to_ascii_uppercase()),
                value.to_text().into_owned(),
            )
        })
        .filter(|(_, value)| !value.is_empty())
        .collect()
}
