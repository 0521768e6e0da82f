//! SIGINT, SIGTERM and the end of the terminal (SIGHUP) as an ordered request to stop.

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
    /// Absent if whoever started the process wants it to outlive the terminal, as `nohup` does.
    hangup: Option<Signal>,
    seen: Option<StopRequest>,
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
            hangup: if is_hangup_ignored() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
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
            () = received(&mut self.hangup) => {}
        }
        let request = after(self.seen);
        self.seen = Some(request);
        request
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Tells whether SIGHUP was ignored when the process was started (proc(5): `SigIgn` in `/proc/self/status`).
fn is_hangup_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // SIGHUP is signal 1, and the first signal is the lowest bit.
    mask.is_some_and(|mask| mask & 1 == 1)
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
    fn a_hangup_is_left_to_who_has_it_ignored() {
        for (status, ignored) in [
            ("Name:\tx\nSigIgn:\t0000000000000001\n", true),
            ("SigIgn:\t0000000000001000\n", false),
            ("SigIgn:\tx\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_hangup(status), ignored, "{status:?}");
        }
    }

    #[test]
    fn signals_only_make_the_request_stronger() {
        assert_eq!(after(None), StopRequest::Cancel);
        assert_eq!(after(Some(StopRequest::Cancel)), StopRequest::Kill);
        assert_eq!(after(Some(StopRequest::Kill)), StopRequest::Kill);
        assert!(StopRequest::Cancel < StopRequest::Kill);
    }
}
