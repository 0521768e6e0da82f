//! What an expression sees at one moment of a job.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::Status;
use crate::expr::{Object, Value};
use crate::plan::JobContexts;

/// What actions have saved with `GITHUB_STATE`, by the name of the instance (see [`Frame::instance`]).
pub type SavedStates = HashMap<String, Arc<IndexMap<String, String>>>;

/// The job at one moment: everything that a step's expressions and processes can see of it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct JobView {
    /// The contexts that do not change while the job runs.
    pub fixed: Arc<JobContexts>,
    /// `runner`
    pub runner: Arc<Object>,
    /// `job`, without `status`, which follows [`Self::status`].
    pub job: Arc<Object>,
    /// How the job stands.
    pub status: Status,
    /// Workflow and job `env`, overlaid with what steps have written to `GITHUB_ENV`.
    pub env: Arc<IndexMap<String, String>>,
    /// What steps have written to `GITHUB_PATH`, in the order of writing; the last one is searched first.
    pub path: Arc<Vec<String>>,
    /// What actions have saved so far.
    pub states: Arc<SavedStates>,
    /// `defaults.run.shell` of the job, else of the workflow.
    pub default_shell: Option<String>,
    /// `defaults.run.working-directory` of the job, else of the workflow.
    pub default_working_directory: Option<String>,
}

/// Where a step stands: directly in the job, or inside of a composite action. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Frame {
    /// `inputs`: those of the workflow, or those of the composite action (all strings).
    pub inputs: Arc<Object>,
    /// `steps`: the steps of the same list that have completed.
    pub steps: Arc<Object>,
    /// The `env` of the composite steps around, outermost first.
    pub env: Arc<IndexMap<String, String>>,
    /// The composite action around, if there is one.
    pub action: Option<Arc<ActionFrame>>,
    /// How many composite actions are around.
    pub depth: usize,
    /// The ids of the composite steps around, each after a `/`.
    pub scope: Arc<str>,
}

impl Frame {
    /// The name of the action that the step of this id runs here: it is the same in all of its parts, and no other
    /// action of the job has it.
    pub fn instance(&self, step: &str) -> String {
        format!("{}/{step}", self.scope)
    }
}

/// The composite action that a step stands in.
#[derive(Debug, Clone)]
pub struct ActionFrame {
    /// `github.action_path`: the directory of the action as the job sees it.
    pub path: String,
    /// How the composite's own steps stand; its `success()` and `failure()` ask for this.
    pub status: Status,
}

/// What `github.action*` says while one step runs.
#[derive(Debug, Clone, Default)]
pub struct StepIdentity {
    /// `github.action`: the id of the step, generated if none is written.
    pub action: String,
    /// `github.action_repository`; null for scripts and local actions.
    pub repository: Option<String>,
    /// `github.action_ref`; null for scripts and local actions.
    pub git_ref: Option<String>,
    /// `github.env`, `github.output` and so on: the step's command files, by the name of the property.
    pub files: Arc<[(&'static str, String)]>,
}

impl JobView {
    /// The contexts of a step, by name, with `env` as the given variables.
    pub fn contexts(&self, frame: &Frame, identity: &StepIdentity, env: Object) -> Object {
        let fixed = &self.fixed;
        let mut contexts = Object::new();
        contexts.insert("github", Value::from(self.github(frame, identity)));
        contexts.insert("inputs", Value::Object(frame.inputs.clone()));
        contexts.insert("vars", Value::Object(fixed.vars.clone()));
        contexts.insert("secrets", Value::Object(fixed.secrets.clone()));
        contexts.insert("needs", Value::Object(fixed.needs.clone()));
        contexts.insert("strategy", Value::Object(fixed.strategy.clone()));
        contexts.insert("matrix", fixed.matrix.clone());
        contexts.insert("steps", Value::Object(frame.steps.clone()));
        contexts.insert("job", Value::from(self.job()));
        contexts.insert("runner", Value::Object(self.runner.clone()));
        contexts.insert("env", Value::from(env));
        contexts
    }

    /// The `env` context before a step's own `env`: job-wide variables under those of the composites around.
    pub fn env(&self, frame: &Frame) -> Object {
        let mut env = Object::case_sensitive();
        for (name, value) in self.env.iter().chain(frame.env.iter()) {
            env.insert(name.as_str(), Value::from(value.as_str()));
        }
        env
    }

    /// The frame of the job's own steps.
    pub fn job_frame(&self, steps: Arc<Object>) -> Frame {
        Frame {
            inputs: self.fixed.inputs.clone(),
            steps,
            env: Arc::default(),
            action: None,
            depth: 0,
            scope: "".into(),
        }
    }

    /// `github` while one step runs.
    pub fn github(&self, frame: &Frame, identity: &StepIdentity) -> Object {
        let text = |value: &Option<String>| value.as_deref().map_or(Value::Null, Value::from);
        let mut github = (*self.fixed.github).clone();
        github.insert("action", Value::from(identity.action.as_str()));
        github.insert("action_repository", text(&identity.repository));
        github.insert("action_ref", text(&identity.git_ref));
        for (name, path) in identity.files.iter() {
            github.insert(*name, path.as_str());
        }
        if let Some(action) = &frame.action {
            github.insert("action_path", Value::from(action.path.as_str()));
            github.insert("action_status", Value::from(action.status.as_str()));
        }
        github
    }

    fn job(&self) -> Object {
        let mut job = (*self.job).clone();
        job.insert("status", Value::from(self.status.as_str()));
        job
    }
}
