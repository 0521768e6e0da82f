//! The context of a task: GitHub's keys, and those that the forges add.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gantry_protocols::gitea::wire::{self, value::Kind};
use serde_json::{Map, Value, json};

use super::record::{Job, Run, Task};
use super::rules::{Dialect, Feature, Rules};

/// The secrets that hold the task's token.
pub(super) fn token_names(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Gitea => &["GITHUB_TOKEN", "GITEA_TOKEN"],
        Dialect::Forgejo => &["GITHUB_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN"],
    }
}

/// The context of a task.
pub(super) fn context(rules: &Rules, url: &str, (run, job, task): (&Run, &Job, &Task)) -> wire::Struct {
    let mut context = github(rules, url, run, job);
    context.insert("token".to_owned(), task.token.as_str().into());
    if let Some(call) = &job.call {
        let original = json!({
            "original_event_name": run.trigger.event,
            "original_event_inputs": run.trigger.payload.get("inputs"),
            "inputs": call.inputs,
        });
        context.insert("gitea_workflow_call".to_owned(), original);
        context.insert("event_name".to_owned(), "workflow_call".into());
        if let Some(event) = context.get_mut("event").and_then(Value::as_object_mut) {
            event.insert("inputs".to_owned(), call.inputs.clone());
        }
    }
    let mut add = |name: &str, value: &str| {
        if rules.dialect == Dialect::Forgejo {
            context.insert(format!("forgejo_{name}"), value.into());
        }
        context.insert(format!("gitea_{name}"), value.into());
    };
    if let Some(actions) = &rules.default_actions_url {
        add("default_actions_url", actions);
    }
    if rules.has(Feature::RuntimeToken) {
        add("runtime_token", &task.runtime_token);
    }
    if rules.dialect == Dialect::Forgejo {
        context.insert("forgejo_server_version".to_owned(), "15.0.0".into());
    }
    structure(context)
}

fn github(rules: &Rules, url: &str, run: &Run, job: &Job) -> Map<String, Value> {
    let trigger = &run.trigger;
    let id = |number: i64| {
        if rules.has(Feature::TextIds) {
            Value::from(number.to_string())
        } else {
            Value::from(number)
        }
    };
    let (ref_type, ref_name) = match trigger.git_ref.strip_prefix("refs/heads/") {
        Some(branch) => ("branch", branch),
        None => match trigger.git_ref.strip_prefix("refs/tags/") {
            Some(tag) => ("tag", tag),
            None => ("", trigger.git_ref.trim_start_matches("refs/")),
        },
    };
    let owner = trigger.repository.split('/').next().unwrap_or_default();
    let fixed = json!({
        "actor": trigger.actor,
        "api_url": format!("{url}api/v1"),
        "base_ref": "",
        "event": trigger.payload,
        "event_name": trigger.event,
        "head_ref": "",
        "job": job.key.strip_prefix(&job.scope).unwrap_or(&job.key),
        "ref": trigger.git_ref,
        "ref_name": ref_name,
        "ref_protected": false,
        "ref_type": ref_type,
        "repository": trigger.repository,
        "repository_owner": owner,
        "repositoryUrl": format!("{url}{}.git", trigger.repository),
        "run_id": id(run.id),
        "run_number": id(run.number),
        "run_attempt": id(run.attempt),
        "secret_source": "Actions",
        "server_url": url,
        "sha": trigger.sha,
        "triggering_actor": trigger.actor,
        "workflow": run.workflow,
    });
    let empty = [
        "action",
        "action_path",
        "action_ref",
        "action_repository",
        "action_status",
        "env",
        "event_path",
        "graphql_url",
        "path",
        "retention_days",
        "workspace",
    ];
    let mut context: Map<String, Value> = empty.map(|key| (key.to_owned(), "".into())).into_iter().collect();
    if let Value::Object(fixed) = fixed {
        context.extend(fixed);
    }
    context
}

/// A token that looks like the server's: the claims can be read, the signature is only a number.
pub(super) fn runtime_token(task: i64, job: &Job, now: SystemTime) -> String {
    let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let claims = json!({
        "scp": format!("Actions.Results:{}:{}", job.run, job.id),
        "ac": r#"[{"Scope":"","Permission":2}]"#,
        "TaskID": task,
        "RunID": job.run,
        "JobID": job.id,
        "nbf": seconds.as_secs(),
        "exp": (seconds + Duration::from_hours(4)).as_secs(),
    });
    let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let header = part(r#"{"alg":"HS256","typ":"JWT"}"#);
    format!(
        "{header}.{}.{}",
        part(&claims.to_string()),
        part(&super::random_token())
    )
}

fn structure(map: Map<String, Value>) -> wire::Struct {
    let fields: BTreeMap<String, wire::Value> = map
        .into_iter()
        .map(|(key, value)| (key, wire_value(value)))
        .collect();
    wire::Struct { fields }
}

/// A value of JSON as the wire has it: every number is a double.
pub(super) fn wire_value(value: Value) -> wire::Value {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(flag) => Kind::BoolValue(flag),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Kind::StringValue(text),
        Value::Array(items) => Kind::ListValue(wire::ListValue {
            values: items.into_iter().map(wire_value).collect(),
        }),
        Value::Object(map) => Kind::StructValue(structure(map)),
    };
    wire::Value { kind: Some(kind) }
}
