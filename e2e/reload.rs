//! SIGHUP, and several servers from one process.

use std::fs;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect, Status};
use rustix::process::Signal;

use super::harness::Place;
use super::scene::{QUICK, Scene};

const PARALLEL: &str = include_str!("workflows/parallel.yaml");
const SINGLE: &str = include_str!("workflows/single.yaml");

#[test]
fn a_new_configuration_is_applied_and_a_wrong_one_is_not() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "  capacity: 1\n");
        let mut daemon = scene.daemon();
        let labels = "  labels: ['build:host', 'more:host']\n";
        scene.configure(&format!("  capacity: 2\n{labels}"));
        daemon.signal(Signal::HUP);
        daemon.wait_for("the configuration is reloaded: runner.capacity");
        scene.forge.wait_for_blocking("the new labels", |state| {
            (state.runner("e2e")?.labels == ["build", "more"]).then_some(())
        });
        // Each of the two jobs waits for the other one.
        scene.succeed(PARALLEL);

        scene.configure(&format!("  capacity: 1\n  timeout: soon\n{labels}"));
        daemon.signal(Signal::HUP);
        daemon.wait_for("the configuration is not reloaded, the old one goes on to count");
        let at = scene.place.path("config.yaml");
        let text = fs::read_to_string(&at).expect("the configuration");
        let line = text.lines().position(|line| line.contains("timeout: soon"));
        let line = line.expect("the line") + 1;
        daemon.wait_for(&format!("{} (Line: {line}, Col: 12)", at.display()));
        for name in ["a", "b"] {
            fs::remove_file(scene.place.path(name)).expect("a file");
        }
        scene.succeed(PARALLEL);
        daemon.stop();
    }
}

#[test]
fn connections_share_the_capacity_of_the_process() {
    let forges = DIALECTS.map(|dialect: Dialect| FakeForge::start_on_thread(dialect.rules()));
    let place = Place::new();
    let connections: String = forges
        .iter()
        .zip(["one", "two"])
        .map(|(forge, name)| connection(forge, name))
        .collect();
    let configure = |capacity: usize| {
        place.configure(&format!(
            "{QUICK}  capacity: {capacity}\n  labels: ['build:host']\n  envs: {{E2E: '{}'}}\nserver:\n  connections:\n{connections}",
            place.path("").display(),
        ));
    };
    configure(1);
    let daemon = place.daemon(&[]);
    for forge in &forges {
        forge.wait_for_blocking("the labels", |state| {
            state
                .runners()
                .any(|runner| runner.labels == ["build"])
                .then_some(())
        });
    }
    let runs = [forges[0].push(SINGLE), 0];
    let begun = place.path("begun");
    forges[0].wait_for_blocking("the first job", |_| begun.exists().then_some(()));
    let runs = [runs[0], forges[1].push(SINGLE)];
    let calls = forges[0].read(|state| state.calls().len());
    forges[0].wait_for_blocking("more of the first job", |state| {
        (state.calls().len() > calls + 5).then_some(())
    });
    let waiting = forges[1].read(|state| state.status_of(runs[1]));
    assert_eq!(waiting, Status::Waiting, "there is one slot for both");
    fs::write(place.path("go"), "").expect("a file");
    for (forge, run) in forges.iter().zip(runs) {
        let status = forge.wait_for_blocking("the end", |state| {
            Some(state.status_of(run)).filter(|status| status.is_done())
        });
        assert_eq!(status, Status::Success);
    }
    daemon.stop();
    assert!(place.left().is_empty(), "{:?}", place.left());
}

/// The lines of a connection to a forge that has made the runner itself.
fn connection(forge: &FakeForge, name: &str) -> String {
    let token = "0123456789abcdef0123456789abcdef01234567";
    forge.share_secret(name, token);
    let uuid = forge.read(|state| state.runner(name).expect("the runner").uuid.clone());
    format!(
        "    {name}: {{url: '{}', uuid: '{uuid}', token: {token:?}}}\n",
        forge.url()
    )
}
