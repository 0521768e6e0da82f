//! What a run would do if everything went well, as far as that can be known while nothing runs.
//!
//! The run's own state machine decides; what depends on outputs of jobs is taken out of it beforehand, and named.

mod soften;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;

use super::graph::{Effect, JobResult, Run, RunSpec};
use super::{Conclusion, JobPlan};
use crate::expr::{Object, Value};
use crate::model::{Diagnostic, RunsOn};
use soften::{Softened, original};
pub use steps::{PreviewStep, StepOutlook};

/// A job, or one leg of a matrix, in the order in which jobs would start.
#[derive(Debug)]
pub struct PreviewJob {
    /// Unique within the run.
    pub key: String,
    /// The name that a person sees.
    pub name: String,
    /// What would become of it.
    pub outlook: Outlook,
}

/// What would become of a job.
#[derive(Debug)]
pub enum Outlook {
    /// It would run.
    Runs(Box<Outline>),
    /// It would be skipped, for this reason.
    Skipped(String),
    /// It could not run, for this reason.
    Fails(String),
}

/// A job that would run.
#[derive(Debug)]
pub struct Outline {
    /// The file that it stands in.
    pub file: Arc<str>,
    /// Its id in that file.
    pub id: String,
    /// The ids of the jobs that it needs.
    pub needs: Vec<String>,
    /// Where it would run.
    pub runs_on: RunsOn,
    /// The `matrix` context: an object, or null.
    pub matrix: Value,
    /// What depends on the outputs of other jobs.
    pub unknown: Vec<Unknown>,
    /// Its steps.
    pub steps: Vec<PreviewStep>,
}

/// A key of a job whose value depends on the outputs of other jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The key, such as `strategy`.
    pub key: &'static str,
    /// What decides, as it is written.
    pub written: String,
}

/// Plans a run whose jobs all succeed.
///
/// # Errors
/// Everything that is wrong with the workflow and those that it calls and that shows without running them.
pub fn preview(spec: RunSpec<'_>) -> Result<Vec<PreviewJob>, Vec<Diagnostic>> {
    // What is wrong is looked for before anything is taken out.
    Run::new(RunSpec {
        workflow: Arc::clone(&spec.workflow),
        github: Arc::clone(&spec.github),
        vars: Arc::clone(&spec.vars),
        inputs: Arc::clone(&spec.inputs),
        secrets: Arc::clone(&spec.secrets),
        only: spec.only.clone(),
        workflows: spec.workflows,
    })?;
    let softened = Softened::new(spec.workflows);
    let workflow = softened.soften(&spec.workflow);
    let mut run = Run::new(RunSpec {
        workflow,
        workflows: &softened,
        ..spec
    })?;
    let mut queue = VecDeque::from(run.start());
    let mut jobs = Vec::new();
    while let Some(effect) = queue.pop_front() {
        match effect {
            Effect::Start(plan) => {
                let result = JobResult {
                    conclusion: Conclusion::Success,
                    outputs: IndexMap::new(),
                };
                queue.extend(run.on_job_finished(&plan.key, result));
                jobs.push(outline(*plan, &softened));
            }
            Effect::Concluded {
                key,
                name,
                conclusion,
                reason,
                ..
            } => {
                let outlook = match conclusion {
                    Conclusion::Skipped => Outlook::Skipped(reason),
                    _ => Outlook::Fails(reason),
                };
                jobs.push(PreviewJob { key, name, outlook });
            }
            Effect::Cancel { .. } | Effect::Finished(_) => {}
        }
    }
    Ok(jobs)
}

fn outline(plan: JobPlan, softened: &Softened<'_>) -> PreviewJob {
    let (job, unknown) = original(softened, &plan);
    let contexts = known_contexts(&plan, &unknown);
    let outline = Outline {
        file: Arc::clone(&plan.workflow.file),
        id: job.id.clone(),
        needs: job.needs.iter().map(|need| need.value.clone()).collect(),
        runs_on: plan.runs_on,
        matrix: plan.contexts.matrix,
        unknown,
        steps: steps::preview(&job, &contexts),
    };
    PreviewJob {
        key: plan.key,
        name: plan.name,
        outlook: Outlook::Runs(Box::new(outline)),
    }
}

/// The contexts of steps that have their values before the job starts, but for secrets.
fn known_contexts(plan: &JobPlan, unknown: &[Unknown]) -> Object {
    let mut github = Object::clone(&plan.contexts.github);
    github.insert("token", Value::Null);
    let mut contexts = Object::new();
    contexts.insert("github", Arc::new(github));
    contexts.insert("inputs", Arc::clone(&plan.contexts.inputs));
    contexts.insert("vars", Arc::clone(&plan.contexts.vars));
    contexts.insert("needs", Arc::clone(&plan.contexts.needs));
    if !unknown.iter().any(|unknown| unknown.key == "strategy") {
        contexts.insert("strategy", Arc::clone(&plan.contexts.strategy));
        contexts.insert("matrix", plan.contexts.matrix.clone());
    }
    contexts
}
