//! Getting jobs, each of them once.

use std::time::Duration;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Calls, Dialect, Fault, Feature, Method, Status, Subject};
use gantry_protocols::connect::Code;
use gantry_protocols::forge::{Conclusion, Forge, Retry};
use gantry_protocols::gitea::Settings;
use serde_json::json;

use crate::side::{ONE, TWO, block_on, claimed, in_both, report, runner, runner_at};

#[test]
fn jobs_of_one_version_of_the_queue_are_all_found() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        assert!(runner.claim(1).await.unwrap().is_empty());
        server.push(TWO);
        let (a, b) = (claimed(&runner).await.task, claimed(&runner).await.task);
        assert_ne!(a, b);
        assert!(runner.claim(1).await.unwrap().is_empty());
        // Nothing is asked of the queue whose version is known.
        assert!(runner.claim(1).await.unwrap().is_empty());
        let versions = server.read(|state| {
            let subjects = state.calls().iter().map(|call| call.subject.clone());
            let versions = subjects.filter_map(|subject| match subject {
                Subject::Fetch { version, .. } => Some(version),
                _ => None,
            });
            versions.collect::<Vec<_>>()
        });
        assert_eq!(versions, [0, 1, 0, 0, 2]);
    });
}

#[test]
fn a_server_without_versions_is_always_asked() {
    block_on(async {
        let server = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::TasksVersion)).await;
        let runner = runner(&server).await;
        for _ in 0..2 {
            assert!(runner.claim(1).await.unwrap().is_empty());
        }
        server.push(ONE);
        claimed(&runner).await;
    });
}

#[test]
fn a_server_fills_the_room_that_it_is_told_of() {
    in_both(async |server, dialect| {
        let runner = runner(&server).await;
        server.push(TWO);
        let claims = runner.claim(5).await.unwrap();
        assert_eq!(claims.len(), if dialect == Dialect::Forgejo { 2 } else { 1 });
    });
}

#[test]
fn tasks_of_a_lost_answer_come_again_where_requests_have_keys() {
    for fault in [Fault::LoseAnswer, Fault::CutAfter(10)] {
        block_on(async {
            let server = FakeForge::start(Dialect::Forgejo).await;
            let runner = runner(&server).await;
            server.push(TWO);
            server.fail(Method::FetchTask, Calls::First(2), fault);
            for _ in 0..2 {
                assert_eq!(runner.claim(2).await.unwrap_err().retry(), Retry::Later);
            }
            assert_eq!(runner.claim(2).await.unwrap().len(), 2);
            assert_eq!(server.read(|state| state.tasks().count()), 2);
            assert!(runner.claim(2).await.unwrap().is_empty());
        });
    }
}

#[test]
fn a_task_of_a_lost_answer_is_given_up_where_they_have_none() {
    block_on(async {
        let server = FakeForge::start(Dialect::Gitea).await;
        let runner = runner(&server).await;
        server.push(TWO);
        server.fail(Method::FetchTask, Calls::Next, Fault::LoseAnswer);
        assert_eq!(runner.claim(1).await.unwrap_err().retry(), Retry::Later);
        let claim = claimed(&runner).await;
        assert_eq!(
            server.read(|state| state.job("b").unwrap().task),
            Some(claim.task.0)
        );
        server.advance(Duration::from_mins(11));
        assert_eq!(
            server.read(|state| state.job("a").unwrap().status),
            Status::Failure
        );
    });
}

#[test]
fn a_server_that_thinks_too_long_is_no_failure_and_loses_nothing() {
    block_on(async {
        let server = FakeForge::start(Dialect::Forgejo).await;
        let hurried = Settings {
            fetch_timeout: Duration::from_millis(200),
            ..Settings::default()
        };
        let runner = runner_at(&server, server.address(), hurried).await;
        server.push(ONE);
        server.fail(
            Method::FetchTask,
            Calls::Next,
            Fault::DelayAnswer(Duration::from_hours(1)),
        );
        assert!(runner.claim(1).await.unwrap().is_empty());
        // On a busy machine the next answers may be late, too.
        let claim = loop {
            if let Some(claim) = runner.claim(1).await.unwrap().pop() {
                break claim;
            }
        };
        let tasks = server.read(|state| state.tasks().map(|task| task.id).collect::<Vec<_>>());
        assert_eq!(tasks, [claim.task.0]);
    });
}

