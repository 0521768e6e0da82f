//! What a job does next, as tables of events and effects.

use std::sync::Arc;

use gantry_engine::expr::{Object, Value};
use gantry_engine::job::JobSetup;
use gantry_engine::model::Workflow;
use gantry_engine::plan::{JobContexts, JobPlan};
use gantry_protocols::forge::RowIndex;

use super::*;

const LIMITS: Limits = Limits {
    timeout: Some(Duration::from_mins(10)),
    cancel_timeout: Duration::from_mins(5),
    late: Conclusion::Cancelled,
};

fn machine(steps: &str) -> Machine {
    let text = format!("on: push\njobs: {{j: {{runs-on: x, steps: {steps}}}}}\n");
    let workflow = Arc::new(Workflow::parse("w.yml", &text).unwrap());
    let empty: Arc<Object> = Arc::default();
    let plan = JobPlan {
        run: 0,
        key: "j".to_owned(),
        name: "j".to_owned(),
        job: workflow.jobs.first().unwrap().clone(),
        workflow,
        contexts: JobContexts {
            github: empty.clone(),
            inputs: empty.clone(),
            vars: empty.clone(),
            secrets: empty.clone(),
            needs: empty.clone(),
            strategy: empty.clone(),
            matrix: Value::Null,
        },
        runs_on: gantry_engine::model::RunsOn::default(),
        timeout: None,
        cancel_timeout: Duration::from_mins(5),
        continue_on_error: false,
        conditions: Vec::new(),
    };
    Machine::new(&plan, JobSetup::default(), empty.clone(), empty)
}

fn show(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .map(|effect| match effect {
            Effect::RunStep(plan) => format!("run {} as {}", plan.step.id, plan.view.status.as_str()),
            Effect::Keep {
                conclusion, sealed, ..
            } => {
                format!("keep {} after {} rows", conclusion.as_str(), sealed.rows.0)
            }
            Effect::Park(conclusion) => format!("park {}", conclusion.as_str()),
            Effect::Reply(conclusion) => format!("reply {}", conclusion.as_str()),
            Effect::ArmTimeout(after) => format!("time-out in {after:?}"),
            Effect::ArmKill(after) => format!("kill in {after:?}"),
            other => format!("{other:?}"),
        })
        .collect()
}

fn report(index: usize, conclusion: Conclusion) -> StepReport {
    StepReport {
        index,
        outcome: conclusion,
        conclusion,
        outputs: IndexMap::new(),
        env: Arc::default(),
        path: Arc::default(),
        states: Arc::default(),
        posts: Vec::new(),
    }
}

/// A job with two steps that is set up; the first one runs.
fn running() -> State {
    let mut state = State::new();
    assert_eq!(show(&state.on_run()), ["Prepare"]);
    let effects = state.on_prepared(Some(machine("[{run: a, id: a}, {run: b, id: b}]")), LIMITS);
    assert_eq!(show(&effects), ["time-out in 600s", "run a as success"]);
    state
}

#[test]
fn steps_run_in_order_and_the_report_comes_last() {
    let mut state = running();
    assert_eq!(
        show(&state.on_step_ended(Ok(report(0, Conclusion::Success)))),
        ["run b as success"]
    );
    assert_eq!(
        show(&state.on_step_ended(Ok(report(1, Conclusion::Success)))),
        ["WindUp"]
    );
    assert_eq!(
        show(&state.on_wound_up(Conclusion::Success, IndexMap::new())),
        ["SealLog"]
    );
    let sealed = Sealed {
        rows: RowIndex(7),
        steps: Vec::new(),
    };
    assert_eq!(show(&state.on_sealed(sealed)), ["keep success after 7 rows"]);
    assert_eq!(show(&state.on_kept()), ["CloseLog { patient: false }"]);
    assert_eq!(show(&state.on_log_closed(LogClosed::Delivered)), ["Report"]);
    assert_eq!(show(&state.on_completed()), ["reply success"]);
}

#[test]
fn a_job_whose_forge_is_away_is_parked_once_and_still_reported() {
    let mut state = running();
    drop(state.on_kill());
    drop(state.on_step_ended(Ok(report(0, Conclusion::Failure))));
    drop(state.on_wound_up(Conclusion::Failure, IndexMap::new()));
    drop(state.on_sealed(Sealed::default()));
    drop(state.on_kept());
    assert_eq!(
        show(&state.on_log_closed(LogClosed::Away)),
        ["park failure", "CloseLog { patient: true }"]
    );
    assert_eq!(show(&state.on_log_closed(LogClosed::Delivered)), ["Report"]);
    let pause = Duration::from_secs(1);
    assert_eq!(show(&state.on_report_delayed(pause)), ["ReportAfter(1s)"]);
    assert_eq!(show(&state.on_completed()), ["reply failure"]);
}

#[test]
fn a_report_that_fails_parks_the_job() {
    let mut state = running();
    let pause = Duration::from_secs(1);
    assert_eq!(
        show(&state.on_report_delayed(pause)),
        ["park failure", "ReportAfter(1s)"]
    );
}

