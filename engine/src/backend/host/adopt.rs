//! The runner as the parent of orphans.
//!
//! A daemon that forks twice normally becomes a child of init and nobody knows whose it was. A runner that adopts
//! orphans keeps them among its descendants, where the end of the job finds them.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{
    DumpableBehavior, Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, set_dumpable_behavior, waitid,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::{blocking, procfs, spawn};

/// How many jobs run on the host; like the children it is a fact of the whole process.
static JOBS: AtomicUsize = AtomicUsize::new(0);

/// Whether the runner adopts orphans.
static ADOPTING: AtomicBool = AtomicBool::new(false);

/// A job that runs, until the value is dropped.
pub(super) struct LiveJob(());

impl LiveJob {
    /// Counts a job.
    pub fn begin() -> Self {
        JOBS.fetch_add(1, Ordering::Relaxed);
        Self(())
    }

    /// Says whether no other job runs: then every orphan that the runner adopted is this job's.
    ///
    /// A job that begins at this moment has started nothing yet, so the order of memory does not matter.
    #[expect(clippy::unused_self, reason = "only a job that runs can be the only one")]
    pub fn is_alone(&self) -> bool {
        JOBS.load(Ordering::Relaxed) == 1
    }
}

impl Drop for LiveJob {
    fn drop(&mut self) {
        JOBS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How long a zombie may wait to be reaped; it bounds how often the process table is read.
const PAUSE: Duration = Duration::from_millis(250);

/// Prepares the runner's process for jobs on the host; to be called once at its start.
///
/// It becomes the parent of its descendants' orphans, and closes its memory and environment to processes of the same
/// user: a job must not read the runner's secrets from `/proc`.
/// From then on [`reap_adopted`] has to run.
///
/// # Errors
/// When the kernel refuses.
pub fn guard_process() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTING.store(true, Ordering::Relaxed);
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Says whether the runner has no child but those that somebody waits for. Then no job has left anything behind: what
/// a process leaves when it ends becomes a child of the runner at the same moment.
///
/// `false` also if that cannot be told, because the runner adopts nothing or the kernel does not list children.
pub(super) fn has_adopted_nothing() -> bool {
    ADOPTING.load(Ordering::Relaxed)
        && procfs::own_children().is_some_and(|children| children.into_iter().all(spawn::is_child))
}

/// Reaps adopted orphans for as long as it is polled; the runner's own children are left to those who wait for them.
///
/// # Errors
/// When the signal SIGCHLD cannot be listened to.
///
/// # Cancel safety
/// Cancel safe.
pub async fn reap_adopted() -> io::Result<Infallible> {
    let mut ended = signal(SignalKind::child())?;
    loop {
        // The stream ends only with the runtime.
        ended.recv().await;
        // The runner's own children are reaped by their waiters meanwhile, and mostly nothing is left to do.
        sleep(PAUSE).await;
        blocking(reap).await;
    }
}

fn reap() {
    let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !matches!(waitid(WaitId::All, peek), Ok(Some(_))) {
        return;
    }
    let own = std::process::id();
    for entry in procfs::table()
        .values()
        .filter(|entry| entry.zombie && entry.parent == own)
    {
        spawn::with_children(|children| {
            if !children.contains(&entry.id.pid) {
                reap_one(entry.id.pid);
            }
        });
    }
}

fn reap_one(pid: u32) {
    let Some(target) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    if let Err(error) = waitid(WaitId::Pid(target), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
        tracing::debug!(pid, %error, "failed to reap an orphan");
    }
}
