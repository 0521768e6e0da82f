//! Ends what a job left running.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::procfs::{self, Entry};
use super::tree::{JobTree, Tree};
use super::{blocking, storm};
use crate::backend::Orphan;

/// How old, in hundredths of a second, a process is when it certainly is the program that it was started for.
///
/// A script that ends with `RUNNER_TRACKING_ID= daemon &` leaves a child that still is the script's shell for a moment,
/// with the environment of the shell; whether it opts out shows only then.
const SETTLED: u64 = 10;

/// Kills the job's processes and waits until they are gone.
pub(super) async fn end(job: Arc<JobTree>) -> Vec<Orphan> {
    let seen = Arc::clone(&job);
    if let Some(pause) = blocking(move || until_settled(&seen)).await {
        sleep(pause).await;
    }
    storm::end(job).await.into_iter().map(orphan).collect()
}

/// How long to wait until the youngest of the job's processes shows what it is; `None` if all do.
fn until_settled(job: &JobTree) -> Option<Duration> {
    let youngest = job
        .members(&procfs::table())
        .into_iter()
        .map(|id| id.start)
        .max()?;
    let age = procfs::now()?.saturating_sub(youngest);
    (age < SETTLED).then(|| Duration::from_millis((SETTLED - age) * 10))
}

fn orphan(entry: Entry) -> Orphan {
    Orphan {
        pid: entry.id.pid,
        name: entry.name,
    }
}
