//! `gantry config`, from the outside.

mod harness;

use harness::{Outcome, Project};

fn config(text: &str) -> Project {
    Project::new().file("c.yaml", text)
}

fn run(project: &Project, args: &[&str]) -> Outcome {
    project.run(&[&["-c", "c.yaml", "config"], args].concat())
}

#[test]
fn check_names_every_mistake_with_its_line() {
    let outcome = run(&config("runner:\n  timeout: soon\n  capacity: x\n"), &["check"]);
    outcome
        .assert_code(1)
        .assert_contains("c.yaml (Line: 2, Col: 12): `runner.timeout`: expected a duration")
        .assert_contains("  2 |   timeout: soon\n    |            ^")
        .assert_contains("c.yaml (Line: 3, Col: 13): `runner.capacity`: expected a whole number");
}

#[test]
fn an_unknown_key_is_a_mistake_for_check_and_a_warning_for_the_rest() {
    let project = config("runner: {timeot: 1h}\n");
    let want = "c.yaml (Line: 1, Col: 10): unknown key `runner.timeot`; did you mean `runner.timeout`?";
    run(&project, &["check"]).assert_code(1).assert_contains(want);
    run(&project, &["show"]).assert_code(0).assert_contains(want);
}

#[test]
fn check_finds_the_file_and_says_which() {
    let outcome =
        Project::new()
            .file("config.yml", "log: {}\n")
            .run(&["-c", "config.yml", "config", "check"]);
    outcome.assert_code(0).assert_contains("config.yml: no mistakes");
    let missing = run(&Project::new(), &["check"]);
    missing.assert_code(64).assert_contains("cannot read c.yaml");
}

#[test]
fn show_tells_where_values_come_from() {
    let project = config("runner:\n  capacity: 3\ncache: {external_secret: hunter2}\n");
    let outcome = run(&project, &["show", "--origin", "--set", "log.level=debug"]);
    outcome
        .assert_code(0)
        .assert_contains("# c.yaml:2")
        .assert_contains("# flag --set log.level")
        .assert_contains("# default");
    assert!(!outcome.stdout.contains("hunter2"), "{}", outcome.stdout);
}

#[test]
fn generate_prints_the_example_under_both_of_its_names() {
    let example = include_str!("../config.example.yaml");
    for args in [&["config", "generate"][..], &["generate-config"]] {
        let outcome = Project::new().run(args);
        outcome.assert_code(0);
        assert!(outcome.stdout == example, "{}", outcome.stdout);
    }
}

#[test]
fn schema_prints_json() {
    let outcome = Project::new().run(&["config", "schema"]);
    outcome.assert_code(0);
    let schema: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        schema["properties"]["runner"]["properties"]["timeout"]["default"],
        "3h"
    );
}

#[test]
fn a_value_for_a_flag_needs_a_key() {
    let outcome = Project::new().run(&["--set", "nothing", "exec"]);
    outcome.assert_code(2).assert_contains("expected KEY=VALUE");
    let outcome = Project::new().run(&["--set", "runner.timeout=soon", "exec"]);
    outcome.assert_code(64).assert_contains("--set runner.timeout: ");
}
