//! Reusable workflows.

use super::{Bench, check, json, library, mistakes, spec};

const CALLEE: &str = "
on:
  workflow_call:
    inputs:
      flag: {type: boolean, default: true}
      count: {type: number, required: true}
      word: {type: string}
    secrets:
      token: {required: true}
      other:
    outputs:
      sum: {value: '${{ jobs.last.outputs.sum }}'}
      first: {value: '${{ jobs.first.result }}'}
env: {E: '1'}
jobs:
  first: {STEPS}
  last: {needs: first, STEPS}
";

#[test]
fn inputs_secrets_and_outputs_pass_through() {
    let mut bench = Bench::new(
        "
on: push
jobs:
  call:
    uses: ./.github/workflows/f.yml
    with: {COUNT: 3, word: '${{ github.event_name }}-word'}
    secrets: {token: '${{ secrets.ONE }}', other: '${{ secrets.none }}'}
  use: {needs: call, STEPS}
",
        &[(".github/workflows/f.yml", CALLEE)],
    );
    bench.play(&[
        ("start", "start call.first"),
        ("call.first success inner=1", "start call.last"),
        ("call.last success sum=7 inner=2", "start use"),
        ("use success", "finished success"),
    ]);
    let plan = bench.plan("call.last");
    assert_eq!(plan.name, "call / last");
    assert_eq!(plan.workflow.file.as_ref(), ".github/workflows/f.yml");
    assert_eq!(
        json(&plan.contexts.inputs),
        r#"{"flag":true,"count":3,"word":"push-word"}"#
    );
    assert_eq!(
        json(&plan.contexts.secrets),
        r#"{"GITHUB_TOKEN":"t0ken","token":"1"}"#
    );
    assert_eq!(
        json(&plan.contexts.needs),
        r#"{"first":{"result":"success","outputs":{"inner":"1"}}}"#
    );
    assert_eq!(
        json(&bench.plan("use").contexts.needs),
        r#"{"call":{"result":"success","outputs":{"sum":"7","first":"success"}}}"#
    );
}

#[test]
fn a_skipped_job_of_a_callee_has_the_result_skipped() {
    let callee = "
on:
  workflow_call:
    outputs:
      ok: {value: '${{ jobs.one.result }}'}
      left_out: {value: '${{ jobs.two.result }}'}
jobs:
  one: {STEPS}
  two: {if: '${{ false }}', STEPS}
";
    let mut bench = Bench::new(
        "
on: push
jobs:
  call: {uses: ./f.yml}
  end: {needs: call, if: always(), STEPS}
",
        &[("f.yml", callee)],
    );
    bench.play(&[
        ("start", "start call.one; call.two is skipped"),
        ("call.one success", "start end"),
    ]);
    let needs = json(&bench.plan("end").contexts.needs);
    assert_eq!(
        needs,
        r#"{"call":{"result":"success","outputs":{"ok":"success","left_out":"skipped"}}}"#
    );
}

