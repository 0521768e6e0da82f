//! Concurrency groups within one run.

use super::{Bench, check};

#[test]
fn one_job_runs_one_waits_and_the_newest_wins() {
    let bench = check(
        "
on: push
jobs:
  a: {concurrency: deploy, STEPS}
  b: {concurrency: Deploy, STEPS}
  c: {concurrency: '${{ format(''{0}'', ''DEPLOY'') }}', STEPS}
  d: {concurrency: other, STEPS}
",
        &[
            ("start", "start a; b is cancelled; start d"),
            ("d success", ""),
            ("a success", "start c"),
            ("c success", "finished cancelled"),
        ],
    );
    assert_eq!(
        bench.reason("b"),
        "Canceling since a higher priority waiting request for 'DEPLOY' exists"
    );
}

#[test]
fn cancel_in_progress_makes_room() {
    check(
        "
on: push
jobs:
  a: {concurrency: g, STEPS}
  first: {STEPS}
  b: {needs: first, concurrency: {group: G, cancel-in-progress: true}, STEPS}
",
        &[
            ("start", "start a; start first"),
            ("first success", "cancel a for group G"),
            ("a cancelled", "start b"),
            ("b success", "finished cancelled"),
        ],
    );
}

#[test]
fn a_job_cannot_wait_for_its_own_workflow() {
    let bench = check(
        "
on: push
concurrency: g
jobs:
  a: {concurrency: G, STEPS}
  b: {STEPS}
",
        &[
            ("start", "a is cancelled; start b"),
            ("b success", "finished cancelled"),
        ],
    );
    assert_eq!(
        bench.reason("a"),
        "Canceling since a deadlock for concurrency group 'G' was detected"
    );
}

#[test]
fn calls_that_wait_for_each_other_do_not_hang_the_run() {
    let callee = "
on: {workflow_call: {inputs: {g: {type: string}}}}
jobs:
  wait: {STEPS}
  j: {needs: wait, concurrency: '${{ inputs.g }}', STEPS}
";
    let mut bench = Bench::new(
        "
on: push
jobs:
  a: {concurrency: one, uses: ./f.yml, with: {g: two}}
  b: {concurrency: two, uses: ./f.yml, with: {g: one}}
",
        &[("f.yml", callee)],
    );
    bench.play(&[
        ("start", "start a.wait; start b.wait"),
        ("a.wait success", ""),
        ("b.wait success", "a.j is cancelled; start b.j"),
        ("b.j success", "finished cancelled"),
    ]);
}

#[test]
fn the_group_of_a_called_workflow_counts() {
    let callee = "
on: workflow_call
concurrency: g
jobs:
  j: {STEPS}
";
    let mut bench = Bench::new(
        "
on: push
jobs:
  a: {uses: ./f.yml}
  b: {uses: ./f.yml}
",
        &[("f.yml", callee)],
    );
    bench.play(&[
        ("start", "start a.j"),
        ("a.j success", "start b.j"),
        ("b.j success", "finished success"),
    ]);
}

#[test]
fn a_cancelled_run_drops_what_waits_for_a_group() {
    check(
        "
on: push
jobs:
  a: {concurrency: g, STEPS}
  b: {concurrency: g, STEPS}
",
        &[
            ("start", "start a"),
            ("cancel", "cancel a; b is cancelled"),
            ("a cancelled", "finished cancelled"),
        ],
    );
}
