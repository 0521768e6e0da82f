//! The contexts of jobs, and fields evaluated in them.

use std::sync::Arc;

use super::super::{Conclusion, EvaluationError};
use super::Run;
use super::frame::{Frame, FrameId, JobPhase, JobRef, LegRef};
use crate::expr::{EvalError, HashFilesError, Host, Object, Scope, StatusFunction, Value};
use crate::model::{Concurrency, Diagnostic, Field, FieldError, FromNode, Job};

/// The host of fields that may call neither status functions nor `hashFiles`.
pub(super) struct NoFunctions;

impl Host for NoFunctions {
    fn status(&self, _function: StatusFunction, _ids: &[String]) -> bool {
        false
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(no_files())
    }
}

/// The parser lets nobody call `hashFiles` in a field of a job.
pub(super) fn no_files() -> HashFilesError {
    HashFilesError::Failed("hashFiles is not available here".to_owned())
}

/// A scope without any function beyond those of the language.
pub(super) fn scope(contexts: &Object) -> Scope<'_> {
    Scope {
        contexts,
        host: &NoFunctions,
        recorder: None,
    }
}

/// The text of a failed field of a job.
pub(super) fn failed(field: &'static str, job: &Job, error: FieldError) -> String {
    EvaluationError {
        field,
        job: job.id.clone(),
        diagnostics: super::diagnostics(error),
    }
    .to_string()
}

/// The text of a failed condition.
pub(super) fn failed_condition(job: &Job, file: &Arc<str>, error: &EvalError) -> String {
    let position = job.condition.position;
    let diagnostic = Diagnostic {
        file: Arc::clone(file),
        position,
        reached: None,
        message: error.to_string(),
    };
    EvaluationError {
        field: "if",
        job: job.id.clone(),
        diagnostics: vec![diagnostic],
    }
    .to_string()
}

impl Run {
    pub(super) fn frame(&self, frame: FrameId) -> &Frame {
        &self.frames[frame.0]
    }

    /// The contexts that are known before a job is expanded: github, inputs, vars and needs.
    pub(super) fn job_contexts(&self, at: JobRef) -> Object {
        let mut contexts = self.frame_contexts(at.frame);
        contexts.insert("needs", self.needs(at));
        contexts
    }

    /// The contexts of one leg of a job: also strategy and matrix.
    pub(super) fn leg_contexts(&self, at: LegRef) -> Object {
        let mut contexts = self.job_contexts(at.job);
        let leg = &self.leg(at).leg;
        contexts.insert("strategy", Arc::clone(&leg.strategy));
        contexts.insert("matrix", leg.matrix.clone());
        contexts
    }

    /// The contexts of a workflow: github, inputs and vars.
    pub(super) fn frame_contexts(&self, frame: FrameId) -> Object {
        let mut contexts = Object::new();
        contexts.insert("github", Arc::clone(&self.github));
        contexts.insert("inputs", Arc::clone(&self.frame(frame).inputs));
        contexts.insert("vars", Arc::clone(&self.vars));
        contexts
    }

    /// The `needs` context: direct needs only.
    pub(super) fn needs(&self, at: JobRef) -> Arc<Object> {
        let frame = self.frame(at.frame);
        Arc::new(
            frame.jobs[at.job]
                .needs
                .iter()
                .map(|&need| result_entry(frame, need))
                .collect(),
        )
    }

    /// The `jobs` context of a called workflow's outputs.
    pub(super) fn jobs(&self, frame: FrameId) -> Arc<Object> {
        let frame = self.frame(frame);
        Arc::new(
            (0..frame.jobs.len())
                .map(|job| result_entry(frame, job))
                .collect(),
        )
    }

    /// Evaluates a field of a leg's job.
    ///
    /// # Errors
    /// The text of the failed evaluation.
    pub(super) fn leg_field<T: FromNode>(
        &self,
        at: LegRef,
        name: &'static str,
        field: Option<&Field<T>>,
        contexts: &Object,
    ) -> Result<Option<T>, String> {
        let Some(field) = field else { return Ok(None) };
        match field.evaluate(scope(contexts)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(failed(name, &self.job(at.job).job, error)),
        }
    }

    /// Evaluates the concurrency group of a frame's workflow.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(super) fn frame_concurrency(&self, frame: FrameId) -> Result<Option<Concurrency>, FieldError> {
        let Some(field) = &self.frame(frame).workflow.concurrency else {
            return Ok(None);
        };
        field.evaluate(scope(&self.frame_contexts(frame))).map(Some)
    }
}

fn result_entry(frame: &Frame, job: usize) -> (&str, Arc<Object>) {
    let node = &frame.jobs[job];
    let result = match node.phase {
        JobPhase::Done(conclusion) => conclusion,
        _ => Conclusion::Skipped,
    };
    let outputs: Object = node
        .outputs
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let entry: Object = [
        ("result", Value::from(result.as_str())),
        ("outputs", Value::from(outputs)),
    ]
    .into_iter()
    .collect();
    (node.job.id.as_str(), Arc::new(entry))
}
