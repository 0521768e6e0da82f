//! Keeps the store below its cap: the trees that nobody has used for the longest time go first.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::lock::{SUFFIX, TreeLock};
use super::make::{PART, REPOSITORY};
use super::{Inner, beside};
use crate::action::reference::is_commit;
use crate::backend::host::{blocking, remove};

/// What is known of a tree without looking into it.
struct Kept {
    tree: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Inner {
    /// Removes trees until the rest is below the cap; trees in use stay. A failure is no failure of the fetch.
    pub(super) async fn evict(&self) {
        let (trees, cap) = (self.trees.clone(), self.options.size_cap);
        match blocking(move || evict(&trees, cap)).await {
            Ok(0) => {}
            Ok(_) => {
                let exists = |commit: &str| self.tree(commit).is_dir();
                if let Err(error) = self.memory.forget(exists) {
                    tracing::warn!(%error, "failed to forget the refs of removed actions");
                }
            }
            Err(error) => tracing::warn!(%error, "failed to bring the store of actions below its cap"),
        }
    }
}

/// Returns how many trees were removed.
fn evict(trees: &Path, cap: u64) -> io::Result<usize> {
    let mut kept = list(trees)?;
    let mut total: u64 = kept.iter().map(|kept| kept.bytes).sum();
    kept.sort_by_key(|kept| kept.used);
    let mut removed = 0;
    for one in kept {
        if total <= cap {
            break;
        }
        let Some(lock) = TreeLock::try_exclusive(&one.tree)? else {
            continue;
        };
        for path in [
            beside(&one.tree, PART),
            beside(&one.tree, REPOSITORY),
            one.tree.clone(),
        ] {
            if path.symlink_metadata().is_ok() {
                remove::remove_tree(&path).map_err(|failure| io::Error::other(failure.to_string()))?;
            }
        }
        lock.remove();
        tracing::info!(tree = %one.tree.display(), bytes = one.bytes, "removed an action from the store");
        total = total.saturating_sub(one.bytes);
        removed += 1;
    }
    Ok(removed)
}

fn list(trees: &Path) -> io::Result<Vec<Kept>> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(trees)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(commit) = name.and_then(|name| name.strip_suffix(SUFFIX)) else {
            continue;
        };
        if !is_commit(commit) {
            continue;
        }
        // Another process may remove it at the same time.
        let (Ok(metadata), Ok(size)) = (path.metadata(), fs::read_to_string(&path)) else {
            continue;
        };
        kept.push(Kept {
            tree: trees.join(commit),
            bytes: size.trim().parse().unwrap_or(0),
            used: metadata.modified()?,
        });
    }
    Ok(kept)
}
