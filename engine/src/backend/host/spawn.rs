//! The only place that starts processes.
//!
//! The runner adopts orphans (`adopt.rs`) and must reap them without taking the exit status of its own children from
//! whoever waits for them. So every child of the runner is registered here, under the lock that the reaper takes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use tokio::process::{Child, Command};

/// The children that somebody waits for. Which children a process has is a fact of the whole process.
static CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A child of the runner; it stays registered until this value is dropped.
pub(crate) struct Spawned {
    /// The child.
    pub child: Child,
    /// Its process id, also after it was reaped.
    pub pid: u32,
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // The runtime reaps a child that was dropped alive; until then it is an unregistered child, and whoever
        // reaps it first does no harm.
        with_children(|children| children.remove(&self.pid));
    }
}

/// Prepares a process in a process group of its own, without standard input and with exactly this environment.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the wrapper that all others have to use"
)]
pub(crate) fn command<K, V>(
    program: &Path,
    environment: impl IntoIterator<Item = (K, V)>,
    cwd: &Path,
) -> Command
where
    K: AsRef<OsStr>,
    V: AsRef<OsStr>,
{
    let mut command = Command::new(program);
    command
        .env_clear()
        .envs(environment)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .process_group(0);
    command
}

/// Starts the process and registers it.
pub(crate) fn spawn(mut command: Command) -> io::Result<Spawned> {
    with_children(|children| {
        let child = command.spawn()?;
        // The id is absent only after the child was awaited.
        let pid = child
            .id()
            .ok_or_else(|| io::Error::other("the process has no id"))?;
        children.insert(pid);
        Ok(Spawned { child, pid })
    })
}

/// Says whether this is a child of the runner that somebody waits for; one that is being started is waited for.
pub(super) fn is_child(pid: u32) -> bool {
    with_children(|children| children.contains(&pid))
}

/// Runs `action` while no child can be started or forgotten.
pub(super) fn with_children<T>(action: impl FnOnce(&mut BTreeSet<u32>) -> T) -> T {
    // The set is valid after every single operation, so a panic elsewhere does not spoil it.
    action(&mut CHILDREN.lock().unwrap_or_else(PoisonError::into_inner))
}
