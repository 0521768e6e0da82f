//! A runner that adopts orphans; it is a process of its own, because adoption concerns all of a process.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

use std::fs;
use std::time::Duration;

use gantry_engine::backend::host::{HostOptions, HostSandbox, guard_process, reap_adopted};
use gantry_engine::backend::{Command, Sandbox};
use tokio::time::{Instant, sleep, timeout};

const DEADLINE: Duration = Duration::from_secs(30);

/// The state letter of a process.
fn state(pid: &str) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

async fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        sleep(Duration::from_millis(2)).await;
    }
}

async fn run(sandbox: &HostSandbox, script: &str) -> String {
    let command = Command {
        argv: ["bash", "-c", script].map(String::from).to_vec(),
        env: sandbox.base_environment().to_vec(),
        cwd: sandbox.layout().workspace.clone(),
    };
    let mut started = sandbox.start(command).await.expect("bash starts");
    let mut output = Vec::new();
    while timeout(DEADLINE, started.output.read(&mut output))
        .await
        .expect("in time")
        .expect("output")
        > 0
    {}
    started.process.wait().await.expect("an exit");
    String::from_utf8(output).expect("UTF-8").trim().to_owned()
}

#[tokio::test]
async fn adopted_orphans_are_reaped_and_ended_with_their_job_whatever_they_hide() {
    guard_process().expect("the process can be guarded");
    let reaper = tokio::spawn(reap_adopted());
    let directory = tempfile::TempDir::new().expect("a directory");
    let options = HostOptions {
        root: directory.path().join("jobs"),
        tool_cache: Some(directory.path().join("tools")),
        ..HostOptions::default()
    };
    let sandbox = HostSandbox::create(options).await.expect("a sandbox");

    let dead = run(&sandbox, "(sleep 0.02 >/dev/null 2>&1 & echo $!)").await;
    wait_for("the orphan to be reaped", || state(&dead).is_none()).await;

    // Another session, another parent, another directory, no environment and none of the step's descriptors.
    let daemon = "cd /; (env -i setsid /bin/sleep 1000 </dev/null >/dev/null 2>&1 & echo $!)";
    let daemon = run(&sandbox, daemon).await;
    let ended = sandbox.end_orphans().await;
    assert_eq!(
        ended
            .iter()
            .map(|orphan| orphan.pid.to_string())
            .collect::<Vec<_>>(),
        [daemon.as_str()]
    );
    wait_for("the daemon to be reaped", || state(&daemon).is_none()).await;

    // The exit status of a child is left to whoever waits for it, however late.
    for _ in 0..20 {
        assert_eq!(run(&sandbox, "true & wait; echo done").await, "done");
    }
    // A job must not see what the runner keeps in its memory; the root user may always.
    let environment = format!("/proc/{}/environ", std::process::id());
    let seen = run(
        &sandbox,
        &format!("[ $(id -u) = 0 ] || cat {environment} 2>/dev/null | head -c1"),
    )
    .await;
    assert_eq!(seen, "");
    // Directories are opened for removal through `/proc/self`, which the guard closes to others.
    run(&sandbox, "mkdir closed && touch closed/file && chmod 0 closed").await;
    sandbox.remove().await.expect("the directories go");
    assert!(!reaper.is_finished());
    reaper.abort();
}
