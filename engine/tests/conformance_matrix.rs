//! The matrix against a table of strategies and the legs that GitHub makes of them.

mod support;

use std::sync::Arc;

use gantry_engine::expr::{HashFilesError, Host, Object, Scope, StatusFunction, Value};
use gantry_engine::model::{FieldError, Workflow};
use gantry_engine::plan::EvaluationError;
use gantry_engine::plan::matrix::{self, Strategy};
use serde_json::{Map, Value as Json, json};

const FILE: &str = "w.yml";

struct NoFunctions;

impl Host for NoFunctions {
    fn status(&self, _function: StatusFunction, _ids: &[String]) -> bool {
        false
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Failed("not available".to_owned()))
    }
}

#[test]
fn conformance_matrix() {
    let rows = support::rows("matrix.jsonl");
    let failures: Vec<String> = rows.iter().filter_map(|row| check(row).err()).collect();
    println!(
        "conformance_matrix: {} of {} rows passed",
        rows.len() - failures.len(),
        rows.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(row: &Json) -> Result<(), String> {
    let expected = expectation(row);
    let actual = outcome(row["workflow"].as_str().unwrap_or_default(), &row["contexts"]);
    if expected == actual {
        return Ok(());
    }
    Err(format!(
        "{}
expected {expected:#}
actual {actual:#}",
        row["workflow"]
    ))
}

fn expectation(row: &Json) -> Json {
    if let Some(errors) = row.get("errors") {
        return json!({ "errors": errors });
    }
    if let Some(error) = row.get("evaluate_error") {
        return json!({ "evaluate_error": error });
    }
    json!({
        "fail-fast": row["fail-fast"],
        "max-parallel": row["max-parallel"],
        "configurations": text(&row["configurations"]),
    })
}

fn outcome(source: &str, contexts: &Json) -> Json {
    let workflow = match Workflow::parse(FILE, source) {
        Ok(workflow) => workflow,
        Err(diagnostics) => return errors(&diagnostics),
    };
    let Some(job) = workflow.jobs.first() else {
        return json!("no job");
    };
    let mistakes = matrix::check(job, &workflow.file);
    if !mistakes.is_empty() {
        return errors(&mistakes);
    }
    let contexts = match value(contexts) {
        Value::Object(object) => object,
        _ => Arc::new(Object::new()),
    };
    let scope = Scope {
        contexts: &contexts,
        host: &NoFunctions,
        recorder: None,
    };
    match matrix::expand(job, &workflow.file, scope) {
        Ok(strategy) => legs(&strategy),
        Err(FieldError::Invalid(diagnostics)) => {
            let error = EvaluationError {
                field: "strategy",
                job: job.id.clone(),
                diagnostics,
            };
            json!({ "evaluate_error": error.to_string() })
        }
        Err(error) => json!(error.to_string()),
    }
}

fn errors<T: ToString>(diagnostics: &[T]) -> Json {
    json!({ "errors": diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>() })
}

fn legs(strategy: &Strategy) -> Json {
    let configurations: Vec<Json> = strategy
        .legs
        .iter()
        .map(|leg| {
            let context = Value::Object(Arc::clone(&leg.strategy));
            json!({ "id": leg.id, "name": leg.name, "matrix": json(&leg.matrix), "strategy": json(&context) })
        })
        .collect();
    json!({
        "fail-fast": strategy.fail_fast,
        "max-parallel": strategy.max_parallel.unwrap_or(0),
        "configurations": text(&json!(configurations)),
    })
}

/// The order of keys counts, which the comparison of JSON values ignores.
fn text(value: &Json) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .map(|leg| sorted(leg).to_string())
        .collect()
}

/// A leg with its own keys in a fixed order; what is inside keeps its order, and numbers are doubles.
fn sorted(leg: &Json) -> Json {
    let keys = ["id", "name", "matrix", "strategy"];
    Json::Object(
        keys.iter()
            .map(|&key| (key.to_owned(), json(&value(&leg[key]))))
            .collect(),
    )
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::array(items.iter().map(value).collect()),
        Json::Object(entries) => Value::object(
            entries
                .iter()
                .map(|(key, item)| (key.as_str(), value(item)))
                .collect(),
        ),
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        // The table writes what JSON has no number for as text.
        Value::Number(number) if !number.is_finite() => json!(value.to_text()),
        Value::Number(number) => json!(number),
        Value::String(text) => json!(text.as_ref()),
        Value::Array(array) => array.iter().map(json).collect(),
        Value::Object(object) => Json::Object(
            object
                .iter()
                .map(|(key, value)| (key.to_owned(), json(value)))
                .collect::<Map<_, _>>(),
        ),
    }
}
