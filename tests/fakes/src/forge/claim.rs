//! Who gets which job.

use std::collections::BTreeMap;
use std::time::SystemTime;

use gantry_protocols::connect::Code;
use gantry_protocols::gitea::wire;

use super::context;
use super::record::{Job, Run, Status, Task};
use super::rules::{Feature, Refusal};
use super::state::State;

/// A question for tasks, of either method.
#[derive(Debug, Default, Clone)]
pub(super) struct Question {
    pub version: i64,
    pub capacity: usize,
    pub key: Option<String>,
    pub handle: Option<String>,
}

/// Tasks, and the version of the queue from before they were picked.
#[derive(Default)]
pub(super) struct Picked {
    pub tasks: Vec<wire::Task>,
    pub version: i64,
}

impl State {
    pub(super) fn pick(
        &mut self,
        runner: i64,
        question: &Question,
        now: SystemTime,
    ) -> Result<Picked, Refusal> {
        let key = question
            .key
            .clone()
            .filter(|_| self.rules.has(Feature::RequestKeys));
        let key = key.map(|key| (runner, key));
        if let Some(tasks) = key.as_ref().and_then(|key| self.by_key.get(key)).cloned() {
            return Ok(Picked {
                tasks: self.repeat(&tasks),
                version: 0,
            });
        }
        let counts = self.rules.has(Feature::TasksVersion);
        let version = if counts { self.tasks_version } else { 0 };
        if counts && question.version == version {
            return Ok(Picked {
                tasks: Vec::new(),
                version,
            });
        }
        self.check_ephemeral(runner, now)?;
        let capacity = if self.rules.has(Feature::TaskCapacity) {
            question.capacity
        } else {
            1
        };
        let mut ids = Vec::new();
        while ids.len() < capacity.max(1)
            && let Some(task) = self.hand_out(runner, question.handle.as_deref(), now)
        {
            ids.push(task);
        }
        let tasks = ids.iter().filter_map(|id| self.message(*id)).collect();
        if let Some(key) = key.filter(|_| !ids.is_empty()) {
            self.by_key.insert(key, ids);
        }
        Ok(Picked { tasks, version })
    }

    /// A runner for one task is removed when it asks for a second one.
    fn check_ephemeral(&mut self, runner: i64, now: SystemTime) -> Result<(), Refusal> {
        let had_task = self
            .tasks
            .values()
            .any(|task| task.runner == runner && task.status.is_done());
        if self.runner_mut(runner)?.ephemeral && had_task {
            self.remove_runner(runner, now);
            return Err(Refusal::new(Code::Internal, "runner has been removed"));
        }
        Ok(())
    }

    fn hand_out(&mut self, runner: i64, handle: Option<&str>, now: SystemTime) -> Option<i64> {
        let by = self.runners.iter().find(|known| known.id == runner)?;
        let busy = self
            .tasks
            .values()
            .any(|task| task.runner == runner && !task.status.is_done());
        if by.disabled || (by.ephemeral && busy) {
            return None;
        }
        let fits = |job: &Job| {
            job.status == Status::Waiting
                && handle.is_none_or(|handle| job.handle == handle)
                && job.runs_on.iter().all(|label| by.labels.contains(label))
        };
        let waiting = self.jobs.iter_mut().filter(|job| fits(job));
        let job = waiting.min_by_key(|job| (job.updated, job.id))?;
        let id = super::number(self.tasks.len()) + 5001;
        job.status = Status::Running;
        job.task = Some(id);
        job.updated = now;
        let task = Task {
            id,
            job: job.id,
            runner,
            token: super::random_token(),
            runtime_token: context::runtime_token(id, job, now),
            status: Status::Running,
            started: now,
            stopped: None,
            updated: now,
            steps: (0..super::number(job.steps.len()))
                .map(|id| wire::StepState {
                    id,
                    ..wire::StepState::default()
                })
                .collect(),
            outputs: BTreeMap::new(),
            rows: Vec::new(),
            archived: false,
            states: Vec::new(),
            summaries: BTreeMap::new(),
        };
        self.tasks.insert(id, task);
        Some(id)
    }

    /// The same tasks once more, each with a new token.
    fn repeat(&mut self, ids: &[i64]) -> Vec<wire::Task> {
        for id in ids {
            if let Some(task) = self.tasks.get_mut(id) {
                task.token = super::random_token();
            }
        }
        ids.iter().filter_map(|id| self.message(*id)).collect()
    }

    /// What a runner gets of a task.
    pub(super) fn message(&self, id: i64) -> Option<wire::Task> {
        let task = self.tasks.get(&id)?;
        let job = self.jobs.iter().find(|job| job.id == task.job)?;
        let run = self.runs.iter().find(|run| run.id == job.run)?;
        let repository = self
            .repositories
            .get(&run.trigger.repository)
            .cloned()
            .unwrap_or_default();
        let mut secrets = match &job.call {
            Some(call) => call.seen(repository.secrets),
            None => repository.secrets,
        };
        for name in context::token_names(self.rules.dialect) {
            secrets.insert((*name).to_owned(), task.token.clone());
        }
        Some(wire::Task {
            id,
            workflow_payload: Some(job.payload.clone()),
            context: Some(context::context(&self.rules, &self.url, (run, job, task))),
            secrets,
            machine: String::new(),
            needs: job
                .needs
                .iter()
                .filter_map(|key| Some((key.strip_prefix(&job.scope)?.to_owned(), self.need(run, key))))
                .collect(),
            vars: repository.vars,
        })
    }

    fn need(&self, run: &Run, key: &str) -> wire::TaskNeed {
        let outputs = match run.outputs.get(key) {
            Some(called) => called
                .iter()
                .filter_map(|(name, (job, output))| {
                    Some((name.clone(), self.outputs_of(run.id, job).remove(output)?))
                })
                .collect(),
            None => self.outputs_of(run.id, key),
        };
        wire::TaskNeed {
            outputs,
            result: self.status_of_key(run.id, key).result() as i32,
        }
    }

    fn outputs_of(&self, run: i64, key: &str) -> BTreeMap<String, String> {
        let legs = self.jobs_of(run).filter(|job| job.key == key);
        legs.filter_map(|job| self.tasks.get(&job.task?))
            .flat_map(|task| task.outputs.clone())
            .collect()
    }
}
