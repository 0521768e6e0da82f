//! The `if` of jobs and the status functions in it.

use super::super::Conclusion;
use super::frame::{Frame, JobPhase, JobRef};
use super::{Run, evaluate};
use crate::expr::{HashFilesError, Host, Scope, StatusFunction};

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

    fn status(&self, at: JobRef) -> Status<'_> {
        let frame = self.frame(at.frame);
        Status {
            frame,
            cancelled: self.is_cancelled(at.frame),
            ancestors: frame.ancestors(at.job),
        }
    }
}

fn reason(status: &Status<'_>, source: &str) -> String {
    if source.starts_with("success()") {
        if status.cancelled {
            return "the run was cancelled".to_owned();
        }
        if let Some((id, conclusion)) = status.obstacle() {
            return format!("job '{id}', which it needs, ended with {}", conclusion.as_str());
        }
    }
    // What the author wrote, without what was wrapped around it.
    let written = source
        .strip_prefix("success() && (")
        .and_then(|source| source.strip_suffix(')'));
    format!("its condition is false: {}", written.unwrap_or(source))
}
