//! Calls that go wrong as a test says, and connections that break.

use std::time::Duration;

use gantry_fakes::forge::{Calls, DIALECTS, Dialect, Fault, Method, Status};
use gantry_fakes::{CuttingProxy, FakeForge};
use gantry_protocols::connect::Code;
use gantry_protocols::gitea::wire::Result as Outcome;

use crate::caller::{Failed, Runner};

const TWO: &str =
    "jobs:\n  a: { runs-on: [], steps: [{ run: x }] }\n  b: { runs-on: [], steps: [{ run: x }] }";

async fn started(dialect: Dialect) -> (FakeForge, Runner) {
    let forge = FakeForge::start(dialect).await;
    let runner = Runner::new(&forge, &[]).await;
    forge.push(TWO);
    (forge, runner)
}

#[tokio::test]
async fn faults_hit_the_calls_that_they_name() {
    let table = [
        (Calls::Next, [true, false, false, false]),
        (Calls::Nth(3), [false, false, true, false]),
        (Calls::First(2), [true, true, false, false]),
        (Calls::From(3), [false, false, true, true]),
        (Calls::All, [true, true, true, true]),
    ];
    for (calls, hit) in table {
        let (forge, runner) = started(Dialect::Gitea).await;
        forge.fail(Method::FetchTask, calls, Fault::Close);
        runner.declare(&[], &[]).await.unwrap();
        for (index, hit) in hit.into_iter().enumerate() {
            assert_eq!(
                runner.try_fetch(0, None).await.is_none(),
                hit,
                "{calls:?} {index}"
            );
        }
        forge.heal();
        assert!(runner.try_fetch(0, None).await.is_some());
    }
}

