//! Steps that mean harm, or that are only broken: a flood of output, processes that hide, command files that are none.
//!
//! Each of them ends with a clear message, within bounds of time and memory, and with nothing of the job left behind.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod harness;

use std::fmt::Write;
use std::time::Duration;

use harness::{Outcome, Project};
use rustix::process::Signal;
use serde_json::Value;

const SOON: Duration = Duration::from_secs(30);

/// What the runner itself may hold in memory at its peak, whatever a job does.
const MEMORY_LIMIT_KIB: usize = 64 << 10;

/// A step that prints the runner's greatest size so far: a step's shell is a child of the runner.
const PRINT_PEAK: &str = "grep VmHWM /proc/$PPID/status";

/// A workflow with one job `a`, which has a step for each script.
fn workflow(scripts: &[&str]) -> String {
    let mut text = String::from("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n");
    for script in scripts {
        text.push_str("      - run: |\n");
        for line in script.lines() {
            writeln!(text, "          {line}").expect("a string takes all");
        }
    }
    text
}

/// Runs one job with these scripts, which must leave nothing.
fn run(scripts: &[&str], args: &[&str]) -> Outcome {
    let project = Project::with_workflow(&workflow(scripts));
    let outcome = project.exec(args);
    outcome.assert_absent("panicked");
    project.assert_nothing_left();
    outcome
}

/// Rows of the log as they come after the prefix with the job's name.
fn rows(outcome: &Outcome) -> impl Iterator<Item = &str> {
    outcome
        .stdout
        .lines()
        .filter_map(|line| line.split_once("] ").map(|(_, row)| row))
}

fn assert_row(outcome: &Outcome, row: &str) {
    let found = rows(outcome).any(|other| other == row);
    assert!(found, "no row {row:?} in\n{}", outcome.stdout);
}

