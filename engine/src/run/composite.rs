//! `uses` steps: the inputs of an action, and composite actions.

use std::sync::Arc;

use indexmap::IndexMap;

use super::Session;
use super::action::{ActionCall, LoadedAction};
use super::evaluate::Failure;
use super::observe::Phase;
use super::session::Done;
use super::shell::push_map;
use super::step::Prepared;
use crate::expr::{Object, Value};
use crate::job::{ActionFrame, Frame, Status, record_step};
use crate::model::{Runs, Step, StringMap, UsesStep};
use crate::plan::Conclusion;

/// How many composite actions may stand inside of each other.
pub(super) const MAX_DEPTH: usize = 10;

impl Session<'_> {
    /// Runs an action whose files are there.
    pub async fn action(
        &mut self,
        prepared: &Prepared<'_>,
        uses: &UsesStep,
        action: Arc<LoadedAction>,
    ) -> Done {
        let mark = self.runtime.mark();
        let call = match self.call(prepared, uses, &action).await {
            Ok(call) => call,
            Err(failure) => return self.refuse(&failure.0),
        };
        self.runtime.phase(Phase::Evaluate, mark);
        self.announce(prepared, uses, &call.inputs);
        match &action.metadata.runs {
            // A composite holds steps that may be composites again: the recursion needs a place on the heap.
            Runs::Composite(steps) => Box::pin(self.composite(prepared, &call, steps)).await,
            Runs::Node(node) => self.node_part(prepared, call, node, &node.main).await,
            Runs::Docker(_) => self.refuse(&format!(
                "The action '{}' needs a container engine, and this job runs on the host",
                uses.uses.value
            )),
        }
    }

    /// An action with what a step gives it, and with what it has saved before.
    pub async fn call(
        &mut self,
        prepared: &Prepared<'_>,
        uses: &UsesStep,
        action: &Arc<LoadedAction>,
    ) -> Result<ActionCall, Failure> {
        let inputs = self.inputs(prepared, uses, action).await?;
        let instance = prepared.frame.instance(&prepared.identity.action);
        Ok(ActionCall {
            action: action.clone(),
            inputs: Arc::new(inputs),
            env: Arc::new(prepared.own_env.clone()),
            state: self.view.states.get(&instance).cloned().unwrap_or_default(),
            identity: prepared.identity.clone(),
        })
    }

    /// The values of the declared inputs, and of what is given beyond them.
    async fn inputs(
        &mut self,
        prepared: &Prepared<'_>,
        uses: &UsesStep,
        action: &LoadedAction,
    ) -> Result<IndexMap<String, String>, Failure> {
        let evaluator = self.evaluator(prepared.frame, &prepared.identity);
        let given = evaluator
            .optional::<StringMap>(uses.with.as_ref(), &prepared.env)
            .await?;
        let mut given = given.unwrap_or_default().0;
        let mut inputs = IndexMap::new();
        let mut notes = Vec::new();
        for (name, input) in &action.metadata.inputs {
            let position = given.keys().position(|key| key.eq_ignore_ascii_case(name));
            let value = match position.and_then(|position| given.shift_remove_index(position)) {
                Some((_, value)) => {
                    if let Some(message) = &input.deprecation_message {
                        notes.push(format!(
                            "##[warning]Input '{name}' has been deprecated with message: {message}"
                        ));
                    }
                    value
                }
                None => match &input.default {
                    Some(default) => evaluator.field(default, prepared.env.clone()).await?,
                    None => String::new(),
                },
            };
            inputs.insert(name.clone(), value);
        }
        if !given.is_empty() {
            notes.push(unexpected_inputs(&given, action));
        }
        inputs.extend(given);
        for note in notes {
            self.log.line(note);
        }
        Ok(inputs)
    }

    pub fn announce(&mut self, prepared: &Prepared<'_>, uses: &UsesStep, inputs: &IndexMap<String, String>) {
        let mut header = format!("##[group]Run {}\n", uses.uses.value);
        let shown: Vec<(String, String)> = inputs
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        push_map(&mut header, "with", &shown);
        push_map(
            &mut header,
            "env",
            &super::script::shown_environment(self.listed_environment(), prepared),
        );
        header.push_str("##[endgroup]\n");
        self.log.text(&header);
    }

    async fn composite(&mut self, prepared: &Prepared<'_>, call: &ActionCall, steps: &[Arc<Step>]) -> Done {
        if prepared.frame.depth >= MAX_DEPTH {
            return self.refuse("Composite action depth exceeded max depth 9");
        }
        let mut frame = composite_frame(prepared, call);
        let mut completed = Object::new();
        let mut status = Status::Success;
        let mut decided = false;
        for step in steps {
            if self.out_of_time() {
                status = Status::Failure;
                break;
            }
            frame.steps = Arc::new(completed.clone());
            frame.action = Some(Arc::new(ActionFrame {
                path: call.action.directory.clone(),
                status,
            }));
            let done = self.inner_step(step, &frame).await;
            self.log.flush().await;
            record_step(
                &mut completed,
                &step.id,
                done.outcome,
                done.conclusion,
                &done.outputs,
            );
            status = worse(status, done.conclusion);
            decided |= done.conclusion == Conclusion::Failure;
        }
        frame.steps = Arc::new(completed);
        frame.action = Some(Arc::new(ActionFrame {
            path: call.action.directory.clone(),
            status,
        }));
        Done {
            decided,
            ..self.composite_outputs(call, &frame, status).await
        }
    }

    /// Only declared outputs leave the action; they are evaluated also when a step has failed.
    async fn composite_outputs(&mut self, call: &ActionCall, frame: &Frame, status: Status) -> Done {
        let mut done = Done::plain(status.into());
        for (name, value) in &call.action.metadata.outputs {
            let Some(field) = value else { continue };
            let env = self.view.env(frame);
            let value = self.evaluator(frame, &call.identity).field(field, env).await;
            match value {
                Ok(value) => _ = done.outputs.insert(name.clone(), value),
                Err(failure) => {
                    self.log.error(failure);
                    done.outcome = Conclusion::Failure;
                }
            }
        }
        done
    }

    /// Tells whether a step around has used up its time.
    fn out_of_time(&self) -> bool {
        self.deadline()
            .is_some_and(|deadline| tokio::time::Instant::now() >= deadline)
    }
}

