//! The steps of a job before it runs: their names, and whether they would run if all went well.

use crate::expr::{Expression, HashFilesError, Host, Object, Scope, StatusFunction};
use crate::model::{Condition, Field, Job, JobBody, NodeKind, Step, StepAction};

/// A step of a job that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewStep {
    /// The name that a person sees; what is not known yet stands there as it is written.
    pub name: String,
    /// The action that it uses, if it uses one.
    pub uses: Option<String>,
    /// Whether it would run.
    pub outlook: StepOutlook,
}

/// Whether a step would run if nothing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepOutlook {
    /// It would.
    Runs,
    /// It would not: this condition is false.
    Skipped(String),
    /// This condition decides, which depends on what happens before.
    Depends(String),
}

/// All goes well, and no file is there to be read.
struct Fair;

impl Host for Fair {
    fn status(&self, function: StatusFunction, _ids: &[String]) -> bool {
        matches!(function, StatusFunction::Always | StatusFunction::Success)
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Pending)
    }
}

/// The steps of a job; `contexts` are those that are known before it runs, of `needs` only the results.
pub(super) fn preview(job: &Job, contexts: &Object) -> Vec<PreviewStep> {
    match &job.body {
        JobBody::Steps(body) => body.steps.iter().map(|step| outline(step, contexts)).collect(),
        JobBody::Call(_) => Vec::new(),
    }
}

fn outline(step: &Step, contexts: &Object) -> PreviewStep {
    let uses = match &step.action {
        StepAction::Uses(uses) => Some(uses.uses.value.to_string()),
        StepAction::Run(_) => None,
    };
    let name = step.name.as_ref().map(|name| text(name, contexts));
    PreviewStep {
        name: name
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| default_name(step, contexts)),
        uses,
        outlook: outlook(&step.condition, contexts),
    }
}

fn default_name(step: &Step, contexts: &Object) -> String {
    match &step.action {
        StepAction::Run(run) => {
            let script = text(&run.script, contexts);
            let first = script.trim_start().lines().next().unwrap_or_default();
            format!("Run {}", first.trim_end())
        }
        StepAction::Uses(uses) => format!("Run {}", uses.uses.value),
    }
}

fn text(field: &Field<String>, contexts: &Object) -> String {
    let is_known = match &field.node().kind {
        NodeKind::Expression(expression) => is_known(expression, contexts),
        _ => true,
    };
    let value = is_known.then(|| field.evaluate(scope(contexts)).ok()).flatten();
    value.or_else(|| field.node().written()).unwrap_or_default()
}

fn outlook(condition: &Condition, contexts: &Object) -> StepOutlook {
    let Some(written) = condition.written() else {
        return StepOutlook::Runs;
    };
    let value = is_known(&condition.expression, contexts)
        .then(|| condition.expression.evaluate(scope(contexts)).ok())
        .flatten();
    match value {
        Some(value) if value.is_truthy() => StepOutlook::Runs,
        Some(_) => StepOutlook::Skipped(written.to_owned()),
        None => StepOutlook::Depends(written.to_owned()),
    }
}

fn is_known(expression: &Expression, contexts: &Object) -> bool {
    let mut used = expression.contexts_used();
    used.all(|name| contexts.get(name).is_some()) && !expression.depends_on_outputs("needs")
}

fn scope(contexts: &Object) -> Scope<'_> {
    Scope {
        contexts,
        host: &Fair,
        recorder: None,
    }
}
