use std::fmt::Write;

use super::*;
use crate::model::{Workflow, WorkflowRef};
use crate::plan::graph::Library;

const CALLED: &str = "\
on:
  workflow_call:
    inputs: {n: {type: number, required: true}}
    outputs: {o: {value: '${{ fromJSON(jobs.one.outputs.x) }}'}}
jobs:
  one: {runs-on: x, if: inputs.n == 2, steps: [{run: one}]}
";

const CALLER: &str = "\
on: push
jobs:
  known: {uses: ./c.yml, with: {n: 2}}
  other: {uses: ./c.yml, with: {n: 3}}
  open: {needs: known, uses: ./c.yml, with: {n: '${{ fromJSON(needs.known.outputs.o) }}'}}
";

/// The plan as lines.
fn plan(text: &str) -> String {
    let workflow = |file: &str, text: &str| Arc::new(Workflow::parse(file, text).expect("valid"));
    let mut library = Library::default();
    library.insert(WorkflowRef::Local("c.yml".to_owned()), workflow("c.yml", CALLED));
    let mut github = Object::new();
    github.insert("ref", "refs/heads/main");
    let spec = RunSpec {
        workflow: workflow("t.yml", text),
        workflows: &library,
        github: Arc::new(github),
        vars: Arc::default(),
        inputs: Arc::default(),
        secrets: Arc::default(),
        only: None,
    };
    let mut lines = String::new();
    for job in preview(spec).expect("can be planned") {
        write_job(&mut lines, &job);
    }
    lines
}

fn write_job(lines: &mut String, job: &PreviewJob) {
    let name = &job.name;
    match &job.outlook {
        Outlook::Skipped(reason) => writeln!(lines, "{name}: skipped, {reason}"),
        Outlook::Fails(reason) => writeln!(lines, "{name}: fails, {reason}"),
        Outlook::Runs(outline) => writeln!(lines, "{name}: after {:?}", outline.needs),
    }
    .expect("a string takes all");
    let Outlook::Runs(outline) = &job.outlook else {
        return;
    };
    for Unknown { key, written } in &outline.unknown {
        writeln!(lines, "  {key}? {written}").expect("a string takes all");
    }
    for PreviewStep { name, outlook, .. } in &outline.steps {
        writeln!(lines, "  {name}: {outlook:?}").expect("a string takes all");
    }
}

#[test]
fn jobs_are_decided_as_far_as_they_can_be() {
    let text = "\
on: push
jobs:
  first:
    runs-on: x
    strategy: {matrix: {os: [a, b]}}
    steps:
      - run: make ${{ matrix.os }}
      - {name: 'use ${{ steps.x.outputs.y }} on ${{ matrix.os }}', run: x}
      - {name: only b, if: matrix.os == 'b', uses: owner/repo@v1}
      - {name: late, if: steps.x.outputs.y, run: x}
      - {name: rescue, if: failure(), run: x}
      - {name: hashed, if: \"hashFiles('x') != ''\", run: x}
  skipped: {runs-on: x, if: github.ref != 'refs/heads/main', steps: [{run: x}]}
  after: {runs-on: x, needs: skipped, steps: [{run: x}]}
  open:
    needs: first
    runs-on: ${{ fromJSON(needs.first.outputs.labels) }}
    if: needs.first.outputs.go == 'yes'
    name: open ${{ matrix.v }}
    strategy: {matrix: {v: '${{ fromJSON(needs.first.outputs.list) }}'}}
    timeout-minutes: ${{ fromJSON(needs.first.outputs.t) }}
    steps: [{run: 'echo ${{ needs.first.outputs.n }}'}, {name: leg, if: matrix.v == 1, run: x}]
  last: {runs-on: x, needs: open, if: needs.open.result == 'success', steps: [{run: x}]}
";
    let want = "\
first (a): after []
  Run make a: Runs
  use ${{ steps.x.outputs.y }} on ${{ matrix.os }}: Runs
  only b: Skipped(\"matrix.os == 'b'\")
  late: Depends(\"steps.x.outputs.y\")
  rescue: Skipped(\"failure()\")
  hashed: Depends(\"hashFiles('x') != ''\")
first (b): after []
  Run make b: Runs
  use ${{ steps.x.outputs.y }} on ${{ matrix.os }}: Runs
  only b: Runs
  late: Depends(\"steps.x.outputs.y\")
  rescue: Skipped(\"failure()\")
  hashed: Depends(\"hashFiles('x') != ''\")
skipped: skipped, its condition is false: github.ref != 'refs/heads/main'
after: skipped, job 'skipped', which it needs, ended with skipped
open: after [\"first\"]
  if? needs.first.outputs.go == 'yes'
  strategy? fromJSON(needs.first.outputs.list)
  name? format('open {0}', matrix.v)
  runs-on? fromJSON(needs.first.outputs.labels)
  Run echo ${{ needs.first.outputs.n }}: Runs
  leg: Depends(\"matrix.v == 1\")
last: after [\"open\"]
  Run x: Runs
";
    assert_eq!(plan(text), want);
}

#[test]
fn calls_are_followed_if_their_inputs_are_known() {
    let want = "\
known / one: after []
  Run one: Runs
other / one: skipped, its condition is false: inputs.n == 2
open: after [\"known\"]
  with? fromJSON(needs.known.outputs.o)
";
    assert_eq!(plan(CALLER), want);
}

#[test]
fn what_cannot_be_evaluated_fails() {
    let text = "\
on: push
jobs:
  bad: {runs-on: x, strategy: {matrix: {v: \"${{ fromJSON('nonsense') }}\"}}, steps: [{run: x}]}
";
    let lines = plan(text);
    assert!(
        lines.starts_with("bad: fails, Error when evaluating 'strategy' for job 'bad'."),
        "{lines}"
    );
}
