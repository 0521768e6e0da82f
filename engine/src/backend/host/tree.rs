//! Which processes belong to a step or to a job.
//!
//! A process can leave its group (`setsid`), lose its parent (a double fork) and clean its environment, but seldom all
//! at once. So several kinds of evidence are combined, and everything that descends from a member is a member.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::procfs::{self, Entry, Identity, Table};

/// The variable by which GitHub's runner finds what a job left behind; a process that changes it opts out.
pub(super) const TRACKING_VARIABLE: &str = "RUNNER_TRACKING_ID";

/// A step's file for outputs has a fresh name every time, so the variable that names it marks the step's processes
/// without a variable of our own.
pub(super) const STEP_VARIABLE: &str = "GITHUB_OUTPUT";

/// What is known of the processes of one step.
pub(super) struct StepTree {
    /// The main process, which leads the process group.
    pub leader: Identity,
    /// `GITHUB_OUTPUT=<path>`, if the step has one.
    pub mark: Option<Vec<u8>>,
    /// The inode number of the pipe that takes the step's output.
    pub pipe: u64,
    /// `RUNNER_TRACKING_ID=<value>` of the job.
    pub tracking: Vec<u8>,
    /// Members that were seen: they stay members when the process that led to them is gone.
    pub seen: Mutex<BTreeSet<Identity>>,
}

impl StepTree {
    /// Finds the step's living processes, apart from those that left the group and opted out of tracking.
    pub fn members(&self, table: &Table) -> BTreeSet<Identity> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let group_is_ours = self.group_is_ours(table);
        let roots = |entry: &Entry| {
            seen.contains(&entry.id)
                || entry.id == self.leader
                || (group_is_ours && entry.group == self.leader.pid)
                || self.is_marked(entry)
        };
        let found = closure(table, self.leader.start, roots);
        seen.extend(&found);
        found
            .into_iter()
            .filter(|id| self.in_group(table, *id) || !has_opted_out(id.pid, &self.tracking))
            .collect()
    }

    /// The group's number can pass to a stranger only after every member is gone; then its leader is another process.
    fn group_is_ours(&self, table: &Table) -> bool {
        table
            .get(&self.leader.pid)
            .is_none_or(|entry| entry.id == self.leader)
    }

    fn in_group(&self, table: &Table, id: Identity) -> bool {
        table
            .get(&id.pid)
            .is_some_and(|entry| entry.group == self.leader.pid)
    }

    fn is_marked(&self, entry: &Entry) -> bool {
        let pid = entry.id.pid;
        self.mark
            .as_ref()
            .is_some_and(|mark| procfs::has_entry(&procfs::environment(pid), mark))
            || (is_adopted(entry) && procfs::holds_pipe(pid, self.pipe))
    }
}

/// What is known of the processes of one job.
pub(super) struct JobTree {
    /// `RUNNER_TRACKING_ID=<value>`
    pub tracking: Vec<u8>,
    /// The directory that everything of the job stands in.
    pub root: PathBuf,
    /// When the job started, in clock ticks since boot.
    pub start: u64,
}

impl JobTree {
    /// Finds the living processes of the job, apart from those that opted out; `known` are members for other reasons.
    pub fn members(&self, table: &Table, known: &BTreeSet<Identity>) -> BTreeSet<Identity> {
        let roots = |entry: &Entry| known.contains(&entry.id) || self.is_ours(entry);
        closure(table, self.start, roots)
            .into_iter()
            .filter(|id| !has_opted_out(id.pid, &self.tracking))
            .collect()
    }

    fn is_ours(&self, entry: &Entry) -> bool {
        let pid = entry.id.pid;
        procfs::has_entry(&procfs::environment(pid), &self.tracking)
            || (is_adopted(entry)
                && procfs::working_directory(pid).is_some_and(|path| path.starts_with(&self.root)))
    }
}

/// A process opts out of the end of its job by changing the tracking variable; one that has none at all did not.
pub(super) fn has_opted_out(pid: u32, tracking: &[u8]) -> bool {
    let environment = procfs::environment(pid);
    let name = [TRACKING_VARIABLE.as_bytes(), b"="].concat();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(&name) && entry != tracking)
}

/// A process whose parent died belongs to init, or to the runner if that adopts orphans.
fn is_adopted(entry: &Entry) -> bool {
    entry.parent == 1 || entry.parent == std::process::id()
}

/// The processes that are roots or descend from one, without zombies, this process, and all that is older than
/// `start`: an earlier process cannot belong to a later step.
fn closure(table: &Table, start: u64, is_root: impl Fn(&Entry) -> bool) -> BTreeSet<Identity> {
    let own = std::process::id();
    let eligible = |entry: &&Entry| entry.id.start >= start && entry.id.pid != own;
    let mut members: BTreeSet<u32> = table
        .values()
        .filter(eligible)
        .filter(|entry| is_root(entry))
        .map(|entry| entry.id.pid)
        .collect();
    loop {
        let before = members.len();
        // A session or group that a member leads is the member's, also when its parent is gone.
        let joins = |entry: &&Entry| {
            [entry.parent, entry.session, entry.group]
                .iter()
                .any(|number| members.contains(number))
        };
        let joined: Vec<u32> = table
            .values()
            .filter(eligible)
            .filter(joins)
            .map(|entry| entry.id.pid)
            .collect();
        members.extend(joined);
        if members.len() == before {
            break;
        }
    }
    table
        .values()
        .filter(|entry| members.contains(&entry.id.pid) && !entry.zombie)
        .map(|entry| entry.id)
        .collect()
}