#[test]
fn a_caller_may_have_a_matrix_and_a_condition() {
    let callee = "
on: {workflow_call: {inputs: {v: {type: number}}, outputs: {o: {value: '${{ jobs.j.outputs.o }}'}}}}
jobs:
  j: {STEPS}
  k: {if: failure(), STEPS}
";
    let mut bench = Bench::new(
        "
on: push
jobs:
  a: {STEPS}
  call:
    name: build ${{ matrix.v }}
    needs: a
    if: failure()
    strategy: {max-parallel: 1, fail-fast: false, matrix: {v: [1, 2]}}
    uses: ./f.yml
    with: {v: '${{ matrix.v }}'}
  never: {uses: ./f.yml, if: false}
  end: {needs: call, if: always(), STEPS}
",
        &[("f.yml", callee)],
    );
    bench.play(&[
        ("start", "start a; never is skipped"),
        // The failed ancestor of the caller is none of the callee's.
        ("a failure", "start call(_1).j; call(_1).k is skipped"),
        (
            "call(_1).j success o=one",
            "start call(_2).j; call(_2).k is skipped",
        ),
        ("call(_2).j failure", "start end"),
        ("end success", "finished failure"),
    ]);
    assert_eq!(bench.plan("call(_2).j").name, "build 2 / j");
    assert_eq!(json(&bench.plan("call(_2).j").contexts.inputs), r#"{"v":2}"#);
    assert_eq!(
        json(&bench.plan("end").contexts.needs),
        r#"{"call":{"result":"failure","outputs":{"o":"one"}}}"#
    );
}

#[test]
fn fail_fast_reaches_into_called_workflows() {
    let callee = "
on: workflow_call
jobs:
  j: {STEPS}
  clean: {needs: j, if: always(), STEPS}
";
    let mut bench = Bench::new(
        "
on: push
jobs:
  call:
    strategy: {matrix: {v: [1, 2]}}
    uses: ./f.yml
",
        &[("f.yml", callee)],
    );
    bench.play(&[
        ("start", "start call(_1).j; start call(_2).j"),
        ("call(_1).j failure", "start call(_1).clean"),
        ("call(_1).clean success", "cancel call(_2).j for fail-fast"),
        ("call(_2).j cancelled", "start call(_2).clean"),
        ("call(_2).clean success", "finished failure"),
    ]);
}

#[test]
fn inherited_secrets_are_those_that_the_caller_had() {
    let outer = "
on: {workflow_call: {secrets: {one: {}}}}
jobs:
  in: {uses: ./inner.yml, secrets: inherit}
";
    let inner = "
on: workflow_call
jobs:
  j: {STEPS}
";
    let mut bench = Bench::new(
        "
on: push
jobs:
  out: {uses: ./outer.yml, secrets: {one: '${{ secrets.ONE }}'}}
  all: {uses: ./inner.yml, secrets: inherit}
",
        &[("outer.yml", outer), ("inner.yml", inner)],
    );
    assert_eq!(bench.event("start"), "start all.j; start out.in.j");
    assert_eq!(
        json(&bench.plan("out.in.j").contexts.secrets),
        r#"{"GITHUB_TOKEN":"t0ken","one":"1"}"#
    );
    assert_eq!(
        json(&bench.plan("all.j").contexts.secrets),
        r#"{"GITHUB_TOKEN":"t0ken","ONE":"1","TWO":"2"}"#
    );
}

#[test]
fn a_secret_is_never_evaluated_again() {
    let library = library(&[(
        "f.yml",
        "on: {workflow_call: {secrets: {s: {}}}}\njobs:\n  j: {STEPS}",
    )]);
    let mut spec = spec(
        &library,
        "
on: push
jobs:
  call: {uses: ./f.yml, secrets: {s: '${{ secrets.S }}'}}
",
    );
    spec.secrets = std::sync::Arc::new([("S", "a${{ github.ref }}b")].into_iter().collect());
    let mut bench = Bench::of(spec);
    assert_eq!(bench.event("start"), "start call.j");
    let secrets = &bench.plan("call.j").contexts.secrets;
    assert_eq!(secrets.get("s").unwrap().as_str(), Some("a${{ github.ref }}b"));
}

#[test]
fn local_references_in_a_remote_workflow_name_its_repository() {
    let mut bench = Bench::new(
        "
on: push
jobs:
  call: {uses: o/r/.github/workflows/a.yml@v1}
",
        &[
            (
                "o/r/.github/workflows/a.yml@v1",
                "on: workflow_call\njobs:\n  in: {uses: ./.github/workflows/b.yml}",
            ),
            (
                "o/r/.github/workflows/b.yml@v1",
                "on: workflow_call\njobs:\n  j: {STEPS}",
            ),
        ],
    );
    assert_eq!(bench.event("start"), "start call.in.j");
    assert_eq!(bench.plan("call.in.j").name, "call / in / j");
}

#[test]
fn types_are_checked_after_evaluation() {
    let bench = check_with(
        "
on: push
jobs:
  call: {uses: ./f.yml, with: {count: '${{ github.ref }}'}, secrets: {token: x}}
",
        &[("start", "call is failure; finished failure")],
    );
    assert_eq!(
        bench.reason("call"),
        "Error when evaluating 'with' for job 'call'. w.yml (Line: 4, Col: 39): Unexpected value 'refs/heads/main'"
    );
}

fn check_with(root: &str, script: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new(root, &[("f.yml", CALLEE)]);
    bench.play(script);
    bench
}

#[test]
fn calls_are_checked_before_the_start() {
    let call = |rest: &str| format!("on: push\njobs:\n  call:\n    uses: ./f.yml\n{rest}");
    let position = "w.yml (Line: 4, Col: 11): ";
    for (rest, expected) in [
        (
            "",
            vec![
                format!("{position}Input count is required, but not provided while calling."),
                format!("{position}Secret token is required, but not provided while calling."),
            ],
        ),
        ("    with: {count: 1}\n    secrets: inherit", vec![]),
        (
            "    with: {count: 1, cuont: 2}\n    secrets: {token: x, tokne: y}",
            vec![
                "w.yml (Line: 5, Col: 22): Invalid input, cuont is not defined in the referenced workflow."
                    .to_owned(),
                "w.yml (Line: 6, Col: 32): Invalid secret, tokne is not defined in the referenced workflow."
                    .to_owned(),
            ],
        ),
        (
            "    with: {count: abc, flag: 'true', word: 3}\n    secrets: inherit",
            vec![
                "w.yml (Line: 5, Col: 30): Unexpected value 'true'".to_owned(),
                "w.yml (Line: 5, Col: 19): Unexpected value 'abc'".to_owned(),
            ],
        ),
    ] {
        assert_eq!(mistakes(&call(rest), &[("f.yml", CALLEE)]), expected, "{rest}");
    }
    assert_eq!(
        mistakes(&call(""), &[("f.yml", "on: push\njobs:\n  j: {STEPS}")]),
        [format!(
            "{position}workflow_call key is not defined in the referenced workflow."
        )]
    );
    assert_eq!(
        mistakes(&call(""), &[]),
        [format!("{position}the reusable workflow './f.yml' was not found")]
    );
}

#[test]
fn ten_levels_are_legal_and_cycles_are_not() {
    let chain: Vec<(String, String)> = (1..=10)
        .map(|level| {
            let body = if level == 10 {
                "{STEPS}".to_owned()
            } else {
                format!("{{uses: ./{}.yml}}", level + 1)
            };
            (
                format!("{level}.yml"),
                format!("on: workflow_call\njobs:\n  j: {body}"),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = chain
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let root = "on: push\njobs:\n  j: {uses: ./LEVEL.yml}";
    assert_eq!(
        mistakes(&root.replace("LEVEL", "2"), &files),
        Vec::<String>::new()
    );
    assert_eq!(
        mistakes(&root.replace("LEVEL", "1"), &files),
        ["9.yml (Line: 3, Col: 13): Nested reusable workflow depth exceeded 10."]
    );
    let circle = [(
        "c.yml",
        "on: workflow_call\njobs:\n  a: {uses: ./c.yml}\n  b: {uses: ./c.yml}",
    )];
    let found = mistakes("on: push\njobs:\n  j: {uses: ./c.yml}", &circle);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].ends_with("Nested reusable workflow depth exceeded 10."),
        "{found:?}"
    );
}

#[test]
fn a_callee_may_only_lower_permissions() {
    let callee = "
on: workflow_call
permissions: {contents: write}
jobs:
  j: {permissions: {issues: write, contents: read}, STEPS}
";
    let call = |permissions: &str| {
        mistakes(
            &format!(
                "on: push\npermissions: {{contents: read}}\njobs:\n  call: {{uses: ./f.yml{permissions}}}"
            ),
            &[("f.yml", callee)],
        )
    };
    let place = "w.yml (Line: 4, Col: 3): Error calling workflow './f.yml'.";
    assert_eq!(
        call(""),
        [
            format!(
                "{place} The workflow is requesting 'contents: write', but is only allowed 'contents: read'."
            ),
            format!(
                "{place} The nested job 'j' is requesting 'issues: write', but is only allowed 'issues: none'."
            ),
        ]
    );
    assert_eq!(call(", permissions: write-all"), Vec::<String>::new());
}

#[test]
fn a_workflow_that_can_only_be_called_gets_its_defaults_when_it_is_run_by_itself() {
    let bench = check(
        "
on: {workflow_call: {inputs: {word: {type: string, default: no}, n: {type: number, default: 4}, b: {type: boolean}}}}
jobs:
  j: {STEPS}
",
        &[("start", "start j")],
    );
    assert_eq!(
        json(&bench.plan("j").contexts.inputs),
        r#"{"word":"hello","n":4,"b":false}"#
    );
}

#[test]
fn other_triggers_leave_the_inputs_as_they_are_given() {
    let bench = check(
        "
on: {push: {}, workflow_call: {inputs: {n: {type: number, default: 4}}}}
jobs:
  j: {STEPS}
",
        &[("start", "start j")],
    );
    assert_eq!(json(&bench.plan("j").contexts.inputs), r#"{"word":"hello"}"#);
}

#[test]
fn calls_that_multiply_are_stopped() {
    let numbers = (0..256)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let strategy = format!("strategy: {{fail-fast: false, matrix: {{v: [{numbers}]}}}}");
    let root = format!("on: push\njobs:\n  a: {{{strategy}, uses: ./f.yml}}\n  b: {{STEPS}}");
    let callee = format!("on: workflow_call\njobs:\n  c: {{{strategy}, STEPS}}");
    let mut bench = Bench::new(&root, &[("f.yml", &callee)]);
    let effects = bench.event("start");
    assert!(
        effects.starts_with("start b; start a(_0).c(_0); start a(_0).c(_1); "),
        "{}",
        &effects[..200]
    );
    assert!(effects.ends_with("a(_255).c is failure"));
    assert_eq!(bench.reason("a(_255).c"), "the run has more than 5000 jobs");
}

#[test]
fn a_job_knows_why_it_runs_and_why_those_above_it_run() {
    let mut bench = Bench::new(
        "
on: push
jobs:
  first: {STEPS}
  call:
    needs: first
    if: needs.first.outputs.word == 'go'
    uses: ./.github/workflows/f.yml
    secrets: {token: 'made-of-${{ secrets.TWO }}'}
",
        &[(
            ".github/workflows/f.yml",
            "
on: {workflow_call: {secrets: {token: }}}
jobs:
  run: {STEPS}
  not: {if: \"github.ref == 'made-of-2' || inputs.word\", STEPS}
",
        )],
    );
    bench.play(&[
        ("start", "start first"),
        ("first success word=go", "start call.run; call.not is skipped"),
        ("call.run success", "finished success"),
    ]);
    let call = [
        "call: success() && (needs.first.outputs.word == 'go') is Ok(true)",
        "  success() = true",
        "  needs.first.outputs.word = 'go'",
        "  needs.first.outputs.word == 'go' = true",
    ];
    let run = ["call.run: success() is Ok(true)", "  success() = true"];
    assert_eq!(bench.conditions("call.run"), [&call[..], &run[..]].concat());
    let not = [
        "call.not: success() && (github.ref == '***' || inputs.word) is Ok(false)",
        "  success() = true",
        "  github.ref = 'refs/heads/main'",
        "  github.ref == '***' = false",
        "  inputs.word = null",
        "  github.ref == '***' || inputs.word = null",
        "  success() && (github.ref == '***' || inputs.word) = null",
    ];
    assert_eq!(bench.conditions("call.not"), [&call[..], &not[..]].concat());
    assert_eq!(
        bench.conditions("first"),
        ["first: success() is Ok(true)", "  success() = true"]
    );
}
