//! What a runner takes of its machine: memory, file descriptors, files, and a disk that is full.

use std::fs;
use std::path::Path;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Dialect, Status};

use super::stage::{QUICK, wait_for_end, wait_until};
use crate::harness::{Daemon, Place};

const HELLO: &str = include_str!("../workflows/hello.yaml");

/// So much may memory grow from the fiftieth to the two hundredth job, in KiB; a leak of 20 KiB a job would be seen.
const MARGIN_KIB: u64 = 3 * 1024;

/// What the daemon has of the machine now.
#[derive(Debug)]
struct Taken {
    memory_kib: u64,
    descriptors: usize,
    files: usize,
}

impl Taken {
    fn by(daemon: &Daemon, place: &Place) -> Self {
        let process = format!("/proc/{}", daemon.id());
        let status = fs::read_to_string(format!("{process}/status")).expect("the daemon runs");
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.expect("VmRSS").trim().trim_end_matches(" kB");
        Self {
            memory_kib: memory.parse().expect("a number"),
            descriptors: fs::read_dir(format!("{process}/fd"))
                .expect("descriptors")
                .count(),
            files: entries(&place.path("jobs")) + entries(&place.path(".gantry")),
        }
    }
}

/// How many files and directories there are below a directory.
fn entries(directory: &Path) -> usize {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    found.map(|entry| 1 + entries(&entry.path())).sum()
}

#[test]
fn two_hundred_jobs_in_a_row_leave_nothing_behind() {
    let forge = FakeForge::start_on_thread(Dialect::Gitea.rules());
    let place = Place::new();
    place.configure(QUICK);
    place.register(&forge.url(), &forge.registration_token(), "build:host");
    let mut daemon = place.daemon(&[]);
    daemon.wait_for("declare successfully");
    let run_jobs = |count: usize| {
        for _ in 0..count {
            let run = forge.push(HELLO);
            assert_eq!(wait_for_end(&forge, run), Status::Success);
        }
        // The last job is told before its entry is moved away and removed; the directory of its connection stays.
        let trash = place.path(".gantry/trash");
        wait_until("nothing is left", || {
            place.left().is_empty() && entries(&trash) <= 1
        });
    };
    run_jobs(50);
    let before = Taken::by(&daemon, &place);
    run_jobs(150);
    let after = Taken::by(&daemon, &place);
    assert!(
        after.memory_kib <= before.memory_kib + MARGIN_KIB
            && after.descriptors <= before.descriptors + 4
            && after.files <= before.files,
        "{before:?} {after:?}"
    );
    daemon.stop();
}
