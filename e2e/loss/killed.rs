//! The runner is killed in each phase of a job, and started again.

use std::net::TcpListener;
use std::path::Path;

use gantry_actors::protocols::gitea::wire;
use gantry_fakes::forge::{Calls, Dialect, Fault, Method, State, Status, Subject};

use super::gate::{is_alive, ticks};
use super::stage::{JOB, Stage, task, wait_until};

const TICKS: &str = include_str!("../workflows/ticks.yaml");
const BETWEEN: &str = include_str!("../workflows/between.yaml");
const SETUP: &str = include_str!("../workflows/setup.yaml");

/// What the log says of a job whose runner was killed.
const REASON: &str = "The runner was stopped while this job ran";

/// How often the log says why the job has ended.
fn reasons(state: &State) -> usize {
    let rows = task(state).texts();
    rows.iter().filter(|row| row.contains(REASON)).count()
}

/// Starts the runner again, lets it finish what it had, and checks that all is as if it had been so only once.
fn restart_and_check(stage: &Stage, run: i64, processes: &[u32], (status, said): (Status, usize)) {
    let daemon = stage.daemon();
    assert_eq!(stage.wait_for_end(run), status);
    daemon.stop();
    assert_eq!(stage.forge.read(reasons), said);
    stage.check_that_nothing_is_left(processes);
    let archived = stage.forge.read(|state| task(state).archived);
    assert!(archived, "the log is closed");
}

/// Tells whether a file below the directory holds a text.
fn holds(directory: &Path, text: &str) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let path = entry.path();
        let content = std::fs::read(&path).unwrap_or_default();
        path.is_dir() && holds(&path, text)
            || content
                .windows(text.len())
                .any(|window| window == text.as_bytes())
    })
}

#[test]
fn killed_while_a_job_is_set_up() {
    let stage = Stage::new(Dialect::Gitea);
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("its address"));
    stage
        .forge
        .change_rules(|rules| rules.default_actions_url = Some(url));
    let daemon = stage.daemon();
    let run = stage.push(SETUP);
    let asked = silent.accept().expect("the action is asked for");
    daemon.kill();
    drop((asked, silent));
    restart_and_check(&stage, run, &[], (Status::Failure, 1));
}

#[test]
fn killed_as_soon_as_a_job_is_in_the_journal() {
    let stage = Stage::new(Dialect::Forgejo);
    let daemon = stage.daemon();
    let run = stage.push(TICKS);
    let tasks = stage.place.path(".gantry/tasks");
    let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
    wait_until("the claim is in the journal", || {
        entries(&tasks).any(|connection| entries(&connection.path()).next().is_some())
    });
    daemon.kill();
    restart_and_check(&stage, run, &[], (Status::Failure, 1));
}

#[test]
fn killed_in_a_step() {
    for dialect in [Dialect::Gitea, Dialect::Forgejo] {
        let mut stage = Stage::new(dialect);
        let daemon = stage.daemon();
        let run = stage.push(TICKS);
        for tick in 1..=5 {
            stage.gate.tick(tick);
        }
        stage.wait_for_row("tick 5");
        // What the forge never saw is in the journal.
        stage.take_away();
        for tick in 6..=15 {
            stage.gate.tick(tick);
        }
        let tasks = stage.place.path(".gantry/tasks");
        wait_until("the rows are in the journal", || holds(&tasks, "tick 15"));
        let processes = stage.gate.processes(2).expect("the step has begun");
        daemon.kill();
        stage.bring_back();
        restart_and_check(&stage, run, &processes, (Status::Failure, 1));
        assert_eq!(stage.ticks(), ticks(15));
    }
}

