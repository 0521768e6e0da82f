//! A data directory on a file system that is full.

use std::fs;
use std::process::{Command, Stdio};

use gantry_fakes::forge::{Dialect, Status};

use super::stage::{JOB, Stage, wait_until};
use crate::harness::Daemon;

const FLOOD: &str = include_str!("../workflows/flood.yaml");

/// Gives the process a file system of one MiB in the place of the directory `$1`, and becomes the rest.
const SMALL_DISK: &str = r#"mount -t tmpfs -o size=1m none "$1" && shift && exec "$@""#;

/// The command inside of a name space of its own, in which the data directory is small.
#[expect(clippy::disallowed_methods, reason = "it starts the program under test")]
fn on_small_disk(stage: &Stage, args: &[&str]) -> Command {
    let data = stage.place.path(".gantry");
    fs::create_dir_all(&data).expect("a directory");
    let inner = stage.place.command(args);
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", SMALL_DISK, "sh"])
        .arg(data)
        .arg(inner.get_program())
        .args(inner.get_args())
        .current_dir(stage.place.path(""))
        .env_clear()
        .envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn a_full_disk_stops_no_job_and_is_told_once() {
    let mut stage = Stage::new(Dialect::Gitea);
    let probe = on_small_disk(&stage, &["--version"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: this user may not mount a small file system");
        return;
    }
    let mut daemon = Daemon::start(on_small_disk(&stage, &["daemon"]));
    daemon.wait_for("declare successfully");
    let run = stage.push(FLOOD);
    stage.wait_for_row("ready");
    stage.take_away();
    stage.gate.tick(100_000);
    let warning = "the job goes on, and its rows are kept in memory as far as they fit";
    daemon.wait_for(warning);
    stage.gate.tick(1);
    let jobs = stage.place.path("jobs");
    wait_until("the job has ended", || {
        fs::read_dir(&jobs)
            .expect("the directory of jobs")
            .next()
            .is_none()
    });
    stage.bring_back();
    assert_eq!(stage.wait_for_end(run), Status::Success);
    let said = daemon.stop().text;
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    let mut rows = stage.forge.read(|state| state.log_of(JOB));
    rows.retain(|row| row.parse::<usize>().is_ok());
    let expected = (1..=100_000).map(|row: usize| row.to_string());
    assert!(rows.into_iter().eq(expected), "the rows are whole and in order");
}
