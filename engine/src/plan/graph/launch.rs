//! From a leg whose turn it is to a job plan.

use std::sync::Arc;
use std::time::Duration;

use super::super::{Conclusion, JobContexts, JobPlan};
use super::frame::{LegPhase, LegRef};
use super::{Effect, Run};
use crate::expr::Object;
use crate::model::{JobBody, StepsJob};

/// GitHub: docs, "Workflow syntax", `timeout-minutes`.
const DEFAULT_TIMEOUT_MINUTES: f64 = 360.0;
const DEFAULT_CANCEL_TIMEOUT_MINUTES: f64 = 5.0;

impl Run {
    /// Starts a leg that has its place and its group; what cannot be evaluated fails it.
    pub(super) fn launch(&mut self, at: LegRef) {
        let job = Arc::clone(&self.job(at.job).job);
        let outcome = match &job.body {
            JobBody::Steps(steps) => self.plan(at, steps).map(|plan| self.start_job(at, plan)),
            JobBody::Call(call) => self.call(at, call),
        };
        if let Err(reason) = outcome {
            self.conclude_leg(at, Conclusion::Failure, reason);
        }
    }

    fn start_job(&mut self, at: LegRef, plan: JobPlan) {
        let leg = self.leg_mut(at);
        leg.phase = LegPhase::Running;
        leg.tolerated = plan.continue_on_error;
        self.running.insert(plan.key.clone(), at);
        self.effects.push(Effect::Start(Box::new(plan)));
    }

    fn plan(&self, at: LegRef, steps: &StepsJob) -> Result<JobPlan, String> {
        let contexts = self.leg_contexts(at);
        let tolerated = self.leg_field(
            at,
            "continue-on-error",
            steps.continue_on_error.as_ref(),
            &contexts,
        )?;
        let runs_on = self.leg_field(at, "runs-on", Some(&steps.runs_on), &contexts)?;
        let timeout = self.leg_field(at, "timeout-minutes", steps.timeout_minutes.as_ref(), &contexts)?;
        let cancel_timeout = self.leg_field(
            at,
            "cancel-timeout-minutes",
            steps.cancel_timeout_minutes.as_ref(),
            &contexts,
        )?;
        let timeout = minutes(timeout.unwrap_or(DEFAULT_TIMEOUT_MINUTES));
        let leg = self.leg(at);
        Ok(JobPlan {
            run: 0,
            key: leg.key.clone(),
            name: leg.name.clone(),
            workflow: Arc::clone(&self.frame(at.job.frame).workflow),
            job: Arc::clone(&self.job(at.job).job),
            contexts: self.fixed_contexts(at),
            runs_on: runs_on.unwrap_or_default(),
            timeout: (!timeout.is_zero()).then_some(timeout),
            cancel_timeout: minutes(cancel_timeout.unwrap_or(DEFAULT_CANCEL_TIMEOUT_MINUTES)),
            continue_on_error: tolerated.unwrap_or(false),
            conditions: self.conditions(at.job),
        })
    }

    fn fixed_contexts(&self, at: LegRef) -> JobContexts {
        let frame = self.frame(at.job.frame);
        let leg = self.leg(at);
        // In a called workflow the context is the caller's, but for the id of the job.
        let mut github = Object::clone(&self.github);
        github.insert("job", self.job(at.job).job.id.as_str());
        JobContexts {
            github: Arc::new(github),
            inputs: Arc::clone(&frame.inputs),
            vars: Arc::clone(&self.vars),
            secrets: Arc::clone(&frame.secrets),
            needs: self.needs(at.job),
            strategy: Arc::clone(&leg.leg.strategy),
            matrix: leg.leg.matrix.clone(),
        }
    }
}

/// Whole minutes, as GitHub's runner counts them: fractions are dropped, and what is negative is none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "fractions are dropped on purpose, and the cast saturates at both ends"
)]
fn minutes(minutes: f64) -> Duration {
    Duration::from_secs((minutes as u32).into()).saturating_mul(60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_whole_and_not_negative() {
        for (given, seconds) in [
            (360.0, 21_600),
            (1.9, 60),
            (0.5, 0),
            (0.0, 0),
            (-3.0, 0),
            (f64::NAN, 0),
            (1e300, 257_698_037_700),
        ] {
            assert_eq!(minutes(given), Duration::from_secs(seconds), "{given}");
        }
    }
}