/// The scope of a composite action's steps: its inputs, no steps yet, and the `env` of the step that uses it.
pub(super) fn composite_frame(prepared: &Prepared<'_>, call: &ActionCall) -> Frame {
    let mut inputs = Object::new();
    for (name, value) in call.inputs.iter() {
        inputs.insert(name.as_str(), Value::from(value.as_str()));
    }
    let mut env = (*prepared.frame.env).clone();
    env.extend(prepared.own_env.iter().cloned());
    Frame {
        inputs: Arc::new(inputs),
        steps: Arc::default(),
        env: Arc::new(env),
        action: None,
        depth: prepared.frame.depth + 1,
        scope: prepared.frame.instance(&prepared.identity.action).into(),
    }
}

pub(super) fn worse(status: Status, conclusion: Conclusion) -> Status {
    match (status, conclusion) {
        (Status::Success, Conclusion::Failure) => Status::Failure,
        (Status::Success, Conclusion::Cancelled) => Status::Cancelled,
        (status, _) => status,
    }
}

fn unexpected_inputs(given: &IndexMap<String, String>, action: &LoadedAction) -> String {
    let quote = |names: Vec<&String>| {
        names
            .iter()
            .map(|name| format!("'{name}'"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let unexpected = quote(given.keys().collect());
    let valid = quote(action.metadata.inputs.keys().collect());
    format!("##[warning]Unexpected input(s) {unexpected}, valid inputs are [{valid}]")
}