#[test]
fn killed_between_two_steps() {
    let stage = Stage::new(Dialect::Gitea);
    let daemon = stage.daemon();
    let run = stage.push(BETWEEN);
    wait_until("the first step has begun", || stage.gate.processes(1).is_some());
    let processes = stage.gate.processes(1).expect("just seen");
    wait_until("the first step has ended", || !is_alive(processes[0]));
    daemon.kill();
    restart_and_check(&stage, run, &processes, (Status::Failure, 1));
    // What the pipe of the dead step still held is lost with the runner; what came through is in order and whole.
    let found = stage.ticks();
    assert_eq!(found, ticks(found.len()));
    let log = stage.forge.read(|state| state.log_of(JOB));
    assert!(!log.contains(&"never".to_owned()), "{log:#?}");
}

#[test]
fn killed_while_the_log_is_closing() {
    let mut stage = Stage::new(Dialect::Gitea);
    let daemon = stage.daemon();
    let run = stage.push(TICKS);
    for tick in 1..=15 {
        stage.gate.tick(tick);
    }
    stage.wait_for_row("tick 15");
    stage.take_away();
    let processes = stage.gate.processes(2).expect("the step has begun");
    stage.gate.end();
    // All rows have come through once the last section is there.
    let tasks = stage.place.path(".gantry/tasks");
    wait_until("the last step has ended", || holds(&tasks, "after the ticks"));
    wait_until("the job's directory is removed", || {
        let jobs = std::fs::read_dir(stage.place.path("jobs"));
        jobs.expect("the directory of jobs").next().is_none()
    });
    daemon.kill();
    // The next runner is killed as well before the forge is back.
    let mut second = stage.place.daemon(&[]);
    second.wait_for("cannot be declared");
    second.kill();
    stage.bring_back();
    let daemon = stage.daemon();
    // Whether the report was written before the kill decides between the two.
    let status = stage.wait_for_end(run);
    daemon.stop();
    let said = stage.forge.read(reasons);
    assert_eq!(said, usize::from(status == Status::Failure), "{status:?}");
    assert_eq!(stage.ticks(), ticks(15));
    stage.check_that_nothing_is_left(&processes);
}

/// Tells whether the runner has told how the job ended, whatever came of it.
fn was_told(state: &State) -> bool {
    state.calls().iter().any(|call| {
        let Subject::State { result, .. } = call.subject else {
            return false;
        };
        result != wire::Result::Unspecified
    })
}

/// Runs a job to its report, which goes wrong in this way, and kills the runner; returns the run.
fn killed_at_the_report(stage: &mut Stage, fault: Fault) -> (i64, Vec<u32>) {
    let daemon = stage.daemon();
    let run = stage.push(TICKS);
    for tick in 1..=15 {
        stage.gate.tick(tick);
    }
    stage.wait_for_row("tick 15");
    let processes = stage.gate.processes(2).expect("the step has begun");
    stage.forge.fail(Method::UpdateTask, Calls::Ends, fault);
    stage.gate.end();
    stage
        .forge
        .wait_for_blocking("the report", |state| was_told(state).then_some(()));
    daemon.kill();
    stage.forge.heal();
    (run, processes)
}

#[test]
fn killed_while_the_report_is_pending() {
    let mut stage = Stage::new(Dialect::Forgejo);
    let (run, processes) = killed_at_the_report(&mut stage, Fault::Close);
    assert_eq!(stage.forge.read(|state| state.status_of(run)), Status::Running);
    restart_and_check(&stage, run, &processes, (Status::Success, 0));
    assert_eq!(stage.ticks(), ticks(15));
}

#[test]
fn killed_before_a_task_that_is_reported_is_forgotten() {
    for dialect in [Dialect::Gitea, Dialect::Forgejo] {
        let mut stage = Stage::new(dialect);
        let (run, processes) = killed_at_the_report(&mut stage, Fault::LoseAnswer);
        assert_eq!(stage.wait_for_end(run), Status::Success);
        let rows = stage.forge.read(|state| state.log_of(JOB));
        assert!(!stage.place.left().is_empty(), "the task is still in the journal");
        restart_and_check(&stage, run, &processes, (Status::Success, 0));
        assert_eq!(stage.forge.read(|state| state.log_of(JOB)), rows);
        assert_eq!(stage.ticks(), ticks(15));
    }
}
