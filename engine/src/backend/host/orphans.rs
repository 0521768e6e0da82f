//! Ends what a job left running.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::procfs::Entry;
use super::tree::JobTree;
use super::{blocking, kill, storm};
use crate::backend::Orphan;

/// How long killed processes may take to go; one that hangs in the kernel longer is left to it.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills the job's processes and waits until they are gone, so that they no longer write into its directories.
pub(super) async fn end(job: Arc<JobTree>) -> Vec<Orphan> {
    let killed = blocking(move || storm::kill_all(&*job)).await;
    let deadline = Instant::now() + GONE_WITHIN;
    let mut pause = Duration::from_millis(1);
    while killed.iter().any(|entry| kill::is_alive(entry.id)) && Instant::now() < deadline {
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    killed.into_iter().map(orphan).collect()
}

fn orphan(entry: Entry) -> Orphan {
    Orphan {
        pid: entry.id.pid,
        name: entry.name,
    }
}
