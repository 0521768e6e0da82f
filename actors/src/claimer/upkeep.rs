//! What a runner looks after between two questions for a job.

use futures::future::BoxFuture;

/// The machine's own affairs, as an operator has configured them.
pub trait Upkeep: Send + Sync {
    /// Says why no job should be claimed now, if so; it is asked before every question for a job.
    fn unready(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// There was no job, or none was asked for: the time for what an idle runner does.
    fn idle(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Nothing to look after.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUpkeep;

impl Upkeep for NoUpkeep {}
