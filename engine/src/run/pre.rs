//! What actions of other repositories do before all steps.
//!
//! Local actions have no such part, as on GitHub: before the first step nobody knows what they will be.

use std::sync::Arc;

use super::Session;
use super::action::{ActionCall, LoadedAction};
use super::composite::{MAX_DEPTH, composite_frame, worse};
use super::observe::{About, Part, Phase};
use super::session::{Done, Guard};
use super::step::Prepared;
use crate::job::{ActionFrame, Frame, Status};
use crate::model::{NodeRuns, Runs, Step, StepAction};
use crate::plan::Conclusion;

impl Session<'_> {
    /// Runs the pre part of a step's action, and of the actions in it.
    pub async fn pre_step(&mut self, step: &Step, frame: &Frame) -> Done {
        self.refresh_status();
        let mark = self.runtime.mark();
        let prepared = self.prepare(step, frame).await;
        self.observe_opened(mark, || About {
            name: format!("Pre {}", prepared.name),
            id: None,
            line: step.position.line,
            part: Part::Pre,
        });
        self.runtime.phase(Phase::Evaluate, mark);
        let done = self.pre(&prepared).await;
        let done = self.tolerate(&prepared, done).await;
        self.observe_closed(&done);
        done
    }

    async fn pre(&mut self, prepared: &Prepared<'_>) -> Done {
        let StepAction::Uses(uses) = &prepared.step.action else {
            return Done::plain(Conclusion::Skipped);
        };
        let Some(action) = self.runtime.remote.ready(&uses.uses.value).await else {
            return Done::plain(Conclusion::Skipped);
        };
        if let Some(failure) = &prepared.failure {
            return self.refuse(&failure.0);
        }
        let call = match self.call(prepared, uses, &action).await {
            Ok(call) => call,
            Err(failure) => return self.refuse(&failure.0),
        };
        match &action.metadata.runs {
            Runs::Node(node) => self.node_pre(prepared, call, node).await,
            // The recursion needs a place on the heap.
            Runs::Composite(steps) => Box::pin(self.composite_pre(prepared, &call, &action, steps)).await,
            Runs::Docker(_) => Done::plain(Conclusion::Skipped),
        }
    }

    async fn node_pre(&mut self, prepared: &Prepared<'_>, call: ActionCall, node: &NodeRuns) -> Done {
        let Some(script) = &node.pre else {
            return Done::plain(Conclusion::Skipped);
        };
        let evaluator = self.evaluator(prepared.frame, &prepared.identity);
        match evaluator.decide(&node.pre_if, prepared.env.clone()).await {
            Ok(true) => {}
            Ok(false) => return Done::plain(Conclusion::Skipped),
            Err(failure) => return self.refuse(&failure.0),
        }
        self.log.line(format_args!("Pre {}", prepared.name));
        self.guards.push(Guard {
            condition: node.pre_if.clone(),
            frame: prepared.frame.clone(),
            identity: prepared.identity.clone(),
            env: prepared.env.clone(),
            deadline: None,
        });
        let done = self.node_part(prepared, call, node, script).await;
        self.guards.pop();
        Done::plain(done.outcome)
    }

    async fn composite_pre(
        &mut self,
        prepared: &Prepared<'_>,
        call: &ActionCall,
        action: &LoadedAction,
        steps: &[Arc<Step>],
    ) -> Done {
        let mut frame = composite_frame(prepared, call);
        let mut status = Status::Success;
        if prepared.frame.depth >= MAX_DEPTH {
            return Done::plain(Conclusion::Skipped);
        }
        for step in steps {
            if !self.runtime.remote.has_pre(step).await {
                continue;
            }
            frame.action = Some(Arc::new(ActionFrame {
                path: action.directory.clone(),
                status,
            }));
            let done = self.pre_step(step, &frame).await;
            status = worse(status, done.conclusion);
        }
        Done::plain(status.into())
    }
}
