//! `gantry exec` without a run, and with one run after the other: `--graph`, `--dryrun` and `--watch`.

mod harness;

use std::fs;
use std::time::Duration;

use harness::Project;
use rustix::process::Signal;

const LIMIT: Duration = Duration::from_mins(1);

const WORKFLOW: &str = "\
name: ci
on: push
jobs:
  list:
    runs-on: x
    outputs: {all: '${{ steps.l.outputs.all }}'}
    steps:
      - {id: l, run: 'touch ran; exit 1'}
      - {uses: ./action, if: env.X == '1'}
  each:
    needs: list
    runs-on: x
    strategy: {matrix: {v: '${{ fromJSON(needs.list.outputs.all) }}'}}
    steps: [{run: 'echo ${{ matrix.v }}'}]
  tag: {needs: each, if: \"startsWith(github.ref, 'refs/tags/')\", runs-on: x, steps: [{run: x}]}
";

#[test]
fn a_dry_run_plans_everything_and_runs_nothing() {
    let project = Project::with_workflow(WORKFLOW);
    let outcome = project.exec(&["-n"]);
    let want = "\
ci  (.github/workflows/t.yml, on push)
  list
       1. Run touch ran; exit 1
       2. Run ./action  if env.X == '1'
  each  after list
      strategy is known only when it runs: fromJSON(needs.list.outputs.all)
       1. Run echo ${{ matrix.v }}
  - tag  skipped: its condition is false: startsWith(github.ref, 'refs/tags/')

2 jobs would run if all goes well; nothing was run
";
    assert_eq!(outcome.assert_code(0).stdout, want);
    project.assert_nothing_left();
    let outcome = project.exec(&["-n", "--json"]);
    outcome.assert_contains(
        r#""event":"job_planned","workflow":"ci","file":".github/workflows/t.yml","job":"list""#,
    );
    outcome.assert_contains(r#"{"name":"Run ./action","uses":"./action","runs":null,"if":"env.X == '1'"}"#);
}

#[test]
fn what_cannot_be_planned_is_a_failure() {
    let text = "\
on: push
jobs:
  bad: {runs-on: x, strategy: {matrix: {v: \"${{ fromJSON('[') }}\"}}, steps: [{run: x}]}
";
    let outcome = Project::with_workflow(text).exec(&["-n"]);
    outcome
        .assert_code(1)
        .assert_contains("✗ bad  cannot run: Error when evaluating 'strategy'");
    let outcome = Project::with_workflow("on: push\njobs: {a: {needs: b, runs-on: x, steps: [{run: x}]}}\n")
        .exec(&["-n"]);
    outcome.assert_code(1).assert_contains("t.yml (Line: 2");
}

#[test]
fn the_graph_is_drawn_and_nothing_runs() {
    let outcome = Project::with_workflow(WORKFLOW).exec(&["--graph"]);
    let want = "ci  (.github/workflows/t.yml, on push)\n└─ list\n   └─ each\n      └─ tag\n";
    assert_eq!(outcome.assert_code(0).stdout, want);
    let outcome = Project::with_workflow(WORKFLOW).exec(&["--graph", "-l"]);
    outcome.assert_code(2);
}

#[test]
fn each_change_of_a_file_is_a_run_until_a_signal_comes() {
    let text = "on: push\njobs: {a: {runs-on: x, steps: [{run: 'echo \"it says $(cat f)\"'}]}}\n";
    let project = Project::with_workflow(text).file("f", "one");
    let mut running = project.start(&["exec", "-i", "host", "--watch"]);
    for word in ["one", "two", "three"] {
        fs::write(project.directory.join("f"), word).expect("a file");
        running.wait_for(&format!("it says {word}"), LIMIT);
    }
    running.wait_for("──── f has changed ────", LIMIT);
    // A workflow with a mistake is no reason to end.
    fs::write(
        project.directory.join(".github/workflows/t.yml"),
        "on: push\njobs: {a: {runs-on: x, step: []}}\n",
    )
    .expect("a file");
    running.wait_for("t.yml (Line: 2", LIMIT);
    fs::write(
        project.directory.join(".github/workflows/t.yml"),
        text.replace("it says", "again"),
    )
    .expect("a file");
    running.wait_for("again three", LIMIT);
    running.signal(Signal::INT);
    running.finish(LIMIT).assert_code(130);
    project.assert_nothing_left();
}
