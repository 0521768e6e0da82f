//! What a log stream is told.

use actix::Message;

/// Deliver everything that is still to come, then end. Sent once nothing writes to the stream any more.
///
/// The reply comes when the last row and the last step state are acknowledged.
#[derive(Message)]
#[rtype(result = "()")]
pub struct CloseLog;
