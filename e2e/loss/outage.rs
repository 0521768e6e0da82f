//! Connections that break, and a forge that is away.

use std::fs;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect, Method, Status};

use super::gate::{Gate, ticks};
use super::stage::{JOB, QUICK, Stage, ends, proxy_to, task, wait_for_end};
use crate::harness::Place;

const TICKS: &str = include_str!("../workflows/ticks.yaml");
const HELLO: &str = include_str!("../workflows/hello.yaml");

#[test]
fn reconnect_idle_and_mid_job() {
    for dialect in DIALECTS {
        let mut stage = Stage::new(dialect);
        let daemon = stage.daemon();
        stage.forge.wait_for_blocking("a question for jobs", |state| {
            (state.count(Method::FetchTask) > 0).then_some(())
        });
        stage.cut();
        // A Gitea that hands a job to a question whose connection is cut never hands it out again. One question may still
        // be on its way, so the second one from here is asked by a runner that has connected anew.
        let asked = stage.forge.read(|state| state.count(Method::FetchTask));
        stage.forge.wait_for_blocking("new questions for jobs", |state| {
            let calls = state.calls().iter();
            let answered = calls.filter(|call| call.method == Method::FetchTask && call.status == Some(200));
            (answered.count() >= asked + 2).then_some(())
        });
        let run = stage.push(TICKS);
        stage.wait_for_row("ready");
        for tick in 1..=15 {
            stage.gate.tick(tick);
            // Every other cut meets rows that are somewhere on their way.
            if tick % 2 == 0 {
                stage.wait_for_row(&format!("tick {tick}"));
            }
            stage.cut();
        }
        let processes = stage.gate.processes(2).expect("the step has begun");
        stage.gate.end();
        assert_eq!(stage.wait_for_end(run), Status::Success);
        daemon.stop();
        assert_eq!(stage.ticks(), ticks(15));
        stage.check_that_nothing_is_left(&processes);
    }
}

/// One process for two forges, the first of them behind a proxy.
struct Two {
    near: FakeForge,
    far: FakeForge,
    place: Place,
}

fn registered(forge: &FakeForge) -> (String, String) {
    Place::new().register(&forge.url(), &forge.registration_token(), "build:host");
    forge.read(|state| {
        let runner = state.runner("e2e").expect("the runner is registered");
        (runner.uuid.clone(), runner.token.clone())
    })
}

impl Two {
    fn new(url_of_far: &str, far: FakeForge) -> Self {
        let near = FakeForge::start_on_thread(Dialect::Forgejo.rules());
        let connection = |name: &str, url: &str, (uuid, token): (String, String)| {
            format!(
                "    {name}: {{url: '{url}', uuid: '{uuid}', token: '{token}', labels: ['build:host']}}\n"
            )
        };
        let connections = [
            connection("far", url_of_far, registered(&far)),
            connection("near", &near.url(), registered(&near)),
        ];
        let place = Place::new();
        place.configure(&format!(
            "{QUICK}server:\n  connections:\n{}",
            connections.concat()
        ));
        Self { near, far, place }
    }
}

#[test]
fn a_report_that_waits_for_its_forge_takes_no_slot() {
    let far = FakeForge::start_on_thread(Dialect::Gitea.rules());
    let (runtime, proxy) = proxy_to(&far);
    let Two { near, far, place } = Two::new(&proxy.url(), far);
    let mut gate = Gate::new(&place);
    let daemon = place.daemon(&[]);
    let run = far.push(&gate.fill(TICKS));
    gate.tick(1);
    far.wait_for_blocking("the first tick", |state| {
        let task = state.task_of(JOB)?;
        task.texts().contains(&"tick 1").then_some(())
    });
    runtime.block_on(proxy.stop());
    // The one slot is taken, so this job waits until the other one has ended, which its forge does not know.
    let next = near.push(HELLO);
    for tick in 2..=15 {
        gate.tick(tick);
    }
    gate.end();
    assert_eq!(wait_for_end(&near, next), Status::Success);
    assert_eq!(far.read(|state| state.status_of(run)), Status::Running);
    assert!(
        fs::read_dir(place.path("jobs"))
            .expect("a directory")
            .next()
            .is_none()
    );
    runtime.block_on(proxy.resume());
    assert_eq!(wait_for_end(&far, run), Status::Success);
    daemon.stop();
    let mut rows = far.read(|state| state.log_of(JOB));
    assert!(rows.contains(&"after the ticks".to_owned()), "{rows:#?}");
    rows.retain(|row| row.starts_with("tick "));
    assert_eq!(rows, ticks(15));
    assert_eq!(far.read(|state| ends(task(state))), 1);
    assert!(place.left().is_empty(), "{:?}", place.left());
}
