//! How a running job learns that it is to stop.

use tokio::sync::watch;

/// What is asked of a running job; only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    /// Nothing: run on.
    #[default]
    No,
    /// The job is cancelled: steps whose condition no longer holds end, others may go on.
    Cancel,
    /// Nothing may go on: every process is killed at once.
    Kill,
}

/// The receiving end of a job's stop; clones see the same value.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<Stop>);

/// The sending end of a job's stop.
#[derive(Debug)]
pub struct StopSwitch(watch::Sender<Stop>);

impl StopSwitch {
    /// A switch that has not been used, and the signal that follows it.
    pub fn new() -> (Self, StopSignal) {
        let (sender, receiver) = watch::channel(Stop::No);
        (Self(sender), StopSignal(receiver))
    }

    /// Raises the signal; a lower value than before changes nothing.
    pub fn raise(&self, stop: Stop) {
        self.0.send_if_modified(|current| {
            let rises = stop > *current;
            if rises {
                *current = stop;
            }
            rises
        });
    }
}

impl StopSignal {
    /// What is asked now.
    pub fn level(&self) -> Stop {
        *self.0.borrow()
    }

    /// Waits until more is asked than `seen`.
    ///
    /// # Cancel safety
    /// May be dropped and called again at any time.
    pub async fn above(&mut self, seen: Stop) -> Stop {
        let risen = self.0.wait_for(|level| *level > seen).await.map(|level| *level);
        match risen {
            Ok(level) => level,
            // The switch is gone: nobody can ask for anything any more.
            Err(_) => std::future::pending().await,
        }
    }
}
