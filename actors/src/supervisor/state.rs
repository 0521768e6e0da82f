//! How many jobs run, what is claimed, and how far the stop ladder is climbed.

use std::collections::BTreeSet;

use gantry_protocols::forge::{Claim, TaskId};

use super::{Drained, StopLevel};
use crate::claimer::Claimed;

/// What the shell is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Ask for at most so many jobs.
    Claim {
        /// The number of free slots.
        capacity: usize,
    },
    /// Let the claimer claim nothing more.
    StopClaiming,
    /// Run a claimed job.
    StartJob(Claim),
    /// Cancel every running job.
    CancelJobs,
    /// Kill every running job.
    KillJobs,
    /// Answer the one who asked the supervisor to run.
    Finish(Drained),
}

/// The slots of one runner.
#[derive(Debug)]
pub struct State {
    capacity: usize,
    running: BTreeSet<TaskId>,
    claiming: bool,
    ended: bool,
    refused: bool,
    level: StopLevel,
}

impl State {
    /// A runner with so many slots, at least one.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            running: BTreeSet::new(),
            claiming: false,
            ended: false,
            refused: false,
            level: StopLevel::Running,
        }
    }

    /// The runner starts.
    pub fn on_run(&mut self) -> Vec<Effect> {
        self.fill()
    }

    /// The claimer has answered.
    pub fn on_claimed(&mut self, claimed: Claimed) -> Vec<Effect> {
        self.claiming = false;
        let mut effects = Vec::new();
        match claimed {
            Claimed::Jobs(claims) => {
                for claim in claims {
                    // A task that is delivered twice runs once.
                    if self.running.insert(claim.task) {
                        effects.push(Effect::StartJob(claim));
                    }
                }
                // A job that was claimed on the way into a stop is ours: it is cancelled, never dropped.
                effects.extend(self.stop_jobs());
            }
            Claimed::Ended => self.ended = true,
            Claimed::Refused(_) => {
                self.ended = true;
                self.refused = true;
            }
        }
        effects.extend(self.fill());
        effects
    }

    /// A job has ended, in whatever way.
    pub fn on_job_ended(&mut self, task: TaskId) -> Vec<Effect> {
        self.running.remove(&task);
        self.fill()
    }

    /// Somebody wants the runner to stop.
    pub fn on_stop(&mut self, level: StopLevel) -> Vec<Effect> {
        if level <= self.level {
            return Vec::new();
        }
        let mut effects = Vec::new();
        if self.level == StopLevel::Running {
            effects.push(Effect::StopClaiming);
        }
        self.level = level;
        effects.extend(self.stop_jobs());
        effects.extend(self.fill());
        effects
    }

    fn stop_jobs(&self) -> Option<Effect> {
        match self.level {
            StopLevel::Running | StopLevel::Draining => None,
            StopLevel::Cancelling => Some(Effect::CancelJobs),
            StopLevel::Killing => Some(Effect::KillJobs),
        }
    }

    /// Claims for the free slots, or finishes when nothing runs and nothing will.
    fn fill(&mut self) -> Vec<Effect> {
        if self.claiming {
            return Vec::new();
        }
        let wanted = !self.ended && self.level == StopLevel::Running;
        if wanted {
            let capacity = self.capacity.saturating_sub(self.running.len());
            if capacity == 0 {
                return Vec::new();
            }
            self.claiming = true;
            return vec![Effect::Claim { capacity }];
        }
        if self.running.is_empty() {
            return vec![Effect::Finish(Drained {
                level: self.level,
                refused: self.refused,
            })];
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(tasks: &[i64]) -> Claimed {
        Claimed::Jobs(tasks.iter().map(|task| Claim::of(TaskId(*task))).collect())
    }

    fn show(effects: &[Effect]) -> Vec<String> {
        effects
            .iter()
            .map(|effect| match effect {
                Effect::Claim { capacity } => format!("claim {capacity}"),
                Effect::StartJob(claim) => format!("start {}", claim.task),
                Effect::Finish(drained) => format!("finish {:?}", drained.level),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn free_slots_are_claimed_for_and_never_more() {
        let mut state = State::new(2);
        assert_eq!(show(&state.on_run()), ["claim 2"]);
        assert_eq!(show(&state.on_claimed(claims(&[1]))), ["start 1", "claim 1"]);
        assert_eq!(show(&state.on_claimed(claims(&[2]))), ["start 2"]);
        assert_eq!(show(&state.on_job_ended(TaskId(1))), ["claim 1"]);
        assert_eq!(show(&state.on_job_ended(TaskId(2))), [""; 0]);
        assert_eq!(show(&state.on_claimed(Claimed::Ended)), ["finish Running"]);
    }

    #[test]
    fn a_task_that_is_delivered_twice_runs_once() {
        let mut state = State::new(3);
        assert_eq!(show(&state.on_run()), ["claim 3"]);
        assert_eq!(show(&state.on_claimed(claims(&[1, 1]))), ["start 1", "claim 2"]);
    }

    #[test]
    fn a_drain_waits_for_the_running_jobs() {
        let mut state = State::new(1);
        assert_eq!(show(&state.on_run()), ["claim 1"]);
        assert_eq!(show(&state.on_claimed(claims(&[1]))), ["start 1"]);
        assert_eq!(show(&state.on_stop(StopLevel::Draining)), ["StopClaiming"]);
        assert_eq!(show(&state.on_stop(StopLevel::Draining)), [""; 0]);
        assert_eq!(show(&state.on_stop(StopLevel::Cancelling)), ["CancelJobs"]);
        assert_eq!(show(&state.on_stop(StopLevel::Killing)), ["KillJobs"]);
        assert_eq!(show(&state.on_job_ended(TaskId(1))), ["finish Killing"]);
    }

    #[test]
    fn a_claim_that_arrives_during_a_stop_is_run_and_cancelled() {
        let mut state = State::new(1);
        assert_eq!(show(&state.on_run()), ["claim 1"]);
        assert_eq!(
            show(&state.on_stop(StopLevel::Cancelling)),
            ["StopClaiming", "CancelJobs"]
        );
        assert_eq!(show(&state.on_claimed(claims(&[7]))), ["start 7", "CancelJobs"]);
        assert_eq!(show(&state.on_job_ended(TaskId(7))), ["finish Cancelling"]);
    }
}
