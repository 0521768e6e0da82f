//! Calls of reusable workflows: their inputs, secrets and outputs.

use std::sync::Arc;

use indexmap::IndexMap;

use super::super::Conclusion;
use super::condition::conceal;
use super::evaluate::{failed, scope};
use super::frame::{Frame, FrameId, FramePhase, Holder, LegPhase, LegRef};
use super::source::{WorkflowSource, qualify};
use super::{Effect, Run};
use crate::expr::{Object, Scope, Value};
use crate::model::{
    CallInput, CallInputKind, CallJob, CallSecrets, CallTrigger, Diagnostic, Field, FieldError, InputValue,
};

impl Run {
    /// Opens the frame of the workflow that a leg calls.
    pub(super) fn call(&mut self, at: LegRef, call: &CallJob) -> Result<(), String> {
        let caller = self.frame(at.job.frame);
        let reference = qualify(caller.reference.as_ref(), &call.uses.value);
        let missing = || "the called workflow is not known".to_owned();
        let workflow = self.library.workflow(&reference).ok_or_else(missing)?;
        let trigger = workflow.on.call.as_ref().ok_or_else(missing)?;
        let contexts = self.leg_contexts(at);
        let inputs = inputs(trigger, call, scope(&contexts))
            .map_err(|error| failed("with", &self.job(at.job).job, error))?;
        let secrets = self.call_secrets(at, &call.secrets, contexts)?;
        self.grow(workflow.jobs.len())?;
        let jobs = workflow.jobs.clone();
        let leg = self.leg(at);
        let frame = Frame {
            reference: Some(reference),
            caller: Some(at),
            key_prefix: format!("{}.", leg.key),
            name_prefix: format!("{} / ", leg.name),
            ..Frame::new(workflow, &jobs, Arc::new(inputs), secrets)
        };
        let id = FrameId(self.frames.len());
        self.frames.push(frame);
        self.leg_mut(at).phase = LegPhase::Calling(id);
        let concurrency = self
            .frame_concurrency(id)
            .map_err(|error| failed("concurrency", &self.job(at.job).job, error))?;
        self.admit(Holder::Frame(id), concurrency);
        Ok(())
    }

    /// The secrets of a called workflow: what its caller passes, and the token, which is always there.
    fn call_secrets(
        &self,
        at: LegRef,
        secrets: &CallSecrets,
        mut contexts: Object,
    ) -> Result<Arc<Object>, String> {
        let own = &self.frame(at.job.frame).secrets;
        let CallSecrets::Listed(listed) = secrets else {
            return Ok(Arc::clone(own));
        };
        contexts.insert("secrets", Arc::clone(own));
        let mut passed = Object::new();
        if let Some(token) = own.get("GITHUB_TOKEN") {
            passed.insert("GITHUB_TOKEN", token.clone());
        }
        for (name, field) in listed {
            let value = self
                .leg_field(at, "secrets", Some(field), &contexts)?
                .unwrap_or_default();
            if !value.is_empty() {
                passed.insert(name.as_str(), value);
            }
        }
        conceal(&self.masks, &passed);
        Ok(Arc::new(passed))
    }

    /// Ends a frame whose jobs are all done: the run, or the leg that called it.
    pub(super) fn close(&mut self, id: FrameId) {
        self.frames[id.0].phase = FramePhase::Closed;
        if let Some(next) = self.registry.release(&Holder::Frame(id)) {
            self.granted.push_back(next);
        }
        let conclusion = self.frame(id).conclusion();
        let Some(caller) = self.frame(id).caller else {
            let cancelled = self.cancelled && conclusion != Conclusion::Failure;
            let conclusion = if cancelled {
                Conclusion::Cancelled
            } else {
                conclusion
            };
            self.conclusion = Some(conclusion);
            self.effects.push(Effect::Finished(conclusion));
            return;
        };
        match self.outputs(id) {
            Ok(outputs) => self.finish_leg(caller, conclusion, outputs),
            Err(error) => {
                let reason = failed("outputs", &self.job(caller.job).job, error);
                self.conclude_leg(caller, Conclusion::Failure, reason);
            }
        }
    }

    fn outputs(&self, id: FrameId) -> Result<IndexMap<String, String>, FieldError> {
        let Some(trigger) = &self.frame(id).workflow.on.call else {
            return Ok(IndexMap::new());
        };
        let mut contexts = self.frame_contexts(id);
        contexts.insert("jobs", self.jobs(id));
        let mut outputs = IndexMap::new();
        for (name, field) in &trigger.outputs {
            outputs.insert(name.clone(), field.evaluate(scope(&contexts))?);
        }
        Ok(outputs)
    }

    /// Gives the root workflow the defaults of `workflow_call` if it can only be called and is run by itself.
    pub(super) fn default_root_inputs(&mut self) -> Result<(), FieldError> {
        let contexts = self.frame_contexts(FrameId::ROOT);
        let root = &mut self.frames[FrameId::ROOT.0];
        let Some(trigger) = &root.workflow.on.call else {
            return Ok(());
        };
        if root
            .workflow
            .on
            .events
            .keys()
            .any(|event| event != "workflow_call")
        {
            return Ok(());
        }
        let mut inputs = Object::clone(&root.inputs);
        for (name, input) in &trigger.inputs {
            if inputs.get(name).is_none() {
                inputs.insert(name.as_str(), default(input, scope(&contexts))?);
            }
        }
        root.inputs = Arc::new(inputs);
        Ok(())
    }
}

/// The typed inputs of a called workflow; both values and defaults are evaluated in the caller's contexts.
fn inputs(trigger: &CallTrigger, call: &CallJob, scope: Scope<'_>) -> Result<Object, FieldError> {
    let mut inputs = Object::new();
    for (name, input) in &trigger.inputs {
        let value = match given(call, name) {
            Some(field) => typed(input.kind, field, scope)?,
            None => default(input, scope)?,
        };
        inputs.insert(name.as_str(), value);
    }
    Ok(inputs)
}

fn default(input: &CallInput, scope: Scope<'_>) -> Result<Value, FieldError> {
    match (&input.default, input.kind) {
        (Some(field), kind) => typed(kind, field, scope),
        (None, CallInputKind::String) => Ok(Value::from("")),
        (None, CallInputKind::Boolean) => Ok(Value::Bool(false)),
        (None, CallInputKind::Number) => Ok(Value::Number(0.0)),
    }
}

/// What a call gives for the input `name`.
pub(super) fn given<'a>(call: &'a CallJob, name: &str) -> Option<&'a Field<InputValue>> {
    call.with
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, field)| field)
}

/// Evaluates a field and checks that it has the type of the input; only text takes values of other types.
pub(super) fn typed(
    kind: CallInputKind,
    field: &Field<InputValue>,
    scope: Scope<'_>,
) -> Result<Value, FieldError> {
    let value = match field.evaluate(scope)? {
        InputValue::String(text) => Value::from(text),
        InputValue::Boolean(value) => Value::Bool(value),
        InputValue::Number(value) => Value::Number(value),
    };
    match (kind, &value) {
        (CallInputKind::String, _) => Ok(Value::from(value.to_text().into_owned())),
        (CallInputKind::Boolean, Value::Bool(_)) | (CallInputKind::Number, Value::Number(_)) => Ok(value),
        _ => Err(FieldError::Invalid(vec![Diagnostic {
            file: Arc::clone(field.file()),
            position: Some(field.position()),
            reached: None,
            message: format!("Unexpected value '{}'", value.to_text()),
        }])),
    }
}
