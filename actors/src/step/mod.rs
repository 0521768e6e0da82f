//! The step actor.
//!
//! # Owns
//! One running step: the task that runs it, and the switch that stops it.
//! # Receives
//! [`RunStep`] once, [`StopStep`] any number of times.
//! # Emits
//! Nothing but the reply to [`RunStep`]: the step's report. Rows go to the log stream by the step itself.
//! # Ends when
//! The report was replied. If the work panics, the report says so and the step has failed.

mod messages;

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseActFuture, WrapFuture,
};
use gantry_engine::run::{StopSignal, StopSwitch, run_step};

pub use messages::{RunStep, StepEnded, StopStep};

/// One running step.
pub struct Step {
    switch: StopSwitch,
    signal: StopSignal,
}

impl Actor for Step {
    type Context = Context<Self>;
}

impl Step {
    /// Starts the actor; it waits for [`RunStep`].
    pub fn start_new() -> Addr<Self> {
        let (switch, signal) = StopSwitch::new();
        Self { switch, signal }.start()
    }
}

impl Handler<RunStep> for Step {
    type Result = ResponseActFuture<Self, StepEnded>;

    fn handle(&mut self, RunStep { runtime, plan }: RunStep, _: &mut Self::Context) -> Self::Result {
        let stop = self.signal.clone();
        let work = tokio::spawn(async move { run_step(&runtime, plan, stop).await });
        Box::pin(
            work.into_actor(self)
                .map(|joined, _, context: &mut Context<Self>| {
                    // The reply goes out before the actor stops: the stop waits for the end of this turn.
                    context.run_later(std::time::Duration::ZERO, |_, context| context.stop());
                    joined.map_err(|error| error.to_string())
                }),
        )
    }
}

impl Handler<StopStep> for Step {
    type Result = ();

    fn handle(&mut self, StopStep(stop): StopStep, _: &mut Self::Context) {
        self.switch.raise(stop);
    }
}