#[test]
fn later_steps_see_that_one_has_failed() {
    let mut state = running();
    assert_eq!(
        show(&state.on_step_ended(Ok(report(0, Conclusion::Failure)))),
        ["run b as failure"]
    );
}

#[test]
fn a_panic_of_the_runners_own_fails_the_job_and_says_so() {
    let mut state = running();
    let effects = state.on_step_ended(Err("index out of bounds".to_owned()));
    let shown = show(&effects);
    assert!(
        shown
            .first()
            .unwrap()
            .contains("runner bug, please report it: index out of bounds"),
        "{shown:?}"
    );
    assert_eq!(shown.last().unwrap(), "run b as failure");
}

#[test]
fn a_cancel_stops_the_step_and_the_others_decide_for_themselves() {
    let mut state = running();
    assert_eq!(
        show(&state.on_cancel(CancelReason::Requested)),
        ["StopStep(Cancel)", "kill in 300s"]
    );
    assert_eq!(show(&state.on_cancel(CancelReason::Requested)), [""; 0]);
    // A stronger reason changes the reason and nothing else.
    assert_eq!(show(&state.on_cancel(CancelReason::Shutdown)), [""; 0]);
    assert_eq!(
        show(&state.on_step_ended(Ok(report(0, Conclusion::Cancelled)))),
        ["run b as cancelled"]
    );
}

#[test]
fn a_job_that_runs_out_of_time_says_so() {
    let mut state = running();
    let shown = show(&state.on_cancel(CancelReason::Timeout));
    assert!(
        shown
            .first()
            .unwrap()
            .contains("exceeded the maximum execution time of 10 minutes"),
        "{shown:?}"
    );
    assert_eq!(shown.get(1..).unwrap(), ["StopStep(Cancel)", "kill in 300s"]);
}

#[test]
fn a_forge_may_count_a_late_job_as_failed() {
    for (reason, conclusion) in [
        (CancelReason::Timeout, Conclusion::Failure),
        (CancelReason::Requested, Conclusion::Cancelled),
    ] {
        let mut state = running();
        state.limits.late = Conclusion::Failure;
        drop(state.on_cancel(reason));
        drop(state.on_wound_up(Conclusion::Cancelled, IndexMap::new()));
        assert_eq!(state.conclusion, conclusion);
    }
}

#[test]
fn a_kill_runs_no_further_step() {
    let mut state = running();
    assert_eq!(show(&state.on_kill()), ["StopStep(Kill)"]);
    assert_eq!(show(&state.on_kill()), [""; 0]);
    assert_eq!(
        show(&state.on_step_ended(Ok(report(0, Conclusion::Cancelled)))),
        ["WindUp"]
    );
}

#[test]
fn a_cancel_before_the_first_step_is_not_forgotten() {
    let mut state = State::new();
    assert_eq!(show(&state.on_run()), ["Prepare"]);
    assert_eq!(
        show(&state.on_cancel(CancelReason::Requested)),
        ["StopStep(Cancel)", "kill in 300s"]
    );
    let effects = state.on_prepared(Some(machine("[{run: a, id: a}]")), LIMITS);
    assert_eq!(show(&effects), ["time-out in 600s", "run a as cancelled"]);
}

#[test]
fn a_job_that_cannot_be_set_up_is_wound_up_and_reported() {
    let mut state = State::new();
    assert_eq!(show(&state.on_run()), ["Prepare"]);
    assert_eq!(
        show(&state.on_prepared(None, LIMITS)),
        ["time-out in 600s", "WindUp"]
    );
    assert_eq!(
        show(&state.on_cancel(CancelReason::Timeout)),
        ["StopStep(Cancel)", "kill in 300s"]
    );
}

#[test]
fn what_stops_a_job_reaches_the_work_before_and_after_its_steps() {
    let mut state = State::new();
    assert_eq!(show(&state.on_run()), ["Prepare"]);
    assert_eq!(show(&state.on_kill()), ["StopStep(Kill)"]);
    assert!(state.is_killed());
    assert_eq!(
        show(&state.on_prepared(Some(machine("[{run: a}]")), Limits::default())),
        ["WindUp"]
    );
    let machine = state.take_machine().unwrap();
    assert_eq!(machine.conclusion(), Conclusion::Cancelled);

    let mut state = State::new();
    assert_eq!(show(&state.on_run()), ["Prepare"]);
    assert_eq!(show(&state.on_prepared(None, Limits::default())), ["WindUp"]);
    assert_eq!(
        show(&state.on_cancel(CancelReason::Timeout)),
        ["StopStep(Cancel)", "kill in 300s"],
        "the job itself was not too slow"
    );
    assert_eq!(show(&state.on_kill()), ["StopStep(Kill)"]);
    assert_eq!(
        show(&state.on_wound_up(Conclusion::Cancelled, IndexMap::new())),
        ["SealLog"]
    );
    assert!(state.on_cancel(CancelReason::Shutdown).is_empty());
}
