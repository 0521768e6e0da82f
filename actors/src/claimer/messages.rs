//! What a claimer is told.

use actix::Message;
use gantry_protocols::forge::{Claim, Error};

/// Claim jobs, however long it takes until there is one.
#[derive(Message)]
#[rtype(result = "Claimed")]
pub struct ClaimJobs {
    /// How many jobs may be claimed at most.
    pub capacity: usize,
}

/// Claim nothing more; a claim that is under way is still answered.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopClaiming;

/// The reply to [`ClaimJobs`].
#[derive(Debug)]
pub enum Claimed {
    /// Jobs that are ours now.
    Jobs(Vec<Claim>),
    /// There will be no more jobs, or none are wanted.
    Ended,
    /// The forge will not give this runner jobs any more.
    Refused(Error),
}
