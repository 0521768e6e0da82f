//! What an operator does with the daemon: one job only, other labels, and the rungs of the stop.

use std::fs;

use rustix::process::Signal;

use super::harness::Daemon;
use super::server::{Repository, Server};

const TWO: &str = include_str!("workflows/two.yaml");
const PATIENT: &str = include_str!("workflows/patient.yaml");
const STUBBORN: &str = include_str!("workflows/stubborn.yaml");

/// What the daemon says if a stop has ended jobs before their time, and never otherwise.
const CANCELLED: &str = "cancelled in progress jobs";

/// A run that was stopped has ended, and not as if all had gone well.
fn assert_finalized_without_success(repository: &Repository<'_>, run: i64) {
    let conclusion = repository.conclusion(run);
    assert!(
        conclusion.as_deref().is_some_and(|text| text != "success"),
        "{conclusion:?}"
    );
}

#[test]
fn cli_once() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  capacity: 2\n");
        let run = repository.push(TWO);
        let said = place.declared(&["--once"]).end();
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert!(!said.text.contains(CANCELLED), "{}", said.text);
        assert_eq!(repository.count(run, "success"), 1, "exactly one of two");
        assert_eq!(repository.count(run, "queued"), 1, "exactly one of two");
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn cli_labels_override() {
    for server in Server::all() {
        let place = server.place("");
        let file = || fs::read_to_string(place.path(".runner")).expect("the runner file");
        let (one, two) = (server.label("one"), server.label("two"));
        let daemon = place.declared(&["--labels", &format!("{one}:host,{two}:host")]);
        assert_eq!(server.labels(), [one.as_str(), &two]);
        daemon.stop();
        assert!(file().contains(&format!("{one}:host")), "{}", file());
        assert!(!file().contains("build"), "{}", file());

        let three = server.label("three");
        let mut command = place.command(&["daemon"]);
        command.env("GITEA_RUNNER_LABELS", format!("{three}:host"));
        let mut daemon = Daemon::start(command);
        daemon.wait_for("declare successfully");
        assert_eq!(server.labels(), [three.as_str()]);
        daemon.stop();
        assert!(file().contains(&format!("{three}:host")), "{}", file());
        assert!(!file().contains(&format!("{one}:host")), "{}", file());
    }
}

#[test]
fn cli_shutdown_drains() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  shutdown_timeout: 1h\n");
        let mut daemon = place.declared(&[]);
        let run = repository.push(PATIENT);
        server.wait_for_file(&place.path("begun"));
        daemon.signal(Signal::TERM);
        daemon.wait_for("shutdown initiated, waiting 1h");
        let later = repository.push(TWO);
        fs::write(place.path("go"), "").expect("a file");
        let said = daemon.end();
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert!(!said.text.contains(CANCELLED), "{}", said.text);
        assert_eq!(repository.conclusion(run).as_deref(), Some("success"));
        assert!(repository.log(run, "wait").contains("Z went on"));
        assert_eq!(repository.count(later, "queued"), 2, "nothing new is taken");
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn cli_shutdown_cancels() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  shutdown_timeout: 0s\n");
        let daemon = place.declared(&[]);
        let run = repository.push(PATIENT);
        server.wait_for_file(&place.path("begun"));
        let said = daemon.stop();
        assert!(said.text.contains(CANCELLED), "{}", said.text);
        assert_finalized_without_success(&repository, run);
        assert!(!repository.log(run, "wait").contains("Z went on"));
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn the_second_and_the_third_signal_do_not_wait() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  shutdown_timeout: 1h\n  shutdown_cancel_timeout: 1h\n");
        let mut daemon = place.declared(&[]);
        let run = repository.push(STUBBORN);
        server.wait_for_file(&place.path("begun"));
        daemon.signal(Signal::TERM);
        daemon.wait_for("shutdown initiated, waiting 1h");
        assert_eq!(repository.conclusion(run), None, "the first one only waits");
        daemon.signal(Signal::INT);
        // The job is asked to stop, then made to; its clean-up is as stubborn.
        server.wait_for_file(&place.path("cleaning"));
        daemon.signal(Signal::TERM);
        let said = daemon.end();
        assert!(said.text.contains(CANCELLED), "{}", said.text);
        assert_finalized_without_success(&repository, run);
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn a_job_that_ignores_everything_is_killed_in_the_end() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  shutdown_timeout: 0s\n  shutdown_cancel_timeout: 1s\n");
        let daemon = place.declared(&[]);
        let run = repository.push(STUBBORN);
        server.wait_for_file(&place.path("begun"));
        let said = daemon.stop();
        assert!(said.text.contains(CANCELLED), "{}", said.text);
        assert_finalized_without_success(&repository, run);
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}
