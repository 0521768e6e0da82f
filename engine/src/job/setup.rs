//! What is evaluated once, while the job is set up: its environment and its defaults.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::expr::{HashFilesError, Host, Object, Scope, StatusFunction, Value};
use crate::model::{Defaults, Diagnostic, Field, FieldError, FromNode, JobBody, StringMap};
use crate::plan::JobPlan;

/// What [`evaluate_setup`] found.
#[derive(Debug, Clone, Default)]
pub struct JobSetup {
    /// What the operator gives, under workflow `env`, under job `env`.
    pub env: IndexMap<String, String>,
    /// `defaults.run`: the job's over the workflow's, key by key.
    pub defaults: Defaults,
    /// Which layer gives each variable of `env` its value.
    pub layers: IndexMap<String, EnvLayer>,
}

/// A layer of the variables that all steps of a job share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvLayer {
    /// What the operator gives.
    Given,
    /// `env` of the workflow.
    Workflow,
    /// `env` of the job.
    Job,
}

/// Answers nothing: neither status functions nor `hashFiles` are legal where it is used.
struct NoHost;

impl Host for NoHost {
    fn status(&self, _: StatusFunction, _: &[String]) -> bool {
        false
    }

    fn hash_files(&self, _: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Failed(
            "hashFiles is not available while the job is set up".to_owned(),
        ))
    }
}

/// Evaluates the environment and the defaults of a job; `base` lies below the workflow's `env`.
///
/// # Errors
/// Every value that cannot be evaluated or has the wrong type, with its place.
pub fn evaluate_setup(plan: &JobPlan, base: &[(String, String)]) -> Result<JobSetup, Vec<Diagnostic>> {
    let mut contexts = fixed_contexts(plan);
    let mut setup = JobSetup::default();
    setup.extend(EnvLayer::Given, base.iter().cloned());
    let workflow_env: StringMap = evaluate(plan.workflow.env.as_ref(), &contexts)?.unwrap_or_default();
    setup.extend(EnvLayer::Workflow, workflow_env.0);
    let JobBody::Steps(body) = &plan.job.body else {
        return Ok(setup);
    };
    let job_env: StringMap = evaluate(body.env.as_ref(), &contexts)?.unwrap_or_default();
    setup.extend(EnvLayer::Job, job_env.0);

    contexts.insert("env", Value::from(case_sensitive(&setup.env)));
    let outer: Defaults = evaluate(plan.workflow.defaults.as_ref(), &contexts)?.unwrap_or_default();
    let inner: Defaults = evaluate(body.defaults.as_ref(), &contexts)?.unwrap_or_default();
    setup.defaults = Defaults {
        shell: inner.shell.or(outer.shell),
        working_directory: inner.working_directory.or(outer.working_directory),
    };
    Ok(setup)
}

impl JobSetup {
    fn extend(&mut self, layer: EnvLayer, variables: impl IntoIterator<Item = (String, String)>) {
        for (name, value) in variables {
            self.layers.insert(name.clone(), layer);
            self.env.insert(name, value);
        }
    }
}

fn fixed_contexts(plan: &JobPlan) -> Object {
    let fixed = &plan.contexts;
    let mut contexts = Object::new();
    contexts.insert("github", Value::Object(fixed.github.clone()));
    contexts.insert("inputs", Value::Object(fixed.inputs.clone()));
    contexts.insert("vars", Value::Object(fixed.vars.clone()));
    contexts.insert("secrets", Value::Object(fixed.secrets.clone()));
    contexts.insert("needs", Value::Object(fixed.needs.clone()));
    contexts.insert("strategy", Value::Object(fixed.strategy.clone()));
    contexts.insert("matrix", fixed.matrix.clone());
    contexts
}

fn evaluate<T: FromNode>(field: Option<&Field<T>>, contexts: &Object) -> Result<Option<T>, Vec<Diagnostic>> {
    let Some(field) = field else { return Ok(None) };
    let scope = Scope {
        contexts,
        host: &NoHost,
        recorder: None,
    };
    match field.evaluate(scope) {
        Ok(value) => Ok(Some(value)),
        Err(FieldError::Invalid(diagnostics)) => Err(diagnostics),
        // NoHost never answers Pending.
        Err(FieldError::NeedsFiles(_)) => Ok(None),
    }
}

fn case_sensitive(env: &IndexMap<String, String>) -> Object {
    let mut object = Object::case_sensitive();
    for (name, value) in env {
        object.insert(Arc::from(name.as_str()), Value::from(value.as_str()));
    }
    object
}
