//! The `if` of jobs and the status functions in it.

use super::super::Conclusion;
use super::frame::{JobPhase, JobRef};
use super::{Run, evaluate};
use crate::expr::{HashFilesError, Host, Scope, StatusFunction};

/// What the status functions of one job know.
struct Status {
    cancelled: bool,
    /// All jobs that the job needs, directly or not, with their conclusions.
    ancestors: Vec<(String, Conclusion)>,
}

/// Whether a job runs.
pub(super) enum Decision {
    /// It runs.
    Run,
    /// It does not, with the reason for a person.
    Skip(String),
}

impl Host for Status {
    fn status(&self, function: StatusFunction, ids: &[String]) -> bool {
        match function {
            StatusFunction::Always => true,
            StatusFunction::Cancelled => self.cancelled,
            // In a cancelled run nothing counts as going well, whatever the ancestors did.
            StatusFunction::Success if self.cancelled => false,
            StatusFunction::Success if ids.is_empty() => self
                .ancestors
                .iter()
                .all(|(_, conclusion)| *conclusion == Conclusion::Success),
            StatusFunction::Success => ids.iter().all(|id| self.is(id, Conclusion::Success)),
            StatusFunction::Failure if ids.is_empty() => self
                .ancestors
                .iter()
                .any(|(_, conclusion)| *conclusion == Conclusion::Failure),
            StatusFunction::Failure => ids.iter().any(|id| self.is(id, Conclusion::Failure)),
        }
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Failed(
            "hashFiles is not available here".to_owned(),
        ))
    }
}

impl Status {
    /// Tells whether the ancestor `id` ended so; other jobs did not end at all.
    fn is(&self, id: &str, conclusion: Conclusion) -> bool {
        self.ancestors
            .iter()
            .any(|(known, actual)| known.eq_ignore_ascii_case(id) && *actual == conclusion)
    }

    /// The first ancestor, nearest first, that did not succeed.
    fn obstacle(&self) -> Option<&(String, Conclusion)> {
        self.ancestors
            .iter()
            .find(|(_, conclusion)| *conclusion != Conclusion::Success)
    }
}

impl Run {
    /// Asks the condition of a job whose needs are done.
    ///
    /// # Errors
    /// The text of the failed evaluation.
    pub(super) fn decide(&self, at: JobRef) -> Result<Decision, String> {
        let job = &self.job(at).job;
        let status = self.status(at);
        let contexts = self.job_contexts(at);
        let scope = Scope {
            contexts: &contexts,
            host: &status,
            recorder: None,
        };
        let file = &self.frame(at.frame).workflow.file;
        match job.condition.expression.evaluate(scope) {
            Ok(value) if value.is_truthy() => Ok(Decision::Run),
            Ok(_) => Ok(Decision::Skip(reason(&status, job.condition.expression.source()))),
            Err(error) => Err(evaluate::failed_condition(job, file, &error)),
        }
    }

    fn status(&self, at: JobRef) -> Status {
        let frame = self.frame(at.frame);
        let ancestors = frame.ancestors(at.job).into_iter().filter_map(|index| {
            let node = &frame.jobs[index];
            match node.phase {
                JobPhase::Done(conclusion) => Some((node.job.id.clone(), conclusion)),
                _ => None,
            }
        });
        Status {
            cancelled: self.is_cancelled(at.frame),
            ancestors: ancestors.collect(),
        }
    }
}

fn reason(status: &Status, source: &str) -> String {
    if source.starts_with("success()") {
        if status.cancelled {
            return "the run was cancelled".to_owned();
        }
        if let Some((id, conclusion)) = status.obstacle() {
            return format!("job '{id}', which it needs, ended with {}", conclusion.as_str());
        }
    }
    format!("its condition is false: {source}")
}
