//! How a step's processes are ended: ever stronger signals, with time between them to end by themselves.

use std::time::Duration;

use tokio::time::Instant;

use crate::backend::Signal;

/// How long a process may take after each signal before the next one comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// After SIGINT.
    pub interrupt: Duration,
    /// After SIGTERM.
    pub terminate: Duration,
}

impl Default for Periods {
    /// The periods of GitHub's runner.
    fn default() -> Self {
        Self {
            interrupt: Duration::from_millis(7500),
            terminate: Duration::from_millis(2500),
        }
    }
}

/// The stop ladder of one process tree: interrupt, terminate, kill.
///
/// It only rises. The caller sends the signals it answers with, and calls [`Ladder::on_due`] at [`Ladder::due`].
/// When the main process ends on the way, the caller kills the rest of the tree: a shell that is no terminal's starts
/// its background processes deaf to SIGINT, and they would outlive a step that was cancelled.
#[derive(Debug, Clone)]
pub struct Ladder {
    periods: Periods,
    sent: Option<Signal>,
    due: Option<Instant>,
}

impl Ladder {
    /// Stands at the foot: nothing is sent before [`Ladder::on_start`].
    pub fn new(periods: Periods) -> Self {
        Self {
            periods,
            sent: None,
            due: None,
        }
    }

    /// Returns when the next signal is due.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns the strongest signal so far.
    pub fn sent(&self) -> Option<Signal> {
        self.sent
    }

    /// Begins to stop the tree; nothing more happens if that has begun.
    #[must_use = "the signal has to be sent"]
    pub fn on_start(&mut self, now: Instant) -> Option<Signal> {
        self.sent.is_none().then(|| self.rise(Signal::Interrupt, now))
    }

    /// Takes the next rung if its time has come.
    #[must_use = "the signal has to be sent"]
    pub fn on_due(&mut self, now: Instant) -> Option<Signal> {
        if self.due.is_none_or(|due| now < due) {
            return None;
        }
        let next = match self.sent? {
            Signal::Interrupt => Signal::Terminate,
            Signal::Terminate | Signal::Kill => Signal::Kill,
        };
        Some(self.rise(next, now))
    }

    /// Goes to the top at once, for instance because the runner itself must end.
    #[must_use = "the signal has to be sent"]
    pub fn on_force(&mut self, now: Instant) -> Option<Signal> {
        (self.sent != Some(Signal::Kill)).then(|| self.rise(Signal::Kill, now))
    }

    fn rise(&mut self, signal: Signal, now: Instant) -> Signal {
        self.sent = Some(signal);
        self.due = match signal {
            Signal::Interrupt => Some(now + self.periods.interrupt),
            Signal::Terminate => Some(now + self.periods.terminate),
            Signal::Kill => None,
        };
        signal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy)]
    enum Event {
        Start,
        Due,
        Force,
    }

    /// When it happens in milliseconds, what happens, which signal is sent, and when the next is due.
    type Row = (u64, Event, Option<Signal>, Option<u64>);

    #[test]
    fn the_ladder_only_rises_and_keeps_its_times() {
        use Event::{Due, Force, Start};
        use Signal::{Interrupt, Kill, Terminate};
        let rows: &[&[Row]] = &[
            &[
                (0, Due, None, None),
                (0, Start, Some(Interrupt), Some(7500)),
                (100, Start, None, Some(7500)),
                (7499, Due, None, Some(7500)),
                (7500, Due, Some(Terminate), Some(10_000)),
                (9999, Due, None, Some(10_000)),
                (10_000, Due, Some(Kill), None),
                (20_000, Due, None, None),
                (20_000, Force, None, None),
            ],
            &[
                (5, Force, Some(Kill), None),
                (6, Start, None, None),
                (99_999, Due, None, None),
            ],
            &[
                (0, Start, Some(Interrupt), Some(7500)),
                (1, Force, Some(Kill), None),
            ],
            // A late timer does not shorten the time after the next signal.
            &[
                (0, Start, Some(Interrupt), Some(7500)),
                (60_000, Due, Some(Terminate), Some(62_500)),
            ],
        ];
        let origin = Instant::now();
        for row in rows {
            let mut ladder = Ladder::new(Periods::default());
            for (at, event, signal, due) in *row {
                let now = origin + Duration::from_millis(*at);
                let answer = match event {
                    Start => ladder.on_start(now),
                    Due => ladder.on_due(now),
                    Force => ladder.on_force(now),
                };
                assert_eq!(answer, *signal, "{event:?} at {at}");
                let expected = due.map(|due| origin + Duration::from_millis(due));
                assert_eq!(ladder.due(), expected, "{event:?} at {at}");
            }
        }
    }
}
