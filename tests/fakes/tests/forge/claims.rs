//! Which job goes to which runner, when, and with what.

use std::collections::BTreeMap;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect, Feature, State, Status, Trigger};
use gantry_protocols::gitea::wire::{self, Result as Outcome, path, value::Kind};
use serde_json::json;

use crate::caller::{Failed, Runner};

const ONE: &str = "on: push\nname: demo\njobs:\n  build:\n    runs-on: ubuntu\n    steps: [{ run: make }]\n";
const TWO: &str = "on: push\njobs:\n  a: { runs-on: ubuntu, steps: [{ run: a }] }\n  b: { runs-on: ubuntu, steps: [{ run: b }] }\n";

fn payload(task: &wire::Task) -> String {
    String::from_utf8(task.workflow_payload.clone().unwrap()).unwrap()
}

fn text(task: &wire::Task, key: &str) -> String {
    let value = task.context.as_ref().unwrap().fields[key].kind.clone();
    let Some(Kind::StringValue(text)) = value else {
        unreachable!("{key} is {value:?}");
    };
    text
}

#[tokio::test]
async fn each_job_goes_out_once() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (first, second) = (
            Runner::new(&forge, &["ubuntu"]).await,
            Runner::new(&forge, &["ubuntu"]).await,
        );
        forge.push(TWO);
        let (a, b) = (first.task().await, second.task().await);
        assert_ne!(a.id, b.id);
        assert!(first.fetch(0).await.task.is_none());
        assert_eq!(
            forge.read(|state| state.job("a").unwrap().status),
            Status::Running
        );
        assert_eq!(forge.read(|state| state.task_of("b").unwrap().runner), second.id);
    }
}

#[tokio::test]
async fn a_runner_needs_all_labels_of_a_job() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let table = [
        ("ubuntu", vec!["ubuntu"], true),
        ("ubuntu", vec!["Ubuntu"], false),
        ("[ubuntu, gpu]", vec!["ubuntu"], false),
        ("[ubuntu, gpu]", vec!["gpu", "other", "ubuntu"], true),
        ("[]", vec![], true),
        ("{ labels: gpu }", vec!["ubuntu"], false),
        ("{ labels: gpu }", vec!["gpu"], true),
    ];
    for (runs_on, labels, fits) in table {
        let runner = Runner::new(&forge, &labels).await;
        let run = forge.push(&format!(
            "jobs:\n  a: {{ runs-on: {runs_on}, steps: [{{ run: x }}] }}"
        ));
        assert_eq!(runner.fetch(0).await.task.is_some(), fits, "{runs_on} {labels:?}");
        forge.cancel(run);
    }
}

#[tokio::test]
async fn a_declared_label_decides_from_then_on() {
    let forge = FakeForge::start(Dialect::Forgejo).await;
    let runner = Runner::new(&forge, &["old"]).await;
    forge.push(ONE);
    assert!(runner.fetch(0).await.task.is_none());
    runner.declare(&["ubuntu"], &[]).await.unwrap();
    assert!(runner.fetch(0).await.task.is_some());
}

#[tokio::test]
async fn a_known_version_asks_in_vain() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let runner = Runner::new(&forge, &["ubuntu"]).await;
    assert_eq!(runner.fetch(0).await.tasks_version, 1);
    forge.push(TWO);
    let first = runner.fetch(1).await;
    assert!(first.task.is_some());
    assert_eq!(first.tasks_version, 2);
    // The second job raised no version of its own: only 0 finds it.
    assert!(runner.fetch(2).await.task.is_none());
    assert!(runner.fetch(0).await.task.is_some());
}

#[tokio::test]
async fn an_old_server_keeps_no_version() {
    let forge = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::TasksVersion)).await;
    let runner = Runner::new(&forge, &["ubuntu"]).await;
    assert_eq!(runner.fetch(0).await.tasks_version, 0);
    forge.push(ONE);
    let answer = runner.fetch(0).await;
    assert_eq!((answer.task.is_some(), answer.tasks_version), (true, 0));
}

#[tokio::test]
async fn only_forgejo_fills_the_room_of_a_runner() {
    for (dialect, more) in [(Dialect::Gitea, 0), (Dialect::Forgejo, 1)] {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::new(&forge, &["ubuntu"]).await;
        forge.push(TWO);
        let answer = runner.try_fetch(0, Some(5)).await.unwrap().unwrap();
        assert!(answer.task.is_some());
        assert_eq!(answer.additional_tasks.len(), more);
    }
}

