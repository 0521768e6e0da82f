//! The outputs of a job, evaluated when its last step is done.

use indexmap::IndexMap;

use super::contexts::{Frame, JobView, StepIdentity};
use crate::expr::{HashFilesError, Host, Scope, StatusFunction};
use crate::mask::Masks;
use crate::model::{Diagnostic, FieldError, JobBody};
use crate::plan::JobPlan;

/// What became of a job's outputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobOutputs {
    /// The outputs that leave the job; empty values do not.
    pub values: IndexMap<String, String>,
    /// Lines for the workflow's author: outputs that were held back, and why.
    pub warnings: Vec<String>,
}

/// Answers what is legal in job outputs, which is neither a status function nor `hashFiles`.
struct OutputHost;

impl Host for OutputHost {
    fn status(&self, _: StatusFunction, _: &[String]) -> bool {
        false
    }

    fn hash_files(&self, _: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Failed(
            "hashFiles is not available in job outputs".to_owned(),
        ))
    }
}

/// Evaluates the outputs of a job whose steps are done; also of one that failed.
///
/// An output whose text the masker would change is held back: it may contain a secret.
///
/// # Errors
/// What could not be evaluated; the job fails with it.
pub fn evaluate_outputs(
    plan: &JobPlan,
    view: &JobView,
    frame: &Frame,
    masks: &Masks,
) -> Result<JobOutputs, Vec<Diagnostic>> {
    let JobBody::Steps(body) = &plan.job.body else {
        return Ok(JobOutputs::default());
    };
    let Some(field) = &body.outputs else {
        return Ok(JobOutputs::default());
    };
    let contexts = view.contexts(frame, &StepIdentity::default(), view.env(frame));
    let scope = Scope {
        contexts: &contexts,
        host: &OutputHost,
        recorder: None,
    };
    let evaluated = match field.evaluate(scope) {
        Ok(map) => map.0,
        Err(FieldError::Invalid(diagnostics)) => return Err(diagnostics),
        // OutputHost never answers Pending.
        Err(FieldError::NeedsFiles(_)) => return Ok(JobOutputs::default()),
    };
    let mut outputs = JobOutputs::default();
    for (name, value) in evaluated {
        if value.is_empty() {
            continue;
        }
        if masks.is_clean(&value) {
            outputs.values.insert(name, value);
        } else {
            outputs
                .warnings
                .push(format!("Skip output '{name}' since it may contain secret."));
        }
    }
    Ok(outputs)
}
