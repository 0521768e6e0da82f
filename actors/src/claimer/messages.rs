//! What a claimer is told.

use actix::Message;
use gantry_protocols::forge::{Claim, Error};

use super::{Pacing, Slot};
use crate::journal::TaskJournal;

/// Claim jobs, however long it takes until there is one and a place for it.
#[derive(Message)]
#[rtype(result = "Claimed")]
pub struct ClaimJobs;

/// Claim nothing more; a claim that is under way is still answered.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopClaiming;

/// Ask the forge at this pace from now on.
#[derive(Message)]
#[rtype(result = "()")]
pub struct SetPacing(pub Pacing);

/// The reply to [`ClaimJobs`].
#[derive(Debug)]
pub enum Claimed {
    /// Jobs that are ours now.
    Jobs(Vec<Taken>),
    /// There will be no more jobs, or none are wanted.
    Ended,
    /// The forge will not give this runner jobs any more.
    Refused(Error),
}

/// A job that is ours, and where that is written down.
#[derive(Debug)]
pub struct Taken {
    /// The job.
    pub claim: Claim,
    /// Its journal, if there is one and it took the claim.
    pub journal: Option<TaskJournal>,
    /// Its place, until it has ended; a forge may hand out more jobs than there are places.
    pub slot: Option<Slot>,
}
