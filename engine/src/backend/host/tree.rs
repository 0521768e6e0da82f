//! Which processes belong to a step or to a job.
//!
//! A process can leave its group (`setsid`), lose its parent (a double fork) and clean its environment, but seldom all
//! at once. So several kinds of evidence are combined, and everything that descends from a member is a member.
//! A control group of its own for each job would say it at once, but to move a process into one takes the kernel about
//! 10 ms, several times the cost of a whole step.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::adopt::LiveJob;
use super::procfs::{self, Entry, Identity, Table};
use super::spawn;

/// The variable by which GitHub's runner finds what a job left behind; a process that changes it opts out.
pub(super) const TRACKING_VARIABLE: &str = "RUNNER_TRACKING_ID";

/// A step's file for outputs has a fresh name every time, so the variable that names it marks the step's processes
/// without a variable of our own.
pub(super) const STEP_VARIABLE: &str = "GITHUB_OUTPUT";

/// A set of processes that are ended together.
pub(super) trait Tree {
    /// Finds the living processes.
    fn members(&self, table: &Table) -> BTreeSet<Identity>;

    /// Says whether a member is left alone because it opted out of being tracked.
    fn spares(&self, entry: &Entry) -> bool;
}

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

impl Tree for StepTree {
    fn members(&self, table: &Table) -> BTreeSet<Identity> {
        let found = closure(table, self.leader.start, |entry| {
            self.claims(&Traces::of(entry), table)
        });
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(&found);
        found
    }

    /// Only what left the group can have opted out: the group is what a step is stopped by.
    fn spares(&self, entry: &Entry) -> bool {
        entry.group != self.leader.pid && has_opted_out(entry, &self.tracking)
    }
}

impl StepTree {
    /// Says whether a process belongs to the step by itself, not only by its descent.
    fn claims(&self, traces: &Traces, table: &Table) -> bool {
        let entry = traces.entry;
        entry.id == self.leader
            || self
                .seen
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&entry.id)
            || (entry.group == self.leader.pid && self.group_is_ours(table))
            || self.mark.as_ref().is_some_and(|mark| traces.has_variable(mark))
            || (traces.is_adopted() && traces.pipes().contains(&self.pipe))
    }

    /// The group's number can pass to a stranger only after every member is gone; then its leader is another process.
    fn group_is_ours(&self, table: &Table) -> bool {
        table
            .get(&self.leader.pid)
            .is_none_or(|entry| entry.id == self.leader)
    }
}

/// What is known of the processes of one job.
pub(super) struct JobTree {
    /// `RUNNER_TRACKING_ID=<value>`
    pub tracking: Vec<u8>,
    /// The directory that everything of the job stands in.
    pub root: PathBuf,
    /// When the job can have started at the earliest, in clock ticks since boot.
    pub start: u64,
    /// The job runs in this process.
    live: Option<LiveJob>,
    /// Every step that was started: what its processes left is looked for again when the job ends.
    pub steps: Mutex<Vec<Arc<StepTree>>>,
}

impl Tree for JobTree {
    fn members(&self, table: &Table) -> BTreeSet<Identity> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone();
        closure(table, self.start, |entry| {
            let traces = Traces::of(entry);
            let started_before = |step: &StepTree| step.leader.start <= entry.id.start;
            self.claims(&traces)
                || steps
                    .iter()
                    .any(|step| started_before(step) && step.claims(&traces, table))
        })
    }

    fn spares(&self, entry: &Entry) -> bool {
        has_opted_out(entry, &self.tracking)
    }
}

impl JobTree {
    /// A job that this process is about to run in the directory `root`.
    pub fn begin(tracking: Vec<u8>, root: PathBuf) -> Self {
        // Nothing that is older than the runner can be the job's.
        let start = procfs::entry(std::process::id()).map_or(0, |entry| entry.id.start);
        Self {
            tracking,
            root,
            start,
            live: Some(LiveJob::begin()),
            steps: Mutex::default(),
        }
    }

    /// A job of a runner that is dead.
    pub fn left_behind(tracking: Vec<u8>, root: PathBuf) -> Self {
        Self {
            tracking,
            root,
            start: 0,
            live: None,
            steps: Mutex::default(),
        }
    }

    fn claims(&self, traces: &Traces) -> bool {
        let pid = traces.entry.id.pid;
        let is_inside = || procfs::working_directory(pid).is_some_and(|path| path.starts_with(&self.root));
        let is_alone = || self.live.as_ref().is_some_and(LiveJob::is_alone);
        traces.has_variable(&self.tracking)
            || (traces.is_adopted() && is_inside())
            || (traces.is_adopted_here() && is_alone())
    }
}

/// What a process shows of where it comes from; it is read once, and only if it matters.
struct Traces<'a> {
    entry: &'a Entry,
    environment: OnceCell<Vec<u8>>,
    adopted: OnceCell<bool>,
    pipes: OnceCell<BTreeSet<u64>>,
}

impl<'a> Traces<'a> {
    fn of(entry: &'a Entry) -> Self {
        Self {
            entry,
            environment: OnceCell::new(),
            adopted: OnceCell::new(),
            pipes: OnceCell::new(),
        }
    }

    fn has_variable(&self, wanted: &[u8]) -> bool {
        let environment = self
            .environment
            .get_or_init(|| procfs::environment(self.entry.id.pid));
        procfs::has_entry(environment, wanted)
    }

    /// A process whose parent died belongs to init, or to the runner if that adopts orphans.
    fn is_adopted(&self) -> bool {
        self.entry.parent == 1 || self.is_adopted_here()
    }

    /// A child of the runner that the runner did not start.
    ///
    /// One that is only just being started still has the runner's descriptors and directory, and must not be taken for
    /// a process of another job.
    fn is_adopted_here(&self) -> bool {
        let own = std::process::id();
        *self
            .adopted
            .get_or_init(|| self.entry.parent == own && !spawn::is_child(self.entry.id.pid))
    }

    fn pipes(&self) -> &BTreeSet<u64> {
        self.pipes.get_or_init(|| procfs::pipes(self.entry.id.pid))
    }
}

/// A process opts out by changing the tracking variable, as on GitHub; one that has none at all did not.
fn has_opted_out(entry: &Entry, tracking: &[u8]) -> bool {
    let environment = procfs::environment(entry.id.pid);
    let name = [TRACKING_VARIABLE.as_bytes(), b"="].concat();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry.starts_with(&name) && entry != tracking)
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
