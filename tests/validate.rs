//! `gantry validate` from the outside.

mod harness;

use harness::Project;
use serde_json::Value;

const BAD: &str =
    "on: push\njobs:\n  a:\n    runs-on: x\n    step: 1\n    steps:\n      - run: x\n        shel: sh\n";
const GOOD: &str = "on: push\njobs: {a: {runs-on: x, steps: [{run: x}]}}\n";
const ACTION: &str = "name: a\ndescription: a\nruns: {using: composite, steps: [{run: x}]}\n";

#[test]
fn every_mistake_is_shown_with_its_line() {
    let outcome = Project::with_workflow(BAD).run(&["validate"]);
    outcome.assert_code(1);
    outcome.assert_contains(
        ".github/workflows/t.yml (Line: 5, Col: 5): Unexpected value 'step'\n  5 |     step: 1\n    |     ^\n",
    );
    outcome.assert_contains("(Line: 8, Col: 9): Unexpected value 'shel'\n  8 |         shel: sh\n");
    outcome.assert_contains("1 file, 2 mistakes");
}

#[test]
fn json_has_one_mistake_on_each_line() {
    let outcome = Project::with_workflow(BAD).run(&["validate", "--json"]);
    outcome.assert_code(1);
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let lines: Vec<Value> = outcome.stdout.lines().map(parse).collect();
    let want = serde_json::json!({
        "file": ".github/workflows/t.yml", "line": 5, "column": 5, "message": "Unexpected value 'step'",
    });
    assert_eq!((lines.len(), &lines[0]), (2, &want));
}

#[test]
fn a_mistake_without_a_place_in_its_text_has_one_for_programs() {
    let outcome = Project::with_workflow("on: push\njobs: {a: *nope}\n").run(&["validate", "--json"]);
    outcome.assert_code(1);
    let line: Value = serde_json::from_str(outcome.stdout.trim()).expect("JSON");
    let want = serde_json::json!({
        "file": ".github/workflows/t.yml", "line": 2, "column": 11, "message": "Unknown anchor 'nope'",
    });
    assert_eq!(line, want);
}

#[test]
fn actions_are_checked_too() {
    let project = Project::with_workflow(GOOD).file(".github/actions/a/action.yml", ACTION);
    let outcome = project.run(&["validate"]);
    outcome
        .assert_code(1)
        .assert_contains(".github/actions/a/action.yml (Line: 3, Col: ");
    outcome
        .assert_contains("Required property is missing: shell")
        .assert_contains("2 files, 1 mistake");
}

#[test]
fn files_and_directories_can_be_named() {
    let project = Project::new()
        .file("good.yml", GOOD)
        .file("some/where/.github/workflows/bad.yml", BAD)
        .file("some/where/action.yaml", ACTION)
        .file("empty/readme.txt", "");
    project
        .run(&["validate", "good.yml"])
        .assert_code(0)
        .assert_contains("1 file, 0 mistakes");
    project
        .run(&["validate", "some"])
        .assert_code(1)
        .assert_contains("2 files, 3 mistakes");
    project
        .run(&["validate", "empty"])
        .assert_code(1)
        .assert_contains("found in empty");
    project
        .run(&["validate"])
        .assert_code(1)
        .assert_contains("no workflow or action.yml file found");
}

#[test]
fn the_examples_are_valid() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    Project::new().run(&["validate", examples]).assert_code(0);
}
