//! When to ask the forge again, without a clock.

use std::time::Duration;

use gantry_protocols::forge::{Error, Retry};

use super::{Claimed, Taken};

/// The pause after an empty answer or a first failure; doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What the shell is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Ask the forge.
    Ask {
        /// For at most so many jobs.
        capacity: usize,
    },
    /// Ask again after this pause.
    AskAfter(Duration),
    /// Answer the one who wants jobs.
    Reply(Claimed),
}

/// One connection's polling.
#[derive(Debug, Default)]
pub struct State {
    capacity: usize,
    waiting: bool,
    stopped: bool,
    streak: u32,
}

impl State {
    /// Jobs are wanted.
    pub fn on_claim_jobs(&mut self, capacity: usize) -> Effect {
        if self.stopped {
            return Effect::Reply(Claimed::Ended);
        }
        self.capacity = capacity;
        self.waiting = false;
        Effect::Ask { capacity }
    }

    /// The forge has answered.
    pub fn on_answered(&mut self, answer: Result<Vec<Taken>, Error>) -> Effect {
        match answer {
            Ok(taken) if !taken.is_empty() => {
                self.streak = 0;
                Effect::Reply(Claimed::Jobs(taken))
            }
            Ok(_) => self.pause(None),
            Err(Error::Exhausted) => Effect::Reply(Claimed::Ended),
            Err(error) => match error.retry() {
                Retry::Later => self.pause(None),
                Retry::After(pause) => self.pause(Some(pause)),
                Retry::Never | Retry::Unregistered => Effect::Reply(Claimed::Refused(error)),
            },
        }
    }

    /// The pause is over.
    pub fn on_pause_over(&mut self) -> Option<Effect> {
        let due = self.waiting && !self.stopped;
        self.waiting = false;
        due.then_some(Effect::Ask {
            capacity: self.capacity,
        })
    }

    /// No more jobs are wanted.
    pub fn on_stop(&mut self) -> Option<Effect> {
        self.stopped = true;
        std::mem::take(&mut self.waiting).then_some(Effect::Reply(Claimed::Ended))
    }

    fn pause(&mut self, wanted: Option<Duration>) -> Effect {
        if self.stopped {
            return Effect::Reply(Claimed::Ended);
        }
        let pause = FIRST_PAUSE
            .saturating_mul(1 << self.streak.min(5))
            .min(LONGEST_PAUSE);
        self.streak = self.streak.saturating_add(1);
        self.waiting = true;
        Effect::AskAfter(wanted.unwrap_or(pause))
    }
}

#[cfg(test)]
mod tests {
    use gantry_protocols::forge::{Claim, TaskId};

    use super::*;

    fn claim() -> Taken {
        Taken {
            claim: Claim::of(TaskId(1)),
            journal: None,
        }
    }

    fn unavailable() -> Error {
        Error::Unavailable {
            operation: "claim",
            reason: "refused".to_owned(),
        }
    }

    #[test]
    fn pauses_grow_to_their_limit_and_a_job_resets_them() {
        let mut state = State::default();
        assert!(matches!(state.on_claim_jobs(1), Effect::Ask { capacity: 1 }));
        let mut pauses = Vec::new();
        for answer in [Ok(vec![]), Err(unavailable()), Ok(vec![])] {
            let Effect::AskAfter(pause) = state.on_answered(answer) else {
                panic!("no pause")
            };
            pauses.push(pause.as_secs());
            assert!(matches!(state.on_pause_over(), Some(Effect::Ask { capacity: 1 })));
        }
        assert_eq!(pauses, [2, 4, 5]);
        assert!(matches!(
            state.on_answered(Ok(vec![claim()])),
            Effect::Reply(Claimed::Jobs(_))
        ));
        assert!(matches!(state.on_answered(Ok(vec![])), Effect::AskAfter(pause) if pause.as_secs() == 2));
    }

    #[test]
    fn a_stop_ends_a_pause_but_never_loses_a_claim_under_way() {
        let mut state = State::default();
        assert!(matches!(state.on_claim_jobs(1), Effect::Ask { .. }));
        assert!(state.on_stop().is_none());
        assert!(matches!(
            state.on_answered(Ok(vec![claim()])),
            Effect::Reply(Claimed::Jobs(_))
        ));
        assert!(matches!(state.on_claim_jobs(1), Effect::Reply(Claimed::Ended)));

        let mut state = State::default();
        assert!(matches!(state.on_claim_jobs(1), Effect::Ask { .. }));
        assert!(matches!(state.on_answered(Ok(vec![])), Effect::AskAfter(_)));
        assert!(matches!(state.on_stop(), Some(Effect::Reply(Claimed::Ended))));
        assert!(state.on_pause_over().is_none());
    }

    #[test]
    fn a_forge_that_refuses_is_not_asked_again() {
        let mut state = State::default();
        let refused = Error::Refused {
            operation: "claim",
            reason: "unregistered runner".to_owned(),
        };
        assert!(matches!(
            state.on_answered(Err(refused)),
            Effect::Reply(Claimed::Refused(_))
        ));
        assert!(matches!(
            state.on_answered(Err(Error::Exhausted)),
            Effect::Reply(Claimed::Ended)
        ));
    }
}
