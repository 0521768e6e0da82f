//! What holds for any text: reading ends, does bounded work and says what is wrong; and tables of files.

use proptest::prelude::*;

use super::{Action, Diagnostic, JobBody, Runs, StepAction, Workflow};

const WORKFLOW: &str = r#"name: CI
on: {push: {branches: [main]}, workflow_dispatch: {inputs: {v: {type: choice, options: [a]}}}}
env: &env {A: "${{ secrets.X }}", B: !!str 5}
jobs:
  build:
    runs-on: [self-hosted, "${{ matrix.os }}"]
    strategy: {matrix: {os: [a, b], include: [{os: c}]}}
    env: *env
    steps:
      - uses: actions/checkout@v4
        with: {ref: 'x ${{ github.ref }}'}
      - name: "it's \u00e4"
        if: always() && github.ref == 'a'
        run: |
          echo ${{ env.A }}
  call:
    needs: build
    uses: ./.github/workflows/x.yml
    secrets: inherit
"#;

/// Both readers, whose errors must be few and short.
fn read(text: &str) {
    let bounded = |errors: Vec<Diagnostic>| {
        assert!(!errors.is_empty() && errors.len() <= 10, "{text:?}");
        assert!(
            errors
                .iter()
                .all(|error| error.to_string().chars().count() <= 505),
            "{text:?}"
        );
    };
    Workflow::parse("w.yml", text).map_or_else(bounded, drop);
    Action::parse("action.yml", text).map_or_else(bounded, drop);
}

/// A change of a text: the range to replace, in percent of its length, and what replaces it.
fn change() -> impl Strategy<Value = (usize, usize, String)> {
    let snippet = prop_oneof![
        Just("${{"),
        Just("}}"),
        Just("&a "),
        Just("*a"),
        Just("*env"),
        Just("!x "),
        Just("!!int "),
        Just("- "),
        Just(": "),
        Just("? "),
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just("\""),
        Just("'"),
        Just("|\n"),
        Just(">-\n"),
        Just("\n"),
        Just("\t"),
        Just("  "),
        Just("#"),
        Just("---\n"),
        Just("%TAG ! x\n"),
        Just("\0"),
        Just("\u{feff}"),
        Just("\r"),
        Just("\u{2028}"),
        Just("<<: *env"),
        Just("${{ insert }}: "),
    ];
    let inserted = prop_oneof![snippet.prop_map(str::to_owned), ".{0,4}"];
    (0..1000usize, 0..8usize, inserted)
}

fn mutated(changes: &[(usize, usize, String)]) -> String {
    let mut text: Vec<char> = WORKFLOW.chars().collect();
    for (at, removed, inserted) in changes {
        let at = at * text.len() / 1000;
        let end = (at + removed).min(text.len());
        text.splice(at..end, inserted.chars());
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
        read(&text);
    }

    #[test]
    fn any_changed_workflow_is_read_or_refused(changes in prop::collection::vec(change(), 1..6)) {
        read(&mutated(&changes));
    }
}

#[test]
fn the_changed_workflow_is_legal_before_it_is_changed() {
    let workflow = Workflow::parse("w.yml", WORKFLOW).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(workflow.jobs.len(), 2);
    assert_eq!(
        workflow
            .env
            .unwrap()
            .node()
            .get("B")
            .and_then(super::Node::as_str),
        Some("5")
    );
}

