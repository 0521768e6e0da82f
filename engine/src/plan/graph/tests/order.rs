//! Which jobs start when, and how the run ends.

use std::time::Duration;

use super::{Bench, check, json, library, mistakes, spec};

#[test]
fn a_job_starts_as_soon_as_its_own_needs_are_done() {
    check(
        "
on: push
jobs:
  a: {STEPS}
  slow: {STEPS}
  b: {needs: a, STEPS}
  c: {needs: [b, slow], STEPS}
",
        &[
            ("start", "start a; start slow"),
            ("a success", "start b"),
            ("b success", ""),
            ("slow success", "start c"),
            ("c success", "finished success"),
        ],
    );
}

#[test]
fn success_looks_at_all_ancestors() {
    let workflow = "
on: push
jobs:
  a: {STEPS}
  b: {needs: a, if: always(), STEPS}
  c: {needs: b, STEPS}
  d: {needs: b, if: failure(), STEPS}
";
    let bench = check(
        workflow,
        &[
            ("start", "start a"),
            ("a failure", "start b"),
            ("b success", "c is skipped; start d"),
            ("d success", "finished failure"),
        ],
    );
    assert_eq!(bench.reason("c"), "job 'a', which it needs, ended with failure");
    check(
        workflow,
        &[
            ("start", "start a"),
            ("a success", "start b"),
            ("b success", "start c; d is skipped"),
            ("c success", "finished success"),
        ],
    );
}

