//! Who may register, who may call, and what the server knows of a runner.

use std::time::Duration;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect, Feature, Method};
use gantry_protocols::gitea::wire::{self, Result as Outcome, path};

use crate::caller::{self, Failed, Runner, register};

/// How a dialect says this.
fn refusal(dialect: Dialect, code: &str, grpc: &str, status: u16, text: &str) -> Failed {
    match dialect {
        Dialect::Gitea => Failed(
            500,
            format!("{{\"code\":\"unknown\",\"message\":\"rpc error: code = {grpc} desc = {text}\"}}"),
        ),
        Dialect::Forgejo => Failed(status, format!("{{\"code\":\"{code}\",\"message\":\"{text}\"}}")),
    }
}

fn unregistered(dialect: Dialect) -> Failed {
    refusal(
        dialect,
        "unauthenticated",
        "Unauthenticated",
        401,
        "unregistered runner",
    )
}

#[tokio::test]
async fn a_ping_is_answered_without_a_name() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let request = wire::PingRequest {
        data: "r1".to_owned(),
    };
    let answer: wire::PingResponse = caller::call(forge.address(), path::PING, &[], &request)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(answer.data, "Hello, r1!");
    assert_eq!(forge.read(|state| state.count(Method::Ping)), 1);
}

#[tokio::test]
async fn any_path_above_the_services_serves() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let headers = [("Content-Type", "application/proto")];
    let path = format!("/git/api/actions/{}", path::PING);
    let answer = caller::send(forge.address(), "POST", &path, &headers, b"")
        .await
        .unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (200, b"\x0a\x08Hello, !".as_slice())
    );
}

#[tokio::test]
async fn requests_that_are_none_of_connect_are_refused() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let proto = ("Content-Type", "application/proto");
    let known = format!("/api/actions/{}", path::PING);
    let known = known.as_str();
    let table = [
        ("GET", known, vec![proto], 405),
        ("POST", known, vec![("Content-Type", "text/plain")], 415),
        ("POST", known, vec![proto, ("Connect-Protocol-Version", "2")], 400),
        (
            "POST",
            "/api/actions/runner.v1.RunnerService/Nothing",
            vec![proto],
            404,
        ),
        ("POST", "/elsewhere", vec![proto], 404),
    ];
    for (verb, path, headers, status) in table {
        let answer = caller::send(forge.address(), verb, path, &headers, b"")
            .await
            .unwrap();
        assert_eq!(answer.status, status, "{verb} {path} {headers:?}");
    }
}

#[tokio::test]
async fn registration_takes_a_valid_token() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (reusable, once) = (forge.registration_token(), forge.one_time_token());
        let server = forge.address();
        for token in [&reusable, &reusable, &once] {
            let runner = register(server, token, &["ubuntu"], false).await.unwrap();
            assert_eq!((runner.name.as_str(), runner.token.len()), ("r1", 40));
            assert_eq!(runner.labels, ["ubuntu"]);
        }
        let refused = |code, grpc, text| refusal(dialect, code, grpc, 400, text);
        assert_eq!(
            register(server, "wrong", &[], false).await.err().unwrap(),
            refused(
                "invalid_argument",
                "NotFound",
                "runner registration token not found"
            )
        );
        assert_eq!(
            register(server, "", &[], false).await.err().unwrap(),
            refused(
                "invalid_argument",
                "InvalidArgument",
                "missing runner token, name"
            )
        );
        let used = "runner registration token has been invalidated, please use the latest one";
        assert_eq!(
            register(server, &once, &[], false).await.err().unwrap(),
            refused("invalid_argument", "NotFound", used)
        );
        forge.invalidate_tokens();
        assert_eq!(
            register(server, &reusable, &[], false).await.err().unwrap(),
            refused("invalid_argument", "NotFound", used)
        );
        assert_eq!(forge.read(|state| state.runners().count()), 3);
    }
}

