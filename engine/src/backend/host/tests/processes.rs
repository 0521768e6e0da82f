//! Output, exit codes, signals, and what is left behind.

use super::*;
use crate::backend::Signal;
use crate::run::ladder::{Ladder, Periods};

/// Stops a tree as a cancelled step does; returns its exit and the strongest signal that was needed.
async fn stop(started: &mut Started, periods: Periods) -> (Exit, Option<Signal>) {
    let mut ladder = Ladder::new(periods);
    if let Some(signal) = ladder.on_start(Instant::now()) {
        started.process.signal(signal).await;
    }
    let exit = loop {
        let due = ladder.due().unwrap_or_else(|| Instant::now() + DEADLINE);
        let next = tokio::select! {
            exit = started.process.wait() => break exit.unwrap(),
            () = tokio::time::sleep_until(due) => ladder.on_due(Instant::now()),
        };
        started
            .process
            .signal(next.expect("the process ends when it is killed"))
            .await;
    };
    started.process.signal(Signal::Kill).await;
    (exit, ladder.sent())
}

fn pids(lines: &[String]) -> Vec<u32> {
    lines.iter().map(|line| line.parse().unwrap()).collect()
}

#[tokio::test]
async fn outputs_are_merged_in_order_and_exit_codes_are_kept() {
    let fixture = fixture().await;
    for (script, text, code, signal) in [
        ("echo a; echo b >&2; echo c", "a\nb\nc\n", 0, None),
        ("exit 7", "", 7, None),
        ("kill -TERM $$", "", 143, Some(15)),
        ("cat; echo end", "end\n", 0, None),
        ("printf '\\0\\377'", "\0\u{fffd}", 0, None),
    ] {
        assert_eq!(
            fixture.run(script).await,
            (text.to_owned(), Exit { code, signal }),
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_process_gets_the_environment_of_its_command_and_nothing_else() {
    let fixture = fixture().await;
    let mut command = fixture.command("env");
    command.argv = vec!["env".into()];
    command.env = [("PATH", "/usr/bin:/bin"), ("A", "1"), ("A", "2"), ("B C", "x\ny")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let mut started = fixture.sandbox.start(command).await.unwrap();
    let text = read_to_end(&mut *started.output).await;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| !line.starts_with("RUNNER_TRACKING_ID=github_"));
    lines.sort_unstable();
    assert_eq!(lines, ["A=2", "B C=x", "PATH=/usr/bin:/bin", "y"]);
}

#[tokio::test]
async fn a_process_that_cannot_start_says_why() {
    let fixture = fixture().await;
    let start = async |change: &dyn Fn(&mut Command)| {
        let mut command = fixture.command("true");
        change(&mut command);
        match fixture.sandbox.start(command).await {
            Ok(_) => panic!("it started"),
            Err(error) => error,
        }
    };
    let error = start(&|command| command.argv[0] = "no-such-program".into()).await;
    assert!(matches!(error, Error::ProgramMissing { program, .. } if program == "no-such-program"));
    let error = start(&|command| command.argv.clear()).await;
    assert!(matches!(error, Error::ProgramMissing { program, .. } if program.is_empty()));
    let error = start(&|command| command.cwd = "/no/such/directory".into()).await;
    assert_eq!(
        error.to_string(),
        "start process 'bash' with working directory '/no/such/directory'"
    );
    let error = start(&|command| command.argv.push("a\0b".into())).await;
    assert!(matches!(error, Error::Start { .. }));
    let error = start(&|command| command.env.push(("BIG".into(), "x".repeat(8 << 20)))).await;
    assert!(matches!(error, Error::Start { .. }));
}

#[tokio::test]
async fn each_signal_is_tried_before_a_stronger_one() {
    let fixture = fixture().await;
    let short = Duration::from_millis(50);
    let looping = "echo; while :; do sleep 0.01; done";
    for (script, interrupt, terminate, code, needed) in [
        (
            format!("trap 'exit 3' INT; {looping}"),
            DEADLINE,
            DEADLINE,
            3,
            Signal::Interrupt,
        ),
        (
            "sleep 1000 & echo; wait".into(),
            DEADLINE,
            DEADLINE,
            130,
            Signal::Interrupt,
        ),
        (
            format!("trap '' INT; trap 'exit 4' TERM; {looping}"),
            short,
            DEADLINE,
            4,
            Signal::Terminate,
        ),
        (
            format!("trap '' INT TERM; {looping}"),
            short,
            short,
            137,
            Signal::Kill,
        ),
    ] {
        let mut started = fixture.start(&script).await;
        read_lines(&mut *started.output, 1).await;
        let (exit, strongest) = stop(&mut started, Periods { interrupt, terminate }).await;
        assert_eq!((exit.code, strongest), (code, Some(needed)), "{script}");
    }
    assert_eq!(fixture.sandbox.end_orphans().await, []);
}

#[tokio::test]
async fn a_kill_reaches_what_left_the_group() {
    let fixture = fixture().await;
    let deaf = "trap \"\" INT TERM HUP; echo $BASHPID; while :; do sleep 0.01; done";
    for (how, script) in [
        (
            "in a session of its own",
            format!("setsid bash -c '{deaf}' & wait"),
        ),
        (
            "forked twice",
            format!("(setsid bash -c '{deaf}' &) ; sleep 1000"),
        ),
        (
            "without an environment",
            format!("env -i PATH=/usr/bin:/bin setsid bash -c '{deaf}' & wait"),
        ),
        ("forked twice without an environment, with the pipe", {
            format!("(env -i PATH=/usr/bin:/bin setsid bash -c '{deaf}' &) ; sleep 1000")
        }),
        (
            "in the group of its own",
            format!("set -m; (bash -c '{deaf}') & wait"),
        ),
    ] {
        let mut started = fixture.start(&script).await;
        let pid = pids(&read_lines(&mut *started.output, 1).await)[0];
        started.process.signal(Signal::Kill).await;
        assert_eq!(wait(&mut started).await.signal, Some(9), "{how}");
        wait_for(how, || !runs(pid)).await;
    }
}

#[tokio::test]
async fn a_kill_reaches_the_rest_of_a_tree_whose_main_process_is_gone() {
    let fixture = fixture().await;
    let mut started = fixture
        .start("sleep 1000 & echo $!; env -i sleep 1000 & echo $!")
        .await;
    let left = pids(&read_lines(&mut *started.output, 2).await);
    assert_eq!(wait(&mut started).await.code, 0);
    assert!(left.iter().all(|pid| runs(*pid)));
    started.process.signal(Signal::Kill).await;
    wait_for("the rest", || !left.iter().any(|pid| runs(*pid))).await;
}

#[tokio::test]
async fn a_kill_outruns_processes_that_multiply() {
    let fixture = fixture().await;
    // Eight lines of descent in which each process only starts its successor, in a session of its own; they end by
    // themselves should the kill not work.
    let script = "export n=0 code='n=$((n+1)); [ $n -lt 2000 ] && (setsid bash -c \"$code\" &)'; \
                  for i in {1..8}; do (setsid bash -c \"$code\" &); done; echo ready; sleep 1000";
    let mut started = fixture.start(script).await;
    read_lines(&mut *started.output, 1).await;
    started.process.signal(Signal::Kill).await;
    wait(&mut started).await;
    let tracking = fixture.sandbox.job.tracking.clone();
    let alive = || {
        procfs::table()
            .keys()
            .any(|pid| procfs::has_entry(&procfs::environment(*pid), &tracking))
    };
    assert!(!alive());
}

#[tokio::test]
async fn a_background_process_does_not_hold_up_its_step_and_lives_on_until_the_job_ends() {
    let fixture = fixture().await;
    let mut started = fixture
        .start("bash -c 'echo $$; while echo more; do sleep 0.01; done; touch died' & sleep 0.05")
        .await;
    let pid = pids(&read_lines(&mut *started.output, 1).await[..1])[0];
    assert_eq!(wait(&mut started).await.code, 0);
    let pipe = fixture.sandbox.job.steps.lock().unwrap()[0].pipe;
    drop(started);
    // It still writes into a pipe that is read, so it neither dies nor blocks.
    let written = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let before = written(pid);
    wait_for("more output", || written(pid) != before).await;
    assert!(runs(pid) && procfs::pipes(pid).contains(&pipe) && !fixture.workspace().join("died").exists());
    let ended = fixture.sandbox.end_orphans().await;
    assert!(
        ended.contains(&Orphan {
            pid,
            name: "bash".into()
        }),
        "{ended:?}"
    );
    assert!(!runs(pid));
    assert_eq!(fixture.sandbox.end_orphans().await, []);
}

#[tokio::test]
async fn the_end_of_a_job_spares_only_what_changed_its_tracking_id() {
    let fixture = fixture().await;
    let quiet = ">/dev/null 2>&1 & echo $!";
    let script = format!(
        "sleep 1000 {quiet}; setsid sleep 1001 {quiet}; cd /; env -i sleep 1002 {quiet}; \
         RUNNER_TRACKING_ID= setsid sleep 1003 {quiet}"
    );
    let (text, _) = fixture.run(&script).await;
    let started: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
    // Before a child has become its program it has the shell's environment, and so has not opted out yet.
    let (spared, others) = started.split_last().unwrap();
    let opted_out = || procfs::has_entry(&procfs::environment(*spared), b"RUNNER_TRACKING_ID=");
    let is_program = |pid: &u32| procfs::entry(*pid).is_some_and(|entry| entry.name == "sleep");
    wait_for("the programs", || started.iter().all(is_program) && opted_out()).await;
    let mut ended: Vec<u32> = fixture
        .sandbox
        .end_orphans()
        .await
        .iter()
        .map(|orphan| orphan.pid)
        .collect();
    ended.sort_unstable();
    let mut others = others.to_vec();
    others.sort_unstable();
    assert_eq!(ended, others);
    assert!(runs(*spared));
    let id = procfs::entry(*spared).unwrap().id;
    assert!(kill::signal(id, rustix::process::Signal::KILL));
}

#[tokio::test]
async fn a_process_that_is_dropped_is_killed() {
    let fixture = fixture().await;
    let mut started = fixture.start("echo $$; sleep 1000").await;
    let pid = pids(&read_lines(&mut *started.output, 1).await)[0];
    drop(started);
    wait_for("its end", || !runs(pid)).await;
}

#[tokio::test]
async fn a_wait_can_be_dropped_and_repeated() {
    let fixture = fixture().await;
    let mut started = fixture.start("exit 5").await;
    drop(started.process.wait());
    for _ in 0..3 {
        assert_eq!(wait(&mut started).await.code, 5);
    }
    // A signal to what is gone is no error and reaches nobody.
    started.process.signal(Signal::Terminate).await;
}

#[tokio::test]
async fn a_child_is_offered_to_the_memory_killer() {
    let fixture = fixture().await;
    let (text, _) = fixture
        .run("while read s < /proc/self/oom_score_adj; [ \"$s\" != 500 ]; do :; done; echo $s")
        .await;
    assert_eq!(text, "500\n");
}

#[tokio::test]
async fn programs_are_found_in_absolute_directories_only() {
    let fixture = fixture().await;
    fixture
        .run("mkdir bin; touch plain; printf '#!/bin/sh\\n' > bin/tool; chmod +x bin/tool; cp bin/tool tool")
        .await;
    let find = async |name: &str, path: &str| fixture.sandbox.find_program(name, path).await;
    let bin = fixture.path("bin");
    assert_eq!(
        find("tool", &format!("/nowhere:{bin}")).await,
        Some(fixture.path("bin/tool"))
    );
    assert_eq!(find("tool", ":.:bin").await, None);
    assert_eq!(
        find("./bin/tool", "")
            .await
            .map(|path| path.ends_with("bin/tool")),
        Some(true)
    );
    assert_eq!(find("plain", &fixture.sandbox.layout().workspace).await, None);
    assert_eq!(find("bin", &fixture.sandbox.layout().workspace).await, None);
    assert_eq!(find("", "/usr/bin").await, None);
}
