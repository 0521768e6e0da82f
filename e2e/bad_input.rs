//! What can be wrong from the outside: each has one clear text and the right end, and nothing is lost.

use std::fs;

use gantry_fakes::CuttingProxy;
use gantry_fakes::forge::{Calls, DIALECTS, Dialect, Fault, Method, Status};
use gantry_fakes::http::{Answer, HttpServer};
use gantry_fakes::tls::Authority;
use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};

use super::harness::{Place, Said};
use super::scene::Scene;

const HELLO: &str = include_str!("workflows/hello.yaml");
const PATIENT: &str = include_str!("workflows/patient.yaml");
const SINGLE: &str = include_str!("workflows/single.yaml");
const UNREGISTERED: &str = "runner is no longer registered with the server; please register it again";

/// A thread on which servers and proxies run that need a runtime.
fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a runtime")
}

/// Changes the server's address in the runner file.
fn move_to(place: &Place, old: &str, new: &str) {
    let file = place.path(".runner");
    let text = fs::read_to_string(&file).expect("the runner file");
    assert!(text.contains(old), "{text}");
    fs::write(&file, text.replace(old, new)).expect("the runner file");
}

fn assert_failed(said: &Said, text: &str) {
    assert_eq!(said.code, Some(1), "{}", said.text);
    assert!(said.text.contains(text), "{text:?} is not in {}", said.text);
    let errors = said.text.matches(text).count();
    assert_eq!(errors, 1, "it is said once: {}", said.text);
}

#[test]
fn without_a_runner_file_the_daemon_says_how_to_get_one() {
    let place = Place::new();
    let said = place.run(&["daemon"]);
    assert_failed(
        &said,
        "registration file not found, please register the runner first: `gantry register` writes .runner",
    );
}

#[test]
fn a_runner_file_that_is_none_is_refused() {
    let place = Place::new();
    for (text, wanted) in [
        ("", ".runner is no runner file"),
        ("{\"id\": 1", ".runner is no runner file"),
    ] {
        fs::write(place.path(".runner"), text).expect("a file");
        assert_failed(&place.run(&["daemon"]), wanted);
    }
}

#[test]
fn an_address_that_is_none_is_refused() {
    let scene = Scene::new(Dialect::Gitea, "");
    move_to(&scene.place, &scene.forge.url(), "nonsense");
    assert_failed(&scene.place.run(&["daemon"]), ".runner is wrong");
}

#[test]
fn a_second_process_with_the_same_runner_file_is_refused() {
    let scene = Scene::new(Dialect::Gitea, "");
    let daemon = scene.daemon();
    let said = scene.place.run(&["daemon"]);
    assert_failed(&said, "another process is already using .runner");
    scene.succeed(HELLO);
    daemon.stop();
    scene.daemon().stop();
}

#[test]
fn a_runner_that_was_deleted_asks_to_be_registered_again() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let daemon = scene.daemon();
        let id = scene
            .forge
            .read(|state| state.runner("e2e").expect("the runner").id);
        scene.forge.remove_runner(id);
        assert_failed(&daemon.end(), UNREGISTERED);
        assert_failed(&scene.place.run(&["daemon"]), UNREGISTERED);
    }
}

#[test]
fn a_server_that_cannot_be_reached_at_the_start_is_waited_for() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let runtime = runtime();
        let proxy = runtime.block_on(async { CuttingProxy::start(scene.forge.address()) });
        runtime.block_on(proxy.stop());
        move_to(&scene.place, &scene.forge.url(), &proxy.url());
        let mut daemon = scene.place.daemon(&[]);
        daemon.wait_for("cannot be declared, trying again until the forge answers");
        runtime.block_on(proxy.resume());
        daemon.wait_for("declare successfully");
        scene.succeed(HELLO);
        daemon.stop();
    }
}

#[test]
fn a_stop_ends_the_waiting_for_a_server() {
    let scene = Scene::new(Dialect::Gitea, "");
    let runtime = runtime();
    let proxy = runtime.block_on(async { CuttingProxy::start(scene.forge.address()) });
    runtime.block_on(proxy.stop());
    move_to(&scene.place, &scene.forge.url(), &proxy.url());
    let mut daemon = scene.place.daemon(&[]);
    daemon.wait_for("cannot be declared, trying again until the forge answers");
    daemon.stop();
}

