//! The one place that looks at the wall clock.

use std::time::SystemTime;

use tokio::time::Instant;

/// Wall-clock time that never runs backwards while the program lives, and that follows simulated time in tests.
///
/// A clock jump of the machine does not reach the logs: the time of a row is the start's wall clock plus what has
/// passed since then.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    wall: SystemTime,
    started: Instant,
}

impl Clock {
    /// Starts a clock that shows the machine's time now.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock that everything else is given"
    )]
    pub fn start() -> Self {
        Self {
            wall: SystemTime::now(),
            started: Instant::now(),
        }
    }

    /// Starts a clock that shows `wall` now.
    pub fn starting_at(wall: SystemTime) -> Self {
        Self {
            wall,
            started: Instant::now(),
        }
    }

    /// The time now.
    pub fn now(&self) -> SystemTime {
        self.wall + self.started.elapsed()
    }
}
