//! One job that a forge has taken out of a run: the forge has decided on events, the matrix and the other jobs.
//!
//! The job is planned by the same [`Run`] as every other, after the jobs that it waited for have ended as the forge says.

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;

use super::graph::{Effect, JobResult, Library, Run, RunSpec};
use super::{Conclusion, JobPlan};
use crate::expr::Object;
use crate::model::{ClaimedWorkflow, Diagnostic};

/// What a forge has handed out.
pub struct ClaimedJob {
    /// The workflow with this one job.
    pub workflow: ClaimedWorkflow,
    /// The `github` context.
    pub github: Arc<Object>,
    /// The `vars` context.
    pub vars: Arc<Object>,
    /// The `inputs` context.
    pub inputs: Arc<Object>,
    /// The `secrets` context.
    pub secrets: Arc<Object>,
    /// How the jobs ended that this one waited for, by their ids.
    pub needs: IndexMap<String, JobResult>,
}

/// What is to be done with a claimed job.
#[derive(Debug)]
pub enum Decision {
    /// It runs.
    Run(Box<JobPlan>),
    /// It has ended already: its condition does not hold, or a value that it depends on cannot be had.
    End {
        /// How.
        conclusion: Conclusion,
        /// Why, for the workflow's author.
        reason: String,
    },
}

/// Plans a claimed job.
///
/// # Errors
/// What is wrong with its workflow.
pub fn plan(claimed: ClaimedJob) -> Result<Decision, Vec<Diagnostic>> {
    let ClaimedJob {
        workflow,
        github,
        vars,
        inputs,
        secrets,
        mut needs,
    } = claimed;
    let file = Arc::clone(&workflow.workflow.file);
    let id = workflow.job;
    let mut run = Run::new(RunSpec {
        workflow: Arc::new(workflow.workflow),
        workflows: &Library::default(),
        github,
        vars,
        inputs,
        secrets,
        only: Some(id.clone()),
    })?;
    let mut effects = VecDeque::from(run.start());
    let mut decided = None;
    while let Some(effect) = effects.pop_front() {
        match effect {
            Effect::Start(plan) if plan.job.id == id => {
                if decided.replace(Decision::Run(plan)).is_some() {
                    return Err(vec![several(&file)]);
                }
            }
            Effect::Start(plan) => {
                let result = needs.shift_remove(&plan.job.id).unwrap_or_else(never_ran);
                effects.extend(run.on_job_finished(&plan.key, result));
            }
            Effect::Concluded {
                conclusion, reason, ..
            } => {
                // Of the stand-ins none ends by itself: they have neither a condition nor needs.
                decided = decided.or(Some(Decision::End { conclusion, reason }));
            }
            Effect::Cancel { .. } | Effect::Finished(_) => {}
        }
    }
    decided.ok_or_else(|| vec![nothing(&file)])
}

/// A job of which the forge says nothing counts as one that never ran.
fn never_ran() -> JobResult {
    JobResult {
        conclusion: Conclusion::Skipped,
        outputs: IndexMap::new(),
    }
}

fn several(file: &Arc<str>) -> Diagnostic {
    diagnostic(
        file,
        "multiple jobs found: the matrix has more than one configuration",
    )
}

fn nothing(file: &Arc<str>) -> Diagnostic {
    diagnostic(file, "no jobs found: the matrix has no configuration")
}

