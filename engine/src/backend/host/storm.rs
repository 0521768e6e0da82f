//! Ends processes that may multiply while they are being ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use super::blocking;
use super::kill;
use super::procfs::{self, Entry, Table};
use super::tree::Tree;

/// How often the whole process table is read at most, should something multiply without end.
const SWEEPS: usize = 16;

/// How many looks in a row at the new processes must find nothing, once something was found.
const QUIET_LOOKS: usize = 16;

/// How many such looks there are at the end of a job or step that left nothing, as almost all do.
const FIRST_LOOKS: usize = 4;

/// How many looks there are at most between two sweeps.
const LOOKS: usize = 2000;

/// In how many looks a process is taken for new: one that is just starting a program shows no environment.
const NEW_FOR: u8 = 3;

/// How long killed processes may take to go; one that hangs in the kernel longer is left to it.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Kills the members of a tree until there are no new ones, and waits until they are gone, so that they no longer write
/// into the job's directories; returns what was killed.
pub(super) async fn end(tree: Arc<impl Tree + Send + Sync + 'static>) -> Vec<Entry> {
    let killed = blocking(move || kill_all(&*tree)).await;
    let deadline = Instant::now() + GONE_WITHIN;
    let mut pause = Duration::from_millis(1);
    while killed.iter().any(|entry| kill::is_alive(entry.id)) && Instant::now() < deadline {
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    killed
}

/// Kills the members of a tree until there are no new ones; returns what was killed.
///
/// Everything is stopped as soon as it is found and killed at the end: a parent that was killed first would leave
/// children that can no longer be found through it.
/// A process that only starts its successor and ends can slip through a look at the whole table, which takes longer
/// than its life; so after each sweep only the processes that are new are looked at, many times and quickly.
fn kill_all(tree: &impl Tree) -> Vec<Entry> {
    let mut storm = Storm {
        tree,
        stopped: BTreeMap::new(),
    };
    for _ in 0..SWEEPS {
        let table = procfs::table();
        let found = storm.stop(&table);
        if !(storm.look_at_new(&table) || found) {
            break;
        }
    }
    storm.kill()
}

struct Storm<'a, T> {
    tree: &'a T,
    stopped: Table,
}

impl<T: Tree> Storm<'_, T> {
    /// Stops the members that are in the table; says whether there were any that still ran.
    fn stop(&mut self, table: &Table) -> bool {
        let mut any = false;
        for id in self.tree.members(table) {
            let known = self.stopped.get(&id.pid).is_some_and(|entry| entry.id == id);
            if let Some(entry) = table.get(&id.pid)
                && !known
                && !self.tree.spares(entry)
            {
                any = true;
                kill::signal(id, Signal::STOP);
                self.stopped.insert(id.pid, entry.clone());
            }
        }
        any
    }

    fn kill(self) -> Vec<Entry> {
        let (mut killed, tree) = (Vec::new(), self.tree);
        for entry in self.stopped.into_values() {
            // While a process starts a program it shows no environment; only now that it is stopped, it is certain
            // whether it opted out.
            if tree.spares(&entry) {
                kill::signal(entry.id, Signal::CONT);
            } else if kill::signal(entry.id, Signal::KILL) {
                killed.push(entry);
            } else {
                tracing::debug!(
                    pid = entry.id.pid,
                    "failed to kill a process that belongs to another user or is gone"
                );
            }
        }
        killed
    }

    /// Looks at the processes that are not in `table` until no new member appears; says whether there was one.
    fn look_at_new(&mut self, table: &Table) -> bool {
        let mut looks: BTreeMap<u32, u8> = BTreeMap::new();
        let mut quiet = 0;
        let mut any = false;
        for _ in 0..LOOKS {
            // The members among which a new one has its parent belong to the picture.
            let mut fresh = self.stopped.clone();
            for pid in procfs::pids().filter(|pid| !table.contains_key(pid)) {
                let count = looks.entry(pid).or_insert(0);
                *count += 1;
                if *count <= NEW_FOR
                    && let Some(entry) = procfs::entry(pid)
                {
                    fresh.insert(pid, entry);
                }
            }
            let found = self.stop(&fresh);
            any |= found;
            quiet = if found { 0 } else { quiet + 1 };
            if quiet
                == if self.stopped.is_empty() {
                    FIRST_LOOKS
                } else {
                    QUIET_LOOKS
                }
            {
                break;
            }
        }
        any
    }
}
