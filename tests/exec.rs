//! `gantry exec` from the outside.

mod harness;

use std::path::Path;
use std::time::Duration;

use harness::Project;
use rustix::process::Signal;
use serde_json::Value;

const SOON: Duration = Duration::from_secs(30);

/// A workflow with one job of one step.
fn one_step(script: &str) -> String {
    format!(
        "name: t\non: [push, workflow_dispatch]\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {script}\n"
    )
}

#[test]
fn the_example_of_the_readme_runs() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello");
    let project = Project::new().copy_of(&example);
    let outcome = project.exec(&[]);
    outcome.assert_code(0);
    outcome
        .assert_contains("Hallo, world!")
        .assert_contains("Hello, world?")
        .assert_absent("Hallo, world?");
    outcome
        .assert_contains("deploy: skipped")
        .assert_contains("shaky: failure, counted as success");
    project.assert_nothing_left();
}

#[test]
fn a_failed_step_fails_the_run() {
    let outcome = Project::with_workflow(&one_step("exit 3")).exec(&[]);
    outcome
        .assert_code(1)
        .assert_contains("##[error]Process completed with exit code 3.");
}

#[test]
fn the_tree_is_copied_and_not_touched() {
    let project = Project::with_workflow(&one_step("test -f kept && rm kept && touch made")).file("kept", "");
    project.exec(&[]).assert_code(0);
    assert!(project.directory.join("kept").exists() && !project.directory.join("made").exists());
}

#[test]
fn given_values_reach_the_job() {
    let workflow = "
on:
  workflow_dispatch:
    inputs:
      who: {type: string, required: true}
      loud: {type: boolean, default: false}
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - env:
          WHO: ${{ inputs.who }}
          LOUD: ${{ inputs.loud == true && 'yes' || 'no' }}
          REGION: ${{ vars.REGION }}
          TOKEN: ${{ secrets.TOKEN }}
        run: |
          echo \"who=$WHO loud=$LOUD region=$REGION a=$A b=$B token=$TOKEN length=${#TOKEN}\"
";
    let project = Project::with_workflow(workflow).file(".env", "A=from-file\nB=from-file\n");
    let args = [
        ["-s", "token=sec-ret"],
        ["--var", "region=eu"],
        ["--env", "B=flag"],
        ["--input", "who=me"],
        ["--input", "loud=true"],
    ];
    let outcome = project.exec(&args.concat());
    outcome.assert_code(0);
    outcome.assert_contains("who=me loud=yes region=eu a=from-file b=flag token=*** length=7");
    outcome.assert_absent("sec-ret");
}

#[test]
fn the_event_decides_which_workflows_run() {
    let on = |event: &str| one_step(&format!("echo ran-{event}")).replace("[push, workflow_dispatch]", event);
    let project = Project::new()
        .file(".github/workflows/push.yml", &on("push"))
        .file(".github/workflows/pr.yml", &on("pull_request"));
    project
        .exec(&[])
        .assert_code(0)
        .assert_contains("ran-push")
        .assert_absent("ran-pull_request");
    let pr = project.exec(&["-E", "pull_request"]);
    pr.assert_code(0)
        .assert_contains("ran-pull_request")
        .assert_absent("ran-push");
    project
        .exec(&["--detect-event"])
        .assert_code(0)
        .assert_contains("ran-pull_request");
    project
        .exec(&["-E", "release"])
        .assert_code(1)
        .assert_contains("release");
    let only = Project::with_workflow(&on("pull_request")).exec(&[]);
    only.assert_code(0).assert_contains("ran-pull_request");
}

