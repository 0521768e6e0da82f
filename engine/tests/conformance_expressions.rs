//! Expressions with the outcomes that were observed, as rows of data.
//!
//! Every row of `tests/data/expressions.jsonl` must pass, and of every file with that name in the directory that
//! `GANTRY_EXTRA_CASES` names.

use std::io;
use std::path::{Path, PathBuf};

use gantry_engine::expr::{
    Expression, Function, HashFilesError, Host, Names, ParseError, Scope, StatusFunction, Value,
};
use serde_json::Value as Json;

/// Rows that are held to be wrong, with the reason. None so far.
const SKIPPED: &[(&str, &str)] = &[];

const FUNCTIONS: &[Function] = &[
    Function {
        name: "always",
        min: 0,
        max: 0,
    },
    Function {
        name: "success",
        min: 0,
        max: 0,
    },
    Function {
        name: "failure",
        min: 0,
        max: 0,
    },
    Function {
        name: "cancelled",
        min: 0,
        max: 0,
    },
];

/// A job in which all went well so far.
struct GoingWell;

impl Host for GoingWell {
    fn status(&self, function: StatusFunction, _ids: &[String]) -> bool {
        matches!(function, StatusFunction::Always | StatusFunction::Success)
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Failed("no row hashes files".to_owned()))
    }
}

/// What an expression gave, in the terms of the rows.
enum Outcome {
    Empty,
    Value(Value),
    Error(String),
}

fn outcome(row: &Json) -> Outcome {
    let contexts = row.get("contexts").cloned().map_or(Value::Null, Value::from);
    let contexts = contexts.as_object().cloned().unwrap_or_default();
    let names: Vec<&str> = contexts.keys().collect();
    let source = row["expr"].as_str().unwrap_or_default();
    let expression = match Expression::parse(
        source,
        Names {
            contexts: &names,
            functions: FUNCTIONS,
        },
    ) {
        Ok(expression) => expression,
        Err(ParseError::Empty) => return Outcome::Empty,
        Err(error) => return Outcome::Error(error.to_string()),
    };
    match expression.evaluate(Scope {
        contexts: &contexts,
        host: &GoingWell,
        recorder: None,
    }) {
        Ok(value) => Outcome::Value(value),
        Err(error) => Outcome::Error(error.to_string()),
    }
}

/// Tells in which respect the outcome differs from the row, if it does.
fn difference(row: &Json) -> Option<String> {
    let outcome = outcome(row);
    if row["error"] == true {
        return match outcome {
            Outcome::Error(message) => differs("message", recorded(&message), &row["message"]),
            Outcome::Empty => Some("empty, not an error".to_owned()),
            Outcome::Value(value) => Some(format!("{value:?}, not an error")),
        };
    }
    match outcome {
        Outcome::Empty => differs("kind", "Empty", &row["kind"]),
        Outcome::Error(message) => Some(format!("error: {message}")),
        Outcome::Value(value) => value_difference(&value, row),
    }
}

/// The part of a message that the rows hold: they were recorded with at most 300 characters.
fn recorded(message: &str) -> String {
    message.chars().take(300).collect()
}

fn value_difference(value: &Value, row: &Json) -> Option<String> {
    differs("kind", value.kind().to_string(), &row["kind"])
        .or_else(|| {
            differs(
                "value",
                comparable(Json::from(value), value),
                &normalized(&row["want"]),
            )
        })
        .or_else(|| differs("string", value.to_text().as_ref(), &row["string"]))
        .or_else(|| differs("truthy", value.is_truthy(), &row["truthy"]))
        .or_else(|| {
            row.get("tojson")
                .and_then(|want| differs("tojson", value.to_json(), want))
        })
}

/// The rows write numbers that JSON lacks as their names.
fn comparable(json: Json, value: &Value) -> Json {
    match value {
        Value::Number(number) if !number.is_finite() => Json::from(value.to_text().as_ref()),
        _ => json,
    }
}

/// Brings numbers to one form: rows may write `1.0` for `1`.
fn normalized(json: &Json) -> Json {
    Json::from(&Value::from(json.clone()))
}

fn differs(what: &str, got: impl Into<Json>, want: &Json) -> Option<String> {
    let got = got.into();
    (got != *want).then(|| format!("{what} is {got}, not {want}"))
}

fn files() -> io::Result<Vec<PathBuf>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/expressions.jsonl");
    let mut files = vec![own];
    if let Some(directory) = std::env::var_os("GANTRY_EXTRA_CASES") {
        collect(Path::new(&directory), &mut files)?;
    }
    Ok(files)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.file_name().is_some_and(|name| name == "expressions.jsonl") {
            files.push(path);
        }
    }
    Ok(())
}

#[test]
fn conformance_expressions() -> io::Result<()> {
    let (mut passed, mut total, mut failures) = (0, 0, Vec::new());
    for file in files()? {
        for (at, line) in std::fs::read_to_string(&file)?.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let row: Json = serde_json::from_str(line)?;
            if SKIPPED.iter().any(|(source, _)| row["expr"] == *source) {
                continue;
            }
            total += 1;
            match difference(&row) {
                None => passed += 1,
                Some(difference) => {
                    failures.push(format!(
                        "{}:{}: {}: {difference}",
                        file.display(),
                        at + 1,
                        row["expr"]
                    ));
                }
            }
        }
    }
    println!("conformance_expressions: {passed} of {total} rows passed");
    assert!(
        failures.is_empty(),
        "{} rows failed:\n{}",
        failures.len(),
        failures.join("\n")
    );
    Ok(())
}
