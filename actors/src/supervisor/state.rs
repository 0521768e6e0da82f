//! How many jobs run, what is claimed, and how far the stop ladder is climbed.

use std::collections::BTreeSet;

use gantry_protocols::forge::TaskId;

use super::{Drained, StopLevel};
use crate::claimer::{Claimed, Taken};

/// What the shell is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Deliver what an earlier process has left behind.
    Recover,
    /// Ask for jobs, as many as there are places for.
    Claim,
    /// Let the claimer claim nothing more.
    StopClaiming,
    /// Run a claimed job.
    StartJob(Taken),
    /// Cancel every running job.
    CancelJobs,
    /// Kill every running job.
    KillJobs,
    /// Answer the one who asked the supervisor to run.
    Finish(Drained),
}

/// Where jobs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Intake {
    /// What earlier processes have left behind is looked for.
    Recovering,
    /// Nobody is asked.
    #[default]
    Idle,
    /// The claimer is asked.
    Claiming,
    /// There will be no more jobs.
    Ended,
}

/// The jobs of one runner.
#[derive(Debug, Default)]
pub struct State {
    running: BTreeSet<TaskId>,
    /// Tasks that have ended and that their forge does not know the end of; they need no slot.
    delivering: BTreeSet<TaskId>,
    intake: Intake,
    refused: bool,
    cancelled_jobs: bool,
    level: StopLevel,
}

impl State {
    /// The runner starts: a task that is claimed now must not be taken for one that was left behind.
    pub fn on_run(&mut self) -> Vec<Effect> {
        self.intake = Intake::Recovering;
        vec![Effect::Recover]
    }

    /// These tasks were left behind and are being delivered.
    pub fn on_recovered(&mut self, tasks: impl IntoIterator<Item = TaskId>) -> Vec<Effect> {
        self.intake = Intake::Idle;
        self.delivering.extend(tasks);
        self.fill()
    }

    /// The claimer has answered.
    pub fn on_claimed(&mut self, claimed: Claimed) -> Vec<Effect> {
        self.intake = Intake::Idle;
        let mut effects = Vec::new();
        match claimed {
            Claimed::Jobs(taken) => {
                for taken in taken {
                    // A task that is handed out twice runs once.
                    let task = taken.claim.task;
                    if !self.delivering.contains(&task) && self.running.insert(task) {
                        effects.push(Effect::StartJob(taken));
                    }
                }
                // A job that was claimed on the way into a stop is ours: it is cancelled, never dropped.
                effects.extend(self.stop_jobs());
            }
            Claimed::Ended => self.intake = Intake::Ended,
            Claimed::Refused(_) => {
                self.intake = Intake::Ended;
                self.refused = true;
            }
        }
        effects.extend(self.fill());
        effects
    }

    /// A job has ended, in whatever way; its forge may not know yet.
    pub fn on_job_ended(&mut self, task: TaskId, is_parked: bool, is_cancelled: bool) -> Vec<Effect> {
        self.cancelled_jobs |= is_cancelled && self.level >= StopLevel::Cancelling;
        self.running.remove(&task);
        if is_parked {
            self.delivering.insert(task);
        }
        self.fill()
    }

    /// The forge has everything of a task that it will ever take.
    pub fn on_delivered(&mut self, task: TaskId) -> Vec<Effect> {
        self.delivering.remove(&task);
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

    /// Claims more, or finishes when nothing runs and nothing will.
    fn fill(&mut self) -> Vec<Effect> {
        let is_recovering = self.intake == Intake::Recovering && self.level < StopLevel::Killing;
        if is_recovering || self.intake == Intake::Claiming {
            return Vec::new();
        }
        let wanted = self.intake == Intake::Idle && self.level == StopLevel::Running;
        if wanted {
            self.intake = Intake::Claiming;
            return vec![Effect::Claim];
        }
        // Whoever kills does not wait for a forge: what is in the journal is delivered after the next start.
        let may_go = self.delivering.is_empty() || self.level >= StopLevel::Killing;
        if !self.running.is_empty() || !may_go {
            return Vec::new();
        }
        vec![Effect::Finish(Drained {
            level: self.level,
            refused: self.refused,
            cancelled_jobs: self.cancelled_jobs,
            undelivered: self.delivering.len(),
        })]
    }
}

#[cfg(test)]
mod tests {
    use gantry_protocols::forge::Claim;

    use super::*;

    fn claims(tasks: &[i64]) -> Claimed {
        let taken = tasks.iter().map(|task| Taken {
            claim: Claim::of(TaskId(*task)),
            journal: None,
            slot: None,
        });
        Claimed::Jobs(taken.collect())
    }

