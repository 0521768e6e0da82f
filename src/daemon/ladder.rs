//! From signals and time to rungs of the stop ladder, without a clock.

use std::time::Duration;

use gantry_actors::supervisor::StopLevel;
use tokio::time::Instant;

/// How long jobs that were killed may take until nobody waits for them any more.
const LAST_GRACE: Duration = Duration::from_secs(30);

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Climb to this rung.
    Stop(StopLevel),
    /// Nobody waits any longer.
    Abandon,
}

/// How far the runner is on its way to the end.
#[derive(Debug)]
pub struct Ladder {
    drain: Duration,
    cancel: Duration,
    level: StopLevel,
    due: Option<Instant>,
}

impl Ladder {
    /// Jobs may go on for `drain` after the first signal, and clean up for `cancel` once they are cancelled.
    pub fn new(drain: Duration, cancel: Duration) -> Self {
        Self {
            drain,
            cancel,
            level: StopLevel::Running,
            due: None,
        }
    }

    /// Changes the times, unless the way to the end has begun.
    pub fn set_times(&mut self, drain: Duration, cancel: Duration) {
        if self.level == StopLevel::Running {
            (self.drain, self.cancel) = (drain, cancel);
        }
    }

    /// Whether the way to the end has begun.
    pub fn has_begun(&self) -> bool {
        self.level > StopLevel::Running
    }

    /// When [`Self::on_due`] is to be called.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// A signal has come.
    pub fn on_signal(&mut self, now: Instant) -> Option<Order> {
        match self.level {
            StopLevel::Running if self.drain.is_zero() => Some(self.climb(StopLevel::Cancelling, now)),
            StopLevel::Running => Some(self.climb(StopLevel::Draining, now)),
            StopLevel::Draining => Some(self.climb(StopLevel::Cancelling, now)),
            StopLevel::Cancelling => Some(self.climb(StopLevel::Killing, now)),
            StopLevel::Killing => None,
        }
    }

    /// The time of the present rung is over.
    pub fn on_due(&mut self, now: Instant) -> Option<Order> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        self.due = None;
        match self.level {
            StopLevel::Running => None,
            StopLevel::Draining => Some(self.climb(StopLevel::Cancelling, now)),
            StopLevel::Cancelling => Some(self.climb(StopLevel::Killing, now)),
            StopLevel::Killing => Some(Order::Abandon),
        }
    }

    fn climb(&mut self, level: StopLevel, now: Instant) -> Order {
        self.level = level;
        let time = match level {
            StopLevel::Running | StopLevel::Draining => self.drain,
            StopLevel::Cancelling => self.cancel,
            StopLevel::Killing => LAST_GRACE,
        };
        // A time that is too long to be told is none.
        self.due = now.checked_add(time);
        Order::Stop(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn time_alone_climbs_to_the_end() {
        let start = Instant::now();
        let mut ladder = Ladder::new(seconds(10), seconds(60));
        assert!(!ladder.has_begun() && ladder.due().is_none());
        assert_eq!(ladder.on_signal(start), Some(Order::Stop(StopLevel::Draining)));
        assert_eq!(ladder.on_due(start + seconds(9)), None);
        let mut now = start;
        for (wait, order) in [
            (10, Order::Stop(StopLevel::Cancelling)),
            (60, Order::Stop(StopLevel::Killing)),
            (30, Order::Abandon),
        ] {
            now += seconds(wait);
            assert_eq!(ladder.due(), Some(now));
            assert_eq!(ladder.on_due(now), Some(order));
        }
        assert_eq!(ladder.due(), None);
        assert_eq!(ladder.on_due(now + seconds(900)), None);
    }

    #[test]
    fn signals_climb_without_waiting() {
        let now = Instant::now();
        let mut ladder = Ladder::new(seconds(10), seconds(60));
        let orders: Vec<_> = (0..4).map(|_| ladder.on_signal(now)).collect();
        let stop = |level| Some(Order::Stop(level));
        assert_eq!(
            orders,
            [
                stop(StopLevel::Draining),
                stop(StopLevel::Cancelling),
                stop(StopLevel::Killing),
                None
            ]
        );
    }

    #[test]
    fn without_time_to_drain_the_first_signal_cancels() {
        let now = Instant::now();
        let mut ladder = Ladder::new(Duration::ZERO, seconds(60));
        assert_eq!(ladder.on_signal(now), Some(Order::Stop(StopLevel::Cancelling)));
    }

    #[test]
    fn times_are_fixed_once_the_end_has_begun() {
        let now = Instant::now();
        let mut ladder = Ladder::new(seconds(10), seconds(60));
        ladder.set_times(seconds(20), seconds(60));
        assert!(ladder.on_signal(now).is_some());
        ladder.set_times(seconds(1), seconds(1));
        assert_eq!(ladder.due(), Some(now + seconds(20)));
    }
}
