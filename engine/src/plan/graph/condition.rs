//! The `if` of jobs and the status functions in it.

use std::sync::Arc;

use super::super::{Conclusion, JobCondition};
use super::frame::{Frame, JobPhase, JobRef};
use super::{Run, evaluate};
use crate::expr::{
    EvalError, Explanation, HashFilesError, Host, Object, Operands, Recorder, Scope, StatusFunction, Value,
};
use crate::mask::Masks;
use crate::model::Condition;

/// What the status functions of one job know.
struct Status<'a> {
    frame: &'a Frame,
    cancelled: bool,
    /// All jobs that the job needs, directly or not.
    ancestors: Vec<usize>,
}

/// Whether a job runs.
pub(super) enum Decision {
    /// It runs.
    Run,
    /// It does not, with the reason for a person.
    Skip(String),
}

impl Host for Status<'_> {
    fn status(&self, function: StatusFunction, ids: &[String]) -> bool {
        match function {
            StatusFunction::Always => true,
            StatusFunction::Cancelled => self.cancelled,
            // In a cancelled run nothing counts as going well, whatever the ancestors did.
            StatusFunction::Success if self.cancelled => false,
            StatusFunction::Success if ids.is_empty() => self.obstacle().is_none(),
            StatusFunction::Success => ids.iter().all(|id| self.ended(id, Conclusion::Success)),
            StatusFunction::Failure if ids.is_empty() => self.any(Conclusion::Failure),
            StatusFunction::Failure => ids.iter().any(|id| self.ended(id, Conclusion::Failure)),
        }
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(evaluate::no_files())
    }
}

impl Status<'_> {
    fn conclusions(&self) -> impl Iterator<Item = (&str, Conclusion)> {
        self.ancestors.iter().filter_map(|&index| {
            let node = &self.frame.jobs[index];
            match node.phase {
                JobPhase::Done(conclusion) => Some((node.job.id.as_str(), conclusion)),
                JobPhase::Waiting | JobPhase::Expanded => None,
            }
        })
    }

    fn any(&self, wanted: Conclusion) -> bool {
        self.conclusions().any(|(_, conclusion)| conclusion == wanted)
    }

    /// Tells whether the ancestor `id` ended so; other jobs did not end at all.
    fn ended(&self, id: &str, wanted: Conclusion) -> bool {
        self.conclusions()
            .any(|(known, conclusion)| known.eq_ignore_ascii_case(id) && conclusion == wanted)
    }

    /// An ancestor that did not succeed.
    fn obstacle(&self) -> Option<(&str, Conclusion)> {
        self.conclusions()
            .find(|(_, conclusion)| *conclusion != Conclusion::Success)
    }
}

impl Run {
    /// Asks the condition of a job whose needs are done.
    ///
    /// # Errors
    /// The text of the failed evaluation.
    pub(super) fn decide(&self, at: JobRef) -> Result<Decision, String> {
        let status = self.status(at);
        let answer = self.ask(at, &status, None);
        self.decision(at, &status, answer)
    }

    /// Asks as [`Run::decide`] does, and tells how the answer came about.
    pub(super) fn decide_explained(&self, at: JobRef) -> (Result<Decision, String>, Explanation) {
        let status = self.status(at);
        let operands = Operands::default();
        let answer = self.ask(at, &status, Some(&operands));
        let told = match &answer {
            Ok(value) => Ok(value.is_truthy()),
            Err(error) => Err(error.to_string()),
        };
        let expression = &self.job(at).job.condition.expression;
        let explanation = operands.explain(expression, told, |text| self.masks.mask(text).into_owned());
        (self.decision(at, &status, answer), explanation)
    }

    /// What the conditions of a job and of those that call its workflow came to, outermost first.
    pub(super) fn conditions(&self, at: JobRef) -> Vec<JobCondition> {
        let mut conditions = Vec::new();
        let mut next = Some(at);
        while let Some(at) = next {
            let (frame, node) = (self.frame(at.frame), self.job(at));
            if let Some(explanation) = &node.explanation {
                conditions.push(JobCondition {
                    key: format!("{}{}", frame.key_prefix, node.job.id),
                    explanation: Arc::clone(explanation),
                });
            }
            next = frame.caller.map(|leg| leg.job);
        }
        conditions.reverse();
        conditions
    }

    fn ask(
        &self,
        at: JobRef,
        status: &Status<'_>,
        recorder: Option<&dyn Recorder>,
    ) -> Result<Value, EvalError> {
        self.job(at).job.condition.expression.evaluate(Scope {
            contexts: &self.job_contexts(at),
            host: status,
            recorder,
        })
    }

    fn decision(
        &self,
        at: JobRef,
        status: &Status<'_>,
        answer: Result<Value, EvalError>,
    ) -> Result<Decision, String> {
        let job = &self.job(at).job;
        match answer {
            Ok(value) if value.is_truthy() => Ok(Decision::Run),
            Ok(_) => Ok(Decision::Skip(reason(status, &job.condition))),
            Err(error) => {
                let file = &self.frame(at.frame).workflow.file;
                Err(evaluate::failed_condition(job, file, &error))
            }
        }
    }

    fn status(&self, at: JobRef) -> Status<'_> {
        let frame = self.frame(at.frame);
        Status {
            frame,
            cancelled: self.is_cancelled(at.frame),
            ancestors: frame.ancestors(at.job),
        }
    }
}

/// Adds secrets to what explanations conceal.
pub(super) fn conceal(masks: &Masks, secrets: &Object) {
    for (name, value) in secrets.iter() {
        // A job that is given a value which is not masked says so in its log.
        drop(masks.add_secret(name, &value.to_text()));
    }
}

fn reason(status: &Status<'_>, condition: &Condition) -> String {
    let source = condition.expression.source();
    if source.starts_with("success()") {
        if status.cancelled {
            return "the run was cancelled".to_owned();
        }
        if let Some((id, conclusion)) = status.obstacle() {
            return format!("job '{id}', which it needs, ended with {}", conclusion.as_str());
        }
    }
    format!(
        "its condition is false: {}",
        condition.written().unwrap_or(source)
    )
}
