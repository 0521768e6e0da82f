//! Programs of the operator that run in every job: real scripts on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod operator;

use std::os::unix::fs::symlink;
use std::time::Duration;

use gantry_actors::engine::run::Hooks;
use gantry_actors::protocols::forge::Conclusion;
use gantry_actors::supervisor::StopLevel;
use operator::{Bench, TASK};

/// A script that waits and is deaf to the gentler signals; it has told before that it runs.
fn deaf(marker: &str) -> String {
    format!("trap '' INT TERM\ntouch '{marker}'\nwhile :; do sleep 0.05; done\n")
}

fn position(rows: &[String], row: &str) -> usize {
    rows.iter().position(|other| other == row).unwrap()
}

#[test]
fn hooks_run_before_the_first_step_and_after_the_last_one_in_groups_of_their_own() {
    let mut bench = Bench::new("      - run: echo step $FROM_HOOK; tool; echo LATE=late >> $GITHUB_ENV\n");
    let tools = bench.path("tools");
    std::fs::create_dir(&tools).unwrap();
    let tool = tools.join("tool");
    symlink("/bin/pwd", &tool).unwrap();
    bench.hooks(
        Some(&format!(
            "echo started in $PWD for $GITHUB_REPOSITORY as $GITHUB_ACTION\n\
             echo '{}' >> $GITHUB_PATH\necho FROM_HOOK=given >> $GITHUB_ENV\n",
            tools.display()
        )),
        Some("echo completed with $FROM_HOOK and $LATE\necho ::add-mask::given\necho again $FROM_HOOK\n"),
    );
    assert_eq!(bench.run(), Conclusion::Success);
    let rows = bench.rows();
    let step = bench.forge.step(TASK, 0).unwrap();
    let workspace = rows
        .iter()
        .find(|row| row.ends_with("/repository/repository"))
        .unwrap();
    let want = format!("started in {workspace} for owner/repository as __job_started");
    let order = [
        "##[group]Job started hook",
        want.as_str(),
        "##[endgroup]",
        "Complete job name: j",
        "step given",
        workspace.as_str(),
        "##[group]Job completed hook",
        "completed with given and late",
        "again ***",
    ];
    let mut at = position(&rows, order[0]);
    for row in order {
        at += rows[at..]
            .iter()
            .position(|other| other == row)
            .unwrap_or_else(|| panic!("{row} in {rows:#?}"));
    }
    let first = usize::try_from(step.log_first.0).unwrap();
    let end = first + usize::try_from(step.log_length).unwrap();
    assert!(position(&rows, "##[group]Job started hook") < first);
    assert!(position(&rows, "##[group]Job completed hook") >= end);
    assert_eq!(rows.iter().filter(|row| row.starts_with("Run '/")).count(), 2);
    assert_eq!(bench.directories(), 0);
}

#[test]
fn after_a_started_hook_that_fails_steps_run_as_after_a_failed_step() {
    let mut bench = Bench::new(
        "      - run: echo never\n      - if: always()\n        run: echo always $WROTE\n      - if: failure()\n        run: echo failure\n",
    );
    bench.hooks(
        Some("echo WROTE=written >> $GITHUB_ENV\nfalse\necho unreached\n"),
        Some("echo clean-up\n"),
    );
    assert_eq!(bench.run(), Conclusion::Failure);
    assert_eq!(bench.printed("never"), [""; 0]);
    assert_eq!(bench.printed("unreached"), [""; 0]);
    assert_eq!(
        bench.printed("always "),
        ["always written"],
        "its files count although it failed"
    );
    assert_eq!(bench.printed("failure"), ["failure"]);
    assert_eq!(bench.printed("clean-up"), ["clean-up"]);
    let rows = bench.rows();
    let error = position(&rows, "##[error]Process completed with exit code 1.");
    assert_eq!(rows[error - 1], "##[endgroup]", "a closed group hides no error");
    assert_eq!(rows[error + 1], "##[error]Job started hook failed");
}

#[test]
fn a_completed_hook_that_fails_fails_the_job() {
    let mut bench = Bench::new("      - run: echo step\n");
    bench.hooks(None, Some("exit 3\n"));
    assert_eq!(bench.run(), Conclusion::Failure);
    assert_eq!(
        bench.printed("##[error]Process"),
        ["##[error]Process completed with exit code 3."]
    );
    assert_eq!(
        bench.printed("##[error]Job"),
        ["##[error]Job completed hook failed"]
    );
}

