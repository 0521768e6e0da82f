//! One step from its environment to its conclusion, at any depth.

use std::time::Duration;

use tokio::time::Instant;

use super::action;
use super::evaluate::{Evaluator, Failure, overlay};
use super::file_commands::reserve;
use super::observe::{About, Mark, Part, Phase};
use super::session::{Done, Guard};
use super::{JobRuntime, Session};
use crate::expr::Object;
use crate::job::{Frame, PostStep, StepIdentity};
use crate::model::{ActionRef, Step, StepAction, StringMap, UsesStep};
use crate::plan::Conclusion;

/// A step whose environment, name, condition and time-out are evaluated.
pub(super) struct Prepared<'a> {
    pub step: &'a Step,
    pub frame: &'a Frame,
    pub identity: StepIdentity,
    /// The step's own `env`.
    pub own_env: Vec<(String, String)>,
    /// The `env` context of the step.
    pub env: Object,
    pub name: String,
    /// Why the step cannot run, although its name is known.
    pub failure: Option<Failure>,
}

impl Session<'_> {
    /// Runs a step of the job itself and announces it.
    pub async fn top_level_step(&mut self, step: &Step, frame: &Frame) -> Done {
        self.refresh_status();
        let mark = self.runtime.mark();
        let prepared = self.prepare(step, frame).await;
        self.log.started(&prepared.name).await;
        self.observed_step(prepared, mark).await
    }

    /// Runs a step inside of a composite action.
    pub async fn inner_step(&mut self, step: &Step, frame: &Frame) -> Done {
        self.refresh_status();
        let mark = self.runtime.mark();
        let prepared = self.prepare(step, frame).await;
        self.observed_step(prepared, mark).await
    }

    /// Runs the clean-up of an action that ran in `step`.
    pub async fn post_step(&mut self, step: &Step, post: &PostStep) -> Done {
        self.refresh_status();
        let mark = self.runtime.mark();
        self.observe_opened(mark, || About {
            name: post.name.clone(),
            id: None,
            line: step.position.line,
            part: Part::Post,
        });
        let done = self.clean_up(post, mark).await;
        self.observe_closed(&done);
        done
    }

    async fn clean_up(&mut self, post: &PostStep, mark: Mark) -> Done {
        let mut post = post.clone();
        post.call.identity.files = reserve(self.runtime);
        let post = &post;
        let env = overlay(
            self.view.env(&post.frame),
            post.call.env.iter().map(|(name, value)| (name, value)),
        );
        let evaluator = self.evaluator(&post.frame, &post.call.identity);
        let decided = evaluator.decide(&post.condition, env.clone()).await;
        self.runtime.phase(Phase::Evaluate, mark);
        match decided {
            Ok(false) => return Done::plain(Conclusion::Skipped),
            Ok(true) => {}
            Err(failure) => {
                self.log.error(failure);
                return Done::plain(Conclusion::Failure);
            }
        }
        self.log.line(&post.name);
        let guard = Guard {
            condition: post.condition.clone(),
            frame: post.frame.clone(),
            identity: post.call.identity.clone(),
            env,
            deadline: None,
        };
        self.guards.push(guard);
        let done = self.node_post(post).await;
        self.guards.pop();
        Done::plain(done)
    }

    pub fn evaluator<'s>(&'s self, frame: &'s Frame, identity: &'s StepIdentity) -> Evaluator<'s> {
        Evaluator {
            runtime: self.runtime,
            view: &self.view,
            frame,
            identity,
        }
    }

    /// Evaluates `env` and `name`; what fails there fails the step later, once it has been announced.
    pub async fn prepare<'s>(&self, step: &'s Step, frame: &'s Frame) -> Prepared<'s> {
        let identity = identity_of(self.runtime, step);
        let evaluator = self.evaluator(frame, &identity);
        let outer = self.view.env(frame);
        let mut failure = None;
        let own_env = match evaluator.optional::<StringMap>(step.env.as_ref(), &outer).await {
            Ok(env) => env.unwrap_or_default().0,
            Err(error) => {
                failure = Some(error);
                StringMap::default().0
            }
        };
        let env = overlay(outer, own_env.iter());
        let name = match evaluator.optional(step.name.as_ref(), &env).await {
            Ok(name) => name.filter(|name: &String| !name.is_empty()),
            Err(error) => {
                failure.get_or_insert(error);
                None
            }
        };
        let name = match name {
            Some(name) => name,
            None => default_name(&evaluator, step, &env).await,
        };
        Prepared {
            step,
            frame,
            identity,
            own_env: own_env.into_iter().collect(),
            env,
            name,
            failure,
        }
    }

    /// Runs a step that has been evaluated since `mark`, and lets the observer follow it.
    async fn observed_step(&mut self, prepared: Prepared<'_>, mark: Mark) -> Done {
        self.observe_opened(mark, || About {
            name: prepared.name.clone(),
            id: Some(prepared.step.id.clone()),
            line: prepared.step.position.line,
            part: Part::Main,
        });
        let done = self.prepared_step(prepared, mark).await;
        self.observe_closed(&done);
        done
    }

    async fn prepared_step(&mut self, mut prepared: Prepared<'_>, mark: Mark) -> Done {
        let admitted = self.admit(&mut prepared).await;
        self.runtime.phase(Phase::Evaluate, mark);
        let outcome = match admitted {
            Ok(Some(deadline)) => self.guarded(&prepared, deadline).await,
            Ok(None) => return Done::plain(Conclusion::Skipped),
            Err(failure) => {
                self.log.error(failure);
                Done::plain(Conclusion::Failure)
            }
        };
        self.tolerate(&prepared, outcome).await
    }

    /// Decides whether the step runs, and until when.
    async fn admit(&mut self, prepared: &mut Prepared<'_>) -> Result<Option<Option<Instant>>, Failure> {
        if let Some(failure) = prepared.failure.take() {
            return Err(failure);
        }
        let step = prepared.step;
        let evaluator = self.evaluator(prepared.frame, &prepared.identity);
        if !evaluator.decide(&step.condition, prepared.env.clone()).await? {
            return Ok(None);
        }
        let minutes = evaluator
            .optional::<f64>(step.timeout_minutes.as_ref(), &prepared.env)
            .await;
        match minutes {
            Ok(minutes) => Ok(Some(minutes.and_then(deadline_after))),
            Err(failure) => {
                // A wrong time-out is told and otherwise ignored.
                self.log.error(failure);
                Ok(Some(None))
            }
        }
    }

    /// Runs the step's action under its own time-out.
    async fn guarded(&mut self, prepared: &Prepared<'_>, deadline: Option<Instant>) -> Done {
        let started = Instant::now();
        self.guards.push(Guard {
            condition: prepared.step.condition.clone(),
            frame: prepared.frame.clone(),
            identity: prepared.identity.clone(),
            env: prepared.env.clone(),
            deadline,
        });
        let mut done = self.act_until_decided(prepared).await;
        // A breakpoint may have moved the deadline since.
        let last = self.guards.pop().and_then(|guard| guard.deadline);
        if let Some(deadline) = deadline.filter(|_| last.is_some_and(|last| Instant::now() >= last)) {
            let minutes = (deadline - started).as_secs() / 60;
            if self.guards.is_empty() {
                let name = &prepared.name;
                self.log.error(format_args!(
                    "The action '{name}' has timed out after {minutes} minutes."
                ));
            } else {
                self.log.error("The action has timed out.");
            }
            done.outcome = Conclusion::Failure;
        } else if done.outcome == Conclusion::Cancelled && self.guards.is_empty() {
            self.log.error("The operation was canceled.");
        }
        done
    }

    pub async fn act(&mut self, prepared: &Prepared<'_>) -> Done {
        match &prepared.step.action {
            StepAction::Run(run) => self.script(prepared, run).await,
            StepAction::Uses(uses) => self.uses(prepared, uses).await,
        }
    }

    async fn uses(&mut self, prepared: &Prepared<'_>, uses: &UsesStep) -> Done {
        match self.is_checked_out(prepared, uses).await {
            Ok(false) => {}
            Ok(true) => {
                self.log
                    .line("The workspace already holds a copy of the repository; nothing to check out.");
                return Done::plain(Conclusion::Success);
            }
            Err(failure) => return self.refuse(&failure.0),
        }
        if let ActionRef::Builtin(name) = &uses.uses.value {
            let mark = self.runtime.mark();
            let done = self.builtin(prepared, uses, name).await;
            self.runtime.phase(Phase::Fetch, mark);
            return done;
        }
        let mark = self.runtime.mark();
        let resolve = action::resolve(self.runtime, &uses.uses.value);
        let Some((found, lines)) = self.while_allowed(resolve).await else {
            return Done::plain(Conclusion::Cancelled);
        };
        self.runtime.phase(Phase::Fetch, mark);
        for line in lines {
            self.log.line(line);
        }
        match found {
            Ok(action) => self.action(prepared, uses, action).await,
            Err(message) => self.refuse(&message),
        }
    }

    /// Logs why the step cannot run and fails it.
    pub fn refuse(&mut self, message: &str) -> Done {
        for line in message.lines() {
            self.log.error(line);
        }
        Done::plain(Conclusion::Failure)
    }

    /// Applies `continue-on-error`, which is evaluated only if the step failed.
    pub async fn tolerate(&mut self, prepared: &Prepared<'_>, mut done: Done) -> Done {
        done.conclusion = done.outcome;
        let Some(field) = prepared.step.continue_on_error.as_ref() else {
            return done;
        };
        if done.outcome != Conclusion::Failure {
            return done;
        }
        let env = overlay(prepared.env.clone(), self.view.env.iter());
        let env = overlay(env, prepared.own_env.iter().map(|(name, value)| (name, value)));
        match self
            .evaluator(prepared.frame, &prepared.identity)
            .field::<bool>(field, env)
            .await
        {
            Ok(true) => done.conclusion = Conclusion::Success,
            Ok(false) => {}
            Err(failure) => self.log.error(failure),
        }
        done
    }
}

