//! `gantry exec --break-on failure` at a pseudo terminal.

mod harness;

use std::time::Duration;

use harness::Project;
use harness::screen::Session;
use rustix::process::{Pid, Signal, kill_process};

/// The second step fails until there is a file `mended`, and leaves things in its files each time.
const WORKFLOW: &str = "\
name: ci
on: push
jobs:
  build:
    runs-on: x
    timeout-minutes: 60
    outputs: {word: '${{ steps.shaky.outputs.word }}'}
    env: {TOKEN: '${{ secrets.TOKEN }}'}
    steps:
      - run: echo KEPT=from-before >> $GITHUB_ENV
      - id: shaky
        name: Shaky
        shell: bash
        run: |
          echo \"try: ${DROPPED:-clean}\"
          echo DROPPED=by-a-failed-try >> $GITHUB_ENV
          test -e mended || { echo word=failed >> $GITHUB_OUTPUT; exit 7; }
          echo word=mended >> $GITHUB_OUTPUT
      - name: After
        run: echo \"after ${{ steps.shaky.outcome }} ${{ steps.shaky.outputs.word }}\"
      - name: Always
        if: always()
        run: echo \"always ${{ steps.shaky.outcome }}/${{ steps.shaky.conclusion }}\"
";

const PROMPT: &str = "what now? ";

fn session(project: &Project, kind: &str, args: &[&str]) -> Session {
    let args = [
        &[
            "exec",
            "-i",
            "host",
            "--break-on",
            "failure",
            "-s",
            "TOKEN=hid-den",
        ],
        args,
    ]
    .concat();
    let mut command = project.command(&args);
    command.env("TERM", kind).env("NO_COLOR", "1");
    Session::start(&command)
}

#[track_caller]
fn assert_end((code, shown): (Option<i32>, String), want: i32, texts: &[&str]) -> String {
    assert_eq!(code, Some(want), "{shown}");
    for text in texts {
        assert!(shown.contains(text), "{text:?} is missing in\n{shown}");
    }
    shown
}

#[test]
fn a_shell_has_the_environment_of_the_step_and_mends_it() {
    let project = Project::with_workflow(WORKFLOW);
    let mut session = session(&project, "dumb", &[]);
    session
        .wait_for("[ci/build] Stopped at a breakpoint")
        .wait_for("'Shaky' of ci/build failed with exit code 7.")
        .wait_for("Its script is ")
        .wait_for(PROMPT)
        .type_keys("s\n")
        .wait_for("step$ ")
        // Only what is evaluated can show these words; the echo of the keys does not.
        .type_keys("echo \"<$KEPT> <$GITHUB_JOB> <$(basename $PWD)>\"\n")
        .wait_for("<from-before> <build> <project>")
        .type_keys("test \"$TOKEN\" = hid\\-den && echo token-''is-there\n")
        .wait_for("token-is-there")
        .type_keys("cat $GITHUB_OUTPUT | tr a-z A-Z\n")
        .wait_for("WORD=FAILED")
        // The terminal is the shell's: a key ends what runs in it and nothing else.
        // It says so itself, because only then it surely has the terminal.
        .type_keys("sh -c 'echo sleeps-\"\"now; exec sleep 1000'\n")
        .wait_for("sleeps-now")
        .type_keys("\u{3}")
        .wait_for("step$ ")
        .type_keys("touch mended; exit\n")
        .wait_for(PROMPT)
        .type_keys("r\n");
    let shown = assert_end(
        session.finish(),
        0,
        &[
            "[ci/build] Running the step again",
            "[ci/build] after success mended",
            "[ci/build] always success/success",
        ],
    );
    assert_eq!(shown.matches("try: clean").count(), 2, "{shown}");
    assert!(!shown.contains("try: by-a-failed-try"), "{shown}");
    assert!(!shown.contains("cancelling"), "{shown}");
    project.assert_nothing_left();
}

#[test]
fn a_skipped_step_counts_as_a_success() {
    let project = Project::with_workflow(WORKFLOW);
    let mut session = session(&project, "dumb", &[]);
    session
        .wait_for(PROMPT)
        .type_keys("what?\n")
        .wait_for(PROMPT)
        .type_keys("k\n");
    let texts = [
        "[ci/build] after success failed",
        "[ci/build] always success/success",
    ];
    assert_end(session.finish(), 0, &texts);
    project.assert_nothing_left();
}

#[test]
fn a_failure_may_stand() {
    let project = Project::with_workflow(WORKFLOW);
    for keys in ["g\n", "\u{4}"] {
        let mut session = session(&project, "dumb", &[]);
        session.wait_for(PROMPT).type_keys(keys);
        let shown = assert_end(session.finish(), 1, &["[ci/build] always failure/failure"]);
        assert!(!shown.contains("after "), "{shown}");
    }
    project.assert_nothing_left();
}

#[test]
fn ctrl_c_in_the_menu_cancels_the_run() {
    let project = Project::with_workflow(WORKFLOW);
    let mut session = session(&project, "dumb", &[]);
    session.wait_for(PROMPT).type_keys("\u{3}");
    assert_end(
        session.finish(),
        130,
        &["cancelling", "[ci/build] always failure/failure"],
    );
    project.assert_nothing_left();
}

