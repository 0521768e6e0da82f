//! What a workflow's author sees: conclusions, conditions, labels, inputs, outputs.

use std::fs;

use serde_json::{Value, json};

use super::server::{Repository, Server};

/// Runs a workflow to its end on a runner with these lines in its configuration.
fn run(server: &Server, repository: &Repository<'_>, workflow: &str) -> i64 {
    let place = server.place("");
    let daemon = place.declared(&[]);
    let run = repository.push(workflow);
    repository.wait_for(run);
    daemon.stop();
    assert!(place.left().is_empty(), "{:?}", place.left());
    run
}

#[test]
fn failure_paths() {
    for server in Server::all() {
        let repository = server.repository();
        let run = run(&server, &repository, include_str!("workflows/failures.yaml"));
        assert_eq!(repository.conclusion(run).as_deref(), Some("failure"));
        assert_eq!(repository.state(run, "fails"), "failure");
        let log = repository.log(run, "fails");
        for (text, ran) in [
            ("failure", true),
            ("always", true),
            ("success", false),
            ("usual", false),
        ] {
            assert_eq!(
                log.contains(&format!("Z the {text} step ran")),
                ran,
                "{text}: {log}"
            );
        }
        assert_eq!(repository.state(run, "tolerated-step"), "success");
        let log = repository.log(run, "tolerated-step");
        assert!(log.contains("Z weak failure success"), "{log}");
        assert_eq!(repository.state(run, "after-tolerated"), "success");
        assert_eq!(repository.state(run, "dependent"), "skipped");
        assert_eq!(repository.state(run, "mourner"), "success");
        assert!(repository.log(run, "mourner").contains("Z needs failure"));
    }
}

#[test]
fn a_job_that_takes_too_long_fails() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  timeout: 3s\n");
        let daemon = place.declared(&[]);
        let run = repository.push(include_str!("workflows/timeout.yaml"));
        assert_eq!(repository.wait_for(run), "failure");
        let log = repository.log(run, "late");
        for (text, ran) in [("always", true), ("success", false), ("usual", false)] {
            assert_eq!(
                log.contains(&format!("Z the {text} step ran")),
                ran,
                "{text}: {log}"
            );
        }
        daemon.stop();
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn label_routing() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("");
        let daemon = place.declared(&[]);
        let run = repository.push(include_str!("workflows/routing.yaml"));
        repository.wait_for_job(run, "here", "success");
        // The other one was there first as well, and the runner has asked since.
        let again = repository.push(include_str!("workflows/routing.yaml"));
        repository.wait_for_job(again, "here", "success");
        assert_eq!(repository.state(run, "nowhere"), "queued");
        daemon.stop();
        for run in [run, again] {
            assert_eq!(repository.state(run, "nowhere"), "queued");
            repository.cancel(run);
        }
    }
}

fn spans(repository: &Repository<'_>, run: i64) -> [(String, String); 2] {
    ["a", "b"].map(|name| {
        let job = repository.job(run, name);
        let time = |key: &str| job[key].as_str().expect("a time").to_owned();
        (time("started_at"), time("completed_at"))
    })
}

#[test]
fn capacity_1_is_serial() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  capacity: 1\n");
        let daemon = place.declared(&[]);
        let run = repository.push(include_str!("workflows/serial.yaml"));
        server.wait_for_file(&place.path("begun"));
        assert_eq!(repository.count(run, "in_progress"), 1);
        assert_eq!(repository.count(run, "queued"), 1);
        fs::write(place.path("go"), "").expect("a file");
        assert_eq!(repository.wait_for(run), "success");
        let [a, b] = spans(&repository, run);
        assert!(a.1 <= b.0 || b.1 <= a.0, "the spans overlap: {a:?} {b:?}");
        daemon.stop();
    }
}

