//! `gantry exec` on a terminal: a pseudo terminal takes the place of a person's.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod harness;

use std::io::{Read, Write};
use std::process::Stdio;

use harness::Project;
use harness::screen::{in_session, pseudo_terminal};

const WORKFLOW: &str = "\
name: ci
on: push
jobs:
  good:
    runs-on: x
    steps: [{run: echo row-of-good}]
  bad:
    needs: good
    runs-on: x
    steps:
      - {name: Tolerated, run: exit 1, continue-on-error: true}
      - name: Broken
        run: printf 'row-of-bad\\033[2J\\n'; exit 3
";

/// Runs `gantry exec -i host` on a terminal of 60 columns; yields the exit code and what the terminal got.
fn exec(project: &Project, kind: &str, args: &[&str]) -> (Option<i32>, String) {
    exec_with(project, kind, args, &mut |_| {})
}

/// As [`exec`]; `look` is called with what the terminal has got so far whenever that is more.
fn exec_with(
    project: &Project,
    kind: &str,
    args: &[&str],
    look: &mut dyn FnMut(&str),
) -> (Option<i32>, String) {
    let (mut screen, terminal) = pseudo_terminal();
    let output = || Stdio::from(terminal.try_clone().expect("a descriptor"));
    let mut child = project
        .command(&[&["exec", "-i", "host"], args].concat())
        .env("TERM", kind)
        .env("NO_COLOR", "1")
        .stdout(output())
        .stderr(output())
        .spawn()
        .expect("the binary starts");
    drop(terminal);
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    // A terminal that nobody writes to any more answers with an error.
    while let Ok(length @ 1..) = screen.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..length]);
        look(&String::from_utf8_lossy(&shown));
    }
    let code = child.wait().expect("the process ends").code();
    (code, String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
}

#[track_caller]
fn assert_contains(shown: &str, texts: &[&str]) {
    for text in texts {
        assert!(shown.contains(text), "{text:?} is missing in\n{shown}");
    }
}

#[test]
fn a_terminal_gets_a_tree_and_the_log_of_what_failed() {
    let project = Project::with_workflow(WORKFLOW);
    let (code, shown) = exec(&project, "xterm-256color", &[]);
    assert_eq!(code, Some(1), "{shown}");
    let texts = [
        "✗ ci / bad / Broken\n",
        "  │ row-of-bad\n  │ ##[error]Process completed with exit code 3.\n",
        "✗ ci  failure, ",
        "  ✓ good  ",
        "    ! Tolerated  failure, tolerated, ",
        "    ✗ Broken  failure, ",
        "2 jobs: 1 success, 1 failure (",
    ];
    assert_contains(&shown, &texts);
    assert!(
        !shown.contains("\u{1b}[2J"),
        "a job acted on the terminal:\n{shown:?}"
    );
    project.assert_nothing_left();
}

