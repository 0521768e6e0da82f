//! SIGINT and SIGTERM as an ordered request to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the person at the keyboard wants; it only rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// The first signal: cancel as a forge would, so that `always()` and post steps still run.
    Cancel,
    /// The second signal: kill all processes now.
    Kill,
}

/// The signals of this process.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    seen: Option<StopRequest>,
}

impl Signals {
    /// Starts to listen; from now on SIGINT and SIGTERM no longer end the process.
    ///
    /// # Errors
    /// The system refuses to register a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            seen: None,
        })
    }

    /// Waits for the next signal and says what it asks for.
    ///
    /// # Cancel safety
    /// A signal that arrives while nobody waits is kept for the next call.
    pub async fn next(&mut self) -> StopRequest {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        let request = after(self.seen);
        self.seen = Some(request);
        request
    }
}

/// What one more signal means after those that were seen.
fn after(seen: Option<StopRequest>) -> StopRequest {
    match seen {
        None => StopRequest::Cancel,
        Some(_) => StopRequest::Kill,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_only_make_the_request_stronger() {
        assert_eq!(after(None), StopRequest::Cancel);
        assert_eq!(after(Some(StopRequest::Cancel)), StopRequest::Kill);
        assert_eq!(after(Some(StopRequest::Kill)), StopRequest::Kill);
        assert!(StopRequest::Cancel < StopRequest::Kill);
    }
}
