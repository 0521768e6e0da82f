//! Fail-fast and cancelled runs.

use super::{check, json};

const MATRIX: &str = "
on: push
jobs:
  m:
    strategy: {max-parallel: 2, matrix: {v: [1, 2, 3], t: [CONTINUE]}}
    continue-on-error: ${{ matrix.v == 1 && matrix.t }}
    runs-on: x
    steps: [{run: a}]
  after: {needs: m, if: always(), STEPS}
";

#[test]
fn the_first_failing_leg_cancels_the_others() {
    let bench = check(
        &MATRIX.replace("CONTINUE", "false"),
        &[
            ("start", "start m(_1_false); start m(_2_false)"),
            (
                "m(_1_false) failure",
                "cancel m(_2_false) for fail-fast; m(_3_false) is cancelled",
            ),
            ("m(_2_false) cancelled", "start after"),
            ("after success", "finished failure"),
        ],
    );
    assert_eq!(bench.reason("m(_3_false)"), "another job of the matrix failed");
    assert_eq!(
        json(&bench.plan("after").contexts.needs),
        r#"{"m":{"result":"failure","outputs":{}}}"#
    );
}

#[test]
fn a_tolerated_leg_cancels_nothing() {
    check(
        &MATRIX.replace("CONTINUE", "true"),
        &[
            ("start", "start m(_1_true); start m(_2_true)"),
            ("m(_1_true) failure", "start m(_3_true)"),
            ("m(_2_true) success", ""),
            ("m(_3_true) success", "start after"),
            ("after success", "finished success"),
        ],
    );
}

#[test]
fn a_cancelled_run_still_runs_what_asks_for_it() {
    let bench = check(
        "
on: push
jobs:
  a: {STEPS}
  keeps: {if: always(), STEPS}
  next: {needs: a, STEPS}
  clean: {needs: a, if: always(), STEPS}
  told: {needs: a, if: cancelled(), STEPS}
  failed: {needs: a, if: failure(), STEPS}
",
        &[
            ("start", "start a; start keeps"),
            ("cancel", "cancel a"),
            ("cancel", ""),
            (
                "a cancelled",
                "next is skipped; start clean; start told; failed is skipped",
            ),
            ("clean success", ""),
            ("told success", ""),
            ("keeps success", "finished cancelled"),
        ],
    );
    assert_eq!(bench.reason("next"), "the run was cancelled");
}

#[test]
fn a_failure_outweighs_the_cancellation() {
    check(
        "on: push\njobs:\n  a: {STEPS}\n  b: {STEPS}",
        &[
            ("start", "start a; start b"),
            ("a failure", ""),
            ("cancel", "cancel b"),
            ("b cancelled", "finished failure"),
        ],
    );
}

#[test]
fn queued_legs_of_a_cancelled_run_never_start() {
    check(
        "
on: push
jobs:
  m:
    strategy: {max-parallel: 1, matrix: {v: [1, 2]}}
    runs-on: x
    steps: [{run: a}]
",
        &[
            ("start", "start m(_1)"),
            ("cancel", "cancel m(_1); m(_2) is cancelled"),
            ("m(_1) success", "finished cancelled"),
        ],
    );
}

#[test]
fn a_run_that_is_cancelled_before_its_start_starts_nothing_but_cleaning() {
    check(
        "on: push\njobs:\n  a: {STEPS}\n  b: {if: always(), STEPS}",
        &[
            ("cancel", ""),
            ("start", "a is skipped; start b"),
            ("start", ""),
            ("b success", "finished cancelled"),
        ],
    );
}

#[test]
fn the_end_of_an_unknown_job_is_ignored() {
    check(
        "on: push\njobs:\n  a: {STEPS}\n  b: {needs: a, STEPS}",
        &[
            ("start", "start a"),
            ("b success", ""),
            ("z success", ""),
            ("a success", "start b"),
            ("a failure", ""),
            ("b success", "finished success"),
            ("cancel", ""),
        ],
    );
}
