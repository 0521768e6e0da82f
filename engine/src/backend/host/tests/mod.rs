//! Real processes and real trees.

mod copies;
mod files;
mod hashes;
mod processes;
mod removal;
mod sweep;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use super::*;
use crate::backend::{Exit, Output};

/// How long anything may take before a test fails.
const DEADLINE: Duration = Duration::from_secs(30);

/// A sandbox in a directory of its own.
struct Fixture {
    sandbox: HostSandbox,
    directory: TempDir,
}

fn options(directory: &Path) -> HostOptions {
    HostOptions {
        root: directory.join("jobs"),
        tool_cache: Some(directory.join("tools")),
        key: "build".into(),
        repository: "octo/my repo".into(),
        ..HostOptions::default()
    }
}

async fn fixture() -> Fixture {
    fixture_in(TempDir::new().unwrap()).await
}

/// A fixture in memory, if the machine has a place for that: disks can take milliseconds to make a directory.
async fn fixture_in_memory() -> Fixture {
    let memory = TempDir::new_in("/dev/shm");
    fixture_in(memory.or_else(|_| TempDir::new()).unwrap()).await
}

async fn fixture_in(directory: TempDir) -> Fixture {
    let sandbox = HostSandbox::create(options(directory.path())).await.unwrap();
    Fixture { sandbox, directory }
}

impl Fixture {
    fn workspace(&self) -> PathBuf {
        PathBuf::from(&self.sandbox.layout().workspace)
    }

    /// A path in the workspace.
    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.sandbox.layout().workspace)
    }

    fn command(&self, script: &str) -> Command {
        let mut env = self.sandbox.base_environment().to_vec();
        let commands = &self.sandbox.layout().file_commands;
        env.push((STEP_VARIABLE.into(), format!("{commands}/set_output_x")));
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
        (text, wait(&mut started).await)
    }
}

/// The exit of the main process.
async fn wait(started: &mut Started) -> Exit {
    timeout(DEADLINE, started.process.wait()).await.unwrap().unwrap()
}

async fn read_to_end(output: &mut dyn Output) -> String {
    let mut buffer = Vec::new();
    while output.read(&mut buffer).await.unwrap() > 0 {}
    String::from_utf8_lossy(&buffer).into_owned()
}

/// Reads until there are this many lines.
async fn read_lines(output: &mut dyn Output, count: usize) -> Vec<String> {
    let mut buffer = Vec::new();
    while buffer.split(|byte| *byte == b'\n').count() <= count {
        let read = timeout(DEADLINE, output.read(&mut buffer))
            .await
            .unwrap()
            .unwrap();
        assert!(
            read > 0,
            "the output ended early: {:?}",
            String::from_utf8_lossy(&buffer)
        );
    }
    String::from_utf8(buffer)
        .unwrap()
        .lines()
        .map(String::from)
        .collect()
}

async fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn runs(pid: u32) -> bool {
    procfs::entry(pid).is_some_and(|entry| !entry.zombie)
}