#[test]
fn a_skipped_ancestor_skips_what_needs_it() {
    let bench = check(
        "
on: push
jobs:
  a: {if: \"github.ref == 'x'\", STEPS}
  b: {needs: a, STEPS}
  c: {needs: b, STEPS}
  d: {needs: [a, c], if: always(), STEPS}
",
        &[
            ("start", "a is skipped; b is skipped; c is skipped; start d"),
            ("d success", "finished success"),
        ],
    );
    assert_eq!(bench.reason("a"), "its condition is false: github.ref == 'x'");
    assert_eq!(
        json(&bench.plan("d").contexts.needs),
        r#"{"a":{"result":"skipped","outputs":{}},"c":{"result":"skipped","outputs":{}}}"#
    );
}

#[test]
fn status_functions_take_ids() {
    check(
        "
on: push
jobs:
  a: {STEPS}
  b: {STEPS}
  both: {needs: [a, b], if: success(), STEPS}
  one: {needs: [a, b], if: \"success('B')\", STEPS}
  other: {needs: [a, b], if: \"failure('b')\", STEPS}
  first: {needs: [a, b], if: \"failure('a')\", STEPS}
",
        &[
            ("start", "start a; start b"),
            ("a failure", ""),
            (
                "b success",
                "both is skipped; start one; other is skipped; start first",
            ),
            ("one success", ""),
            ("first success", "finished failure"),
        ],
    );
}

#[test]
fn all_jobs_skipped_is_a_skipped_run() {
    check(
        "
on: push
jobs:
  a: {if: false, STEPS}
  b: {needs: a, STEPS}
",
        &[
            ("start", "a is skipped; b is skipped; finished skipped"),
            ("a success", ""),
        ],
    );
}

#[test]
fn a_tolerated_failure_is_a_success_for_needs_and_run() {
    check(
        "
on: push
jobs:
  a: {continue-on-error: true, STEPS}
  b: {needs: a, if: \"success() && needs.a.result == 'success'\", STEPS}
",
        &[
            ("start", "start a"),
            ("a failure", "start b"),
            ("b success", "finished success"),
        ],
    );
}

#[test]
fn a_matrix_is_not_evaluated_when_its_job_is_skipped() {
    check(
        "
on: push
jobs:
  plan: {STEPS}
  work:
    needs: plan
    if: needs.plan.outputs.go == 'yes'
    strategy: {matrix: '${{ fromJSON(needs.plan.outputs.m) }}'}
    runs-on: x
    steps: [{run: a}]
",
        &[
            ("start", "start plan"),
            ("plan success go=no", "work is skipped; finished success"),
        ],
    );
}

#[test]
fn a_matrix_comes_of_outputs() {
    let bench = check(
        "
on: push
jobs:
  plan: {STEPS}
  work:
    name: '${{ matrix.v }} of ${{ strategy.job-total }}'
    needs: plan
    strategy: {matrix: {v: '${{ fromJSON(needs.plan.outputs.m) }}'}}
    runs-on: ['${{ matrix.v }}', linux]
    timeout-minutes: ${{ fromJSON('7') }}
    steps: [{run: a}]
",
        &[
            ("start", "start plan"),
            ("plan success m=[\"a\",\"b\"]", "start work(a); start work(b)"),
            ("work(a) success", ""),
            ("work(b) success", "finished success"),
        ],
    );
    let plan = bench.plan("work(b)");
    assert_eq!(plan.name, "b of 2");
    assert_eq!(plan.runs_on.labels, ["b", "linux"]);
    assert_eq!(plan.timeout, Some(Duration::from_mins(7)));
    assert_eq!(plan.cancel_timeout, Duration::from_mins(5));
    assert_eq!(plan.contexts.github.get("job").unwrap().as_str(), Some("work"));
    assert_eq!(bench.plan("plan").timeout, Some(Duration::from_hours(6)));
}

#[test]
fn what_cannot_be_evaluated_fails_its_job_only() {
    let bench = check(
        "
on: push
jobs:
  a:
    strategy: {matrix: {v: '${{ fromJSON(github.ref) }}'}}
    runs-on: x
    steps: [{run: a}]
  b:
    runs-on: ${{ fromJSON('[') }}
    steps: [{run: a}]
  c: {if: \"fromJSON('[')\", STEPS}
  d: {STEPS}
  e: {needs: [a, b, c, d], if: always(), STEPS}
",
        &[
            ("start", "a is failure; b is failure; c is failure; start d"),
            ("d success", "start e"),
            ("e success", "finished failure"),
        ],
    );
    assert!(
        bench
            .reason("a")
            .starts_with("Error when evaluating 'strategy' for job 'a'. w.yml (Line: 5, Col: 28): ")
    );
    assert!(
        bench
            .reason("b")
            .starts_with("Error when evaluating 'runs-on' for job 'b'. w.yml (Line: 9, Col: 14): ")
    );
    assert!(
        bench
            .reason("c")
            .starts_with("Error when evaluating 'if' for job 'c'. w.yml (Line: 11, Col: 11): ")
    );
}

#[test]
fn the_results_and_outputs_of_legs_are_merged() {
    let workflow = "
on: push
jobs:
  m:
    strategy: {fail-fast: false, matrix: {v: [1, 2, 3]}}
    runs-on: x
    steps: [{run: a}]
  n: {needs: m, if: always(), STEPS}
";
    for (ends, expected) in [
        (["success", "success", "success"], "success"),
        (["success", "cancelled", "success"], "cancelled"),
        (["failure", "cancelled", "success"], "failure"),
    ] {
        let mut bench = Bench::new(workflow, &[]);
        assert_eq!(bench.event("start"), "start m(_1); start m(_2); start m(_3)");
        assert_eq!(bench.event(&format!("m(_2) {} o=two p=", ends[1])), "");
        assert_eq!(bench.event(&format!("m(_1) {} o=one q=1", ends[0])), "");
        assert_eq!(bench.event(&format!("m(_3) {} o= q=", ends[2])), "start n");
        assert_eq!(
            json(&bench.plan("n").contexts.needs),
            format!(r#"{{"m":{{"result":"{expected}","outputs":{{"o":"one","p":"","q":"1"}}}}}}"#)
        );
    }
}

#[test]
fn max_parallel_holds_legs_back() {
    check(
        "
on: push
jobs:
  m:
    strategy: {max-parallel: 2, fail-fast: false, matrix: {v: [1, 2, 3, 4]}}
    runs-on: x
    steps: [{run: a}]
",
        &[
            ("start", "start m(_1); start m(_2)"),
            ("m(_2) failure", "start m(_3)"),
            ("m(_1) success", "start m(_4)"),
            ("m(_4) success", ""),
            ("m(_3) success", "finished failure"),
        ],
    );
}

#[test]
fn a_run_may_be_one_job_and_what_it_needs() {
    let library = library(&[]);
    let mut spec = spec(
        &library,
        "
on: push
jobs:
  a: {STEPS}
  b: {needs: a, STEPS}
  c: {needs: b, STEPS}
  d: {STEPS}
",
    );
    spec.only = Some("B".to_owned());
    Bench::of(spec).play(&[
        ("start", "start a"),
        ("a success", "start b"),
        ("b success", "finished success"),
    ]);
}

#[test]
fn an_unknown_job_is_a_mistake() {
    let library = library(&[]);
    let mut spec = spec(&library, "on: push\njobs:\n  build: {STEPS}");
    spec.only = Some("biuld".to_owned());
    let errors = super::Run::new(spec).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "w.yml: the workflow has no job 'biuld' (did you mean 'build'?)"
    );
}

#[test]
fn a_literal_matrix_is_checked_before_the_start() {
    let numbers = (0..17)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let workflow = format!(
        "
on: push
jobs:
  a: {{strategy: {{matrix: {{v: [{numbers}], w: [{numbers}]}}}}, STEPS}}
"
    );
    assert_eq!(
        mistakes(&workflow, &[]),
        ["w.yml (Line: 4, Col: 26): Strategy expansion exceeded 256 results for job 'a'"]
    );
}
