//! `gantry explain` from the outside.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod harness;

use harness::Project;
use serde_json::Value;

const WORKFLOW: &str = "
name: ci
on: push
env: {LEVEL: workflow, ONE: workflow}
jobs:
  build:
    runs-on: ubuntu-latest
    env: {LEVEL: job, TWO: '${{ secrets.TOKEN }}/job'}
    outputs: {go: '${{ steps.write.outputs.go }}'}
    steps:
      - id: write
        run: |
          echo THREE=written >> $GITHUB_ENV
          echo go=yes >> $GITHUB_OUTPUT
          echo /added >> $GITHUB_PATH
      - name: Guarded
        if: github.event_name == 'push' && env.THREE == 'other'
        run: echo never
      - name: Composite
        uses: ./act
        env: {FOUR: around}
        with: {word: given}
      - name: Shaky
        run: exit 3
        continue-on-error: true
  docs:
    needs: build
    if: needs.build.outputs.go == 'no'
    runs-on: ubuntu-latest
    steps: [{run: echo}]
  test:
    strategy: {matrix: {n: [1, 2]}}
    runs-on: ubuntu-latest
    steps: [{run: 'echo ${{ matrix.n }}'}]
";

const ACTION: &str = "
inputs: {word: {}}
runs:
  using: composite
  steps:
    - {name: Inner, run: 'echo ${{ inputs.word }}', shell: bash, env: {FIVE: inner}}
";

fn project() -> Project {
    Project::with_workflow(WORKFLOW).file("act/action.yml", ACTION)
}

fn explained() -> Project {
    let project = project();
    project
        .exec(&["-s", "TOKEN=tok-en", "--env", "ZERO=flag"])
        .assert_code(0);
    project
}

fn json(project: &Project, what: &[&str]) -> Value {
    let outcome = project.run(&[&["explain", "--json"], what].concat());
    outcome.assert_code(0).assert_absent("tok-en");
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

#[test]
fn jobs_are_listed_with_their_reasons() {
    let project = explained();
    let outcome = project.run(&["explain"]);
    outcome
        .assert_code(0)
        .assert_contains("event push")
        .assert_contains("docs")
        .assert_contains("its condition is false: needs.build.outputs.go == 'no'")
        .assert_contains("test (2)");
    assert_eq!(json(&project, &[])["jobs"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_job_is_explained_with_its_steps() {
    let project = explained();
    project
        .run(&["explain", "DOCS"])
        .assert_code(0)
        .assert_contains("needs.build.outputs.go          'yes'")
        .assert_contains("is false: it was skipped");
    let outcome = project.run(&["explain", "build"]);
    outcome
        .assert_code(0)
        .assert_contains("false: success() && (github.event_name == 'push' && env.THREE == 'o…")
        .assert_contains("success (continue-on-error)");
    let test = json(&project, &["test"]);
    assert_eq!(
        test.as_array().map(Vec::len),
        Some(2),
        "each leg of the matrix: {test}"
    );
}

#[test]
fn a_step_shows_operands_and_where_its_variables_come_from() {
    let project = explained();
    project
        .run(&["explain", "build/guarded"])
        .assert_code(0)
        .assert_contains("env.THREE                    'written'")
        .assert_contains("skipped");
    let step = &json(&project, &["build/Inner"])[0]["step"];
    let origin = |name: &str| {
        let env = step["env"].as_array().expect("an environment");
        let variable = env.iter().find(|variable| variable["name"] == name);
        variable.map(|variable| {
            let text = |key: &str| variable[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("value"), text("origin"), text("step"))
        })
    };
    for (name, want) in [
        ("ZERO", "flag given "),
        ("ONE", "workflow workflow "),
        ("LEVEL", "job job "),
        ("TWO", "***/job job "),
        (
            "THREE",
            "written github_env 1 Run echo THREE=written >> $GITHUB_ENV",
        ),
        ("FOUR", "around composite "),
        ("FIVE", "inner step "),
        ("GITHUB_JOB", "build github "),
        ("RUNNER_NAME", "gantry runner "),
        ("CI", "true gantry "),
    ] {
        assert_eq!(origin(name).as_deref(), Some(want), "{name}");
    }
    let path = origin("PATH").expect("PATH");
    assert!(
        path.starts_with("/added:") && path.ends_with(" github_path "),
        "{path}"
    );
    assert_eq!(step["number"], "3.1");

    let shaky = &json(&project, &["build/4"])[0]["step"];
    assert_eq!(
        (&shaky["outcome"], &shaky["conclusion"]),
        (&"failure".into(), &"success".into())
    );
    project
        .run(&["explain", "build/3.1"])
        .assert_contains("from env of a step around\n      FOUR=around")
        .assert_absent("GITHUB_SHA");
    project
        .run(&["explain", "build/3.1", "--env"])
        .assert_contains("GITHUB_SHA=");
}

#[test]
fn what_is_not_there_is_told() {
    let project = project();
    project
        .run(&["explain"])
        .assert_code(1)
        .assert_contains("nothing has run in")
        .assert_contains("`gantry exec` there");
    project.exec(&["-j", "docs", "-s", "TOKEN=tok-en"]).assert_code(0);
    for (what, hint) in [
        ("bild", "no job 'bild' (did you mean 'build'?)"),
        ("test", "no job 'test'"),
        ("build/gaurded", "no step 'gaurded' (did you mean 'Guarded'?)"),
    ] {
        project
            .run(&["explain", what])
            .assert_code(2)
            .assert_contains(hint);
    }
    project.run(&["explain", "-C", "absent"]).assert_code(2);
}

#[test]
fn a_cancelled_run_and_one_that_fails_early_are_explained_too() {
    let workflow = "
on: push
env: {BAD: '${{ fromJSON(github.ref) }}'}
jobs:
  bad: {runs-on: x, steps: [{run: echo}]}
  after: {needs: bad, runs-on: x, steps: [{run: echo}]}
";
    let project = Project::with_workflow(workflow);
    project.exec(&[]).assert_code(1);
    project
        .run(&["explain", "bad"])
        .assert_code(0)
        .assert_contains("conclusion: failure");
    project
        .run(&["explain", "after"])
        .assert_code(0)
        .assert_contains("job 'bad', which it needs, ended with failure")
        .assert_contains("success()  false");
}
