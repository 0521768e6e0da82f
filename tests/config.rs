//! `gantry config`, from the outside.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod harness;

use std::os::unix::fs::PermissionsExt;

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

fn content(project: &Project) -> String {
    std::fs::read_to_string(project.directory.join("c.yaml")).unwrap()
}

#[test]
fn set_changes_one_value_and_keeps_the_rest_of_the_file() {
    let project = config("# mine\r\nrunner: # r\r\n  capacity: 1 # one\r\n");
    run(&project, &["set", "runner.capacity", "4"]).assert_code(0);
    run(&project, &["set", "container.options", "--cpus 2"]).assert_code(0);
    run(&project, &["add", "runner.labels", "a:host"]).assert_code(0);
    run(&project, &["add", "runner.labels", "b"]).assert_code(0);
    run(&project, &["remove", "runner.labels", "a:host"]).assert_code(0);
    let want = "# mine\r\nrunner: # r\r\n  capacity: 4 # one\r\n  labels:\r\n    - b\r\n\r\ncontainer:\r\n  options: --cpus 2\r\n";
    assert_eq!(content(&project), want);
}

#[test]
fn set_follows_links_and_keeps_the_mode() {
    let project = Project::new().file("real/config.yaml", "log: {level: info}\n");
    let real = project.directory.join("real/config.yaml");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real/config.yaml", project.directory.join("c.yaml")).unwrap();
    run(&project, &["set", "log.level", "debug"]).assert_code(0);
    let link = project.directory.join("c.yaml").symlink_metadata().unwrap();
    assert!(link.file_type().is_symlink());
    assert_eq!(std::fs::read_to_string(&real).unwrap(), "log: {level: debug}\n");
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
    let left = std::fs::read_dir(project.directory.join("real")).unwrap().count();
    assert_eq!(left, 1, "a temporary file is left");
}

#[test]
fn a_refused_change_leaves_the_file_as_it_was() {
    let text = "cache: {enabled: true}\n";
    let cases = [
        (
            &["set", "runner.timeout", "soon"][..],
            2,
            "`runner.timeout`: expected a duration",
        ),
        (
            &["set", "runner.timeot", "1h"],
            2,
            "did you mean `runner.timeout`?",
        ),
        (&["set", "runner", "1h"], 2, "`runner` is a section"),
        (&["set", "runner.file", "a", "b"], 2, "takes one value"),
        (&["set", "runner.file"], 2, "VALUE"),
        (&["add", "runner.file", "a"], 2, "is no list"),
        (&["remove", "runner.labels", "a"], 2, "has no 'a'"),
        (
            &["set", "cache.external_server", "http://c"],
            64,
            "the file is not changed: invalid configuration\nc.yaml",
        ),
        (&["get", "runner.file"], 1, "`runner.file` is not set in c.yaml"),
        (&["get", "runner.fil"], 2, "did you mean `runner.file`?"),
    ];
    for (args, code, message) in cases {
        let project = config(text);
        run(&project, args).assert_code(code).assert_contains(message);
        assert_eq!(content(&project), text, "{args:?}");
    }
    let project = config(text);
    run(&project, &["set", "--force", "cache.external_server", "http://c"]).assert_code(0);
    run(&project, &["check"])
        .assert_code(1)
        .assert_contains("needs a secret");
}

#[test]
fn get_prints_what_a_script_can_read() {
    let project = config(
        "runner:\n  timeout: 90m\n  labels: [a, 'b c']\n  envs: {A: 1, B: x=y}\n  hooks: {job_started: /s}\n\
         server: {connections: {a: {url: 'https://a', labels: [x]}}}\n",
    );
    let cases = [
        ("runner.timeout", "90m\n"),
        ("runner.labels", "a\nb c\n"),
        ("runner.envs", "A=1\nB=x=y\n"),
        ("runner.envs.B", "x=y\n"),
        ("runner.hooks", "job_started=/s\n"),
        ("server.connections.a", "url: https://a\nlabels:\n- x\n"),
        ("server.connections.a.url", "https://a\n"),
    ];
    for (key, want) in cases {
        let outcome = run(&project, &["get", key]);
        outcome.assert_code(0);
        assert_eq!(outcome.stdout, want, "{key}");
    }
}

#[test]
fn a_broken_file_is_not_edited() {
    let project = config("runner: [\n");
    for args in [
        &["set", "runner.capacity", "1"][..],
        &["get", "runner.capacity"],
        &["show"],
    ] {
        run(&project, args)
            .assert_code(64)
            .assert_contains("c.yaml (Line: 2, Col: 1)");
    }
    run(&Project::new(), &["set", "runner.capacity", "1"])
        .assert_code(64)
        .assert_contains("cannot read c.yaml");
}

#[test]
fn init_writes_a_file_that_only_its_owner_can_read_and_never_over_another() {
    let project = Project::new();
    run(&project, &["init"]).assert_code(0);
    let path = project.directory.join("c.yaml");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o600);
    run(&project, &["check"]).assert_code(0);
    run(&project, &["set", "log.level", "debug"]).assert_code(0);
    run(&project, &["init"])
        .assert_code(1)
        .assert_contains("-f replaces it");
    assert!(content(&project).ends_with("log:\n  level: debug\n"));
    run(&project, &["init", "-f"]).assert_code(0);
    assert!(!content(&project).contains("debug"));
}

#[test]
fn a_file_of_variables_that_does_not_exist_is_ignored_and_one_that_is_wrong_is_not() {
    let workflow = "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo \"A=$A B=$B\"\n";
    let project = config("runner: {envs: {A: 1, B: 2}, env_file: jobs.env}\n")
        .file(".github/workflows/t.yml", workflow);
    let args = ["-c", "c.yaml", "exec", "-i", "host"];
    project
        .run(&args)
        .assert_code(0)
        .assert_contains("A=1 B=2")
        .assert_contains("there is no file jobs.env");
    let project = project.file("jobs.env", "B=3\n");
    project.run(&args).assert_code(0).assert_contains("A=1 B=3");
    let project = project.file("jobs.env", "B='\n");
    project.run(&args).assert_code(64).assert_contains("jobs.env");
}
