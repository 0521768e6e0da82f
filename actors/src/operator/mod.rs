//! What the operator of a runner has asked for besides jobs: the state of the machine, a program after each job,
//! copies of the logs.
//!
//! Nothing of it may fail a job or hold a row back: what goes wrong is a warning to the operator.

mod caretaker;
mod health;
mod log_copy;
mod post_task;

pub use caretaker::{Caretaker, CleanUp};
pub use health::Health;
pub use log_copy::{LogCopies, LogCopy};
pub use post_task::{Aftermath, PostTask};