fn diagnostic(file: &Arc<str>, message: &str) -> Diagnostic {
    Diagnostic {
        file: Arc::clone(file),
        position: None,
        reached: None,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Value;

    /// The id of a job, how it ended, and its outputs.
    type Need<'a> = (&'a str, Conclusion, &'a [(&'a str, &'a str)]);

    fn decide(text: &str, needs: &[Need<'_>]) -> Result<Decision, String> {
        let needs: IndexMap<String, JobResult> = needs
            .iter()
            .map(|(id, conclusion, outputs)| {
                let outputs = outputs
                    .iter()
                    .map(|(key, value)| ((*key).into(), (*value).into()));
                let result = JobResult {
                    conclusion: *conclusion,
                    outputs: outputs.collect(),
                };
                ((*id).to_owned(), result)
            })
            .collect();
        let workflow = ClaimedWorkflow::parse("w.yml", text, needs.keys().map(String::as_str));
        let text = |errors: Vec<Diagnostic>| {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            lines.join("\n")
        };
        let mut github = Object::new();
        github.insert("actor", Value::from("mona"));
        plan(ClaimedJob {
            workflow: workflow.map_err(text)?,
            github: Arc::new(github),
            vars: Arc::default(),
            inputs: Arc::default(),
            secrets: Arc::default(),
            needs,
        })
        .map_err(text)
    }

    fn runs(text: &str, needs: &[Need<'_>]) -> Box<JobPlan> {
        match decide(text, needs) {
            Ok(Decision::Run(plan)) => plan,
            other => panic!("{other:?}"),
        }
    }

    fn ends(text: &str, needs: &[Need<'_>]) -> (Conclusion, String) {
        match decide(text, needs) {
            Ok(Decision::End { conclusion, reason }) => (conclusion, reason),
            other => panic!("{other:?}"),
        }
    }

    const PLAIN: &str = "on: push\njobs:\n  b:\n    runs-on: x\n    steps:\n      - run: 'true'\n";

    #[test]
    fn a_job_sees_how_those_ended_that_it_waited_for() {
        let text = PLAIN.replace(
            "runs-on: x",
            "runs-on: x\n    needs: [other, a]\n    name: ${{ needs.a.outputs.v }}-${{ gitea.actor }}",
        );
        let plan = runs(&text, &[("a", Conclusion::Success, &[("v", "${{ 1 }}")])]);
        assert_eq!(plan.name, "${{ 1 }}-mona");
        let needs = Value::object(Object::clone(&plan.contexts.needs)).to_json();
        let needs: serde_json::Value = serde_json::from_str(&needs).unwrap();
        let wanted = serde_json::json!({"a": {"result": "success", "outputs": {"v": "${{ 1 }}"}}});
        assert_eq!(needs, wanted);
    }

    #[test]
    fn conditions_ask_how_the_others_ended() {
        for (condition, needed, runs) in [
            ("success()", Conclusion::Success, true),
            ("success()", Conclusion::Failure, false),
            ("failure()", Conclusion::Failure, true),
            ("always()", Conclusion::Cancelled, true),
            (
                "needs.a.result == 'skipped' && always()",
                Conclusion::Skipped,
                true,
            ),
        ] {
            let text = PLAIN.replace("runs-on: x", &format!("runs-on: x\n    if: {condition}"));
            let decision = decide(&text, &[("a", needed, &[])]).unwrap();
            assert_eq!(
                matches!(decision, Decision::Run(_)),
                runs,
                "{condition} {needed:?}"
            );
        }
        assert_eq!(
            ends(PLAIN, &[("a", Conclusion::Failure, &[])]).0,
            Conclusion::Skipped
        );
    }

    #[test]
    fn what_a_forge_writes_anew_is_read_with_indulgence() {
        let text = PLAIN.replace(
            "runs-on: x",
            "timeout-minutes: '3'\n    continue-on-error: 'true'\n    pool: y\n    strategy:\n      fail-fast: 'false'\n      matrix:\n        v: [1]",
        );
        let plan = runs(&text, &[]);
        assert_eq!(plan.timeout, Some(std::time::Duration::from_mins(3)));
        assert!(plan.continue_on_error && plan.runs_on.labels.is_empty());
        assert_eq!((plan.key.as_str(), plan.name.as_str()), ("b(_1)", "b (1)"));
        let notes = ClaimedWorkflow::parse("w.yml", &text, []).unwrap().notes;
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "w.yml (Line: 6, Col: 5): Unexpected value 'pool'",
                "w.yml (Line: 4, Col: 5): Required property is missing: runs-on"
            ]
        );
    }

    #[test]
    fn what_is_not_one_job_is_refused() {
        let several = format!("{PLAIN}  c:\n    runs-on: x\n    steps: []\n");
        let matrix = PLAIN.replace("runs-on: x", "runs-on: x\n    strategy: {matrix: {v: [1, 2]}}");
        for (text, wanted) in [
            ("jobs: {}", "w.yml: no jobs found"),
            (&several, "w.yml: multiple jobs found"),
            (
                &matrix,
                "w.yml: multiple jobs found: the matrix has more than one configuration",
            ),
            ("", "w.yml"),
            ("a: [", "w.yml"),
            ("\u{0}", "w.yml"),
        ] {
            let found = decide(text, &[]).unwrap_err();
            assert!(found.starts_with(wanted), "{text:?}: {found}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_had_ends_the_job() {
        let text = PLAIN.replace(
            "runs-on: x",
            "runs-on: x\n    timeout-minutes: ${{ fromJSON('x') }}",
        );
        let (conclusion, reason) = ends(&text, &[]);
        assert_eq!(conclusion, Conclusion::Failure);
        assert!(reason.contains("timeout-minutes"), "{reason}");
    }
}
