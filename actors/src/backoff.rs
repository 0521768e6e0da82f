//! The pause before a call to a forge is repeated: it doubles, it has an end, and runners do not come back in step.

use std::time::Duration;

use gantry_protocols::forge::{Retry, TaskId};

/// The first pause; it doubles with each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often a call has failed in a row.
#[derive(Debug)]
pub(crate) struct Backoff {
    failures: u32,
    seed: u64,
}

impl Backoff {
    /// Nothing has failed. Calls that are numbered differently wait for different times.
    pub fn new(task: TaskId) -> Self {
        Self {
            failures: 0,
            seed: task.0.cast_unsigned(),
        }
    }

    /// Tells whether the last call has failed.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// The call went well.
    pub fn on_success(&mut self) {
        self.failures = 0;
    }

    /// The call has failed: the pause before the next one, unless it will never go well.
    pub fn on_failure(&mut self, retry: Retry) -> Option<Duration> {
        let pause = match retry {
            Retry::Never | Retry::Unregistered => return None,
            // A forge that is busy for no time at all is not asked without a pause either.
            Retry::After(pause) => pause.max(FIRST_PAUSE),
            Retry::Later => self.jittered(
                FIRST_PAUSE
                    .saturating_mul(1 << self.failures.min(16))
                    .min(LONGEST_PAUSE),
            ),
        };
        self.failures = self.failures.saturating_add(1);
        Some(pause)
    }

    /// Up to a fifth shorter.
    fn jittered(&self, pause: Duration) -> Duration {
        let fifths = mixed(self.seed ^ u64::from(self.failures).rotate_left(32)) % 1000;
        pause.saturating_sub(pause / 5_000 * u32::try_from(fifths).unwrap_or_default())
    }
}

/// The same pause up to a fifth shorter or longer, so that runners that were started together do not stay in step.
pub(crate) fn around(pause: Duration, seed: u64) -> Duration {
    let parts = mixed(seed) % 2001;
    pause * 4 / 5 + pause / 5_000 * u32::try_from(parts).unwrap_or_default()
}

/// Numbers that are close to each other become numbers that are not (the finalizer of `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_end_and_start_anew_after_a_success() {
        let mut backoff = Backoff::new(TaskId(1));
        let mut full = FIRST_PAUSE;
        for _ in 0..40 {
            let pause = backoff.on_failure(Retry::Later).unwrap();
            assert!(pause <= full && pause >= full * 4 / 5, "{pause:?} of {full:?}");
            full = (full * 2).min(LONGEST_PAUSE);
        }
        backoff.on_success();
        assert!(!backoff.is_failing());
        assert!(backoff.on_failure(Retry::Later).unwrap() <= FIRST_PAUSE);
    }

    #[test]
    fn what_the_forge_says_is_obeyed() {
        let mut backoff = Backoff::new(TaskId(1));
        let wanted = Duration::from_mins(7);
        assert_eq!(backoff.on_failure(Retry::After(wanted)), Some(wanted));
        assert_eq!(
            backoff.on_failure(Retry::After(Duration::ZERO)),
            Some(FIRST_PAUSE)
        );
        assert_eq!(backoff.on_failure(Retry::Never), None);
        assert_eq!(backoff.on_failure(Retry::Unregistered), None);
    }

    #[test]
    fn two_tasks_do_not_come_back_at_the_same_time() {
        let pause = |task| Backoff::new(TaskId(task)).on_failure(Retry::Later);
        assert_ne!(pause(1), pause(2));
    }
}
