//! One runner that serves one forge until it is told to stop.

use tokio::sync::watch;

use crate::claimer::{Pacing, Polling};
use crate::job::JobContext;
use crate::mailbox::tell;
use crate::supervisor::{Drained, Reconfigure, RequestStop, RunUntilDrained, StopLevel, Supervisor};

/// What later jobs are given, and how often the forge is asked.
#[derive(Clone)]
pub struct Service {
    /// What every job is given.
    pub context: JobContext,
    /// How often the forge is asked.
    pub pacing: Pacing,
}

/// Claims and runs jobs until there are no more, or until a stop has run its course.
///
/// `stops` says how far the stop ladder is climbed. `services` has what jobs are given; when it changes, that holds for
/// later jobs, but the forge and the journal stay those of the beginning.
///
/// # Cancel safety
/// Dropped, it leaves its jobs to themselves; climb the ladder instead.
pub async fn serve(
    polling: Polling,
    mut services: watch::Receiver<Service>,
    mut stops: watch::Receiver<StopLevel>,
) -> Drained {
    let first = services.borrow_and_update().clone();
    let supervisor = Supervisor::start_new(first.context, polling);
    let run = supervisor.send(RunUntilDrained);
    tokio::pin!(run);
    let level = *stops.borrow_and_update();
    if level > StopLevel::Running {
        tell(&supervisor, RequestStop(level));
    }
    let (mut may_stop, mut may_change) = (true, true);
    loop {
        tokio::select! {
            drained = &mut run => return drained.unwrap_or_else(|error| {
                tracing::error!(%error, "the supervisor has died");
                Drained {
                    level: StopLevel::Killing,
                    refused: false,
                    cancelled_jobs: true,
                    undelivered: 0,
                }
            }),
            changed = stops.changed(), if may_stop => match changed {
                Ok(()) => tell(&supervisor, RequestStop(*stops.borrow_and_update())),
                Err(_closed) => may_stop = false,
            },
            changed = services.changed(), if may_change => match changed {
                Ok(()) => {
                    let Service { context, pacing } = services.borrow_and_update().clone();
                    tell(&supervisor, Reconfigure { context, pacing });
                }
                Err(_closed) => may_change = false,
            },
        }
    }
}
