//! The job's order of things as a pure state machine: steps, pre, post, outputs, conclusion.
//!
//! ```text
//! setup(plan) --> Machine --advance()--> StepPlan --(engine::run)--> StepReport --on_step_finished()--> Machine ...
//!                    '--advance()--> Complete --> outputs(), conclusion()
//! ```

mod contexts;
mod machine;
mod outputs;
mod setup;

pub use contexts::{ActionFrame, Frame, JobView, SavedStates, StepIdentity};
pub(crate) use machine::record_step;
pub use machine::{Machine, Next, PostStep, StepPlan, StepReport, Work};
pub use outputs::{JobOutputs, evaluate_outputs};
pub use setup::{EnvLayer, JobSetup, evaluate_setup};

use crate::plan::Conclusion;

/// How a job stands while its steps run; `job.status` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing has failed yet.
    Success,
    /// A step failed that was not tolerated.
    Failure,
    /// The job was cancelled, or ran out of time.
    Cancelled,
}

impl Status {
    /// The word of `job.status`.
    pub fn as_str(self) -> &'static str {
        Conclusion::from(self).as_str()
    }
}

impl From<Status> for Conclusion {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::Success,
            Status::Failure => Self::Failure,
            Status::Cancelled => Self::Cancelled,
        }
    }
}
