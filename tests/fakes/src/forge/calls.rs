//! How a server expands a job that calls a workflow of its own repository: the jobs of the called workflow become jobs of
//! the run, and each carries what it was called with.
//!
//! Only what tests write is understood: inputs that are written out, outputs and secrets that name one value, no condition
//! and no matrix on the calling job.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use serde_yaml::{Mapping, Value};

use super::rules::Rules;
use super::workflow::{Planned, Split, split_at, strings, text_of};

/// How deep calls may be nested.
const DEPTH: usize = 4;

/// What a job was called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The inputs, typed as the called workflow declares them.
    pub inputs: Json,
    /// The secrets that it may see.
    pub secrets: Secrets,
}

/// The secrets of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secrets {
    /// All of them.
    Inherited,
    /// These names, each with the name of the repository's secret.
    Named(BTreeMap<String, String>),
}

impl Call {
    /// The secrets that a called job sees of those of its repository.
    pub(super) fn seen(&self, secrets: BTreeMap<String, String>) -> BTreeMap<String, String> {
        match &self.secrets {
            Secrets::Inherited => secrets,
            Secrets::Named(names) => names
                .iter()
                .filter_map(|(name, from)| {
                    Some((name.to_uppercase(), secrets.get(&from.to_uppercase())?.clone()))
                })
                .collect(),
        }
    }
}

/// The jobs of the workflow that a job calls, with their names as the calling workflow knows them.
pub(super) fn expand(
    (key, job): (&str, &Mapping),
    files: &BTreeMap<String, String>,
    rules: &Rules,
    depth: usize,
) -> Result<Split, String> {
    let uses = job.get("uses").map(text_of).unwrap_or_default();
    let path = uses.strip_prefix("./").unwrap_or(&uses);
    let text = files.get(path).ok_or_else(|| format!("no workflow {uses}"))?;
    if depth >= DEPTH {
        return Err(format!("calls are nested deeper than {DEPTH}"));
    }
    let mut split = split_at(text, rules, files, depth + 1)?;
    let root: Value = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let declared = root.get("on").and_then(|on| on.get("workflow_call"));
    let call = Call {
        inputs: inputs(declared, job.get("with")),
        secrets: secrets(job.get("secrets")),
    };
    let caller = job.get("name").map_or_else(|| key.to_owned(), text_of);
    let needs = strings(job.get("needs"));
    for planned in &mut split.jobs {
        nest(planned, key, &needs);
        planned.name = format!("{caller} / {}", planned.name);
        planned.call.get_or_insert_with(|| call.clone());
    }
    split.outputs = split
        .outputs
        .into_iter()
        .map(|(inner, outputs)| (format!("{key}.{inner}"), outputs))
        .collect();
    split.outputs.insert(key.to_owned(), outputs(key, declared));
    Ok(split)
}

fn nest(planned: &mut Planned, key: &str, needs: &[String]) {
    let own: Vec<String> = planned.needs.iter().map(|need| format!("{key}.{need}")).collect();
    // A job that waits for no other one waits for what its caller waits for, and does not see it.
    planned.needs = if own.is_empty() { needs.to_vec() } else { own };
    planned.key = format!("{key}.{}", planned.key);
    planned.scope = format!("{key}.{}", planned.scope);
}

fn inputs(declared: Option<&Value>, given: Option<&Value>) -> Json {
    let declared = declared
        .and_then(|call| call.get("inputs"))
        .and_then(Value::as_mapping);
    let mut inputs = serde_json::Map::new();
    for (name, input) in declared.into_iter().flatten() {
        let value = given.and_then(|given| given.get(name)).or(input.get("default"));
        let value = value.and_then(|value| serde_json::to_value(value).ok());
        let absent = match input.get("type").map(text_of).as_deref() {
            Some("boolean") => Json::Bool(false),
            Some("number") => 0.into(),
            _ => "".into(),
        };
        inputs.insert(text_of(name), value.unwrap_or(absent));
    }
    inputs.into()
}

fn secrets(given: Option<&Value>) -> Secrets {
    match given {
        Some(Value::String(word)) if word == "inherit" => Secrets::Inherited,
        Some(Value::Mapping(named)) => Secrets::Named(
            named
                .iter()
                .filter_map(|(name, value)| Some((text_of(name), reference(&text_of(value), "secrets.")?)))
                .collect(),
        ),
        _ => Secrets::Named(BTreeMap::new()),
    }
}

/// The outputs of a call by their names: the job that makes each, and its name there.
fn outputs(key: &str, declared: Option<&Value>) -> BTreeMap<String, (String, String)> {
    let declared = declared
        .and_then(|call| call.get("outputs"))
        .and_then(Value::as_mapping);
    let entries = declared.into_iter().flatten().filter_map(|(name, output)| {
        let value = reference(&text_of(output.get("value")?), "jobs.")?;
        let (job, output) = value.split_once(".outputs.")?;
        Some((text_of(name), (format!("{key}.{job}"), output.to_owned())))
    });
    entries.collect()
}

/// What follows a prefix in an expression that is nothing but that.
fn reference(text: &str, prefix: &str) -> Option<String> {
    let inner = text.trim().strip_prefix("${{")?.strip_suffix("}}")?;
    Some(inner.trim().strip_prefix(prefix)?.to_owned())
}
