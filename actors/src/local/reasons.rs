//! Why steps were skipped: kept from the observation of their conditions until their ends are told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gantry_engine::expr::Explanation;
use gantry_engine::run::{Observation, ObservedJob, Observer, Part};

use super::JobRef;

/// Notes the reasons, and hands every observation on.
#[derive(Debug)]
pub(super) struct Reasons {
    next: Option<Arc<dyn Observer>>,
    jobs: Mutex<HashMap<ObservedJob, Job>>,
}

#[derive(Debug, Default)]
struct Job {
    /// The place of the step that is open, and how many steps are open in it; none for what is no step of the job.
    open: Option<(usize, usize)>,
    reasons: HashMap<usize, String>,
}

impl Reasons {
    /// Hands observations on to `next`.
    pub fn new(next: Option<Arc<dyn Observer>>) -> Self {
        Self {
            next,
            jobs: Mutex::default(),
        }
    }

    /// Why a step was skipped; it is asked only once.
    pub fn take(&self, job: &JobRef, index: usize) -> Option<String> {
        let job = ObservedJob {
            run: job.run.index,
            key: Arc::clone(&job.key),
        };
        self.jobs().get_mut(&job)?.reasons.remove(&index)
    }

    /// Nothing more will be asked about the job.
    pub fn forget(&self, job: &JobRef) {
        self.jobs().remove(&ObservedJob {
            run: job.run.index,
            key: Arc::clone(&job.key),
        });
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<ObservedJob, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Reasons {
    fn observe(&self, job: &ObservedJob, observation: Observation) {
        self.jobs().entry(job.clone()).or_default().note(&observation);
        if let Some(next) = &self.next {
            next.observe(job, observation);
        }
    }
}

impl Job {
    fn note(&mut self, observation: &Observation) {
        match (observation, &mut self.open) {
            (Observation::StepOpened(step), None) if step.part == Part::Main => {
                self.open = Some((step.index, 0));
            }
            (Observation::StepOpened(_), Some((_, inner))) => *inner += 1,
            (Observation::StepClosed { .. }, Some((_, 0))) => self.open = None,
            (Observation::StepClosed { .. }, Some((_, inner))) => *inner -= 1,
            (Observation::Condition(explanation), Some((index, 0))) if explanation.answer == Ok(false) => {
                self.reasons.insert(*index, reason(explanation));
            }
            _ => {}
        }
    }
}

/// What a person reads of a condition that does not hold.
fn reason(explanation: &Explanation) -> String {
    const STATUS: &str = "success()";
    let condition = explanation.condition.as_str();
    let mut operands = explanation.operands.iter();
    let has_failed = operands.any(|operand| operand.text == STATUS && operand.value == "false");
    // A condition without a status function asks for this by itself.
    let written = condition
        .strip_prefix("success() && (")
        .and_then(|rest| rest.strip_suffix(')'));
    match written {
        _ if condition == STATUS => "the job had failed or was cancelled before".to_owned(),
        Some(_) if has_failed => "the job had failed or was cancelled before".to_owned(),
        Some(written) => format!("its condition is false: {written}"),
        None => format!("its condition is false: {condition}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use gantry_engine::expr::Operand;
    use gantry_engine::plan::Conclusion;
    use gantry_engine::run::OpenedStep;

    use super::*;

    fn explanation(condition: &str, status: &str) -> Explanation {
        Explanation {
            condition: condition.to_owned(),
            operands: vec![Operand {
                text: "success()".to_owned(),
                value: status.to_owned(),
            }],
            answer: Ok(false),
        }
    }

    #[test]
    fn a_reason_says_what_is_false() {
        let failed = "the job had failed or was cancelled before";
        for (condition, status, want) in [
            ("success()", "false", failed),
            ("success() && (github.ref == 'x')", "false", failed),
            (
                "success() && (github.ref == 'x')",
                "true",
                "its condition is false: github.ref == 'x'",
            ),
            (
                "failure() || success()",
                "false",
                "its condition is false: failure() || success()",
            ),
        ] {
            assert_eq!(reason(&explanation(condition, status)), want);
        }
    }

    #[test]
    fn only_the_condition_of_the_step_itself_counts() {
        let opened = |index, depth, part| {
            Observation::StepOpened(OpenedStep {
                depth,
                index,
                part,
                id: None,
                name: String::new(),
                line: 1,
                at: SystemTime::UNIX_EPOCH,
            })
        };
        let closed = || Observation::StepClosed {
            outcome: Conclusion::Success,
            conclusion: Conclusion::Success,
            at: SystemTime::UNIX_EPOCH,
        };
        let condition = |text: &str| Observation::Condition(explanation(text, "true"));
        let mut job = Job::default();
        for observation in [
            opened(0, 0, Part::Main),
            opened(0, 1, Part::Main),
            condition("inner"),
            closed(),
            closed(),
            opened(1, 0, Part::Main),
            condition("own"),
            closed(),
            opened(0, 0, Part::Post),
            condition("post"),
            closed(),
        ] {
            job.note(&observation);
        }
        let want = [(1, "its condition is false: own".to_owned())];
        assert_eq!(job.reasons, HashMap::from(want));
        assert!(job.open.is_none());
    }
}
