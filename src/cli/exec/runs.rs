//! From workflows and what is given to runs that are ready to start.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use gantry_actors::engine::expr::{Object, Value};
use gantry_actors::engine::model::{Diagnostic, Workflow};
use gantry_actors::engine::plan::dispatch::{self, Inputs};
use gantry_actors::engine::plan::graph::{Run, RunSpec};
use gantry_actors::engine::plan::preview::preview;
use gantry_actors::local::PlannedRun;

use super::super::sources::Sources;
use super::dryrun::Plan;
use super::facts::{LocalEvent, facts};
use super::git::Repository;
use super::given::{Given, Values};

/// What all runs of one command share.
pub struct Planner<'a> {
    /// The directory of `-C`.
    pub directory: &'a Path,
    /// What git knows about it.
    pub repository: &'a Repository,
    /// The event.
    pub event: &'a LocalEvent,
    /// What the person gives.
    pub given: &'a Given,
    /// The job of `-j`.
    pub only: Option<&'a str>,
}

impl Planner<'_> {
    /// Makes runs of the workflows; the mistakes of those that cannot run are named on stderr.
    ///
    /// # Errors
    /// See [`Planner::plan`].
    pub fn plan_all(
        &self,
        workflows: &[Arc<Workflow>],
        sources: &mut Sources,
    ) -> anyhow::Result<Vec<PlannedRun>> {
        let mut runs = Vec::new();
        for workflow in workflows {
            let run = self.plan(workflow, sources, Run::new)?;
            runs.extend(run.map(|run| PlannedRun {
                title: title(workflow),
                run,
            }));
        }
        Ok(runs)
    }

    /// Plans what workflows would do; the mistakes of those that cannot run are named on stderr.
    ///
    /// # Errors
    /// See [`Planner::plan`].
    pub fn preview_all(
        &self,
        workflows: &[Arc<Workflow>],
        sources: &mut Sources,
    ) -> anyhow::Result<Vec<Plan>> {
        let mut plans = Vec::new();
        for workflow in workflows {
            plans.extend(self.plan(workflow, sources, preview)?.map(|jobs| Plan {
                title: title(workflow),
                file: workflow.file.to_string(),
                jobs,
            }));
        }
        Ok(plans)
    }

    /// Makes something of what a run is made of; `None` if the workflow has mistakes, which are named on stderr.
    ///
    /// # Errors
    /// The payload is no value of the expression language, or stderr is gone.
    fn plan<T>(
        &self,
        workflow: &Arc<Workflow>,
        sources: &mut Sources,
        make: impl FnOnce(RunSpec<'_>) -> Result<T, Vec<Diagnostic>>,
    ) -> anyhow::Result<Option<T>> {
        let planned = match self.inputs(workflow) {
            Ok(inputs) => {
                let github = self.github(workflow, &inputs)?;
                sources.called(self.directory, workflow).and_then(|library| {
                    make(RunSpec {
                        workflow: Arc::clone(workflow),
                        workflows: &library,
                        github: Arc::new(github),
                        vars: Arc::new(object(&self.given.vars)),
                        inputs: Arc::new(inputs.typed),
                        secrets: Arc::new(object(&self.given.secrets)),
                        only: self.only.map(str::to_owned),
                    })
                })
            }
            Err(mistakes) => Err(mistakes),
        };
        match planned {
            Ok(planned) => Ok(Some(planned)),
            Err(mistakes) => {
                sources.report(&mistakes).context("cannot write to stderr")?;
                Ok(None)
            }
        }
    }

    fn inputs(&self, workflow: &Workflow) -> Result<Inputs, Vec<Diagnostic>> {
        let given = self.given.inputs.clone().into_iter().collect();
        dispatch::inputs(&self.event.name, &workflow.on, &given).map_err(|mistakes| {
            let diagnostic = |mistake: &dispatch::InputError| Diagnostic {
                file: Arc::clone(&workflow.file),
                position: None,
                reached: None,
                message: mistake.to_string(),
            };
            mistakes.iter().map(diagnostic).collect()
        })
    }

    fn github(&self, workflow: &Workflow, inputs: &Inputs) -> anyhow::Result<Object> {
        let event = Value::from_json(&self.event.payload.to_string())
            .map_err(|error| anyhow!(error).context("the payload of the event cannot be used"))?;
        let event = with_inputs(event, inputs);
        Ok(facts(self.event, event, self.repository, self.directory, workflow).github())
    }
}

/// What a person calls a workflow.
fn title(workflow: &Workflow) -> String {
    workflow.name.clone().unwrap_or_else(|| workflow.file.to_string())
}

/// The payload with the inputs as `workflow_dispatch` carries them.
fn with_inputs(event: Value, inputs: &Inputs) -> Value {
    match event.as_object() {
        Some(payload) if !inputs.texts.is_empty() => {
            let mut payload = Object::clone(payload);
            payload.insert("inputs", Value::object(inputs.texts.clone()));
            Value::object(payload)
        }
        _ => event,
    }
}

fn object(values: &Values) -> Object {
    let mut object = Object::new();
    for (name, value) in values {
        object.insert(name.as_str(), value.as_str());
    }
    object
}
