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

/// The layer that gives a variable its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Sandbox,
    /// The variables that all steps of the job share.
    Shared,
    Composite,
    Step,
    Action,
    State,
    Input,
    Path,
    GitHub,
    Runner,
    Files,
    Gantry,
}

/// The complete environment of a process: each variable with its value and the layer that gives it.
#[derive(Debug, Default)]
pub(super) struct Environment(pub IndexMap<String, (String, Layer)>);

impl Environment {
    /// Builds the environment of a process.
    pub fn build(
        runtime: &JobRuntime,
        view: &JobView,
        frame: &Frame,
        github: &Object,
        layers: &Layers<'_>,
        files: &FileCommands,
    ) -> Self {
        let mut env = Self::default();
        env.extend(Layer::Sandbox, pairs(runtime.sandbox.base_environment()));
        env.extend(Layer::Shared, view.env.iter());
        env.extend(Layer::Composite, frame.env.iter());
        env.extend(Layer::Step, pairs(layers.step));
        for (name, value) in layers.action {
            env.fill(Layer::Action, name, value);
        }
        env.extend(Layer::State, pairs(layers.state));
        env.extend(Layer::Input, pairs(layers.inputs));
        env.prepend_path(&view.path);
        env.extend(Layer::GitHub, pairs(&exported_environment(github)));
        env.extend(Layer::Runner, pairs(&runner_environment(&view.runner)));
        env.extend(Layer::Files, pairs(&files.variables()));
        env.extend(Layer::Gantry, pairs(&runtime.settings.extra_env));
        env.fill(Layer::Gantry, "CI", "true");
        let actions = ("GITHUB_ACTIONS".to_owned(), "true".to_owned());
        env.extend(Layer::Gantry, pairs(&[actions]));
        env
    }

    /// The variables without their layers.
    pub fn into_pairs(self) -> Vec<(String, String)> {
        let pair = |(name, (value, _))| (name, value);
        self.0.into_iter().map(pair).collect()
    }

    fn extend<'a>(&mut self, layer: Layer, more: impl Iterator<Item = (&'a String, &'a String)>) {
        self.0
            .extend(more.map(|(name, value)| (name.clone(), (value.clone(), layer))));
    }

    /// Sets a variable that nothing has set yet.
    fn fill(&mut self, layer: Layer, name: &str, value: &str) {
        self.0
            .entry(name.to_owned())
            .or_insert_with(|| (value.to_owned(), layer));
    }

    /// Puts what steps have added in front of `PATH`, the last addition first.
    fn prepend_path(&mut self, additions: &[String]) {
        if !additions.is_empty() {
            let (path, layer) = self
                .0
                .entry("PATH".to_owned())
                .or_insert_with(|| (String::new(), Layer::Path));
            *path = files::join_path(additions, path);
            *layer = Layer::Path;
        }
    }
}

fn pairs(pairs: &[(String, String)]) -> impl Iterator<Item = (&String, &String)> {
    pairs.iter().map(|(name, value)| (name, value))
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