#[test]
fn a_certificate_that_nobody_trusts_is_named() {
    let scene = Scene::new(Dialect::Gitea, "");
    let identity = Authority::new("nobody").issue(&["127.0.0.1"]);
    let tls = Authority::server(&identity, None);
    let runtime = runtime();
    let server = runtime.block_on(HttpServer::start_tls([], tls));
    let url = format!("https://{}", server.address());
    move_to(&scene.place, &scene.forge.url(), &url);
    let mut daemon = scene.place.daemon(&[]);
    daemon.wait_for("certificate");
    daemon.signal(Signal::TERM);
    let said = daemon.end();
    let lines = said.text.lines().filter(|line| line.contains("certificate"));
    assert_eq!(lines.count(), 1, "{}", said.text);
    assert!(server.received().is_empty(), "nothing was sent");
}

#[test]
fn a_server_that_is_no_forge_is_named() {
    let scene = Scene::new(Dialect::Gitea, "");
    let runtime = runtime();
    let page = || Answer::new(404, "text/html; charset=utf-8", "<html><h1>Not here</h1></html>").into();
    let server = runtime.block_on(HttpServer::start((0..1000).map(|_| page())));
    let url = format!("http://{}", server.address());
    move_to(&scene.place, &scene.forge.url(), &url);
    let mut daemon = scene.place.daemon(&[]);
    daemon.wait_for("404");
    daemon.signal(Signal::TERM);
    let said = daemon.end();
    assert!(!said.text.contains("<html>"), "{}", said.text);
}

#[test]
fn pages_of_a_proxy_are_outages() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        scene
            .forge
            .fail(Method::Declare, Calls::First(2), Fault::page(502));
        let mut daemon = scene.place.daemon(&[]);
        daemon.wait_for("cannot be declared, trying again until the forge answers");
        daemon.wait_for("declare successfully");
        // A page that says that all is well, as that of a login has it.
        for method in [Method::FetchTask, Method::UpdateTask, Method::UpdateLog] {
            scene.forge.fail(method, Calls::First(2), Fault::page(200));
        }
        scene.succeed(HELLO);
        let said = daemon.stop();
        assert!(!said.text.contains("<html>"), "{}", said.text);
        let log = scene.log("greet");
        assert_eq!(log.matches("hello from octo/demo").count(), 1, "{log}");
    }
}

#[test]
fn a_payload_that_is_no_job_fails_with_a_row_and_the_runner_goes_on() {
    let two = "on: push\njobs:\n  a: {runs-on: build, steps: [{run: echo a}]}\n  b: {runs-on: build, steps: [{run: echo b}]}\n";
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let daemon = scene.daemon();
        for (payload, row) in [
            ("on: push\njobs: {}\n", "no jobs found"),
            (two, "multiple jobs found"),
            ("on: push\njobs: [\n", "hello"),
            (
                "on: push\njobs:\n  a:\n    runs-on: build\n    steps: 5\n",
                "hello (Line: 5, Col: 12)",
            ),
        ] {
            scene.forge.fail(
                Method::FetchTask,
                Calls::All,
                Fault::Payload(payload.as_bytes().into()),
            );
            let run = scene.forge.push(HELLO);
            assert_eq!(scene.wait(run), Status::Failure, "{payload}");
            let log = scene.log("greet");
            assert!(log.contains(row), "{row:?} is not in {log}");
            assert!(!log.contains("hello from"), "{log}");
            scene.forge.heal();
        }
        scene.succeed(HELLO);
        daemon.stop();
        assert!(scene.place.left().is_empty(), "{:?}", scene.place.left());
    }
}

#[test]
fn a_task_that_comes_twice_runs_once() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "  capacity: 2\n");
        let daemon = scene.daemon();
        let run = scene.forge.push(SINGLE);
        scene.wait_for_file("begun");
        let asked = || scene.forge.read(|state| state.count(Method::FetchTask));
        let before = asked();
        scene
            .forge
            .fail(Method::FetchTask, Calls::All, Fault::DuplicateTask);
        scene.forge.wait_for_blocking("two more questions", |state| {
            (state.count(Method::FetchTask) > before + 2).then_some(())
        });
        scene.forge.heal();
        fs::write(scene.place.path("go"), "").expect("a file");
        assert_eq!(scene.wait(run), Status::Success, "{}", scene.log("single"));
        scene.succeed(PATIENT);
        daemon.stop();
        assert!(scene.place.left().is_empty(), "{:?}", scene.place.left());
    }
}
