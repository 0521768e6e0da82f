//! What the supervisor is told.

use actix::Message;

use crate::claimer::Pacing;
use crate::job::JobContext;

/// Run jobs until there are no more, or until a stop has run its course.
#[derive(Message)]
#[rtype(result = "Drained")]
pub struct RunUntilDrained;

/// The reply to [`RunUntilDrained`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// The highest rung of the stop ladder that was reached.
    pub level: StopLevel,
    /// Whether the forge turned this runner away.
    pub refused: bool,
    /// Whether jobs were cancelled or killed because the runner stops.
    pub cancelled_jobs: bool,
    /// How many tasks the forge has not got the last word on; those in the journal are delivered after the next start.
    pub undelivered: usize,
}

/// Climb the stop ladder to at least this rung.
#[derive(Message)]
#[rtype(result = "()")]
pub struct RequestStop(pub StopLevel);

/// Run the jobs that are claimed from now on with this context, and ask the forge at this pace.
///
/// The forge and the journal of the context are those that the supervisor has already.
#[derive(Message)]
#[rtype(result = "()")]
pub struct Reconfigure {
    /// What later jobs are given.
    pub context: JobContext,
    /// How often the forge is asked.
    pub pacing: Pacing,
}

/// The rungs of the stop ladder; the supervisor only climbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum StopLevel {
    /// Jobs are claimed and run.
    #[default]
    Running,
    /// Nothing is claimed; running jobs go on.
    Draining,
    /// Running jobs are cancelled; their clean-up runs.
    Cancelling,
    /// Running jobs are killed.
    Killing,
}
