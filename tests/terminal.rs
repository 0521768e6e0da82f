//! `gantry exec` on a terminal: a pseudo terminal takes the place of a person's.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod harness;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use harness::Project;
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

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
    let (mut screen, terminal) = terminal();
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
    }
    let code = child.wait().expect("the process ends").code();
    (code, String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
}

fn terminal() -> (File, OwnedFd) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
    grantpt(&screen).expect("granted");
    unlockpt(&screen).expect("unlocked");
    let name = ptsname(&screen, Vec::new()).expect("a name");
    let terminal =
        open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("the terminal opens");
    let size = Winsize {
        ws_row: 24,
        ws_col: 60,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).expect("resized");
    (screen.into(), terminal)
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

/// The command in a session of its own, whose terminal is its standard input.
#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn in_session(command: &Command) -> Command {
    let mut session = Command::new("setsid");
    session
        .arg("--ctty")
        .arg(command.get_program())
        .args(command.get_args());
    session.env_clear();
    for (name, value) in command.get_envs() {
        session.env(name, value.expect("a value"));
    }
    session.current_dir(command.get_current_dir().expect("a directory"));
    session
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
        let (mut screen, terminal) = terminal();
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
fn plain_lines_are_a_choice_and_the_way_of_dumb_terminals() {
    let project = Project::with_workflow(WORKFLOW);
    for (kind, args) in [("xterm", &["--plain"][..]), ("dumb", &[]), ("xterm", &["-d"])] {
        let (code, shown) = exec(&project, kind, args);
        assert_eq!(code, Some(1), "{shown}");
        assert_contains(&shown, &["[ci/good] row-of-good\n", "[ci/bad] row-of-bad\n"]);
    }
}