#[test]
fn capacity_2_is_parallel() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("  capacity: 2\n");
        let daemon = place.declared(&[]);
        // Each of the two jobs waits for the other one.
        let run = repository.push(include_str!("workflows/parallel.yaml"));
        assert_eq!(repository.wait_for(run), "success");
        let [a, b] = spans(&repository, run);
        assert!(a.0 <= b.1 && b.0 <= a.1, "the spans do not overlap: {a:?} {b:?}");
        daemon.stop();
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn host_mode() {
    for server in Server::all() {
        let repository = server.repository();
        let run = run(&server, &repository, include_str!("workflows/host.yaml"));
        let log = repository.log(run, "host");
        assert_eq!(repository.conclusion(run).as_deref(), Some("success"), "{log}");
        for text in [
            " of Linux",
            "Z word hello, by a file, level step",
            "Z a tool from the path",
            "Z in sub",
            "Z event is there",
            &format!("Z runner {}", server.runner_name()),
        ] {
            assert!(log.contains(text), "{text:?} is not in {log}");
        }
    }
}

#[test]
fn outputs_go_from_job_to_job() {
    for server in Server::all() {
        let repository = server.repository();
        let run = run(&server, &repository, include_str!("workflows/outputs.yaml"));
        assert_eq!(repository.conclusion(run).as_deref(), Some("success"));
        for leg in ["1", "2"] {
            let log = repository.log(run, &format!("reads ({leg})"));
            assert!(
                log.contains(&format!("Z leg {leg} read grüß dich, success")),
                "{log}"
            );
        }
    }
}

#[test]
fn dispatch_types_its_inputs() {
    for server in Server::all() {
        let repository = server.repository();
        repository.write(
            ".gitea/workflows/ci.yaml",
            include_str!("workflows/dispatch.yaml"),
        );
        let place = server.place("");
        let daemon = place.declared(&[]);
        let log_of = |inputs: &Value| {
            let run = repository.dispatch(inputs);
            assert_eq!(repository.wait_for(run), "success");
            repository.log(run, "typed")
        };
        let log = log_of(&json!({"who": "you", "loud": "true", "count": "3", "color": "green"}));
        assert!(
            log.contains("Z who you, color green, event workflow_dispatch"),
            "{log}"
        );
        assert!(log.contains("Z loud is a boolean true"), "{log}");
        assert!(!log.contains("Z loud is not set"), "{log}");
        assert!(log.contains("Z count true, in the event as true"), "{log}");
        let log = log_of(&json!({"who": "x", "loud": "false"}));
        assert!(log.contains("Z loud is not set"), "{log}");
        daemon.stop();
    }
}

#[test]
fn a_cancelled_job_cleans_up_and_its_log_is_live() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place("");
        let daemon = place.declared(&[]);
        let run = repository.push(include_str!("workflows/called_off.yaml"));
        repository.wait_for_log(run, "long", "Z first row");
        repository.cancel(run);
        assert_eq!(repository.wait_for(run), "cancelled");
        daemon.stop();
        let log = repository.log(run, "long");
        assert!(!log.contains("Z the usual step ran"), "{log}");
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn ephemeral() {
    for server in Server::all() {
        let repository = server.repository();
        let place = server.place_with("", &["--ephemeral"]);
        assert_eq!(server.runner().expect("the runner")["ephemeral"], true);
        let run = repository.push(include_str!("workflows/two.yaml"));
        let said = place.declared(&[]).end();
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert_eq!(repository.count(run, "success"), 1);
        assert_eq!(repository.count(run, "queued"), 1);
        assert!(server.runner().is_none(), "the server has removed the runner");
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn reusable_workflow() {
    for server in Server::all() {
        let repository = server.repository();
        let called = include_str!("workflows/called.yaml");
        repository.write(".gitea/workflows/called.yaml", called);
        let run = run(&server, &repository, include_str!("workflows/caller.yaml"));
        assert_eq!(repository.conclusion(run).as_deref(), Some("success"));
        let log = repository.log(run, "call / first");
        assert!(log.contains("Z loud true, count true, event push"), "{log}");
        let log = repository.log(run, "after");
        assert!(log.contains("Z the call said hello everyone, success"), "{log}");
    }
}