#[test]
fn the_payload_is_the_event() {
    let workflow = one_step("echo 'title=${{ github.event.title }}'");
    let project = Project::with_workflow(&workflow).file("event.json", r#"{"title":"a title"}"#);
    project
        .exec(&["-e", "event.json"])
        .assert_code(0)
        .assert_contains("title=a title");
}

#[test]
fn a_payload_is_held_against_the_filters() {
    let workflow = one_step("echo ran-$((1+1))").replace(
        "[push, workflow_dispatch]",
        "{push: {branches: [main], paths: ['src/**']}}",
    );
    let event = |branch: &str, file: &str| {
        format!(r#"{{"ref":"refs/heads/{branch}","commits":[{{"modified":["{file}"]}}]}}"#)
    };
    let project = Project::with_workflow(&workflow)
        .file("runs.json", &event("main", "src/a.rs"))
        .file("branch.json", &event("topic", "src/a.rs"))
        .file("path.json", &event("main", "docs/a.md"));
    project
        .exec(&["-e", "runs.json"])
        .assert_code(0)
        .assert_contains("ran-2");
    for (file, reason) in [("branch.json", "'topic'"), ("path.json", "paths")] {
        let outcome = project.exec(&["-e", file]);
        outcome.assert_code(0).assert_absent("ran-2");
        outcome
            .assert_contains("t.yml does not run: ")
            .assert_contains(reason);
    }
    project.exec(&[]).assert_code(0).assert_contains("ran-2");
    project
        .exec(&["-e", "path.json", "-j", "a"])
        .assert_code(0)
        .assert_contains("ran-2");
}

#[test]
fn one_job_runs_with_what_it_needs() {
    let workflow = "
on: push
jobs:
  a: {runs-on: x, steps: [{run: 'echo ran-a'}]}
  b: {runs-on: x, needs: a, steps: [{run: 'echo ran-b'}]}
  c: {runs-on: x, needs: b, steps: [{run: 'echo ran-c'}]}
";
    let project = Project::with_workflow(workflow);
    let outcome = project.exec(&["-j", "b"]);
    outcome
        .assert_code(0)
        .assert_contains("ran-a")
        .assert_contains("ran-b")
        .assert_absent("ran-c");
    project
        .exec(&["-j", "nope"])
        .assert_code(2)
        .assert_contains("nope");
}

#[test]
fn workflows_come_from_the_first_directory_that_exists() {
    let project = Project::new()
        .file(".github/workflows/t.yml", &one_step("echo ran-github"))
        .file(".forgejo/workflows/sub/t.yml", &one_step("echo ran-forgejo"));
    project
        .exec(&[])
        .assert_code(0)
        .assert_contains("ran-forgejo")
        .assert_absent("ran-github");
    project
        .exec(&["--no-recurse"])
        .assert_code(1)
        .assert_contains("no workflow files in");
    project
        .exec(&["-W", ".github/workflows/t.yml"])
        .assert_code(0)
        .assert_contains("ran-github");
}

#[test]
fn jobs_are_listed_without_running() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/hello");
    let project = Project::new().copy_of(&example);
    let outcome = project.exec(&["--list"]);
    outcome.assert_code(0).assert_absent("started");
    let rows: Vec<Vec<&str>> = outcome
        .stdout
        .lines()
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    let want = [
        ["Stage", "Job"],
        ["0", "prepare"],
        ["1", "greet"],
        ["2", "deploy"],
        ["3", "report"],
    ];
    assert_eq!(rows, want);
    let json = project.exec(&["--list", "--json"]);
    let first: Value = serde_json::from_str(json.stdout.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["job"], "prepare");
    assert_eq!(first["events"][0], "push");
}

#[test]
fn json_has_one_event_on_each_line() {
    let project = Project::with_workflow(&one_step("printf 'one\\ntwo\\n'"));
    let outcome = project.exec(&["--json"]);
    outcome.assert_code(0);
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let lines: Vec<Value> = outcome.stdout.lines().map(parse).collect();
    let of = |event: &str| {
        lines
            .iter()
            .filter(|line| line["event"] == event)
            .collect::<Vec<_>>()
    };
    assert!(
        of("row")
            .iter()
            .any(|line| line["row"] == "two" && line["job"] == "a")
    );
    for event in ["run_started", "job_started", "job_finished", "run_finished"] {
        assert_eq!(of(event).len(), 1, "{event}");
    }
    assert_eq!(of("run_finished")[0]["conclusion"], "success");
}

#[test]
fn usage_errors_have_code_2_and_configuration_errors_64() {
    let project = Project::with_workflow(&one_step("true")).file("bad.yaml", "runner:\n  timeout: soon\n");
    project.run(&["exec", "--no-such-flag"]).assert_code(2);
    project.run(&[]).assert_code(2);
    project
        .exec(&["-s", "ABSENT"])
        .assert_code(2)
        .assert_contains("ABSENT");
    project
        .exec(&["-C", "absent"])
        .assert_code(2)
        .assert_contains("absent");
    project
        .exec(&["-W", "absent.yml"])
        .assert_code(2)
        .assert_contains("absent.yml");
    project.run(&["--help"]).assert_code(0).assert_contains("exec");
    let bad = Project::new().file("bad.yaml", "runner:\n  timeout: soon\n");
    let outcome = bad.run(&["-c", "bad.yaml", "exec"]);
    outcome
        .assert_code(64)
        .assert_contains("runner.timeout")
        .assert_contains("(Line: 2, Col: 12)");
    bad.run(&["-c", "absent.yaml", "exec"])
        .assert_code(64)
        .assert_contains("absent.yaml");
}

#[test]
fn the_first_signal_cancels_and_always_steps_still_run() {
    let workflow = "
on: push
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - run: echo ready-$((1+1)); sleep 600
      - run: echo normal-$((1+1))
      - if: always()
        run: echo cleaned-$((1+1)) status=${{ job.status }}
";
    let project = Project::with_workflow(workflow);
    let mut running = project.start(&["exec", "-i", "host"]);
    running.wait_for("ready-2", SOON);
    running.signal(Signal::INT);
    let outcome = running.finish(SOON);
    outcome
        .assert_code(130)
        .assert_contains("cleaned-2 status=cancelled")
        .assert_absent("normal-2");
    project.assert_nothing_left();
}

#[test]
fn the_second_signal_kills() {
    let workflow = one_step("trap '' INT TERM; echo ready-$((1+1)); sleep 600; sleep 600");
    let project = Project::with_workflow(&workflow);
    let mut running = project.start(&["exec", "-i", "host"]);
    running.wait_for("ready-2", SOON);
    running.signal(Signal::INT);
    running.wait_for("cancel", SOON);
    running.signal(Signal::TERM);
    running.finish(Duration::from_secs(5)).assert_code(130);
    project.assert_nothing_left();
}

#[test]
fn the_end_of_the_terminal_cancels() {
    let project = Project::with_workflow(&one_step("echo ready-$((1+1)); sleep 600"));
    let mut running = project.start(&["exec", "-i", "host"]);
    running.wait_for("ready-2", SOON);
    running.signal(Signal::HUP);
    running.finish(SOON).assert_code(130);
    project.assert_nothing_left();
}

#[test]
fn what_a_killed_runner_left_is_gone_after_the_next_start() {
    let workflow = one_step("(setsid sleep 600 &); echo ready-$((1+1)); sleep 600");
    let project = Project::with_workflow(&workflow).file("other.yml", &one_step("true"));
    let mut running = project.start(&["exec", "-i", "host"]);
    running.wait_for("ready-2", SOON);
    running.signal(Signal::KILL);
    assert_eq!(running.finish(SOON).code, None);
    project.exec(&["-W", "other.yml"]).assert_code(0);
    project.assert_nothing_left();
}

#[test]
fn unsecure_commands_work_where_the_workflow_opts_in() {
    let workflow = "
on: push
env: {ACTIONS_ALLOW_UNSECURE_COMMANDS: true}
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - run: |
          echo '::set-env name=SET::by-command'
          echo '::add-path::/opt/by-command'
      - run: test \"$SET\" = by-command; case \"$PATH\" in /opt/by-command:*) ;; *) exit 1 ;; esac
";
    let project = Project::with_workflow(workflow);
    project.exec(&[]).assert_code(0);
    let refused = workflow.replace("env: {ACTIONS_ALLOW_UNSECURE_COMMANDS: true}", "");
    let refused = Project::with_workflow(&refused);
    refused
        .exec(&[])
        .assert_code(1)
        .assert_contains("The `set-env` command is disabled");
}

#[test]
fn a_step_whose_condition_holds_goes_on_after_a_cancel() {
    let workflow = "
on: push
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - if: always()
        run: echo ready-$((1+1)); for i in $(seq 40); do sleep 0.05; done; echo ended-$((1+1))
";
    let project = Project::with_workflow(workflow);
    let mut running = project.start(&["exec", "-i", "host"]);
    running.wait_for("ready-2", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).assert_code(130).assert_contains("ended-2");
    project.assert_nothing_left();
}
