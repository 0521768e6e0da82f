//! How a task goes: what its runner tells, what the server makes of it, and when it is given up.

use std::collections::BTreeMap;
use std::time::SystemTime;

use gantry_protocols::connect::Code;
use gantry_protocols::gitea::wire;

use super::record::{Status, Task, Told};
use super::rules::{Feature, Refusal};
use super::state::State;

/// How long the name of an output may be.
const KEY_LIMIT: usize = 255;
/// How long an output may be.
const VALUE_LIMIT: usize = 1 << 20;

impl State {
    pub(super) fn update_task(
        &mut self,
        runner: i64,
        request: wire::UpdateTaskRequest,
        now: SystemTime,
    ) -> Result<wire::UpdateTaskResponse, Refusal> {
        let state = request.state.unwrap_or_default();
        let task = own_task(&mut self.tasks, state.id, runner)
            .map_err(|text| Refusal::new(Code::Internal, format!("update task: {text}")))?;
        task.states.push(Told {
            at: now,
            rows: task.rows.len(),
            state: state.clone(),
            outputs: request.outputs.clone(),
            before: task.status,
        });
        let ended = (!task.status.is_done()).then(|| {
            task.keep(&state, request.outputs, now);
            Status::of_result(state.result())
        });
        let (id, stopped) = (task.id, state.stopped_at);
        if let Some(status) = ended.flatten() {
            let stopped = stopped.and_then(|at| SystemTime::try_from(at).ok());
            self.end_task(id, status, stopped.unwrap_or(now), now);
            if self
                .runners
                .iter()
                .any(|known| known.id == runner && known.ephemeral)
            {
                self.remove_runner(runner, now);
            }
        }
        Ok(self.tasks.get(&id).map(answer).unwrap_or_default())
    }

    /// Ends a task and its job, and frees what waited for it.
    pub(super) fn end_task(&mut self, id: i64, status: Status, stopped: SystemTime, now: SystemTime) {
        let Some(task) = self.tasks.get_mut(&id) else {
            return;
        };
        // Whatever a runner says of a task that it was told to cancel, it was cancelled.
        task.status = if task.status == Status::Cancelling {
            Status::Cancelled
        } else {
            status
        };
        task.stopped = Some(stopped);
        let (job, status) = (task.job, task.status);
        let Some(job) = self.jobs.iter_mut().find(|known| known.id == job) else {
            return;
        };
        job.status = status;
        job.updated = now;
        let run = job.run;
        self.resolve(run, now);
    }

    pub(super) fn cancel_task(&mut self, id: i64, now: SystemTime) {
        let Some(task) = self.tasks.get_mut(&id).filter(|task| !task.status.is_done()) else {
            return;
        };
        let runner = self.runners.iter().find(|runner| runner.id == task.runner);
        let cleans_up = runner
            .and_then(|runner| runner.capabilities.as_ref())
            .is_some_and(|list| list.iter().any(|name| name == "cancelling"));
        if !cleans_up || !self.rules.has(Feature::Cancelling) {
            return self.end_task(id, Status::Cancelled, now, now);
        }
        task.status = Status::Cancelling;
        let job = task.job;
        if let Some(job) = self.jobs.iter_mut().find(|known| known.id == job) {
            job.status = Status::Cancelling;
        }
    }

    /// Gives up the tasks that have been silent, or have been running, for too long.
    pub(super) fn give_up(&mut self, now: SystemTime) -> bool {
        let older = |since: SystemTime, limit| now.duration_since(since).is_ok_and(|age| age > limit);
        let (zombie, endless) = (self.rules.zombie_after, self.rules.endless_after);
        let lost: Vec<i64> = self
            .tasks
            .values()
            .filter(|task| !task.status.is_done())
            .filter(|task| older(task.updated, zombie) || older(task.started, endless))
            .map(|task| task.id)
            .collect();
        for id in &lost {
            self.end_task(*id, Status::Failure, now, now);
            if let Some(task) = self.tasks.get_mut(id) {
                task.archived = true;
            }
        }
        !lost.is_empty()
    }
}

impl Task {
    /// Keeps what a runner tells of a task that is not done.
    fn keep(&mut self, state: &wire::TaskState, outputs: BTreeMap<String, String>, now: SystemTime) {
        self.updated = now;
        for told in &state.steps {
            if let Some(step) = self.steps.iter_mut().find(|step| step.id == told.id) {
                step.clone_from(told);
            }
        }
        for (key, value) in outputs {
            if key.len() <= KEY_LIMIT && value.len() <= VALUE_LIMIT {
                self.outputs.entry(key).or_insert(value);
            }
        }
    }
}

/// The task of a runner; the text of the refusal otherwise.
pub(super) fn own_task(tasks: &mut BTreeMap<i64, Task>, id: i64, runner: i64) -> Result<&mut Task, String> {
    let task = tasks.get_mut(&id);
    let task = task.ok_or_else(|| format!("task with id {id}: resource does not exist"))?;
    if task.runner == runner {
        Ok(task)
    } else {
        Err("invalid runner for task".to_owned())
    }
}

fn answer(task: &Task) -> wire::UpdateTaskResponse {
    wire::UpdateTaskResponse {
        state: Some(wire::TaskState {
            id: task.id,
            result: task.status.result() as i32,
            ..wire::TaskState::default()
        }),
        sent_outputs: task.outputs.keys().cloned().collect(),
    }
}
