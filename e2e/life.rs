//! From registration to the end of the process.

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Dialect, Status};
use rustix::process::Signal;

use super::harness::Place;

const HELLO: &str = include_str!("workflows/hello.yaml");

#[test]
fn cli_register_daemon() {
    for dialect in [Dialect::Gitea, Dialect::Forgejo] {
        let forge = FakeForge::start_on_thread(dialect.rules());
        let place = Place::new();
        place.register(&forge.url(), &forge.registration_token(), "build:host");
        let mut daemon = place.daemon(&[]);
        daemon.wait_for("declare successfully");
        let run = forge.push(HELLO);
        forge.wait_for_blocking("the end of the run", |state| {
            state.status_of(run).is_done().then_some(())
        });
        let log = forge.read(|state| state.log_of("greet"));
        assert_eq!(
            forge.read(|state| state.status_of(run)),
            Status::Success,
            "{log:#?}"
        );
        assert!(log.iter().any(|row| row.starts_with("hello from ")), "{log:#?}");
        assert!(log.iter().any(|row| row.ends_with("actions true")), "{log:#?}");
        let said = daemon.stop();
        assert!(!said.text.contains("cancelled in progress jobs"), "{}", said.text);
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn a_runner_that_is_killed_tells_the_truth_after_its_next_start() {
    let forge = FakeForge::start_on_thread(Dialect::Gitea.rules());
    let place = Place::new();
    place.register(&forge.url(), &forge.registration_token(), "build:host");
    let daemon = place.daemon(&[]);
    let run = forge.push(&HELLO.replace("run $GITHUB_RUN_ID", "begun\" && sleep 1000 && echo \""));
    forge.wait_for_blocking("the first rows", |state| {
        let task = state.task_of("greet")?;
        (!task.rows.is_empty()).then_some(())
    });
    daemon.kill();
    let daemon = place.daemon(&[]);
    forge.wait_for_blocking("the end of the run", |state| {
        state.status_of(run).is_done().then_some(())
    });
    assert_eq!(forge.read(|state| state.status_of(run)), Status::Failure);
    daemon.signal(Signal::INT);
    assert_eq!(daemon.end().code, Some(0));
    assert!(place.left().is_empty(), "{:?}", place.left());
}
