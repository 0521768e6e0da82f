//! Ends processes that may multiply while they are being ended.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;

use super::kill;
use super::procfs::{self, Entry, Identity, Table};

/// How often the process table is read again at most. Each round stops everything that could have forked since the
/// last one, so even a fork bomb is through after a few.
const ROUNDS: usize = 64;

/// Kills what `find` finds until it finds nothing new; returns what was killed.
///
/// Everything is stopped first and killed when no new process appears: a parent that was killed first would leave
/// children that can no longer be found through it.
pub(super) fn kill_all(mut find: impl FnMut(&Table) -> BTreeSet<Identity>) -> Vec<Entry> {
    let mut stopped: BTreeMap<Identity, Entry> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let table = procfs::table();
        let fresh: Vec<Identity> = find(&table)
            .into_iter()
            .filter(|id| !stopped.contains_key(id))
            .collect();
        if fresh.is_empty() {
            break;
        }
        for id in fresh {
            kill::signal(id, Signal::STOP);
            if let Some(entry) = table.get(&id.pid) {
                stopped.insert(id, entry.clone());
            }
        }
    }
    for id in stopped.keys() {
        kill::signal(*id, Signal::KILL);
    }
    stopped.into_values().collect()
}
