//! The REST interface: what a test of the whole program needs of a server, fake or real.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Dialect, State};
use gantry_protocols::gitea::wire::{Result as Outcome, value::Kind};
use serde_json::{Value, json};

use crate::caller::{self, Runner};

const WORKFLOW: &str = "name: demo\non:\n  push:\n  workflow_dispatch:\njobs:\n  build: { runs-on: ubuntu, steps: [{ run: make }] }\n";

async fn call(forge: &FakeForge, verb: &str, path: &str, body: &Value) -> (u16, Value) {
    let token = format!("token {}", forge.admin_token());
    let headers = [
        ("Authorization", token.as_str()),
        ("Content-Type", "application/json"),
    ];
    let path = format!("/api/v1/{path}");
    let answer = caller::send(
        forge.address(),
        verb,
        &path,
        &headers,
        body.to_string().as_bytes(),
    )
    .await;
    let answer = answer.unwrap();
    let value = serde_json::from_slice(&answer.body);
    let text = || Value::String(String::from_utf8_lossy(&answer.body).into_owned());
    (answer.status, value.unwrap_or_else(|_| text()))
}

async fn with_workflow() -> FakeForge {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (status, made) = call(&forge, "POST", "user/repos", &json!({ "name": "demo" })).await;
    assert_eq!((status, &made["full_name"]), (201, &json!("octo/demo")));
    let file = json!({ "content": BASE64_STANDARD.encode(WORKFLOW), "message": "add" });
    let path = "repos/octo/demo/contents/.gitea/workflows/ci.yaml";
    assert_eq!(call(&forge, "POST", path, &file).await.0, 201);
    forge
}

#[tokio::test]
async fn a_pushed_workflow_runs_and_shows() {
    let forge = with_workflow().await;
    call(
        &forge,
        "PUT",
        "repos/octo/demo/actions/secrets/s",
        &json!({ "data": "hidden" }),
    )
    .await;
    call(
        &forge,
        "POST",
        "repos/octo/demo/actions/variables/v",
        &json!({ "value": "shown" }),
    )
    .await;
    let (_, runs) = call(&forge, "GET", "repos/octo/demo/actions/runs", &Value::Null).await;
    assert_eq!(runs["total_count"], 1);
    let run = &runs["workflow_runs"][0];
    assert_eq!(
        (&run["status"], &run["conclusion"]),
        (&json!("queued"), &Value::Null)
    );
    assert_eq!(
        (&run["event"], &run["head_branch"]),
        (&json!("push"), &json!("main"))
    );

    let runner = Runner::new(&forge, &["ubuntu"]).await;
    let task = runner.task().await;
    assert_eq!(
        (task.secrets["S"].as_str(), task.vars["V"].as_str()),
        ("hidden", "shown")
    );
    runner.log(task.id, 0, &["one", "two"], true).await;
    runner.update(task.id, Outcome::Success, &[]).await;

    let path = format!("repos/octo/demo/actions/runs/{}/jobs", run["id"]);
    let (_, jobs) = call(&forge, "GET", &path, &Value::Null).await;
    let job = &jobs["jobs"][0];
    let shown = ["name", "status", "conclusion", "runner_name"].map(|key| job[key].as_str().unwrap());
    assert_eq!(shown, ["build", "completed", "success", "r1"]);
    assert_eq!(job["steps"][0]["name"], "make");
    let path = format!("repos/octo/demo/actions/jobs/{}/logs", job["id"]);
    let (_, log) = call(&forge, "GET", &path, &Value::Null).await;
    let time = "2023-11-14T22:13:20.1234567Z";
    assert_eq!(log, json!(format!("{time} one\n{time} two\n")));
}

