//! `gantry exec --trace FILE` from the outside.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod harness;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use harness::Project;
use rustix::process::Signal;
use serde_json::Value;

const WORKFLOW: &str = "
name: ci
on: push
jobs:
  build:
    name: Build tok-en
    runs-on: x
    steps:
      - name: Say ${{ secrets.TOKEN }}
        run: echo A=b >> $GITHUB_ENV
      - name: Composite
        uses: ./act
      - name: Skipped
        if: env.A == 'c'
        run: echo
      - name: Broken
        run: exit 3
  after:
    needs: build
    if: always()
    runs-on: x
    steps: [{run: echo}]
  never:
    needs: build
    runs-on: x
    steps: [{run: echo}]
";

const ACTION: &str =
    "runs: {using: composite, steps: [{name: Inner, run: echo, shell: bash}, {run: echo, shell: bash}]}";

/// A span of a trace.
#[derive(Debug, Clone)]
struct Span {
    process: u64,
    track: u64,
    name: String,
    from: u64,
    to: u64,
    args: Value,
}

struct Trace {
    spans: Vec<Span>,
    /// The name of each process.
    jobs: Vec<(u64, String)>,
}

impl Trace {
    fn read(path: &PathBuf) -> Self {
        let text = fs::read_to_string(path).expect("a trace");
        assert!(!text.contains("tok-en"), "{text}");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let events = value["traceEvents"].as_array().expect("events");
        let number = |event: &Value, key: &str| event[key].as_u64().expect("a number");
        let span = |event: &Value| Span {
            process: number(event, "pid"),
            track: number(event, "tid"),
            name: event["name"].as_str().expect("a name").to_owned(),
            from: number(event, "ts"),
            to: number(event, "ts") + number(event, "dur"),
            args: event["args"].clone(),
        };
        let names = events.iter().filter(|event| event["name"] == "process_name");
        Self {
            spans: events
                .iter()
                .filter(|event| event["ph"] == "X")
                .map(span)
                .collect(),
            jobs: names
                .map(|event| {
                    let name = event["args"]["name"].as_str().expect("a name");
                    (number(event, "pid"), name.to_owned())
                })
                .collect(),
        }
    }

    fn job(&self, name: &str) -> u64 {
        let job = self.jobs.iter().find(|(_, job)| job == name);
        job.unwrap_or_else(|| panic!("no {name} in {:?}", self.jobs)).0
    }

    fn span(&self, job: u64, name: &str) -> &Span {
        let found = self
            .spans
            .iter()
            .find(|span| span.process == job && span.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {:#?}", self.spans))
    }

    /// The names of what happens in a span.
    fn within(&self, outer: &Span) -> Vec<&str> {
        let inside = self.spans.iter().filter(|span| {
            (span.process, span.track) == (outer.process, outer.track)
                && outer.from <= span.from
                && span.to <= outer.to
                && span.name != outer.name
        });
        inside.map(|span| span.name.as_str()).collect()
    }

    /// Times rise on each track, and a span is over before the one that holds it.
    fn assert_nested(&self) {
        let mut open: Vec<&Span> = Vec::new();
        for span in &self.spans {
            let same = |other: &Span| (other.process, other.track) == (span.process, span.track);
            open.retain(|outer| same(outer) && span.from < outer.to);
            if let Some(outer) = open.last() {
                assert!(outer.from <= span.from, "{outer:?} and {span:?}");
                assert!(span.to <= outer.to, "{outer:?} and {span:?}");
            }
            open.push(span);
        }
    }
}

#[test]
fn each_job_is_a_process_and_each_step_has_its_phases() {
    let project = Project::with_workflow(WORKFLOW).file("act/action.yml", ACTION);
    let path = project.directory.join("trace.json");
    project
        .exec(&["-s", "TOKEN=tok-en", "--trace", "trace.json"])
        .assert_code(1);
    let trace = Trace::read(&path);
    trace.assert_nested();
    assert_eq!(trace.jobs.len(), 3, "{:?}", trace.jobs);

    let build = trace.job("ci / Build ***");
    let job = trace.span(build, "job");
    assert_eq!(job.args["conclusion"], "failure");
    let phases = ["copy workspace", "set up", "fetch", "wind up", "flush log"];
    assert_eq!(trace.within(job), phases);
    let script = [
        "evaluate", "evaluate", "files", "spawn", "run", "drain", "collect",
    ];
    assert_eq!(trace.within(trace.span(build, "Say ***")), script);
    assert_eq!(trace.within(trace.span(build, "Inner")), script);
    assert_eq!(trace.within(trace.span(build, "Skipped")), ["evaluate"]);
    let composite = trace.within(trace.span(build, "Composite"));
    assert!(
        composite.starts_with(&["evaluate", "fetch", "evaluate", "Inner"]),
        "{composite:?}"
    );
    let broken = trace.span(build, "Broken");
    assert_eq!(
        (broken.track, &broken.args["outcome"]),
        (4, &Value::from("failure"))
    );

    let after = trace.job("ci / after");
    let waited = trace.span(after, "wait for needs");
    assert!(waited.to >= job.to, "{waited:?} and {job:?}");
    assert!(trace.span(after, "job").from >= waited.to);
    let never = trace.span(trace.job("ci / never"), "never ran");
    assert_eq!(never.args["conclusion"], "skipped");
}

#[test]
fn a_cancelled_run_leaves_a_trace() {
    let workflow =
        "on: push\njobs: {j: {name: j, runs-on: x, steps: [{name: Long, run: echo here; sleep 1000}]}}";
    let project = Project::with_workflow(workflow);
    let mut running = project.start(&["exec", "-i", "host", "--trace", "trace.json"]);
    running.wait_for("] here", Duration::from_mins(1));
    running.signal(Signal::INT);
    running.finish(Duration::from_mins(1)).assert_code(130);
    let trace = Trace::read(&project.directory.join("trace.json"));
    trace.assert_nested();
    let job = trace.jobs.first().expect("a job").0;
    assert_eq!(trace.span(job, "job").args["conclusion"], "cancelled");
    assert_eq!(trace.span(job, "Long").args["outcome"], "cancelled");
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_runs() {
    let project = Project::with_workflow(WORKFLOW).file("act/action.yml", ACTION);
    let outcome = project.exec(&["--trace", "missing/trace.json"]);
    outcome.assert_code(2).assert_absent("started");
    let want =
        "gantry: cannot write the trace to missing/trace.json: No such file or directory (os error 2)\n";
    assert_eq!(outcome.stderr, want);
    project.assert_nothing_left();
}

#[test]
fn a_full_disk_is_told_at_the_end() {
    let workflow = "on: push\njobs: {j: {runs-on: x, steps: [{run: echo}]}}";
    Project::with_workflow(workflow)
        .exec(&["--trace", "/dev/full"])
        .assert_code(1)
        .assert_contains("gantry: cannot write the trace to /dev/full: No space left on device");
}
