//! Bad input gives one clear message with its place and exit code 1, in bounded time, and other workflows still run.

mod harness;

use std::fmt::Write;
use std::time::Duration;

use harness::{Outcome, Project};

const LIMIT: Duration = Duration::from_secs(20);

const GOOD: &str = "on: push\njobs: {ok: {runs-on: x, steps: [{run: 'echo the-other-ran-$((1+1))'}]}}\n";

/// A workflow whose job has these lines besides `runs-on`.
fn job(lines: &str) -> String {
    format!("on: push\njobs:\n  a:\n    runs-on: x\n{lines}")
}

/// Runs a broken workflow beside a good one: the message is there, the good one runs, and the run fails.
fn check_exec(bad: &str, messages: &[&str]) -> Outcome {
    let project = Project::new()
        .file(".github/workflows/bad.yml", bad)
        .file(".github/workflows/good.yml", GOOD);
    let outcome = project.run_within(LIMIT, &["exec", "-i", "host"]);
    outcome
        .assert_code(1)
        .assert_contains("the-other-ran-2")
        .assert_absent("panicked");
    for message in messages {
        outcome.assert_contains(message);
    }
    outcome
}

/// A mistake that can be seen without running: `exec` and `validate` name it at the same place.
fn check(bad: &str, messages: &[&str]) {
    check_exec(bad, messages);
    let outcome = Project::with_workflow(bad).run_within(LIMIT, &["validate"]);
    outcome.assert_code(1).assert_absent("panicked");
    for message in messages {
        outcome.assert_contains(&message.replace("bad.yml", "t.yml"));
    }
}

#[test]
fn broken_yaml() {
    check(
        "on: push\njobs:\n  a: [\n",
        &[".github/workflows/bad.yml", "line 4, column 1"],
    );
    check("", &["bad.yml"]);
    check("just text", &["bad.yml (Line: 1, Col: 1)"]);
}

#[test]
fn an_unknown_key() {
    let bad = job("    steps:\n      - run: x\n        nope: 1\n");
    check(&bad, &["bad.yml (Line: 7, Col: 9): Unexpected value 'nope'"]);
}

#[test]
fn a_bad_expression() {
    let bad = job("    steps:\n      - run: echo ${{ github.ref == }}\n");
    check(&bad, &["bad.yml (Line: 6, Col: 14): "]);
    let bad = job("    if: nosuch.thing\n    steps: [{run: x}]\n");
    check(
        &bad,
        &[
            "bad.yml (Line: 5, Col: 9): ",
            "Unrecognized named-value: 'nosuch'",
        ],
    );
}

#[test]
fn a_cycle() {
    let bad = "on: push\njobs:\n  z: {runs-on: x, steps: [{run: x}]}\n  a: {needs: b, runs-on: x, steps: [{run: x}]}\n  b: {needs: a, runs-on: x, steps: [{run: x}]}\n";
    check(
        bad,
        &["bad.yml (Line: ", "which creates a cycle in the dependency graph"],
    );
}

#[test]
fn a_yaml_bomb() {
    let mut bad = String::from("on: push\nx0: &x0 [1, 2]\n");
    for level in 1..40 {
        let item = format!("*x{}", level - 1);
        writeln!(bad, "x{level}: &x{level} [{}]", [item.as_str(); 9].join(", ")).expect("a string takes all");
    }
    check(&bad, &["bad.yml", "Maximum YAML nodes exceeded"]);
}

#[test]
fn too_many_levels() {
    let levels = format!("{}1{}", "[".repeat(51), "]".repeat(51));
    let deep = job(&format!(
        "    strategy: {{matrix: {{a: {levels}}}}}\n    steps: [{{run: x}}]\n"
    ));
    check(
        &deep,
        &["bad.yml: Maximum object depth exceeded\n  5 |     strategy: {matrix: "],
    );
    let bottomless = format!("on: push\njobs: {}", "[".repeat(100_000));
    check(
        &bottomless,
        &["bad.yml: recursion limit exceeded, line 2, column "],
    );
}

#[test]
fn a_huge_file() {
    check(
        &format!("on: push\n# {}\n{}", "x".repeat(2 << 20), GOOD),
        &["bad.yml"],
    );
}

#[test]
fn a_huge_matrix() {
    let vector = |length: usize| (0..length).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let matrix = format!(
        "    strategy: {{matrix: {{a: [{}], b: [{}]}}}}\n    steps: [{{run: x}}]\n",
        vector(1000),
        vector(100)
    );
    check_exec(&job(&matrix), &["bad.yml (Line: 5, Col: ", "256"]);
}

#[test]
fn an_unknown_shell() {
    let bad = job("    steps:\n      - run: x\n        shell: no-such-shell {0}\n");
    check_exec(&bad, &["no-such-shell"]);
}

#[test]
fn a_missing_local_action() {
    check_exec(&job("    steps:\n      - uses: ./nowhere\n"), &["./nowhere"]);
}

#[test]
fn an_event_that_is_not_json() {
    let project = Project::with_workflow(GOOD).file("event.json", "{\n  \"a\": nope\n}\n");
    let outcome = project.exec(&["-e", "event.json"]);
    outcome
        .assert_code(1)
        .assert_contains("event.json is not JSON")
        .assert_contains("line 2 column 9");
    project
        .exec(&["-e", "absent.json"])
        .assert_code(1)
        .assert_contains("absent.json");
    let list = Project::with_workflow(GOOD)
        .file("event.json", "[]")
        .exec(&["-e", "event.json"]);
    list.assert_code(1)
        .assert_contains("event.json is not a JSON object");
}

#[test]
fn a_file_that_is_no_file() {
    let project = Project::with_workflow(GOOD).file(".github/workflows/dir.yml/x", "");
    project.exec(&[]).assert_code(0);
    project
        .run(&["validate", "absent.yml"])
        .assert_code(1)
        .assert_contains("no file absent.yml");
    project
        .run(&["validate", "/dev/zero"])
        .assert_code(1)
        .assert_contains("it is not a regular file");
}