#[tokio::test]
async fn a_repeated_key_gets_the_same_tasks_with_new_tokens() {
    let forge = FakeForge::start(Dialect::Forgejo).await;
    let mut runner = Runner::new(&forge, &["ubuntu"]).await;
    runner.key = Some("5b0c0c4e-0000-4000-8000-000000000001".to_owned());
    // A key for which there was nothing is not used up.
    assert!(runner.fetch(0).await.task.is_none());
    forge.push(TWO);
    let first = runner.try_fetch(1, Some(2)).await.unwrap().unwrap();
    let again = runner.try_fetch(1, Some(2)).await.unwrap().unwrap();
    let (one, other) = (first.task.unwrap(), again.task.unwrap());
    assert_eq!(
        (one.id, first.tasks_version, again.tasks_version),
        (other.id, 2, 0)
    );
    assert_eq!(first.additional_tasks[0].id, again.additional_tasks[0].id);
    assert_ne!(text(&one, "token"), text(&other, "token"));
    runner.key = Some("5b0c0c4e-0000-4000-8000-000000000002".to_owned());
    assert!(runner.fetch(0).await.task.is_none());
}

#[tokio::test]
async fn gitea_knows_no_keys() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let mut runner = Runner::new(&forge, &["ubuntu"]).await;
    runner.key = Some("key".to_owned());
    forge.push(ONE);
    assert!(runner.fetch(0).await.task.is_some());
    assert!(runner.fetch(0).await.task.is_none());
}

#[tokio::test]
async fn a_single_task_can_be_named() {
    let forge = FakeForge::start(Dialect::Forgejo).await;
    let runner = Runner::new(&forge, &["ubuntu"]).await;
    forge.push(TWO);
    let handle = forge.read(|state| state.job("b").unwrap().handle.clone());
    let request = wire::FetchSingleTaskRequest {
        tasks_version: 0,
        handle: Some(handle),
    };
    let fetch = async || -> Result<wire::FetchSingleTaskResponse, Failed> {
        runner.call(path::FETCH_SINGLE_TASK, &request).await.unwrap()
    };
    let task = fetch().await.unwrap().task.unwrap();
    assert_eq!(forge.read(|state| state.job("b").unwrap().task), Some(task.id));
    assert!(fetch().await.unwrap().task.is_none());
}

#[tokio::test]
async fn a_payload_has_exactly_one_job() {
    for (dialect, needs) in [(Dialect::Gitea, false), (Dialect::Forgejo, true)] {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::new(&forge, &["ubuntu"]).await;
        forge.push(
            "name: demo\non: push\nenv: { A: 1 }\njobs:\n  a: { runs-on: ubuntu, steps: [{ run: a }] }\n  b: { needs: a, runs-on: ubuntu, steps: [{ run: b }] }",
        );
        let a = runner.task().await;
        let document: serde_json::Value = serde_yaml::from_str(&payload(&a)).unwrap();
        assert_eq!(document["env"], json!({ "A": 1 }));
        assert_eq!(
            document["jobs"],
            json!({ "a": { "runs-on": "ubuntu", "steps": [{ "run": "a" }], "name": "a" } })
        );
        runner.update(a.id, Outcome::Success, &[]).await;
        let b = payload(&runner.task().await);
        assert_eq!(b.contains("needs: a"), needs, "{b}");
        assert!(!b.contains("run: a"), "{b}");
    }
}

#[tokio::test]
async fn a_matrix_makes_a_job_of_each_leg() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let runner = Runner::new(&forge, &["linux", "arm"]).await;
    forge.push(
        "jobs:\n  t:\n    strategy:\n      matrix:\n        os: [linux, arm]\n        n: [1, 2]\n        exclude: [{ os: arm, n: 2 }]\n        include: [{ os: arm, extra: y }, { os: linux, n: 9 }]\n    runs-on: ${{ matrix.os }}\n    steps: [{ run: x }]\n",
    );
    let names = forge.read(|state| {
        let named = state
            .jobs()
            .iter()
            .map(|job| (job.name.clone(), job.runs_on.join(" ")));
        named.collect::<Vec<_>>()
    });
    let expected = [
        ("t (linux, 1)", "linux"),
        ("t (linux, 2)", "linux"),
        ("t (arm, 1, y)", "arm"),
        ("t (linux, 9)", "linux"),
    ];
    assert_eq!(
        names,
        expected.map(|(name, labels)| (name.to_owned(), labels.to_owned()))
    );
    let document: serde_json::Value = serde_yaml::from_str(&payload(&runner.task().await)).unwrap();
    let strategy = &document["jobs"]["t"]["strategy"];
    assert_eq!(strategy["matrix"], json!({ "os": ["linux"], "n": [1] }));
    assert_eq!(
        (&strategy["job-index"], &strategy["job-total"]),
        (&json!(0), &json!(4))
    );
}

