//! Removes what a runner left behind that was killed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::claim::{self, Claim};
use super::tree::{JobTree, TRACKING_VARIABLE};
use super::{blocking, orphans, remove};
use crate::backend::{Error, Orphan};

/// The directory of a job whose runner is dead, and what became of it.
#[derive(Debug)]
pub struct Stale {
    /// The directory.
    pub path: PathBuf,
    /// The processes of the job that were still alive and were ended.
    pub ended: Vec<Orphan>,
    /// Why the directory could not be removed; the next sweep tries again.
    pub failure: Option<Error>,
}

/// Removes the directories of jobs whose runner is dead, and ends the processes of these jobs.
///
/// Directories of a runner that lives, in this process or another one, are left alone; so is everything whose name is
/// not one of a job.
///
/// # Cancel safety
/// A dropped call leaves the rest for the next one.
pub async fn sweep_stale(root: &Path) -> Vec<Stale> {
    sweep_those(job_directories(root)).await
}

/// Does the same as [`sweep_stale`] with the directories that have not changed since a moment.
///
/// # Cancel safety
/// A dropped call leaves the rest for the next one.
pub async fn sweep_stale_before(root: &Path, moment: SystemTime) -> Vec<Stale> {
    let mut directories = job_directories(root);
    directories.retain(|directory| changed(directory).is_some_and(|time| time < moment));
    sweep_those(directories).await
}

/// When a job's directory, or the file beside it, has changed last.
fn changed(directory: &Path) -> Option<SystemTime> {
    let time = |path: &Path| fs::symlink_metadata(path).ok()?.modified().ok();
    time(directory).max(time(&claim::path_of(directory)))
}

async fn sweep_those(directories: BTreeSet<PathBuf>) -> Vec<Stale> {
    let mut swept = Vec::new();
    for directory in directories {
        match Claim::take_over(&claim::path_of(&directory)) {
            Ok(Some((claim, file))) => swept.push(sweep(directory, claim, file).await),
            Ok(None) => {}
            Err(source) => {
                let failure = Some(Error::Create {
                    path: directory.clone(),
                    source,
                });
                swept.push(Stale {
                    path: directory,
                    ended: Vec::new(),
                    failure,
                });
            }
        }
    }
    swept
}

async fn sweep(path: PathBuf, claim: Claim, file: File) -> Stale {
    let ended = match tracking(file) {
        Some(tracking) => orphans::end(Arc::new(JobTree::left_behind(tracking, path.clone()))).await,
        None => Vec::new(),
    };
    let directory = path.clone();
    let removed = blocking(move || remove::remove_tree(&directory)).await;
    if removed.is_ok() {
        claim.release();
    }
    Stale {
        path,
        ended,
        failure: removed.err().map(Error::Remove),
    }
}

/// The directories of jobs below the root, in order; also those of which only the lock file is left.
fn job_directories(root: &Path) -> BTreeSet<PathBuf> {
    let Ok(root) = root.canonicalize() else {
        return BTreeSet::new();
    };
    let Ok(entries) = fs::read_dir(&root) else {
        return BTreeSet::new();
    };
    entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let id = name.strip_suffix(claim::SUFFIX).unwrap_or(&name);
            claim::is_id(id).then(|| root.join(id))
        })
        .collect()
}

/// Reads the tracking variable of the job, if the file was written to its end.
fn tracking(file: File) -> Option<Vec<u8>> {
    let mut text = String::new();
    let read: io::Result<usize> = file.take(claim::MAX_BYTES).read_to_string(&mut text);
    read.ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(claim::TRACKING))?;
    // Nothing else may be matched against the environments of this machine.
    claim::is_tracking_id(value).then(|| format!("{TRACKING_VARIABLE}={value}").into_bytes())
}