#[test]
fn programs_are_started_directly_and_what_is_none_fails_the_job() {
    let mut bench = Bench::new("      - run: echo step\n");
    let program = bench.path("hook");
    symlink("/usr/bin/env", &program).unwrap();
    bench.settings.hooks.job_started = Some(program.to_str().unwrap().to_owned());
    assert_eq!(bench.run(), Conclusion::Success);
    assert_eq!(bench.printed("GITHUB_ACTION="), ["GITHUB_ACTION=__job_started"]);
    assert_eq!(bench.printed("TOKEN="), [""; 0], "hooks get no secrets");

    for (hook, reason) in [
        ("hook.sh", "##[error]the hook 'hook.sh' has no absolute path"),
        (
            "/nowhere/hook",
            "##[error]the hook '/nowhere/hook' is no program that this job can start",
        ),
    ] {
        let mut bench = Bench::new("      - run: echo step\n");
        bench.settings.hooks.job_started = Some(hook.to_owned());
        assert_eq!(bench.run(), Conclusion::Failure);
        assert_eq!(bench.printed("step"), [""; 0]);
        assert_eq!(bench.printed(reason).len(), 1, "{reason} in {:#?}", bench.rows());
    }
}

#[test]
fn the_completed_hook_of_a_cancelled_job_runs() {
    let mut bench = Bench::new("      - run: touch $MARKER; sleep 300\n");
    let marker = bench.path("marker").to_str().unwrap().to_owned();
    bench.settings.env.push(("MARKER".to_owned(), marker));
    bench.hooks(None, Some("echo clean-up\n"));
    assert_eq!(
        bench.stop_once("marker", StopLevel::Cancelling),
        Conclusion::Cancelled
    );
    assert_eq!(bench.printed("clean-up"), ["clean-up"]);
}

#[test]
fn a_cancel_ends_a_hook_and_a_kill_does_so_at_once() {
    for (level, script) in [
        (StopLevel::Cancelling, "touch MARKER\nexec sleep 300\n"),
        (StopLevel::Killing, &deaf("MARKER")),
    ] {
        for is_first in [true, false] {
            let mut bench = Bench::new("      - run: echo step\n");
            let marker = bench.path("marker");
            let script = script.replace("MARKER", marker.to_str().unwrap());
            let script = Some(script.as_str());
            bench.hooks(script.filter(|_| is_first), script.filter(|_| !is_first));
            assert_eq!(
                bench.stop_once("marker", level),
                Conclusion::Cancelled,
                "{level:?}"
            );
            assert_eq!(bench.printed("step").is_empty(), is_first);
            assert_eq!(bench.printed("##[error]The operation was canceled.").len(), 1);
            assert_eq!(bench.directories(), 0);
        }
    }
}

#[test]
fn a_job_that_is_killed_runs_no_hook() {
    let mut bench = Bench::new("      - run: touch $MARKER; sleep 300\n");
    let marker = bench.path("marker").to_str().unwrap().to_owned();
    bench.settings.env.push(("MARKER".to_owned(), marker));
    bench.hooks(None, Some("echo never\n"));
    assert_eq!(
        bench.stop_once("marker", StopLevel::Killing),
        Conclusion::Cancelled
    );
    assert_eq!(bench.printed("never"), [""; 0]);
}

#[test]
fn hooks_have_no_more_time_than_their_job() {
    for is_first in [true, false] {
        let mut bench = Bench::new("      - run: echo step\n");
        bench.timeout = Some(Duration::from_secs(1));
        bench.cancel_timeout = Duration::from_millis(300);
        let marker = bench.path("marker").to_str().unwrap().to_owned();
        let script = deaf(&marker);
        let script = Some(script.as_str());
        bench.hooks(script.filter(|_| is_first), script.filter(|_| !is_first));
        let want = if is_first {
            Conclusion::Failure
        } else {
            Conclusion::Cancelled
        };
        if is_first {
            // SIGINT and SIGTERM do not end it: that takes the whole ladder.
            bench.hooks(Some("exec sleep 300\n"), None);
        }
        assert_eq!(bench.run(), want, "{:#?}", bench.rows());
    }
}

#[test]
fn variables_of_the_runner_name_hooks_that_the_configuration_does_not() {
    let env = [
        ("ACTIONS_RUNNER_HOOK_JOB_STARTED".to_owned(), "/a".to_owned()),
        ("ACTIONS_RUNNER_HOOK_JOB_COMPLETED".to_owned(), "/b".to_owned()),
    ];
    let hooks = |started: Option<&str>, completed: Option<&str>| Hooks {
        job_started: started.map(str::to_owned),
        job_completed: completed.map(str::to_owned),
    };
    assert_eq!(Hooks::named("", "/c", &env), hooks(Some("/a"), Some("/c")));
    assert_eq!(Hooks::named("/d", "", &env), hooks(Some("/d"), Some("/b")));
    assert_eq!(Hooks::named("", "", &[]), hooks(None, None));
}
