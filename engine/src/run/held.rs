//! The time in which a job waits for a person's decision: it counts for no time-out.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// While a job still waits, its time-out is looked at this often.
const BEAT: Duration = Duration::from_secs(1);

/// How long a job has waited for decisions.
#[derive(Debug, Default)]
pub(super) struct Held(Mutex<Times>);

#[derive(Debug, Default)]
struct Times {
    /// Since when it waits.
    since: Option<Instant>,
    /// For how long it has waited before, as far as nobody has asked for that yet.
    owed: Duration,
}

/// The job waits while this lives.
pub(super) struct Waiting<'a>(&'a Held);

impl Held {
    /// Begins to wait.
    pub fn begin(&self) -> Waiting<'_> {
        self.times().since = Some(Instant::now());
        Waiting(self)
    }

    /// Takes the time that a time-out still has to grant; nothing if the job has not waited since the last call.
    pub fn take(&self) -> Option<Duration> {
        let mut times = self.times();
        let passed = times.since.map(|since| since.elapsed());
        let owed = std::mem::take(&mut times.owed) + passed.unwrap_or_default();
        if passed.is_some() {
            times.since = Some(Instant::now());
            return Some(owed.max(BEAT));
        }
        (!owed.is_zero()).then_some(owed)
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut times = self.0.times();
        let passed = times.since.take().map(|since| since.elapsed());
        times.owed += passed.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_a_job_has_waited_is_granted_once() {
        let held = Held::default();
        assert_eq!(held.take(), None);
        let waiting = held.begin();
        advance(Duration::from_secs(30)).await;
        assert_eq!(held.take(), Some(Duration::from_secs(30)));
        assert_eq!(held.take(), Some(BEAT), "it still waits");
        advance(Duration::from_secs(7)).await;
        drop(waiting);
        advance(Duration::from_secs(100)).await;
        assert_eq!(held.take(), Some(Duration::from_secs(7)));
        assert_eq!(held.take(), None);
    }
}
