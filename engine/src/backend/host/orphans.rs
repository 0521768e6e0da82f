//! Ends what a job left running.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::procfs::{Entry, Identity, Table};
use super::tree::{JobTree, StepTree};
use super::{blocking, kill, storm};
use crate::backend::Orphan;

/// How long killed processes may take to go; one that hangs in the kernel longer is left to it.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills the job's processes and waits until they are gone, so that they no longer write into its directories.
pub(super) async fn end(job: Arc<JobTree>, steps: Vec<Arc<StepTree>>) -> Vec<Orphan> {
    let killed = blocking(move || storm::kill_all(|table| find(&job, &steps, table))).await;
    let deadline = Instant::now() + GONE_WITHIN;
    let mut pause = Duration::from_millis(1);
    while killed.iter().any(|entry| kill::is_alive(entry.id)) && Instant::now() < deadline {
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    killed.into_iter().map(orphan).collect()
}

fn find(job: &JobTree, steps: &[Arc<StepTree>], table: &Table) -> BTreeSet<Identity> {
    let known = steps.iter().flat_map(|step| step.members(table)).collect();
    job.members(table, &known)
}

fn orphan(entry: Entry) -> Orphan {
    Orphan {
        pid: entry.id.pid,
        name: entry.name,
    }
}
