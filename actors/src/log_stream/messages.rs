//! What a log stream is told.

use actix::Message;
use gantry_protocols::forge::RowIndex;

/// Deliver everything that is still to come, then end. Sent once nothing writes to the stream any more.
///
/// The reply comes when the last row and the last step state are acknowledged: the number that the next row would have.
#[derive(Message)]
#[rtype(result = "RowIndex")]
pub struct CloseLog;
