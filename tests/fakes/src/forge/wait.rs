//! One lock around the server's memory; every change wakes who waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use super::state::State;

/// How long a test waits for anything. No good run comes near it; it only ends a bad one.
const PATIENCE: Duration = Duration::from_mins(1);

/// The time of the server: it goes as the runtime's clock goes, and a test can move it forward.
struct Clock {
    base: SystemTime,
    since: Instant,
    moved: Duration,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the clock begins somewhere")]
    fn start() -> Self {
        Self {
            base: SystemTime::now(),
            since: Instant::now(),
            moved: Duration::ZERO,
        }
    }

    fn now(&self) -> SystemTime {
        self.base + self.since.elapsed() + self.moved
    }
}

struct Kept {
    clock: Clock,
    state: State,
}

/// The memory of a server that many look at.
pub(super) struct Shared {
    kept: Mutex<Kept>,
    changes: watch::Sender<u64>,
    changed: Condvar,
}

impl Shared {
    pub fn new(state: State) -> Self {
        Self {
            kept: Mutex::new(Kept {
                clock: Clock::start(),
                state,
            }),
            changes: watch::Sender::new(0),
            changed: Condvar::new(),
        }
    }

    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.kept().state)
    }

    /// Changes the memory; what has been silent for too long is given up before.
    pub fn change<T>(&self, change: impl FnOnce(&mut State, SystemTime) -> T) -> T {
        let mut kept = self.kept();
        let now = kept.clock.now();
        kept.state.give_up(now);
        let result = change(&mut kept.state, now);
        drop(kept);
        self.wake();
        result
    }

    pub fn advance(&self, time: Duration) {
        self.kept().clock.moved += time;
        self.change(|_, _| ());
    }

    pub async fn wait_for<T>(&self, what: &str, condition: impl Fn(&State) -> Option<T>) -> T {
        let mut changes = self.changes.subscribe();
        let wait = async {
            loop {
                changes.mark_unchanged();
                if let Some(found) = self.read(&condition) {
                    return Some(found);
                }
                changes.changed().await.ok()?;
            }
        };
        let found = tokio::time::timeout(PATIENCE, wait).await;
        found.ok().flatten().unwrap_or_else(|| self.gave_up(what))
    }

    /// The same for a caller without a runtime.
    pub fn wait_for_blocking<T>(&self, what: &str, condition: impl Fn(&State) -> Option<T>) -> T {
        let start = Instant::now();
        let mut kept = self.kept();
        loop {
            if let Some(found) = condition(&kept.state) {
                return found;
            }
            let left = PATIENCE.saturating_sub(start.elapsed());
            if left.is_zero() {
                drop(kept);
                self.gave_up(what)
            }
            let woken = self.changed.wait_timeout(kept, left);
            kept = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    #[expect(clippy::panic, reason = "a condition that never holds fails its test")]
    fn gave_up(&self, what: &str) -> ! {
        let told = self.read(State::describe);
        panic!("waited in vain until {what}; the forge has:\n{told}")
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.changed.notify_all();
    }
}
