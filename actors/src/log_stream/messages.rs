//! What a log stream is told.

use actix::Message;
use gantry_protocols::forge::{RowIndex, StepState};

/// Take everything that is still to come; nothing writes to the stream any more.
///
/// The reply comes when every row has its number and is on disk, if there is one; the forge need not have it yet.
#[derive(Message)]
#[rtype(result = "Sealed")]
pub struct SealLog;

/// The reply to [`SealLog`].
#[derive(Debug, Clone, Default)]
pub struct Sealed {
    /// The number that the next row would have.
    pub rows: RowIndex,
    /// The steps as they ended.
    pub steps: Vec<StepState>,
}

/// Deliver everything that is left, then end.
#[derive(Message)]
#[rtype(result = "LogClosed")]
pub struct CloseLog {
    /// Whether to be silent about a forge that cannot be reached, until it can.
    pub patient: bool,
}

/// The reply to [`CloseLog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogClosed {
    /// The forge has acknowledged everything that it will ever take.
    Delivered,
    /// The forge cannot be reached now. Delivery goes on; ask again, patiently.
    Away,
}