#[tokio::test]
async fn needs_bring_results_and_outputs() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::new(&forge, &[]).await;
        forge.push(
            "jobs:\n  a: { runs-on: [], steps: [{ run: a }] }\n  b: { runs-on: [], steps: [{ run: b }] }\n  c: { needs: [a, b], runs-on: [], steps: [{ run: c }] }\n  d: { needs: [a, b], if: always(), runs-on: [], steps: [{ run: d }] }\n  e: { needs: c, runs-on: [], steps: [{ run: e }] }",
        );
        let (a, b) = (runner.task().await.id, runner.task().await.id);
        assert!(runner.fetch(0).await.task.is_none());
        let before = forge.read(State::tasks_version);
        runner.update(a, Outcome::Success, &[("x", "1")]).await;
        assert!(runner.fetch(0).await.task.is_none());
        runner.update(b, Outcome::Failure, &[]).await;
        assert!(forge.read(State::tasks_version) > before);
        let d = runner.task().await;
        let needed = |outputs: &[(&str, &str)], result: Outcome| wire::TaskNeed {
            outputs: outputs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            result: result as i32,
        };
        let expected = [
            ("a".to_owned(), needed(&[("x", "1")], Outcome::Success)),
            ("b".to_owned(), needed(&[], Outcome::Failure)),
        ];
        assert_eq!(d.needs, BTreeMap::from(expected));
        let statuses = forge.read(|state| ["c", "d", "e"].map(|name| state.job(name).unwrap().status));
        assert_eq!(statuses, [Status::Skipped, Status::Running, Status::Skipped]);
        runner.update(d.id, Outcome::Success, &[]).await;
        assert_eq!(forge.read(|state| state.status_of(1)), Status::Failure);
    }
}

#[tokio::test]
async fn a_task_has_context_secrets_and_variables() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        forge.set_secret("octo/demo", "password", "hunter2");
        forge.set_var("octo/demo", "colour", "green");
        let runner = Runner::new(&forge, &["ubuntu"]).await;
        forge.trigger(Trigger::dispatch(ONE, &json!({ "level": 3 })));
        let task = runner.task().await;
        let url = forge.url();
        let table = [
            ("repository", "octo/demo".to_owned()),
            ("repository_owner", "octo".to_owned()),
            ("repositoryUrl", format!("{url}/octo/demo.git")),
            ("server_url", format!("{url}/")),
            ("api_url", format!("{url}/api/v1")),
            ("event_name", "workflow_dispatch".to_owned()),
            ("ref", "refs/heads/main".to_owned()),
            ("ref_name", "main".to_owned()),
            ("ref_type", "branch".to_owned()),
            ("run_id", "1".to_owned()),
            ("run_number", "1".to_owned()),
            ("run_attempt", "1".to_owned()),
            ("job", "build".to_owned()),
            ("workflow", "demo".to_owned()),
            ("gitea_default_actions_url", "https://github.com".to_owned()),
            ("workspace", String::new()),
        ];
        for (key, value) in table {
            assert_eq!(text(&task, key), value, "{key}");
        }
        let fields = &task.context.as_ref().unwrap().fields;
        assert_eq!(
            fields.contains_key("forgejo_runtime_token"),
            dialect == Dialect::Forgejo
        );
        assert_eq!(text(&task, "gitea_runtime_token").split('.').count(), 3);
        let token = text(&task, "token");
        assert_eq!(task.secrets["GITHUB_TOKEN"], token);
        assert_eq!(task.secrets["GITEA_TOKEN"], token);
        assert_eq!(
            task.secrets.contains_key("FORGEJO_TOKEN"),
            dialect == Dialect::Forgejo
        );
        assert_eq!(task.secrets["PASSWORD"], "hunter2");
        assert_eq!(task.vars["COLOUR"], "green");
    }
}

#[tokio::test]
async fn an_ephemeral_runner_gets_one_task() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let runner = Runner::ephemeral(&forge, &["ubuntu"]).await;
        forge.push(TWO);
        let task = runner.task().await.id;
        assert!(runner.fetch(0).await.task.is_none());
        runner.update(task, Outcome::Success, &[]).await;
        assert_eq!(forge.read(|state| state.runners().count()), 0);
        let refused = runner.try_fetch(0, None).await.unwrap().err().unwrap();
        assert!(refused.1.contains("unregistered runner"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_disabled_runner_gets_none() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let runner = Runner::new(&forge, &["ubuntu"]).await;
    forge.push(ONE);
    forge.disable_runner(runner.id, true);
    assert!(runner.fetch(0).await.task.is_none());
    forge.disable_runner(runner.id, false);
    assert!(runner.fetch(0).await.task.is_some());
}