    /// A runner with nothing to recover, which has asked for its first jobs.
    fn started() -> State {
        let mut state = State::default();
        assert_eq!(show(&state.on_run()), ["Recover"]);
        assert_eq!(show(&state.on_recovered([])), ["Claim"]);
        state
    }

    fn show(effects: &[Effect]) -> Vec<String> {
        effects
            .iter()
            .map(|effect| match effect {
                Effect::StartJob(taken) => format!("start {}", taken.claim.task),
                Effect::Finish(drained) => format!("finish {:?}", drained.level),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn jobs_are_claimed_until_there_are_no_more() {
        let mut state = started();
        assert_eq!(show(&state.on_claimed(claims(&[1]))), ["start 1", "Claim"]);
        assert_eq!(show(&state.on_claimed(claims(&[2]))), ["start 2", "Claim"]);
        assert_eq!(show(&state.on_job_ended(TaskId(1), false, false)), [""; 0]);
        assert_eq!(show(&state.on_claimed(Claimed::Ended)), [""; 0]);
        assert_eq!(
            show(&state.on_job_ended(TaskId(2), false, false)),
            ["finish Running"]
        );
    }

    #[test]
    fn a_task_that_is_delivered_twice_runs_once() {
        let mut state = started();
        assert_eq!(show(&state.on_claimed(claims(&[1, 1]))), ["start 1", "Claim"]);
    }

    #[test]
    fn a_drain_waits_for_the_running_jobs() {
        let mut state = started();
        assert_eq!(show(&state.on_claimed(claims(&[1]))), ["start 1", "Claim"]);
        assert_eq!(show(&state.on_stop(StopLevel::Draining)), ["StopClaiming"]);
        assert_eq!(show(&state.on_claimed(Claimed::Ended)), [""; 0]);
        assert_eq!(show(&state.on_stop(StopLevel::Draining)), [""; 0]);
        assert_eq!(show(&state.on_stop(StopLevel::Cancelling)), ["CancelJobs"]);
        assert_eq!(show(&state.on_stop(StopLevel::Killing)), ["KillJobs"]);
        assert_eq!(
            show(&state.on_job_ended(TaskId(1), false, false)),
            ["finish Killing"]
        );
    }

    #[test]
    fn only_a_job_that_a_stop_has_ended_was_cancelled_by_it() {
        for (level, is_cancelled, expected) in [
            (StopLevel::Cancelling, false, false),
            (StopLevel::Cancelling, true, true),
            (StopLevel::Draining, true, false),
        ] {
            let mut state = started();
            let _effects = state.on_claimed(claims(&[1]));
            let _effects = state.on_stop(level);
            let _effects = state.on_claimed(Claimed::Ended);
            let effects = state.on_job_ended(TaskId(1), false, is_cancelled);
            assert!(
                matches!(effects.last(), Some(Effect::Finish(drained)) if drained.cancelled_jobs == expected),
                "{effects:?}"
            );
        }
    }

    #[test]
    fn a_claim_that_arrives_during_a_stop_is_run_and_cancelled() {
        let mut state = started();
        assert_eq!(
            show(&state.on_stop(StopLevel::Cancelling)),
            ["StopClaiming", "CancelJobs"]
        );
        assert_eq!(show(&state.on_claimed(claims(&[7]))), ["start 7", "CancelJobs"]);
        assert_eq!(
            show(&state.on_job_ended(TaskId(7), false, false)),
            ["finish Cancelling"]
        );
    }

    #[test]
    fn a_job_that_waits_for_its_forge_has_ended_and_a_drain_waits_for_it() {
        let mut state = started();
        assert_eq!(show(&state.on_claimed(claims(&[1]))), ["start 1", "Claim"]);
        assert_eq!(show(&state.on_job_ended(TaskId(1), true, false)), [""; 0]);
        // It is handed out again by a forge that did not hear of its end.
        assert_eq!(show(&state.on_claimed(claims(&[1]))), ["Claim"]);
        assert_eq!(show(&state.on_claimed(Claimed::Ended)), [""; 0]);
        assert_eq!(show(&state.on_delivered(TaskId(1))), ["finish Running"]);
    }

    #[test]
    fn a_kill_does_not_wait_for_a_forge() {
        let mut state = State::default();
        assert_eq!(show(&state.on_run()), ["Recover"]);
        assert_eq!(show(&state.on_recovered([TaskId(4)])), ["Claim"]);
        assert_eq!(show(&state.on_claimed(Claimed::Ended)), [""; 0]);
        assert_eq!(show(&state.on_stop(StopLevel::Draining)), ["StopClaiming"]);
        let effects = state.on_stop(StopLevel::Killing);
        assert!(
            matches!(effects.last(), Some(Effect::Finish(drained)) if drained.undelivered == 1),
            "{effects:?}"
        );
    }
}