/// The greatest size of the runner that a step has printed, in KiB.
fn peak(outcome: &Outcome) -> usize {
    let row = rows(outcome).find_map(|row| row.strip_prefix("VmHWM:"));
    let number = row.and_then(|row| row.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("the peak is printed")
}

/// A flood of output: how often a byte must arrive, and the script that writes it.
fn check_flood(byte: u8, count: usize, script: &str) {
    let project = Project::with_workflow(&workflow(&[script, PRINT_PEAK]));
    let (counted, outcome) = project.start(&["exec", "-i", "host"]).finish_counting(byte, SOON);
    outcome.assert_code(0);
    assert_eq!(counted, count, "{}", outcome.stdout);
    let peak = peak(&outcome);
    assert!(peak <= MEMORY_LIMIT_KIB, "the runner took {peak} KiB");
    project.assert_nothing_left();
}

#[test]
fn output_without_line_ends_stays_within_memory() {
    check_flood(b'~', 200_000_000, r"head -c 200000000 /dev/zero | tr '\0' '\176'");
}

#[test]
fn a_flood_of_rows_is_complete_and_stays_within_memory() {
    let script = r#"awk 'BEGIN { for (i = 0; i < 500000; i++) printf "%d%c\n", i, 126 }'"#;
    check_flood(b'~', 500_000, script);
}

#[test]
fn bytes_that_are_no_text_are_made_harmless() {
    let outcome = run(
        &[r"printf 'bad \xff\xfe end\n'
            printf 'nul \0 end\n'
            printf '\033[31mred\033[0m \033]0;title\007 \033]52;c;eA==\007 \033[2J end\n'
            printf '10%%\r50%%\r100%%\n'
            printf 'crlf\r\n'
            printf 'cut \xf0\x9f'"],
        &[],
    );
    outcome.assert_code(0);
    for row in [
        "bad \u{fffd}\u{fffd} end",
        "nul \0 end",
        "red    end",
        "crlf",
        "cut \u{fffd}",
    ] {
        assert_row(&outcome, row);
    }
    outcome.assert_absent("\u{1b}").assert_absent("\u{7}");
}

/// Processes that try to get away: in sessions of their own, without environment, deaf to gentle signals, and
/// orphaned at once.
const STORM: &str = r#"for i in $(seq 70); do
  (setsid sleep 600 &)
  (setsid env -i sleep 600 >/dev/null 2>&1 &)
  (setsid bash -c "trap '' INT TERM HUP; sleep 600; sleep 600" &)
done
echo "raised-$((1+1))"
"#;

#[test]
fn a_storm_of_daemons_ends_with_a_cancel() {
    let project = Project::with_workflow(&workflow(&[&format!("{STORM}\nsleep 600")]));
    let mut running = project.start(&["exec", "-i", "host"]);
    running.wait_for("raised-2", SOON);
    running.signal(Signal::INT);
    running.finish(SOON).assert_code(130);
    project.assert_nothing_left();
}

#[test]
fn a_storm_of_daemons_ends_with_the_job() {
    let outcome = run(&[STORM], &[]);
    outcome.assert_code(0);
    let named = rows(&outcome)
        .filter(|row| row.starts_with("Terminate orphan process: pid ("))
        .count();
    assert!(named >= 200, "{named} were named");
}

#[test]
fn a_background_process_that_holds_the_output_does_not_hold_the_step() {
    let outcome = run(
        &["sleep 600 &\necho \"first-$((1+1))\"", "echo \"second-$((1+1))\""],
        &[],
    );
    outcome.assert_code(0);
    outcome.assert_contains("first-2").assert_contains("second-2");
    let is_named =
        |row: &str| row.starts_with("Terminate orphan process: pid (") && row.ends_with(") (sleep)");
    assert_eq!(rows(&outcome).filter(|row| is_named(row)).count(), 1);
}

#[test]
fn a_step_without_output_is_waited_for() {
    let outcome = run(&["exec >&- 2>&-\nsleep 0.3\nexit 7"], &[]);
    outcome.assert_code(1);
    assert_row(&outcome, "##[error]Process completed with exit code 7.");
}

/// What a step does to its command files: what it is called, the script, how the step ends, and what the log says.
const COMMAND_FILES: &[(&str, &str, &str, &str)] = &[
    (
        "sparse",
        r#"truncate -s 10G "$GITHUB_ENV""#,
        "failure",
        "has more than 16777216 bytes",
    ),
    (
        "fifo",
        r#"rm "$GITHUB_OUTPUT"; mkfifo "$GITHUB_OUTPUT""#,
        "failure",
        "is a FIFO, not a regular file",
    ),
    (
        "link",
        r#"ln -sf /etc/passwd "$GITHUB_OUTPUT""#,
        "failure",
        "is a symbolic link, not a regular file",
    ),
    (
        "directory",
        r#"rm "$GITHUB_STATE"; mkdir -p "$GITHUB_STATE/a/b""#,
        "failure",
        "is a directory, not a regular file",
    ),
    ("gone", r#"rm "$GITHUB_ENV""#, "success", ""),
    (
        "delimiter",
        r#"printf 'A<<EOF\nx\n' >>"$GITHUB_ENV""#,
        "failure",
        "Matching delimiter not found 'EOF'",
    ),
    (
        "format",
        r#"echo nonsense >>"$GITHUB_OUTPUT""#,
        "failure",
        "Invalid format 'nonsense'",
    ),
    ("bytes", r#"printf 'A=\xff\n' >>"$GITHUB_ENV""#, "success", ""),
    (
        "summary",
        r#"head -c 1100000 /dev/zero >"$GITHUB_STEP_SUMMARY""#,
        "success",
        "supports content up to a size of 1024k, got 1074k",
    ),
    (
        "reserved",
        r#"echo NODE_OPTIONS=--inspect >>"$GITHUB_ENV""#,
        "success",
        "Can't store NODE_OPTIONS",
    ),
];

#[test]
fn command_files_that_are_none_fail_their_step() {
    let mut text = String::from("on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n");
    for (id, script, ..) in COMMAND_FILES {
        writeln!(
            text,
            "      - id: {id}\n        continue-on-error: true\n        run: |\n          {script}"
        )
        .expect("a string takes all");
    }
    text.push_str("      - if: always()\n        run: |\n");
    for (id, ..) in COMMAND_FILES {
        writeln!(text, "          echo '{id} is ${{{{ steps.{id}.outcome }}}}'").expect("a string takes all");
    }
    text.push_str("          printf 'A holds %s\\n' \"$A\"\n");
    let project = Project::with_workflow(&text);
    let outcome = project.exec(&[]);
    outcome.assert_code(0);
    for (id, _, conclusion, message) in COMMAND_FILES {
        assert_row(&outcome, &format!("{id} is {conclusion}"));
        outcome.assert_contains(message);
    }
    assert_row(&outcome, "A holds \u{fffd}");
    outcome.assert_absent("root:x:");
    project.assert_nothing_left();
}

#[test]
fn a_step_may_take_the_ground_from_under_the_job() {
    let outcome = run(
        &[r#"cd /; rm -rf "$GITHUB_WORKSPACE""#, "echo never-$((1+1))"],
        &[],
    );
    outcome.assert_code(1).assert_absent("never-2");
    let project = Project::with_workflow(&workflow(&[
        r#"rm -rf "$RUNNER_TEMP" "$HOME"; ln -s "$OUTSIDE" "$RUNNER_TEMP""#,
        "echo never-$((1+1))",
    ]));
    let outside = tempfile::tempdir().expect("a directory");
    let variable = format!("OUTSIDE={}", outside.path().display());
    let outcome = project.exec(&["--env", &variable]);
    outcome
        .assert_code(1)
        .assert_absent("never-2")
        .assert_contains("the directory '_temp' of the job was replaced by something else");
    assert_eq!(std::fs::read_dir(outside.path()).expect("readable").count(), 0);
    project.assert_nothing_left();
    let outcome = run(
        &[
            r#"mkdir -p locked/in && touch locked/in/file && chmod -R a-rwx locked
            deep=$(printf 'd/%.0s' $(seq 500)); mkdir -p "$deep"; cd "$deep" && mkdir -p "$deep"
            ln -s / root"#,
        ],
        &[],
    );
    outcome.assert_code(0);
}

#[test]
fn an_environment_that_no_process_can_take_fails_the_step_that_needs_it() {
    let outcome = run(
        &[
            r#"(printf 'BIG='; head -c 3000000 /dev/zero | tr '\0' b; echo) >>"$GITHUB_ENV""#,
            "echo never-$((1+1))",
        ],
        &[],
    );
    outcome.assert_code(1).assert_absent("never-2");
    outcome.assert_contains("rgument list too long");
}

/// Runs a job that uses an action; the log must hold exactly one error, and it says `message`.
fn check_action(project: Project, uses: &str, message: &str) {
    let text = format!("on: push\njobs: {{a: {{runs-on: x, steps: [{{uses: {uses}}}]}}}}\n");
    let project = project.file(".github/workflows/t.yml", &text);
    let outcome = project.exec(&[]);
    outcome.assert_code(1).assert_absent("panicked");
    let errors: Vec<_> = rows(&outcome)
        .filter(|row| row.starts_with("##[error]"))
        .collect();
    assert_eq!(errors.len(), 1, "{}", outcome.stdout);
    assert!(errors[0].contains(message), "{}", errors[0]);
    project.assert_nothing_left();
}

#[test]
fn an_action_that_cannot_run_says_why_once() {
    let node = "name: n\nruns: {using: node20, main: main.js}\n";
    check_action(Project::new(), "./nowhere", "Can't find 'action.yml'");
    check_action(
        Project::new().file("empty/README", ""),
        "./empty",
        "Can't find 'action.yml'",
    );
    check_action(
        Project::new().file("broken/action.yml", "name: ["),
        "./broken",
        "./broken/action.yml",
    );
    check_action(
        Project::new().file("old/action.yml", &node.replace("20", "6")),
        "./old",
        "node6",
    );
    check_action(
        Project::new()
            .file("node/action.yml", node)
            .file("node/main.js", "")
            .with_programs_only(&["bash", "git"]),
        "./node",
        "there is no 'node' in PATH",
    );
}

#[test]
fn problem_matchers_mark_lines() {
    let matcher = r#"{"problemMatcher": [{"owner": "cc", "pattern": [
        {"regexp": "^(.+):(\\d+):(\\d+): (warning|error): (.+)$",
         "file": 1, "line": 2, "column": 3, "severity": 4, "message": 5}]}]}"#;
    let script = "echo '::add-matcher::cc.json'
        echo 'src/a.c:3:7: error: it broke'
        printf '\\033[1msrc/b.c:4:1:\\033[0m warning: it may break\\n'
        echo '::remove-matcher owner=cc::'
        echo 'src/c.c:5:1: error: unmarked'";
    let project = Project::with_workflow(&workflow(&[script])).file("cc.json", matcher);
    let outcome = project.exec(&[]);
    outcome.assert_code(0);
    assert_row(&outcome, "##[error]src/a.c:3:7: error: it broke");
    assert_row(&outcome, "##[warning]src/b.c:4:1: warning: it may break");
    assert_row(&outcome, "src/c.c:5:1: error: unmarked");
    let json = project.exec(&["--json"]);
    let lines = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let notes: Vec<Value> = lines
        .filter(|line: &Value| line["event"] == "annotation")
        .map(|line| line["annotation"].clone())
        .collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    let first = &notes[0];
    let place = (&first["file"], &first["line"], &first["column"]);
    assert_eq!(place, (&"src/a.c".into(), &3.into(), &7.into()), "{first}");
    assert_eq!(
        (&first["level"], &first["message"]),
        (&"error".into(), &"it broke".into()),
        "{first}"
    );
    project.assert_nothing_left();
}

#[test]
fn a_matcher_file_that_is_none_fails_the_step() {
    for (name, content) in [("absent.json", ""), ("bad.json", "{"), ("list.json", "[]")] {
        let script = format!("echo '::add-matcher::{name}'\necho 'still-here'");
        let mut project = Project::with_workflow(&workflow(&[&script]));
        if !content.is_empty() {
            project = project.file(name, content);
        }
        let outcome = project.exec(&[]);
        outcome.assert_code(1);
        assert_row(&outcome, "still-here");
        assert_row(
            &outcome,
            &format!("##[error]Unable to process command '::add-matcher::{name}' successfully."),
        );
        project.assert_nothing_left();
    }
}

#[test]
fn commands_between_stop_and_resume_are_text() {
    let outcome = run(
        &["echo '::stop-commands::a-token-of-mine'
            echo '::error::not an error'
            echo '::set-output name=a::b'
            echo '::other-token::'
            echo '::a-token-of-mine::'
            echo '::error::an error'"],
        &[],
    );
    outcome.assert_code(0);
    assert_row(&outcome, "::error::not an error");
    assert_row(&outcome, "::other-token::");
    assert_row(&outcome, "##[error]an error");
}

#[test]
fn commands_that_are_refused_fail_the_step() {
    for command in ["set-env name=A", "add-path"] {
        let outcome = run(&[&format!("echo '::{command}::/tmp'")], &[]);
        outcome.assert_code(1).assert_contains("is disabled");
    }
}

const KEY: &str = "-----BEGIN-----\nMIIEowIBAAKCAQ\nEAq83Zx0pTz\n-----END-----";
const TOKEN: &str = "tök\"en&<x>-4711";

#[test]
fn secrets_are_masked_in_every_form_and_reported_by_name() {
    let outcome = run(
        &[
            r#"echo "$KEY"; echo "row $KEY row"; echo "$KEY" | tail -n +3"#,
            r#"printf %s "$TOKEN"; echo; printf "%s" "$TOKEN" | base64; printf "x$TOKEN" | base64
            printf "$TOKEN" | od -An -tx1 | tr -d ' \n'; echo
            node -p 'encodeURIComponent(process.env.TOKEN)'; node -p 'JSON.stringify(process.env.TOKEN)'
            for i in 0 1 2 3 4 5 6 7; do printf %s "${TOKEN:$((i*2)):2}"; sleep 0.01; done; echo
            echo "::error title=$TOKEN::$TOKEN"; echo "::group::$TOKEN"; echo "::debug::$TOKEN"
            echo "::add-mask::declared-value"; echo "a $(printf %s declared)-value here""#,
        ]
        .map(|script| {
            // Secrets come in by the environment, as in any careful workflow.
            format!(
                "KEY='${{{{ secrets.KEY }}}}'\nTOKEN='${{{{ secrets.TOKEN }}}}'\nexport KEY TOKEN\n{script}"
            )
        })
        .each_ref()
        .map(String::as_str),
        &["-s", &format!("KEY={KEY}"), "-s", &format!("TOKEN={TOKEN}")],
    );
    outcome.assert_code(0);
    let hex: String = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut leaks: Vec<&str> = KEY.lines().collect();
    leaks.extend([TOKEN, "4711", &hex, "dMO2aw", "t%C3%B6k", "a declared-value here"]);
    for leak in leaks {
        outcome.assert_absent(leak);
    }
    let report: Vec<_> = rows(&outcome)
        .filter(|row| row.contains(" was printed by the step "))
        .collect();
    for (secret, encoding) in [
        ("'KEY'", "(raw)"),
        ("'TOKEN'", "(raw)"),
        ("'TOKEN'", "(base64)"),
        ("'TOKEN'", "(hexadecimal)"),
        ("'TOKEN'", "(percent-encoded)"),
        ("'TOKEN'", "(JSON)"),
        ("add-mask", "(raw)"),
    ] {
        let found = report
            .iter()
            .any(|row| row.contains(secret) && row.ends_with(encoding));
        assert!(found, "{secret} {encoding} is not in {report:#?}");
    }
}

#[test]
fn secrets_reach_neither_names_nor_outputs() {
    let text = "
on: push
jobs:
  a:
    runs-on: x
    outputs:
      told: ${{ steps.s.outputs.told }}
      kept: ${{ steps.s.outputs.kept }}
    steps:
      - id: s
        name: deploy with ${{ secrets.TOKEN }}
        run: |
          echo \"told=x-${{ secrets.TOKEN }}\" >>\"$GITHUB_OUTPUT\"
          echo \"kept=fine\" >>\"$GITHUB_OUTPUT\"
  b:
    name: job ${{ needs.a.outputs.kept }}
    needs: a
    runs-on: x
    steps:
      - run: echo \"told='${{ needs.a.outputs.told }}' kept='${{ needs.a.outputs.kept }}'\"
";
    let project = Project::with_workflow(text);
    for args in [
        &["-s", "TOKEN=s3cr3t-value"][..],
        &["--json", "-s", "TOKEN=s3cr3t-value"],
    ] {
        let outcome = project.exec(args);
        outcome.assert_code(0).assert_absent("s3cr3t-value");
        outcome
            .assert_contains("deploy with ***")
            .assert_contains("Skip output 'told' since it may contain secret.")
            .assert_contains("told='' kept='fine'");
        project.assert_nothing_left();
    }
}

#[test]
fn thousands_of_masks_and_annotations_slow_nothing_down() {
    let outcome = run(
        &[
            "for i in $(seq 2000); do echo \"::add-mask::value-$i-of-many\"; done
            for i in $(seq 2000); do echo \"::warning file=a.c,line=$i::note $i\"; done
            echo 'see value-1234-of-many'",
            "echo 'later value-77-of-many'",
            PRINT_PEAK,
        ],
        &[],
    );
    outcome.assert_code(0);
    assert_row(&outcome, "see ***");
    assert_row(&outcome, "later ***");
    assert!(peak(&outcome) <= MEMORY_LIMIT_KIB);
}