#[tokio::test]
async fn what_is_refused_before_the_server_changes_nothing() {
    for dialect in DIALECTS {
        let (forge, runner) = started(dialect).await;
        let refusal = match dialect {
            Dialect::Gitea => Failed(
                500,
                r#"{"code":"unknown","message":"rpc error: code = Unavailable desc = later"}"#.to_owned(),
            ),
            Dialect::Forgejo => Failed(503, r#"{"code":"unavailable","message":"later"}"#.to_owned()),
        };
        forge.fail(
            Method::FetchTask,
            Calls::Nth(1),
            Fault::Refuse(Code::Unavailable, "later".to_owned()),
        );
        forge.fail(Method::FetchTask, Calls::Nth(2), Fault::page(502));
        forge.fail(Method::FetchTask, Calls::Nth(3), Fault::Close);
        assert_eq!(runner.try_fetch(0, None).await.unwrap().err().unwrap(), refusal);
        assert_eq!(runner.try_fetch(0, None).await.unwrap().err().unwrap().0, 502);
        assert!(runner.try_fetch(0, None).await.is_none());
        assert_eq!(forge.read(|state| state.tasks().count()), 0);
        let statuses: Vec<_> =
            forge.read(|state| state.calls()[1..].iter().map(|call| call.status).collect());
        assert_eq!(statuses, [Some(refusal.0), Some(502), None]);
    }
}

#[tokio::test]
async fn a_lost_answer_leaves_the_work_done() {
    for fault in [Fault::LoseAnswer, Fault::CutAfter(1)] {
        let (forge, mut runner) = started(Dialect::Forgejo).await;
        runner.key = Some("k".to_owned());
        forge.fail(Method::FetchTask, Calls::Next, fault.clone());
        assert!(runner.try_fetch(0, None).await.is_none());
        assert_eq!(forge.read(|state| state.tasks().count()), 1);
        let task = runner.task().await.id;
        assert_eq!(forge.read(|state| state.tasks().count()), 1);
        forge.fail(Method::UpdateLog, Calls::Next, fault);
        assert!(runner.try_log(task, 0, &["x"], false).await.is_none());
        assert_eq!(runner.log(task, 0, &["x", "y"], false).await, 2);
        assert_eq!(forge.read(|state| state.log_of("a")), ["x", "y"]);
    }
}

#[tokio::test]
async fn answers_can_be_older_than_the_server() {
    let (forge, runner) = started(Dialect::Gitea).await;
    let task = runner.task().await.id;
    forge.fail(Method::UpdateLog, Calls::Nth(2), Fault::StaleAnswer);
    forge.fail(Method::UpdateLog, Calls::Nth(3), Fault::Acknowledge(99));
    assert_eq!(runner.log(task, 0, &["x"], false).await, 1);
    assert_eq!(runner.log(task, 1, &["y"], false).await, 1);
    assert_eq!(runner.log(task, 1, &["y", "z"], false).await, 99);
    assert_eq!(forge.read(|state| state.log_of("a")), ["x", "y", "z"]);
}

#[tokio::test]
async fn a_call_can_arrive_twice() {
    let (forge, mut runner) = started(Dialect::Forgejo).await;
    runner.key = Some("k".to_owned());
    forge.fail(Method::FetchTask, Calls::Next, Fault::DeliverTwice);
    let task = runner.task().await.id;
    assert_eq!(forge.read(|state| state.tasks().count()), 1);
    forge.fail(Method::UpdateLog, Calls::Next, Fault::DeliverTwice);
    assert_eq!(runner.log(task, 0, &["x"], true).await, 1);
    assert_eq!(forge.read(|state| state.log_of("a")), ["x"]);
}

#[tokio::test]
async fn tasks_can_be_spoiled() {
    let (forge, runner) = started(Dialect::Gitea).await;
    forge.fail(
        Method::FetchTask,
        Calls::Nth(1),
        Fault::Payload(b"jobs: {}".to_vec()),
    );
    forge.fail(Method::FetchTask, Calls::Nth(2), Fault::WithoutContext);
    forge.fail(Method::FetchTask, Calls::Nth(3), Fault::DuplicateTask);
    let first = runner.task().await;
    assert_eq!(first.workflow_payload.unwrap(), b"jobs: {}");
    let second = runner.task().await;
    assert!(second.context.is_none());
    let third = runner.task().await;
    assert_eq!(third.id, second.id);
    assert!(runner.fetch(0).await.task.is_none());
}

#[tokio::test]
async fn one_key_serves_one_call_at_a_time() {
    let (forge, mut runner) = started(Dialect::Forgejo).await;
    runner.key = Some("k".to_owned());
    forge.fail(Method::FetchTask, Calls::Nth(1), Fault::Hang);
    let hanging = tokio::spawn({
        let runner = runner.clone();
        async move { runner.try_fetch(0, None).await }
    });
    forge
        .wait_until("the first call has come", |state| {
            state.count(Method::FetchTask) == 1
        })
        .await;
    let refused = runner.try_fetch(0, None).await.unwrap().err().unwrap();
    assert_eq!(
        refused,
        Failed(
            500,
            r#"{"code":"internal","message":"request key is currently locked; retry soon"}"#.to_owned()
        )
    );
    hanging.abort();
    forge.heal();
    // The key is free once the server has seen that the first caller is gone.
    loop {
        match runner.try_fetch(0, None).await.unwrap() {
            Ok(answer) => break assert!(answer.task.is_some()),
            Err(locked) => assert_eq!(locked, refused),
        }
    }
}

#[tokio::test]
async fn a_delayed_call_is_answered_in_the_end() {
    let (forge, runner) = started(Dialect::Gitea).await;
    forge.fail(
        Method::FetchTask,
        Calls::Next,
        Fault::Delay(Duration::from_millis(20)),
    );
    assert!(runner.fetch(0).await.task.is_some());
}

#[tokio::test]
async fn a_condition_wakes_who_waits_for_it() {
    let (forge, runner) = started(Dialect::Gitea).await;
    let work = tokio::spawn(async move {
        let task = runner.task().await.id;
        runner.update(task, Outcome::Success, &[]).await;
    });
    let task = forge
        .wait_for("the job is done", |state| {
            let job = state.job("a").filter(|job| job.status == Status::Success);
            job.and_then(|job| job.task)
        })
        .await;
    assert_eq!(task, 5001);
    work.await.unwrap();
}

#[tokio::test]
async fn a_proxy_cuts_refuses_and_resumes() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let proxy = CuttingProxy::start(forge.address());
    let runner = Runner {
        server: proxy.address(),
        ..Runner::new(&forge, &[]).await
    };
    forge.push(TWO);
    assert!(runner.fetch(0).await.task.is_some());

    forge.fail(Method::FetchTask, Calls::Next, Fault::Hang);
    let hanging = tokio::spawn({
        let runner = runner.clone();
        async move { runner.try_fetch(0, None).await }
    });
    forge
        .wait_until("the call has come", |state| state.count(Method::FetchTask) == 2)
        .await;
    proxy.cut().await;
    assert!(hanging.await.unwrap().is_none());
    assert!(runner.fetch(0).await.task.is_some());

    for _ in 0..3 {
        proxy.stop().await;
        let refused = tokio::net::TcpStream::connect(proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        proxy.resume().await;
        assert!(runner.fetch(0).await.task.is_none());
    }
    assert_eq!(proxy.connections(), 6);
}

#[test]
fn a_test_without_a_runtime_waits_too() {
    let forge = FakeForge::start_on_thread(Dialect::Forgejo.rules());
    forge.push(TWO);
    let work = std::thread::spawn({
        let (server, token) = (forge.address(), forge.registration_token());
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime
                .block_on(crate::caller::register(server, &token, &[], false))
                .unwrap()
        }
    });
    let name = forge.wait_for_blocking("a runner is there", |state| {
        state.runners().next().map(|runner| runner.name.clone())
    });
    assert_eq!(name, work.join().unwrap().name);
}
