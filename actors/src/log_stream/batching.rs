//! When rows and step states go out: what an operator can set, as data.

use std::time::Duration;

use tokio::time::Instant;

/// No forge wants to hear of a job more often when nothing happens.
const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(200);

/// When rows and step states go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// Rows go out at once when so many wait (`log_report_batch_size`).
    pub rows: u64,
    /// No row waits longer than this (`log_report_max_latency`).
    pub latency: Duration,
    /// No row waits longer than this either (`log_report_interval`).
    pub interval: Duration,
    /// How often a forge hears of a job in which nothing happens; it takes a silent one for dead (`state_report_interval`).
    pub heartbeat: Option<Duration>,
    /// Whether every annotation and state goes out alone and in its place among the rows, and not the sum of them.
    pub in_order: bool,
}

impl Batching {
    /// For a server: the defaults of the Gitea runner.
    pub const SERVER: Self = Self {
        rows: 100,
        latency: Duration::from_secs(3),
        interval: Duration::from_secs(5),
        heartbeat: Some(Duration::from_secs(5)),
        in_order: false,
    };

    /// For somebody who watches in the same process: nothing waits.
    pub const IMMEDIATE: Self = Self {
        rows: 1,
        latency: Duration::ZERO,
        interval: Duration::ZERO,
        heartbeat: None,
        in_order: true,
    };

    /// When the forge is to be told again of a job that it was told of now.
    pub(super) fn next_heartbeat(&self, now: Instant) -> Option<Instant> {
        self.heartbeat
            .map(|interval| now + interval.max(SHORTEST_HEARTBEAT))
    }

    /// The longest that a row may wait.
    pub(super) fn longest_wait(&self) -> Duration {
        self.latency.min(self.interval)
    }
}
