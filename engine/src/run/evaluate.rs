//! Evaluation with `hashFiles` answered by the sandbox.

use std::collections::HashMap;

use super::JobRuntime;
use super::observe::Observation;
use crate::expr::{
    EvalError, HashFilesError, Host, Object, Operands, Recorder, Scope, StatusFunction, Value,
};
use crate::job::{Frame, JobView, Status, StepIdentity};
use crate::model::{Condition, Diagnostic, Field, FieldError, FromNode};

/// Why an expression in a step has no value, in the words that the workflow's author reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failure(pub String);

/// Evaluates what is written at one step.
pub(super) struct Evaluator<'a> {
    pub runtime: &'a JobRuntime,
    pub view: &'a JobView,
    pub frame: &'a Frame,
    pub identity: &'a StepIdentity,
}

/// Answers the functions whose answers lie outside of an expression, as far as they are known by now.
struct StepHost {
    job: Status,
    /// `success()` and `failure()` ask for the composite action around, if there is one.
    scope: Status,
    digests: HashMap<Vec<String>, Result<String, String>>,
}

impl Host for StepHost {
    fn status(&self, function: StatusFunction, _ids: &[String]) -> bool {
        match function {
            StatusFunction::Always => true,
            StatusFunction::Success => self.scope == Status::Success,
            StatusFunction::Failure => self.scope == Status::Failure,
            StatusFunction::Cancelled => self.job == Status::Cancelled,
        }
    }

    fn hash_files(&self, patterns: &[String]) -> Result<String, HashFilesError> {
        match self.digests.get(patterns) {
            None => Err(HashFilesError::Pending),
            Some(Ok(digest)) => Ok(digest.clone()),
            Some(Err(reason)) => Err(HashFilesError::Failed(reason.clone())),
        }
    }
}

impl Evaluator<'_> {
    /// Evaluates a field with `env` as the `env` context.
    pub async fn field<T: FromNode>(&self, field: &Field<T>, env: Object) -> Result<T, Failure> {
        let contexts = self.view.contexts(self.frame, self.identity, env);
        let mut host = self.host(self.view.status);
        loop {
            let scope = Scope {
                contexts: &contexts,
                host: &host,
                recorder: None,
            };
            match field.evaluate(scope) {
                Ok(value) => return Ok(value),
                Err(FieldError::NeedsFiles(patterns)) => self.digest(&mut host, patterns).await,
                Err(error @ FieldError::Invalid(_)) => return Err(Failure(error.to_string())),
            }
        }
    }

    /// Evaluates a field that may be absent.
    pub async fn optional<T: FromNode>(
        &self,
        field: Option<&Field<T>>,
        env: &Object,
    ) -> Result<Option<T>, Failure> {
        match field {
            Some(field) => self.field(field, env.clone()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Evaluates a condition as if the job stood at `status`.
    pub async fn condition(
        &self,
        condition: &Condition,
        env: Object,
        status: Status,
    ) -> Result<bool, Failure> {
        let (answer, _) = self.ask(condition, env, status, false).await;
        answer.map_err(|reason| misplaced(condition, reason))
    }

    /// Decides by its condition whether a step runs, and tells the observer why.
    pub async fn decide(&self, condition: &Condition, env: Object) -> Result<bool, Failure> {
        let is_observed = self.runtime.is_observed();
        let (answer, operands) = self.ask(condition, env, self.view.status, is_observed).await;
        self.runtime.observe(|| {
            let conceal = |text: &str| self.runtime.concealed(text);
            Observation::Condition(operands.explain(&condition.expression, answer.clone(), conceal))
        });
        answer.map_err(|reason| misplaced(condition, reason))
    }

    /// Evaluates a condition; operands are those of the evaluation that had all digests, if they are wanted.
    async fn ask(
        &self,
        condition: &Condition,
        env: Object,
        status: Status,
        is_recorded: bool,
    ) -> (Result<bool, String>, Operands) {
        let contexts = self.view.contexts(self.frame, self.identity, env);
        let mut host = self.host(status);
        loop {
            let operands = Operands::default();
            let recorder: &dyn Recorder = &operands;
            let scope = Scope {
                contexts: &contexts,
                host: &host,
                recorder: is_recorded.then_some(recorder),
            };
            match condition.expression.evaluate(scope) {
                Ok(value) => return (Ok(value.is_truthy()), operands),
                Err(EvalError::NeedsFiles(patterns)) => self.digest(&mut host, patterns).await,
                Err(EvalError::Failed(reason)) => return (Err(reason), operands),
            }
        }
    }

    fn host(&self, job: Status) -> StepHost {
        let scope = match &self.frame.action {
            // A cancelled job leaves neither success() nor failure() true inside of a composite.
            Some(action) if job != Status::Cancelled => action.status,
            _ => job,
        };
        StepHost {
            job,
            scope,
            digests: HashMap::new(),
        }
    }

    async fn digest(&self, host: &mut StepHost, patterns: Vec<String>) {
        let digest = self.runtime.sandbox.hash_files(patterns.clone()).await;
        host.digests.insert(patterns, digest);
    }
}

/// An `env` object with more variables over it.
pub(super) fn overlay<'a>(
    mut env: Object,
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Object {
    for (name, value) in variables {
        env.insert(name.as_str(), Value::from(value.as_str()));
    }
    env
}

/// Why a condition has no answer, with the place of the condition.
fn misplaced(condition: &Condition, reason: String) -> Failure {
    let diagnostic = Diagnostic {
        file: condition.file.clone(),
        position: condition.position,
        message: reason,
        reached: None,
    };
    Failure(diagnostic.to_string())
}