#[tokio::test]
async fn a_dispatch_brings_its_inputs() {
    let forge = with_workflow().await;
    let path = "repos/octo/demo/actions/workflows/ci.yaml/dispatches";
    let (status, _) = call(
        &forge,
        "POST",
        path,
        &json!({ "ref": "main", "inputs": { "level": "3" } }),
    )
    .await;
    assert_eq!(status, 204);
    let runner = Runner::new(&forge, &["ubuntu"]).await;
    runner.task().await;
    let context = runner.task().await.context.unwrap().fields;
    assert_eq!(
        context["event_name"].kind,
        Some(Kind::StringValue("workflow_dispatch".to_owned()))
    );
    let Some(Kind::StructValue(event)) = &context["event"].kind else {
        unreachable!("no event")
    };
    let Some(Kind::StructValue(inputs)) = &event.fields["inputs"].kind else {
        unreachable!("no inputs")
    };
    assert_eq!(
        inputs.fields["level"].kind,
        Some(Kind::StringValue("3".to_owned()))
    );
    let missing = call(
        &forge,
        "POST",
        &path.replace("ci.yaml", "no.yaml"),
        &json!({ "ref": "main" }),
    )
    .await;
    assert_eq!(missing.0, 404);
}

#[tokio::test]
async fn a_run_can_be_cancelled() {
    let forge = with_workflow().await;
    let (status, _) = call(
        &forge,
        "POST",
        "repos/octo/demo/actions/runs/1/cancel",
        &Value::Null,
    )
    .await;
    let (_, run) = call(&forge, "GET", "repos/octo/demo/actions/runs/1", &Value::Null).await;
    assert_eq!((status, &run["conclusion"]), (202, &json!("cancelled")));
}

#[tokio::test]
async fn runners_register_show_and_go() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (_, token) = call(
        &forge,
        "POST",
        "admin/actions/runners/registration-token",
        &Value::Null,
    )
    .await;
    let token = token["token"].as_str().unwrap();
    let runner = caller::register(forge.address(), token, &["a", "b"], false)
        .await
        .unwrap();
    let (_, shown) = call(&forge, "GET", "admin/actions/runners", &Value::Null).await;
    assert_eq!(shown["total_count"], 1);
    let names: Vec<_> = shown["runners"][0]["labels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|label| &label["name"])
        .collect();
    assert_eq!(names, ["a", "b"]);
    let path = format!("admin/actions/runners/{}", runner.id);
    assert_eq!(call(&forge, "DELETE", &path, &Value::Null).await.0, 204);
    assert_eq!(call(&forge, "GET", &path, &Value::Null).await.0, 404);
    assert_eq!(forge.read(|state: &State| state.runners().count()), 0);
}

#[tokio::test]
async fn strangers_and_wrong_paths_are_refused() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let answer = caller::send(forge.address(), "GET", "/api/v1/version", &[], b"")
        .await
        .unwrap();
    assert_eq!(answer.status, 401);
    for path in ["nothing", "repos/a/b", "repos/a/b/actions/runs"] {
        assert_eq!(call(&forge, "GET", path, &Value::Null).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn a_summary_is_kept_for_whoever_has_the_token_of_the_job() {
    let forge = with_workflow().await;
    let runner = Runner::new(&forge, &["ubuntu"]).await;
    let task = runner.task().await.id;
    let (token, job) = forge.read(|state| {
        let task = state.task(task).unwrap();
        (task.runtime_token.clone(), task.job)
    });
    let good = format!("Bearer {token}");
    let upload = async |token: &str, job: i64| {
        let path = format!("/api/actions_pipeline/_apis/pipelines/workflows/1/jobs/{job}/steps/0/summary");
        let headers = [("Authorization", token)];
        caller::send(forge.address(), "PUT", &path, &headers, b"# Done")
            .await
            .unwrap()
            .status
    };
    assert_eq!(upload("Bearer x", job).await, 401);
    assert_eq!(upload(&good, job + 1).await, 400);
    assert_eq!(upload(&good, job).await, 200);
    assert_eq!(
        forge.read(|state| state.task(task).unwrap().summaries[&0].clone()),
        "# Done"
    );
}
