//! Real processes and real trees.

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use super::*;
use crate::backend::{Exit, Signal};

const DEADLINE: Duration = Duration::from_secs(20);

struct Fixture {
    sandbox: HostSandbox,
    _directory: TempDir,
}

async fn fixture() -> Fixture {
    let directory = TempDir::new().unwrap();
    let options = HostOptions {
        root: directory.path().join("jobs"),
        tool_cache: directory.path().join("tools"),
        key: "build".into(),
        repository: "octo/my repo".into(),
        ..HostOptions::default()
    };
    Fixture {
        sandbox: HostSandbox::create(options).await.unwrap(),
        _directory: directory,
    }
}

impl Fixture {
    fn command(&self, script: &str) -> Command {
        let mut env = self.sandbox.base_environment().to_vec();
        env.push((
            STEP_VARIABLE.into(),
            format!("{}/set_output_x", self.sandbox.layout().file_commands),
        ));
        Command {
            argv: ["bash", "-c", script].map(String::from).to_vec(),
            env,
            cwd: self.sandbox.layout().workspace.clone(),
        }
    }

    async fn start(&self, script: &str) -> Started {
        self.sandbox.start(self.command(script)).await.unwrap()
    }

    /// Runs a script to the end of its output.
    async fn run(&self, script: &str) -> (String, Exit) {
        let mut started = self.start(script).await;
        let text = timeout(DEADLINE, read_to_end(&mut *started.output))
            .await
            .unwrap();
        (
            text,
            timeout(DEADLINE, started.process.wait()).await.unwrap().unwrap(),
        )
    }
}

async fn read_to_end(output: &mut dyn crate::backend::Output) -> String {
    let mut buffer = Vec::new();
    while output.read(&mut buffer).await.unwrap() > 0 {}
    String::from_utf8_lossy(&buffer).into_owned()
}

/// Reads until the text is there.
async fn read_until(output: &mut dyn crate::backend::Output, wanted: &str) -> String {
    let mut buffer = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&buffer).into_owned();
        if text.contains(wanted) {
            return text;
        }
        let count = timeout(DEADLINE, output.read(&mut buffer))
            .await
            .unwrap()
            .unwrap();
        assert!(count > 0, "the output ended without {wanted:?}: {text:?}");
    }
}

async fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn outputs_are_merged_in_order_and_exit_codes_are_kept() {
    let fixture = fixture().await;
    for (script, text, exit) in [
        (
            "echo a; echo b >&2; echo c",
            "a\nb\nc\n",
            Exit {
                code: 0,
                signal: None,
            },
        ),
        (
            "exit 7",
            "",
            Exit {
                code: 7,
                signal: None,
            },
        ),
        (
            "kill -TERM $$",
            "",
            Exit {
                code: 143,
                signal: Some(15),
            },
        ),
        (
            "cat; echo end",
            "end\n",
            Exit {
                code: 0,
                signal: None,
            },
        ),
    ] {
        assert_eq!(fixture.run(script).await, (text.to_owned(), exit), "{script}");
    }
}

#[tokio::test]
async fn a_signal_reaches_children_in_sessions_of_their_own() {
    let fixture = fixture().await;
    let mut started = fixture
        .start("setsid bash -c 'echo pid $$; trap \"\" INT TERM; while :; do sleep 0.01; done' & wait")
        .await;
    let text = read_until(&mut *started.output, "\n").await;
    let pid: u32 = text.trim().strip_prefix("pid ").unwrap().parse().unwrap();
    started.process.signal(Signal::Kill).await;
    let exit = timeout(DEADLINE, started.process.wait()).await.unwrap().unwrap();
    assert_eq!(exit.signal, Some(9));
    wait_for("the child's end", || {
        procfs::entry(pid).is_none_or(|entry| entry.zombie)
    })
    .await;
    assert_eq!(read_to_end(&mut *started.output).await, "");
}

#[tokio::test]
async fn remove_takes_everything_and_can_be_repeated() {
    let fixture = fixture().await;
    fixture
        .run("mkdir -p deep/er; ln -s / root; mkdir closed; touch closed/x; chmod 0 closed")
        .await;
    assert!(fixture.sandbox.remove().await.is_ok());
    assert!(!fixture.sandbox.root().exists());
    assert!(fixture.sandbox.remove().await.is_ok());
}