/// The moment at which a time-out of so many minutes ends a step that starts now; whole minutes count, and 0 or less
/// means none.
fn deadline_after(minutes: f64) -> Option<Instant> {
    let whole = minutes.trunc();
    if whole < 1.0 {
        return None;
    }
    // A time-out beyond what a clock can count is none.
    let duration = Duration::try_from_secs_f64(whole * 60.0).ok()?;
    Instant::now().checked_add(duration)
}

fn identity_of(runtime: &JobRuntime, step: &Step) -> StepIdentity {
    let (repository, git_ref) = match &step.action {
        StepAction::Uses(uses) => match &uses.uses.value {
            ActionRef::Remote {
                repository, git_ref, ..
            } => (Some(repository.clone()), Some(git_ref.clone())),
            ActionRef::Builtin(_) | ActionRef::Local(_) | ActionRef::Docker(_) => (None, None),
        },
        StepAction::Run(_) => (None, None),
    };
    StepIdentity {
        action: step.id.clone(),
        repository,
        git_ref,
        files: reserve(runtime),
    }
}

/// The name of a step that has none: `Run` and the first line of its script, or what it uses.
async fn default_name(evaluator: &Evaluator<'_>, step: &Step, env: &Object) -> String {
    match &step.action {
        StepAction::Run(run) => {
            let script = evaluator
                .field(&run.script, env.clone())
                .await
                .unwrap_or_default();
            let first = script.trim_start().lines().next().unwrap_or_default();
            format!("Run {}", first.trim_end())
        }
        StepAction::Uses(uses) => format!("Run {}", uses.uses.value),
    }
}
