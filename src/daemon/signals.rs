//! The signals of a daemon.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What somebody outside wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// SIGINT or SIGTERM: stop, or stop faster.
    Stop,
    /// SIGHUP: read the configuration again.
    Reload,
}

/// The signals of this process.
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Starts to listen; from now on these signals no longer end the process.
    ///
    /// # Errors
    /// The system refuses to register a handler.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal.
    ///
    /// # Cancel safety
    /// A signal that arrives while nobody waits is kept for the next call.
    pub async fn next(&mut self) -> Wanted {
        tokio::select! {
            _ = self.interrupt.recv() => Wanted::Stop,
            _ = self.terminate.recv() => Wanted::Stop,
            _ = self.hangup.recv() => Wanted::Reload,
        }
    }
}
