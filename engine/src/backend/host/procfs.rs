//! The processes of the machine, as `/proc` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

/// A process id together with its start time: unlike the id alone it never names another process later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    /// The process id.
    pub pid: u32,
    /// Clock ticks from the boot of the machine to the start of the process.
    pub start: u64,
}

/// One line of the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub id: Identity,
    pub name: String,
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    /// It ended and only waits for its parent to ask how.
    pub zombie: bool,
}

/// All processes at about one moment, by id.
pub(super) type Table = BTreeMap<u32, Entry>;

/// Reads the process table; processes that end meanwhile are left out.
pub(super) fn table() -> Table {
    pids().filter_map(|pid| Some((pid, entry(pid)?))).collect()
}

/// The ids of all processes.
pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The children of this process; `None` if the kernel does not list them.
pub(super) fn own_children() -> Option<Vec<u32>> {
    let mut children = Vec::new();
    // Each thread lists those that it has started or, by a whim of the kernel, adopted.
    for thread in fs::read_dir("/proc/self/task").ok()? {
        let path = thread.ok()?.path().join("children");
        match fs::read_to_string(path) {
            Ok(list) => children.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
            // A thread that has ended has no children.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
            Err(_) => return None,
        }
    }
    Some(children)
}

/// Reads one process; `None` when there is none.
pub(super) fn entry(pid: u32) -> Option<Entry> {
    // The name is whatever bytes the process chose.
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&text))
}

/// Parses `/proc/<pid>/stat`: the name stands in parentheses and may itself contain spaces and parentheses, so the
/// other fields are found from the last one (proc(5)).
fn parse_stat(text: &str) -> Option<Entry> {
    let (head, tail) = text.rsplit_once(')')?;
    let (pid, name) = head.split_once('(')?;
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let number = |index: usize| -> Option<u32> { fields.get(index)?.parse().ok() };
    Some(Entry {
        id: Identity {
            pid: pid.trim().parse().ok()?,
            start: fields.get(19)?.parse().ok()?,
        },
        name: name.to_owned(),
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        zombie: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

/// The time since the boot of the machine in clock ticks, in which [`Identity::start`] is measured.
///
/// The kernel counts hundredths of a second for every program, whatever it does itself (proc(5), `sysconf(3)`).
pub(super) fn now() -> Option<u64> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let (seconds, hundredths) = text.split_whitespace().next()?.split_once('.')?;
    Some(seconds.parse::<u64>().ok()? * 100 + hundredths.parse::<u64>().ok()?)
}

/// The environment that a process was started with, as `NAME=value` joined by NUL; empty when it cannot be read.
pub(super) fn environment(pid: u32) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// Says whether a block of NUL separated entries contains this one.
pub(super) fn has_entry(environment: &[u8], wanted: &[u8]) -> bool {
    environment.split(|byte| *byte == 0).any(|entry| entry == wanted)
}

/// The working directory of a process.
pub(super) fn working_directory(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// The inode numbers of the pipes that a process holds open.
pub(super) fn pipes(pid: u32) -> BTreeSet<u64> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    descriptors
        .filter_map(|entry| {
            let target = fs::read_link(entry.ok()?.path()).ok()?;
            target
                .to_str()?
                .strip_prefix("pipe:[")?
                .strip_suffix(']')?
                .parse()
                .ok()
        })
        .collect()
}

/// Makes the kernel prefer a job's process over the runner when memory runs out; best effort.
pub(super) fn offer_to_oom_killer(pid: u32) -> io::Result<()> {
    // GitHub's runner gives its children the same value.
    fs::write(format!("/proc/{pid}/oom_score_adj"), "500")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_are_parsed_whatever_the_name() {
        let rest = "5 6 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 1";
        for (name, state, zombie) in [("bash", 'S', false), ("a) Z 1 (b", 'R', false), ("", 'Z', true)] {
            let parsed = parse_stat(&format!("42 ({name}) {state} {rest}\n")).unwrap();
            assert_eq!(
                parsed.id,
                Identity {
                    pid: 42,
                    start: 987_654
                }
            );
            assert_eq!((parsed.parent, parsed.group, parsed.session), (5, 6, 7));
            assert_eq!((parsed.name.as_str(), parsed.zombie), (name, zombie));
        }
        for broken in ["", "42", "42 (x", "42 (x) S", "x (y) S 1 2 3", "42 (x) S 1 2 3 4"] {
            assert_eq!(parse_stat(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn the_table_contains_this_process() {
        let own = std::process::id();
        let table = table();
        assert_eq!(table[&own].id, entry(own).unwrap().id);
        assert!(!table[&own].zombie);
    }

    #[test]
    fn the_clock_is_that_of_start_times() {
        let started = entry(std::process::id()).unwrap().id.start;
        let age = now().unwrap() + 1 - started;
        assert!(
            age < 100 * 60 * 60,
            "these tests take less than an hour, not {age}"
        );
    }

    #[test]
    fn environment_entries_match_as_a_whole() {
        let block = b"A=1\0AB=2\0";
        assert!(has_entry(block, b"A=1"));
        assert!(!has_entry(block, b"B=2"));
        assert!(!has_entry(block, b"A="));
    }
}
