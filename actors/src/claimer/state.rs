//! When to ask the forge again, without a clock.

use std::time::Duration;

use gantry_protocols::forge::{Error, Retry};

use super::{Claimed, Taken};
use crate::backoff::around;

/// How often a forge is asked.
#[derive(Debug, Clone, Copy)]
pub struct Pacing {
    /// The pause after an empty answer or a first failure; it doubles with each.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// Runners with different seeds do not ask in step.
    pub seed: u64,
}

impl Default for Pacing {
    /// What the Gitea runner does by default (`runner.fetch_interval`, `runner.fetch_interval_max`).
    fn default() -> Self {
        Self {
            first: Duration::from_secs(2),
            longest: Duration::from_secs(5),
            seed: 0,
        }
    }
}

/// What the shell is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Wait for a free place.
    Reserve,
    /// Ask the forge for as many jobs as there are reserved places.
    Ask,
    /// Give the reserved places back, and ask again after this pause.
    AskAfter(Duration),
    /// Answer the one who wants jobs; without jobs the reserved places are free again.
    Reply(Claimed),
}

/// What a claimer is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// Nobody wants a job.
    #[default]
    Idle,
    /// It waits for a free place.
    Reserving,
    /// The forge is asked.
    Asking,
    /// It waits until the forge may be asked again.
    Pausing,
}

/// One connection's polling.
#[derive(Debug, Default)]
pub struct State {
    pacing: Pacing,
    phase: Phase,
    stopped: bool,
    streak: u32,
    /// How often the forge was asked.
    asked: u64,
}

impl State {
    /// A claimer that asks so often.
    pub fn new(pacing: Pacing) -> Self {
        Self {
            pacing,
            ..Self::default()
        }
    }

    /// The forge is to be asked at another pace, from the next pause on.
    pub fn on_pacing(&mut self, pacing: Pacing) {
        self.pacing = pacing;
    }

    /// Jobs are wanted.
    pub fn on_claim_jobs(&mut self) -> Effect {
        if self.stopped {
            return Effect::Reply(Claimed::Ended);
        }
        self.phase = Phase::Reserving;
        Effect::Reserve
    }

    /// There is a free place, or there will never be one again.
    pub fn on_reserved(&mut self, found: bool) -> Option<Effect> {
        if self.phase != Phase::Reserving {
            return None;
        }
        if !found {
            self.phase = Phase::Idle;
            return Some(Effect::Reply(Claimed::Ended));
        }
        self.phase = Phase::Asking;
        self.asked += 1;
        Some(Effect::Ask)
    }

    /// The forge has answered, or was not asked because the machine is not ready.
    pub fn on_answered(&mut self, answer: Result<Vec<Taken>, Error>) -> Effect {
        self.phase = Phase::Idle;
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
        if self.phase != Phase::Pausing {
            return None;
        }
        self.phase = Phase::Reserving;
        Some(Effect::Reserve)
    }

    /// No more jobs are wanted; what the forge is asked for already is still taken.
    pub fn on_stop(&mut self) -> Option<Effect> {
        self.stopped = true;
        if !matches!(self.phase, Phase::Reserving | Phase::Pausing) {
            return None;
        }
        self.phase = Phase::Idle;
        Some(Effect::Reply(Claimed::Ended))
    }

    fn pause(&mut self, wanted: Option<Duration>) -> Effect {
        if self.stopped {
            return Effect::Reply(Claimed::Ended);
        }
        let Pacing { first, longest, seed } = self.pacing;
        let pause = first.saturating_mul(1 << self.streak.min(5)).min(longest);
        self.streak = self.streak.saturating_add(1);
        self.phase = Phase::Pausing;
        Effect::AskAfter(wanted.unwrap_or_else(|| around(pause, seed ^ self.asked)))
    }
}

#[cfg(test)]
mod tests {
    use gantry_protocols::forge::{Claim, TaskId};

    use super::*;

    fn taken() -> Taken {
        Taken {
            claim: Claim::of(TaskId(1)),
            journal: None,
            slot: None,
        }
    }

    fn unavailable() -> Error {
        Error::Unavailable {
            operation: "claim",
            reason: "refused".to_owned(),
        }
    }

    /// A claimer that has asked its forge.
    fn asking() -> State {
        let mut state = State::default();
        assert!(matches!(state.on_claim_jobs(), Effect::Reserve));
        assert!(matches!(state.on_reserved(true), Some(Effect::Ask)));
        state
    }

    #[test]
    fn pauses_grow_to_their_limit_and_a_job_resets_them() {
        let mut state = asking();
        for (answer, wanted) in [
            (Ok(vec![]), 2.0),
            (Err(unavailable()), 4.0),
            (Ok(vec![]), 5.0),
            (Ok(vec![]), 5.0),
        ] {
            let Effect::AskAfter(pause) = state.on_answered(answer) else {
                panic!("no pause")
            };
            let pause = pause.as_secs_f64();
            assert!(
                (wanted * 0.8..=wanted * 1.2).contains(&pause),
                "{pause} is not about {wanted}"
            );
            assert!(matches!(state.on_pause_over(), Some(Effect::Reserve)));
            assert!(matches!(state.on_reserved(true), Some(Effect::Ask)));
        }
        assert!(matches!(
            state.on_answered(Ok(vec![taken()])),
            Effect::Reply(Claimed::Jobs(_))
        ));
        assert!(matches!(state.on_claim_jobs(), Effect::Reserve));
        assert!(matches!(state.on_reserved(true), Some(Effect::Ask)));
        assert!(matches!(state.on_answered(Ok(vec![])), Effect::AskAfter(pause) if pause.as_secs() <= 2));
    }

    #[test]
    fn a_stop_ends_a_pause_but_never_loses_a_claim_under_way() {
        let mut state = asking();
        assert!(state.on_stop().is_none());
        assert!(matches!(
            state.on_answered(Ok(vec![taken()])),
            Effect::Reply(Claimed::Jobs(_))
        ));
        assert!(matches!(state.on_claim_jobs(), Effect::Reply(Claimed::Ended)));

        let mut state = asking();
        assert!(matches!(state.on_answered(Ok(vec![])), Effect::AskAfter(_)));
        assert!(matches!(state.on_stop(), Some(Effect::Reply(Claimed::Ended))));
        assert!(state.on_pause_over().is_none());

        let mut state = State::default();
        assert!(matches!(state.on_claim_jobs(), Effect::Reserve));
        assert!(matches!(state.on_stop(), Some(Effect::Reply(Claimed::Ended))));
        assert!(state.on_reserved(true).is_none(), "the place is not used");
    }

    #[test]
    fn without_a_place_ever_again_no_job_is_wanted() {
        let mut state = State::default();
        assert!(matches!(state.on_claim_jobs(), Effect::Reserve));
        assert!(matches!(
            state.on_reserved(false),
            Some(Effect::Reply(Claimed::Ended))
        ));
    }

    #[test]
    fn a_forge_that_refuses_is_not_asked_again() {
        let refused = Error::Refused {
            operation: "claim",
            reason: "unregistered runner".to_owned(),
        };
        assert!(matches!(
            asking().on_answered(Err(refused)),
            Effect::Reply(Claimed::Refused(_))
        ));
        assert!(matches!(
            asking().on_answered(Err(Error::Exhausted)),
            Effect::Reply(Claimed::Ended)
        ));
    }
}