#[tokio::test]
async fn an_old_server_knows_no_ephemeral_runner() {
    let forge = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::Ephemeral)).await;
    let runner = register(forge.address(), &forge.registration_token(), &[], true)
        .await
        .unwrap();
    assert!(!runner.ephemeral);
}

#[tokio::test]
async fn a_declaration_replaces_labels_and_version() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::new(&forge, &["old"]).await;
        let told = runner.declare(&["new", "host"], &["cancelling"]).await.unwrap();
        assert_eq!(
            (told.labels, told.version.as_str()),
            (vec!["new".to_owned(), "host".to_owned()], "2")
        );
        assert_eq!(told.token, "");
        runner.declare(&["new"], &[]).await.unwrap();
        let kept = forge.read(|state| state.runner("r1").unwrap().clone());
        assert_eq!(kept.labels, ["new"]);
        assert_eq!(kept.capabilities.unwrap(), ["cancelling"]);
    }
}

#[tokio::test]
async fn the_answer_to_a_declaration_tells_capabilities() {
    for (dialect, told) in [(Dialect::Gitea, true), (Dialect::Forgejo, false)] {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::new(&forge, &[]).await;
        let headers = [
            ("Content-Type", "application/proto"),
            ("x-runner-uuid", runner.uuid.as_str()),
            ("x-runner-token", runner.token.as_str()),
        ];
        let path = format!("/api/actions/{}", path::DECLARE);
        let answer = caller::send(forge.address(), "POST", &path, &headers, b"")
            .await
            .unwrap();
        let capabilities = answer
            .head
            .contains("x-gitea-actions-capabilities: cancelling, job-summary");
        assert_eq!(capabilities, told, "{}", answer.head);
    }
}

#[tokio::test]
async fn a_server_without_declarations_does_not_know_the_path() {
    let forge = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::Declare)).await;
    let runner = Runner::new(&forge, &[]).await;
    assert_eq!(runner.declare(&["x"], &[]).await.err().unwrap().0, 404);
}

#[tokio::test]
async fn every_call_needs_name_and_token() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let good = Runner::new(&forge, &[]).await;
        let other_token = Runner {
            token: "0".repeat(40),
            ..good.clone()
        };
        let other_name = Runner {
            uuid: "nobody".to_owned(),
            ..good.clone()
        };
        for runner in [other_token, other_name] {
            assert_eq!(
                runner.declare(&[], &[]).await.err().unwrap(),
                unregistered(dialect)
            );
            let fetched = runner.try_fetch(0, None).await.unwrap();
            assert_eq!(fetched.err().unwrap(), unregistered(dialect));
            let updated = runner.try_update(1, Outcome::Unspecified, &[]).await.unwrap();
            assert_eq!(updated.err().unwrap(), unregistered(dialect));
            let logged = runner.try_log(1, 0, &["x"], false).await.unwrap();
            assert_eq!(logged.err().unwrap(), unregistered(dialect));
        }
        good.fetch(0).await;
    }
}

#[tokio::test]
async fn a_removed_runner_is_unknown_and_forgejo_leaves_it_a_moment() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::new(&forge, &[]).await;
        forge.push("on: push\njobs:\n  a: { runs-on: [], steps: [{ run: x }] }");
        let task = runner.task().await.id;
        forge.remove_runner(runner.id);
        assert_eq!(
            runner.try_fetch(0, None).await.unwrap().err().unwrap(),
            unregistered(dialect)
        );
        let soon = runner.try_log(task, 0, &["x"], false).await.unwrap();
        assert_eq!(soon.is_ok(), dialect == Dialect::Forgejo);
        forge.advance(Duration::from_secs(11));
        let late = runner
            .try_log(task, 1, &["x"], false)
            .await
            .unwrap()
            .err()
            .unwrap();
        let text = match dialect {
            Dialect::Gitea => unregistered(dialect),
            Dialect::Forgejo => refusal(dialect, "internal", "Internal", 500, "Runner is deleted"),
        };
        assert_eq!(late, text);
    }
}