fn workflow_errors(text: &str) -> Vec<String> {
    Workflow::parse("w.yml", text)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn action_errors(text: &str) -> Vec<String> {
    Action::parse("a.yml", text)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn hostile_files_get_one_clear_message() {
    let nested = |depth: usize| format!("on: push\njobs: {}{}\n", "{a: ".repeat(depth), "}".repeat(depth));
    let bomb: String = std::iter::once("on: push\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain((1..9).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))))
        .collect();
    let large = format!(
        "on: push\nenv: {{A: &a '{}', B: *a, C: *a, D: *a, E: *a, F: *a}}\n",
        "x".repeat(1_000_000)
    );
    let last = |text: &str| workflow_errors(text).pop().unwrap_or_default();
    assert_eq!(last(&nested(51)), "w.yml: Maximum object depth exceeded");
    assert_eq!(last(&bomb), "w.yml: Maximum YAML nodes exceeded");
    assert_eq!(last(&large), "w.yml: Maximum object size exceeded");
    assert_eq!(
        last(&"#".repeat(10_000_000)),
        "w.yml: The maximum file size of 1048576 characters has been exceeded"
    );
    assert_eq!(last("on: push\njobs: {[a]: b}\n"), "w.yml: Expected mapping end");
    assert_eq!(last("# nothing\n"), "w.yml: Expected document start parse event");
    for text in [
        "[".repeat(100_000),
        "{".repeat(100_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
    ] {
        assert_eq!(workflow_errors(&text).len().min(3), workflow_errors(&text).len());
    }
}

#[test]
fn events_and_filters_are_checked() {
    let check = |on: &str, expected: &[&str]| {
        let text = format!("on: {on}\njobs: {{a: {{runs-on: x}}}}\n");
        assert_eq!(workflow_errors(&text), expected, "{on}");
    };
    for legal in [
        "[push, pull_request]",
        "{push: , schedule: [{cron: '0 4 * * 1-5'}, {cron: '@daily'}, {cron: 'TZ=Europe/Berlin 5 4 * * *'}]}",
        "{pull_request: {types: opened, branches: [main, 'r/**'], paths-ignore: x}}",
        "{workflow_call: {inputs: {a: {type: string, default: 5}, b: {type: number, default: '${{ github.x }}'}}}}",
        "{workflow_dispatch: {inputs: {a: , b: {type: boolean, default: 'true'}, c: {type: number, default: 5}}}}",
        "{workflow_run: {workflows: [a], types: [completed]}, repository_dispatch: {types: [x]}}",
    ] {
        check(legal, &[]);
    }
    check("foo", &["w.yml (Line: 1, Col: 5): Unexpected value 'foo'"]);
    check("{foo: {}}", &["w.yml (Line: 1, Col: 6): Unexpected value 'foo'"]);
    check(
        "{push: {types: x}}",
        &["w.yml (Line: 1, Col: 13): Unexpected value 'types'"],
    );
    check(
        "{issues: {types: [x]}}",
        &["w.yml (Line: 1, Col: 23): Unexpected value 'x'"],
    );
    check(
        "{push: {branches: a, branches-ignore: b}}",
        &[
            "w.yml (Line: 1, Col: 26): you may only define one of `branches` and `branches-ignore` for a single event",
        ],
    );
    check(
        "{schedule: [{cron: '* * *'}]}",
        &["w.yml (Line: 1, Col: 24): Invalid CRON expression '* * *'"],
    );
    check(
        "{workflow_call: {inputs: {a: {type: boolean, default: 'true'}}}}",
        &["w.yml (Line: 1, Col: 59): Unexpected value 'true'"],
    );
    check(
        "{workflow_call: {inputs: {a: {}}}}",
        &["w.yml (Line: 1, Col: 34): Required property is missing: type"],
    );
    check(
        "{workflow_dispatch: {inputs: {a: {type: choice}}}}",
        &["w.yml (Line: 1, Col: 35): Missing 'options' for choice input 'a'"],
    );
}

#[test]
fn needs_are_spelled_as_the_needed_jobs() {
    let text =
        "on: push\njobs: {A: {runs-on: x}, b: {runs-on: x, needs: [a, A]}, c: {runs-on: x, needs: B}}\n";
    let workflow = Workflow::parse("w.yml", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let needs: Vec<Vec<_>> = workflow
        .jobs
        .iter()
        .map(|job| job.needs.iter().map(|need| need.value.as_str()).collect())
        .collect();
    assert_eq!(needs, [vec![], vec!["A", "A"], vec!["b"]]);
    assert_eq!(
        workflow_errors("on: push\njobs: {a: {runs-on: x}, b: {runs-on: x, needs: [a, zz]}}\n"),
        ["w.yml (Line: 2, Col: 52): Job 'b' depends on unknown job 'zz'."]
    );
}

#[test]
fn names_keep_the_digits_that_are_written() {
    let text = "name: 1.10\non: push\njobs: {a: {runs-on: x, name: 1.10}}\n";
    let workflow = Workflow::parse("w.yml", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(workflow.name.as_deref(), Some("1.10"));
    let JobBody::Steps(_) = &workflow.jobs[0].body else {
        panic!("a job with steps")
    };
    assert_eq!(
        workflow.jobs[0]
            .name
            .as_ref()
            .and_then(super::Field::literal)
            .as_deref(),
        Some("1.1")
    );
}

#[test]
fn actions_are_read() {
    let text = "name: x\nauthor: [y]\nbranding: {icon: z}\ninputs: {a: {required: 'true', default: '${{ github.token }}', \
                type: string}, B: }\nruns: {using: Node20, main: m.js, post: p.js, post-if: success() && env.X}\n";
    let action = Action::parse("a.yml", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert!(action.inputs["a"].required && action.inputs["a"].default.is_some());
    assert!(!action.inputs["B"].required);
    let Runs::Node(node) = action.runs else {
        panic!("a JavaScript action")
    };
    assert_eq!(
        (node.version, node.main.as_str(), node.post.as_deref()),
        (20, "m.js", Some("p.js"))
    );
    assert_eq!(node.pre_if.expression.source(), "always()");
    assert_eq!(node.post_if.expression.source(), "success() && env.X");

    let text = "outputs: {o: {value: '${{ steps.s.outputs.v }}'}}\nruns:\n  using: composite\n  steps:\n    \
                - {run: x, shell: '${{ inputs.s }}', id: s}\n    - {uses: ./y, if: failure()}\n";
    let action = Action::parse("a.yml", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    assert!(action.outputs["o"].is_some());
    let Runs::Composite(steps) = action.runs else {
        panic!("a composite action")
    };
    assert!(matches!(&steps[0].action, StepAction::Run(run) if run.shell.is_some()));
    assert_eq!(
        (steps[1].id.as_str(), steps[1].condition.expression.source()),
        ("__self", "failure()")
    );

    let text = "runs: {using: docker, image: Dockerfile, args: ['${{ inputs.a }}', ''], env: {A: '${{ inputs.b }}'}}\n";
    let action = Action::parse("a.yml", text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let Runs::Docker(docker) = action.runs else {
        panic!("a Docker action")
    };
    assert_eq!(
        (
            docker.image.as_str(),
            docker.args.map(|args| args.len()),
            docker.env.len()
        ),
        ("Dockerfile", Some(2), 1)
    );
}

#[test]
fn mistakes_in_actions_are_named() {
    let rows: [(&str, &[&str]); 8] = [
        (
            "name: x\n",
            &["a.yml: Top level 'runs:' section is required for a.yml"],
        ),
        (
            "runs: {using: node8, main: x}\n",
            &[
                "a.yml (Line: 1, Col: 15): 'using: node8' is not supported, use 'docker', 'node12', 'node16', 'node20' or \
               'node24' instead.",
            ],
        ),
        (
            "runs: {main: x}\n",
            &[
                "a.yml (Line: 1, Col: 7): Missing 'using' value. 'using' requires 'composite', 'docker', 'node12', \
               'node16', 'node20' or 'node24'.",
            ],
        ),
        (
            "runs: {using: node20, pre: x}\n",
            &["a.yml (Line: 1, Col: 7): Entry javascript file is not provided."],
        ),
        (
            "runs: {using: docker, args: []}\n",
            &["a.yml (Line: 1, Col: 7): Image is not provided."],
        ),
        (
            "runs: {using: composite, steps: [{run: x}]}\n",
            &["a.yml (Line: 1, Col: 34): Required property is missing: shell"],
        ),
        (
            "runs: {using: composite, steps: [{run: '${{ secrets.X }}', shell: bash}]}\n",
            &[
                "a.yml (Line: 1, Col: 40): Unrecognized named-value: 'secrets'. Located at position 1 within expression: \
               secrets.X",
            ],
        ),
        (
            "runs: {using: node20, main: x, post-if: 'foo'}\n",
            &[
                "a.yml (Line: 1, Col: 41): Unrecognized named-value: 'foo'. Located at position 1 within expression: foo",
            ],
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(action_errors(text), expected, "{text}");
    }
}