#[test]
fn a_secret_is_asked_for_and_not_shown_while_it_is_typed() {
    let workflow = "\
name: ci
on: push
jobs:
  a:
    runs-on: x
    steps: [{run: 'echo \"length ${#TOKEN}\"', env: {TOKEN: '${{ secrets.TOKEN }}'}}]
";
    for (typed, code, expected) in [
        ("hunter2-hunter2\n", 0, "length 15"),
        ("\u{4}", 2, "--secret token has no value"),
    ] {
        let project = Project::with_workflow(workflow);
        let (mut screen, terminal) = pseudo_terminal();
        let end = || Stdio::from(terminal.try_clone().expect("a descriptor"));
        let command = project.command(&["exec", "-i", "host", "--plain", "-s", "token"]);
        // The end of the terminal comes when nobody holds it any more, this command included.
        let mut child = in_session(&command)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("setsid starts");
        drop(terminal);
        let mut shown = String::new();
        let mut is_asked = false;
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = screen.read(&mut buffer) {
            shown.push_str(&String::from_utf8_lossy(&buffer[..length]));
            if !is_asked && shown.contains("value of secret TOKEN: ") {
                is_asked = true;
                screen.write_all(typed.as_bytes()).expect("typed");
            }
        }
        assert_eq!(child.wait().expect("an end").code(), Some(code), "{shown}");
        assert_contains(&shown, &[expected]);
        assert!(is_asked && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn the_whole_log_of_the_step_that_failed_is_shown_and_no_other() {
    let workflow = "\
name: ci
on: push
jobs:
  a:
    runs-on: x
    steps:
      - run: seq -f 'good-row-%g' 30
      - name: Broken
        run: seq -f 'row-of-the-broken-step-%05g' 20000; exit 1
";
    let project = Project::with_workflow(workflow);
    let (code, shown) = exec(&project, "xterm-256color", &[]);
    assert_eq!(code, Some(1));
    let first = shown.find("✗ ci / a / Broken\n").expect("the log");
    let rows: Vec<&str> = shown[first..]
        .lines()
        .filter_map(|line| line.strip_prefix("  │ row-of-the-broken-step-"))
        .collect();
    let want: Vec<String> = (1..=20_000).map(|number| format!("{number:05}")).collect();
    assert!(rows == want, "{} rows", rows.len());
    let is_of_good = |line: &str| line.starts_with("  │ good-row");
    assert!(!shown.lines().any(is_of_good), "the log of a step that went well");
}

#[test]
fn what_does_not_run_stands_in_the_tree_with_its_reason() {
    let workflow = "\
name: ci
on: push
jobs:
  first:
    runs-on: x
    steps:
      - {name: Elsewhere, if: 'github.ref == ''refs/heads/none''', run: 'true'}
      - {name: Broken, run: 'until test -e $GATE; do sleep 0.02; done; exit 1'}
      - {name: Later, run: 'true'}
  second:
    needs: first
    runs-on: x
    steps: [{run: 'true'}]
  third:
    name: The third one
    needs: [first, second]
    runs-on: x
    steps: [{run: 'true'}]
  never:
    if: ${{ false }}
    runs-on: x
    steps: [{run: 'true'}]
";
    let project = Project::with_workflow(workflow);
    let gate = project.jobs().with_file_name("gate");
    let gate_env = format!("GATE={}", gate.display());
    let args = ["--env", gate_env.as_str()];
    let waiting = [
        "  · second  waits for first",
        "  · The third one  waits for first, second",
    ];
    let (code, shown) = exec_with(&project, "xterm-256color", &args, &mut |shown| {
        // The first job ends only once the picture has shown the others.
        if waiting.iter().all(|text| shown.contains(text)) && !gate.exists() {
            std::fs::write(&gate, "").expect("a file");
        }
    });
    assert_eq!(code, Some(1), "{shown}");
    assert_contains(&shown, &waiting);
    let texts = [
        "    - Elsewhere  skipped: its condition is false: github.r",
        "    - Later  skipped: the job had failed or was cancelled",
        "  - never  skipped: its condition is false: ",
        "  - second  skipped: ",
        "  - The third one  skipped: ",
    ];
    assert_contains(&shown, &texts);
    let (_, plain) = exec(&project, "xterm-256color", &[&args[..], &["--plain"]].concat());
    let texts = [
        "- skipped: Elsewhere (its condition is false: github.ref == 'refs/heads/none')\n",
        "- skipped: Later (the job had failed or was cancelled before)\n",
    ];
    assert_contains(&plain, &texts);
}

#[test]
fn plain_lines_are_a_choice_and_the_way_of_dumb_terminals() {
    let project = Project::with_workflow(WORKFLOW);
    for (kind, args) in [("xterm", &["--plain"][..]), ("dumb", &[]), ("xterm", &["-d"])] {
        let (code, shown) = exec(&project, kind, args);
        assert_eq!(code, Some(1), "{shown}");
        assert_contains(&shown, &["[ci/good] row-of-good\n", "[ci/bad] row-of-bad\n"]);
    }
}