#[test]
fn a_signal_ends_an_open_shell_with_the_run() {
    let project = Project::with_workflow(WORKFLOW);
    let mut session = session(&project, "dumb", &[]);
    session
        .wait_for(PROMPT)
        .type_keys("s\n")
        .wait_for("step$ ")
        .type_keys("trap '' HUP; echo deaf-''now\n")
        .wait_for("deaf-now");
    let id = i32::try_from(session.id()).ok().and_then(Pid::from_raw);
    kill_process(id.expect("an id"), Signal::TERM).expect("the process is there");
    assert_end(session.finish(), 130, &["cancelling"]);
    project.assert_nothing_left();
}

#[test]
fn the_tree_makes_room_for_the_menu_and_comes_back() {
    let project = Project::with_workflow(WORKFLOW);
    let mut session = session(&project, "xterm", &[]);
    session
        .wait_for("ci / build / Shaky")
        .wait_for("│ ##[error]Process completed with exit code 7.")
        .wait_for(PROMPT)
        .type_keys("s\n")
        .wait_for("step$ ")
        .type_keys("touch mended; exit\n")
        .wait_for(PROMPT)
        .type_keys("r\n");
    assert_end(session.finish(), 0, &["✓ ci  ", "1 job: 1 success"]);
    project.assert_nothing_left();
}

#[test]
fn the_tree_shows_the_whole_log_at_the_hold_and_only_once() {
    let workflow = "\
name: ci
on: push
jobs: {build: {runs-on: x, steps: [{name: Long, run: 'seq -f row-%05g 5000; exit 7'}]}}
";
    let project = Project::with_workflow(workflow);
    let mut session = session(&project, "xterm", &[]);
    session
        .wait_for("✗ ci / build / Long\n")
        .wait_for("│ row-00001\n")
        .wait_for("│ row-05000\n")
        .wait_for(PROMPT)
        .type_keys("g\n")
        .wait_for("✗ ci / build / Long\n")
        .wait_for(" rows stand above)\n");
    let shown = assert_end(session.finish(), 1, &["1 job: 1 failure"]);
    // A row of the log, not one of the live picture, which indents them more.
    let of_log = shown.lines().filter_map(|line| line.strip_prefix("  │ row-"));
    let want = (1..=5000).map(|row| format!("{row:05}"));
    assert!(of_log.eq(want), "{shown}");
    project.assert_nothing_left();
}

const SIDE_BY_SIDE: &str = "\
name: ci
on: push
jobs:
  bad:
    runs-on: x
    steps: [{name: Bad, run: exit 1}]
  busy:
    runs-on: x
    steps:
      - run: |
          while test ! -e OUTSIDE/asked; do sleep 0.05; done
          echo row-of-busy
          touch OUTSIDE/went-on
";

#[test]
fn other_jobs_go_on_and_are_shown_afterwards() {
    let outside = tempfile::tempdir().expect("a directory");
    let place = outside.path().to_str().expect("text");
    let project = Project::with_workflow(&SIDE_BY_SIDE.replace("OUTSIDE", place));
    let mut session = session(&project, "dumb", &[]);
    session.wait_for(PROMPT);
    std::fs::write(outside.path().join("asked"), "").expect("a file");
    let went_on = outside.path().join("went-on");
    let mut looks = 0;
    while !went_on.exists() {
        looks += 1;
        assert!(looks < 6000, "the other job does not go on");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    session.type_keys("g\n");
    let (code, shown) = session.finish();
    assert_eq!(code, Some(1), "{shown}");
    let (before, after) = shown.split_once(PROMPT).expect("a prompt");
    assert!(!before.contains("] row-of-busy\n"), "{shown}");
    assert!(after.contains("[ci/busy] row-of-busy\n"), "{shown}");
    project.assert_nothing_left();
}

#[test]
fn a_step_without_a_process_can_be_run_again_too() {
    let workflow = "on: push\njobs: {j: {runs-on: x, steps: [{name: Missing, uses: ./act}]}}";
    let project = Project::with_workflow(workflow);
    let mut session = session(&project, "dumb", &[]);
    session
        .wait_for("'Missing' of ")
        .wait_for(PROMPT)
        // There is nothing that a shell could stand in.
        .type_keys("s\n")
        .wait_for(PROMPT)
        .type_keys("r\n")
        .wait_for("Running the step again")
        .wait_for(PROMPT)
        .type_keys("k\n");
    let shown = assert_end(session.finish(), 0, &["The step counts as a success"]);
    assert!(!shown.contains("open a shell"), "{shown}");
}

#[test]
fn a_step_of_a_composite_action_asks_once() {
    let action = "runs: {using: composite, steps: [{name: Inner, run: exit 5, shell: bash}]}";
    let workflow = "on: push\njobs: {j: {runs-on: x, steps: [{uses: ./act}, {run: echo never}]}}";
    let project = Project::with_workflow(workflow).file("act/action.yml", action);
    let mut session = session(&project, "dumb", &[]);
    session
        .wait_for("'Inner' of ")
        .wait_for("failed with exit code 5.")
        .wait_for(PROMPT)
        .type_keys("g\n");
    let shown = assert_end(session.finish(), 1, &[]);
    assert_eq!(shown.matches(PROMPT).count(), 1, "{shown}");
}

#[test]
fn without_a_terminal_nobody_can_be_asked() {
    let project = Project::with_workflow(WORKFLOW);
    let outcome = project.exec(&["--break-on", "failure"]);
    outcome.assert_code(2);
    let want = "gantry: --break-on asks a person, and there is no terminal: stdin is not a terminal\n";
    assert_eq!(outcome.stderr, want);
    project.exec(&["--break-on", "success"]).assert_code(2);
}
