//! What a step is told.

use std::sync::Arc;

use actix::Message;
use gantry_engine::job::{StepPlan, StepReport};
use gantry_engine::run::{JobRuntime, Stop};

/// The reply to [`RunStep`]: the report, or the text of the panic that ended the work.
pub type StepEnded = Result<StepReport, String>;

/// Run a step to its end.
#[derive(Message)]
#[rtype(result = "StepEnded")]
pub struct RunStep {
    /// What all steps of the job share.
    pub runtime: Arc<JobRuntime>,
    /// The step.
    pub plan: StepPlan,
}

/// Stop the step; a lower level than before changes nothing.
#[derive(Message)]
#[rtype(result = "()")]
pub struct StopStep(pub Stop);
