//! Reads on where a step stopped reading.
//!
//! A server that a step started in the background still writes to the step's pipe. If the runner closed it, the next
//! line would end the server with SIGPIPE; if nobody read, it would block.

use std::sync::{Mutex, PoisonError};

use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::process::read_some;

/// The pipes of a job that are read to nowhere; they close when the value is dropped.
#[derive(Default)]
pub(super) struct Drains(Mutex<JoinSet<()>>);

impl Drains {
    /// Reads the pipe until its end and discards what comes.
    pub fn add(&self, pipe: Receiver) {
        // Outside a runtime the process is about to end, and the pipe may close.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that came to their end are let go here; there are never more than the job had steps.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(discard(pipe), &runtime);
    }

    /// Closes all pipes.
    pub fn stop(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

async fn discard(pipe: Receiver) {
    let mut buffer = Vec::new();
    while matches!(read_some(&pipe, &mut buffer).await, Ok(count) if count > 0) {
        buffer.clear();
    }
}