#[test]
fn a_key_in_use_is_waited_for() {
    block_on(async {
        let server = FakeForge::start(Dialect::Forgejo).await;
        let runner = runner(&server).await;
        server.push(ONE);
        let locked = "request key is currently locked; retry soon".to_owned();
        server.fail(
            Method::FetchTask,
            Calls::Next,
            Fault::Refuse(Code::Internal, locked),
        );
        let error = runner.claim(1).await.unwrap_err();
        assert!(matches!(error.retry(), Retry::After(_)), "{error}");
        claimed(&runner).await;
        let keys = server.read(|state| {
            let subjects = state.calls().iter().map(|call| call.subject.clone());
            let keys = subjects.filter_map(|subject| match subject {
                Subject::Fetch { key, .. } => key,
                _ => None,
            });
            keys.collect::<Vec<_>>()
        });
        assert_eq!(keys[0], keys[1]);
    });
}

#[test]
fn a_claim_carries_all_that_the_server_gives() {
    in_both(async |server, dialect| {
        server.set_secret("octo/demo", "password", "hunter2");
        server.set_var("octo/demo", "colour", "green");
        let runner = runner(&server).await;
        runner.declare("2", &["ubuntu".to_owned()]).await.unwrap();
        server.push(
            "jobs:\n  a: { runs-on: ubuntu, steps: [{ run: x }] }\n  b: { needs: a, runs-on: ubuntu, steps: [{ run: x }] }\n",
        );
        let mut end = report(claimed(&runner).await.task, Conclusion::Success, 0);
        end.outputs.insert("k".to_owned(), "v".to_owned());
        runner.complete(end).await.unwrap();
        let given = claimed(&runner).await.given;
        assert_eq!(
            (given.secrets["PASSWORD"].as_str(), given.vars["COLOUR"].as_str()),
            ("hunter2", "green")
        );
        assert_eq!(given.context["run_id"], json!("1"));
        assert_eq!(given.context["event"], json!({}));
        assert_eq!(given.context["token"], json!(given.secrets["GITEA_TOKEN"]));
        let need = &given.needs["a"];
        assert_eq!(
            (need.conclusion, need.outputs["k"].as_str()),
            (Conclusion::Success, "v")
        );
        assert_eq!(
            given.capabilities.contains("job-summary"),
            dialect == Dialect::Gitea
        );
    });
}

#[test]
fn numbers_of_runs_are_whole_on_servers_that_send_numbers() {
    block_on(async {
        let server = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::TextIds)).await;
        server.push(ONE);
        let claim = claimed(&runner(&server).await).await;
        assert_eq!(claim.given.context["run_id"].to_string(), "1");
    });
}

#[test]
fn a_long_answer_comes_packed() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        let long = format!("env: {{ LONG: {} }}\n{ONE}", "x".repeat(100_000));
        server.push(&long);
        let payload = claimed(&runner).await.payload;
        assert!(payload.len() > 100_000);
    });
}

#[test]
fn a_task_without_context_is_still_a_claim() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        server.fail(Method::FetchTask, Calls::Next, Fault::WithoutContext);
        assert!(claimed(&runner).await.given.context.is_empty());
    });
}

#[test]
fn an_answer_that_comes_twice_is_not_taken_for_the_next() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(TWO);
        server.fail(Method::FetchTask, Calls::All, Fault::AnswerTwice);
        let (a, b) = (claimed(&runner).await.task, claimed(&runner).await.task);
        assert_ne!(a, b);
        assert!(runner.claim(1).await.unwrap().is_empty());
    });
}
