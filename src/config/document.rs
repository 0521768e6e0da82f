//! What is written from the table: the example file, the documents' table, and the JSON schema.

use serde_json::{Map, Value as Json, json};

use super::root;
use super::scalar::default_json;
use super::shape::{Entry, Key, Shape};
use super::value::Kind;

/// What stands at the top of the example file.
const HEAD: &str = "\
# Every key of the configuration with its default value.
# Durations are written as in Go: 90s, 5m, 1h30m.
# Sizes are bytes, or have a unit that counts in 1024s: 512MB, 10GB, 1TiB.
# Each key can be overridden by an environment variable: runner.timeout by GANTRY_RUNNER_TIMEOUT.
";

/// The example file: every key, commented, with its default.
pub fn example() -> String {
    let mut out = HEAD.to_owned();
    for entry in root() {
        out.push('\n');
        block(&mut out, entry, "");
    }
    out
}

fn block(out: &mut String, entry: &Entry, indent: &str) {
    for line in entry.docs {
        push(out, &format!("{indent}# {}", line.trim()));
    }
    let inner = format!("{indent}  ");
    match entry.shape {
        Shape::Key(key) => push(out, &format!("{indent}{}: {}", entry.name, key.default)),
        Shape::Section(entries) => {
            push(out, &format!("{indent}{}:", entry.name));
            blocks(out, entries, &inner);
        }
        Shape::Named(entries) => {
            push(out, &format!("{indent}{}:", entry.name));
            let mut example = String::new();
            push(&mut example, "a-name-of-your-choice:");
            blocks(&mut example, entries, "  ");
            for line in example.lines() {
                push(out, format!("{inner}# {line}").trim_end());
            }
        }
    }
}

fn blocks(out: &mut String, entries: &[Entry], indent: &str) {
    for (index, entry) in entries.iter().enumerate() {
        let is_section = |entry: &Entry| !matches!(entry.shape, Shape::Key(_));
        let follows_section = index
            .checked_sub(1)
            .and_then(|index| entries.get(index))
            .is_some_and(is_section);
        if index > 0 && (is_section(entry) || follows_section) {
            out.push('\n');
        }
        block(out, entry, indent);
    }
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// The JSON schema of the file, for editors.
pub fn schema() -> Json {
    let mut schema = object(root());
    if let Json::Object(map) = &mut schema {
        map.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        map.insert("title".to_owned(), json!("Configuration of Gantry"));
    }
    schema
}

fn object(entries: &[Entry]) -> Json {
    let properties: Map<String, Json> = entries
        .iter()
        .map(|entry| (entry.name.to_owned(), property(entry)))
        .collect();
    json!({ "type": ["object", "null"], "additionalProperties": false, "properties": properties })
}

fn property(entry: &Entry) -> Json {
    let mut schema = match entry.shape {
        Shape::Key(key) => key_schema(key),
        Shape::Section(entries) => object(entries),
        Shape::Named(entries) => {
            json!({ "type": ["object", "null"], "additionalProperties": object(entries) })
        }
    };
    let docs: Vec<&str> = entry.docs.iter().map(|line| line.trim()).collect();
    if let Json::Object(map) = &mut schema {
        map.insert("description".to_owned(), Json::from(docs.join(" ")));
    }
    schema
}

/// A key without a value has its default, so that null is always allowed.
fn key_schema(key: Key) -> Json {
    let scalar = json!(["string", "number", "boolean", "null"]);
    let mut schema = match key.kind {
        Kind::Text | Kind::Secret => json!({ "type": scalar }),
        Kind::Switch | Kind::Maybe => json!({ "type": ["boolean", "null"] }),
        Kind::Number(first, last) => {
            json!({ "type": ["integer", "null"], "minimum": first, "maximum": last })
        }
        Kind::Duration => json!({
            "type": ["string", "integer", "null"],
            "pattern": r"^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$",
            "minimum": 0,
            "maximum": 0,
        }),
        Kind::Size => json!({
            "type": ["string", "integer", "null"],
            "pattern": r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*([bB]|[kKmMgGtTpP]([iI]?[bB])?)?\s*$",
            "minimum": 0,
        }),
        Kind::Choice(words) => {
            let words: Vec<Json> = words.iter().map(|word| json!(word)).chain([Json::Null]).collect();
            json!({ "enum": words })
        }
        Kind::List => {
            json!({ "type": ["array", "null"], "items": { "type": ["string", "number", "boolean"] } })
        }
        Kind::Map | Kind::SecretMap => {
            json!({ "type": ["object", "null"], "additionalProperties": { "type": scalar } })
        }
        Kind::Object => json!({ "type": ["object", "null"] }),
        Kind::Objects => {
            json!({ "type": ["object", "null"], "additionalProperties": { "type": "object" } })
        }
    };
    if let Json::Object(map) = &mut schema {
        map.insert("default".to_owned(), default_json(key.default));
    }
    schema
}
