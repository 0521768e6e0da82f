//! Workflow files and what GitHub's own parser makes of them, read by one test.
//!
//! Every row of `data/workflows.jsonl`, and of each `workflows.jsonl` in the directory that `GANTRY_EXTRA_CASES`
//! names, was observed: a file with either the errors that it gives or the template that it becomes.

mod support;

use gantry_engine::model::{
    CallJob, CallSecrets, Field, Job, JobBody, Node, NodeKind, Step, StepAction, StepsJob, Workflow,
};
use serde_json::{Map, Value, json};
use support::rows;

#[test]
fn conformance_workflows() {
    let rows = rows("workflows.jsonl");
    let failures: Vec<_> = rows.iter().filter_map(|row| check(row).err()).collect();
    println!(
        "conformance_workflows: {} of {} rows passed",
        rows.len() - failures.len(),
        rows.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn check(row: &Value) -> Result<(), String> {
    let text = row["workflow"].as_str().ok_or("a row has no workflow")?;
    let found = match Workflow::parse("w.yml", text) {
        Ok(workflow) => json!({"ok": true, "template": template(&workflow)}),
        Err(errors) => json!({"errors": errors.iter().map(ToString::to_string).collect::<Vec<_>>()}),
    };
    let same = match (row["errors"].as_array(), found["errors"].as_array()) {
        (Some(expected), Some(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| same_error(e, f))
        }
        _ => row["ok"] == found["ok"] && row["template"] == found["template"],
    };
    if same {
        return Ok(());
    }
    let expected = row.get("errors").or(row.get("template")).unwrap_or(&Value::Null);
    Err(format!("{text}\nexpected {expected}\nfound    {found}"))
}

/// The text of a syntax error is that of the YAML reader with which the rows were observed. It names up to two lines,
/// where something began and where it went wrong; ours must be one of them.
fn same_error(expected: &Value, found: &Value) -> bool {
    let (Some(expected), Some(found)) = (expected.as_str(), found.as_str()) else {
        return false;
    };
    if !expected.contains("in \"<unicode string>\"") {
        return expected == found;
    }
    let mut lines = expected
        .split(", line ")
        .skip(1)
        .filter_map(|rest| rest.split(',').next())
        .peekable();
    let is_syntax_error = found.contains(", line ") && found.contains(", column ");
    is_syntax_error
        && (lines.peek().is_none() || lines.any(|line| found.contains(&format!(", line {line}, column "))))
}

fn template(workflow: &Workflow) -> Value {
    let mut root = Map::new();
    put(&mut root, "env", workflow.env.as_ref());
    put(&mut root, "defaults", workflow.defaults.as_ref());
    put(&mut root, "concurrency", workflow.concurrency.as_ref());
    root.insert(
        "jobs".into(),
        workflow.jobs.iter().map(|job| job_template(job)).collect(),
    );
    Value::Object(root)
}

fn job_template(job: &Job) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), json!(job.id));
    let name = job
        .name
        .as_ref()
        .map_or_else(|| json!(job.id), |name| node(name.node()));
    object.insert("name".into(), name);
    if !job.needs.is_empty() {
        object.insert(
            "needs".into(),
            job.needs.iter().map(|need| json!(need.value)).collect(),
        );
    }
    object.insert("if".into(), json!({"$expr": job.condition.expression.source()}));
    if let Some(strategy) = &job.strategy {
        object.insert("strategy".into(), node(&strategy.node));
    }
    match &job.body {
        JobBody::Steps(body) => {
            put(&mut object, "concurrency", job.concurrency.as_ref());
            steps_job(&mut object, body);
        }
        JobBody::Call(body) => call_job(&mut object, body),
    }
    Value::Object(object)
}

fn steps_job(object: &mut Map<String, Value>, job: &StepsJob) {
    object.insert("runs-on".into(), node(job.runs_on.node()));
    put(object, "timeout-minutes", job.timeout_minutes.as_ref());
    put(object, "continue-on-error", job.continue_on_error.as_ref());
    put(object, "container", job.container.as_ref());
    put(object, "services", job.services.as_ref());
    put(object, "env", job.env.as_ref());
    if let Some(environment) = &job.environment {
        let name = node(environment.name.node());
        let named = |url: &Field<String>| json!({"name": name, "url": node(url.node())});
        object.insert(
            "environment".into(),
            environment.url.as_ref().map_or(name.clone(), named),
        );
    }
    put(object, "outputs", job.outputs.as_ref());
    put(object, "defaults", job.defaults.as_ref());
    object.insert(
        "steps".into(),
        job.steps.iter().map(|step| step_template(step)).collect(),
    );
}

fn call_job(object: &mut Map<String, Value>, job: &CallJob) {
    object.insert("uses".into(), json!(job.uses.value.to_string()));
    let with: Map<_, _> = job
        .with
        .iter()
        .map(|(name, value)| (name.clone(), node(value.node())))
        .collect();
    if !with.is_empty() {
        object.insert("with".into(), Value::Object(with));
    }
    object.insert(
        "inherit".into(),
        json!(matches!(job.secrets, CallSecrets::Inherit)),
    );
    if let CallSecrets::Listed(secrets) = &job.secrets {
        let secrets: Map<_, _> = secrets
            .iter()
            .map(|(name, value)| (name.clone(), node(value.node())))
            .collect();
        if !secrets.is_empty() {
            object.insert("secrets".into(), Value::Object(secrets));
        }
    }
}

fn step_template(step: &Step) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), json!(step.id));
    put(&mut object, "name", step.name.as_ref());
    object.insert("if".into(), json!({"$expr": step.condition.expression.source()}));
    put(&mut object, "continue-on-error", step.continue_on_error.as_ref());
    put(&mut object, "timeout-minutes", step.timeout_minutes.as_ref());
    put(&mut object, "env", step.env.as_ref());
    match &step.action {
        StepAction::Run(run) => {
            put(&mut object, "run", Some(&run.script));
            put(&mut object, "shell", run.shell.as_ref());
            put(&mut object, "working-directory", run.working_directory.as_ref());
        }
        StepAction::Uses(uses) => {
            object.insert("uses".into(), json!(uses.uses.value.to_string()));
            put(&mut object, "with", uses.with.as_ref());
        }
    }
    Value::Object(object)
}

fn put<T>(object: &mut Map<String, Value>, key: &str, field: Option<&Field<T>>) {
    if let Some(field) = field {
        object.insert(key.into(), node(field.node()));
    }
}

/// An expression as a value is an object of its own; as a key it keeps its braces.
fn node(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Null => Value::Null,
        NodeKind::Bool(value) => json!(value),
        NodeKind::Number(value) => json!(value),
        NodeKind::String(text) => json!(&**text),
        NodeKind::Expression(expression) => json!({"$expr": expression.source()}),
        NodeKind::Insert => json!("${{insert}}"),
        NodeKind::Sequence(items) => items.iter().map(self::node).collect(),
        NodeKind::Mapping(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key_text(key), self::node(value)));
            Value::Object(entries.collect())
        }
    }
}

fn key_text(key: &Node) -> String {
    match &key.kind {
        NodeKind::Expression(expression) => format!("${{{{{}}}}}", expression.source()),
        _ => node(key).as_str().unwrap_or_default().to_owned(),
    }
}
