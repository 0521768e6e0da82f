//! How a server makes jobs of a workflow: one document with one job for each node and each leg of a matrix.
//!
//! Only what a server does is done here, and only for workflows that tests write: expressions stay as they are, except
//! for `matrix` in names and labels.

use std::collections::BTreeMap;

use serde_yaml::{Mapping, Value};

use super::calls::{Call, expand};
use super::rules::{Feature, Rules};

/// A job before it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    pub key: String,
    /// What the names of the jobs of the same workflow begin with, if that was called.
    pub scope: String,
    pub call: Option<Call>,
    pub is_tolerated: bool,
    pub name: String,
    pub payload: Vec<u8>,
    pub runs_on: Vec<String>,
    pub needs: Vec<String>,
    pub has_condition: bool,
    pub steps: Vec<String>,
}

/// A workflow before its run is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    pub name: Option<String>,
    pub jobs: Vec<Planned>,
    /// The outputs of the calls: for each name the job that makes it, and its name there.
    pub outputs: Outputs,
}

/// The outputs of the jobs that call workflows.
pub(crate) type Outputs = BTreeMap<String, BTreeMap<String, (String, String)>>;

/// Splits a workflow into its jobs.
pub(crate) fn split(text: &str, rules: &Rules, files: &BTreeMap<String, String>) -> Result<Split, String> {
    split_at(text, rules, files, 0)
}

/// The same for a workflow that was called so deep.
pub(super) fn split_at(
    text: &str,
    rules: &Rules,
    files: &BTreeMap<String, String>,
    depth: usize,
) -> Result<Split, String> {
    let root: Value = serde_yaml::from_str(text).map_err(|error| format!("not YAML: {error}"))?;
    let root = root.as_mapping().ok_or("the workflow is not a mapping")?;
    let jobs = root.get("jobs").and_then(Value::as_mapping);
    let jobs = jobs.ok_or("the workflow has no jobs")?;
    let mut planned = Vec::new();
    let mut outputs = Outputs::new();
    for (key, job) in jobs {
        let key = text_of(key);
        let job = job
            .as_mapping()
            .ok_or_else(|| format!("job {key} is not a mapping"))?;
        if job.contains_key("uses") {
            let called = expand((&key, job), files, rules, depth)?;
            planned.extend(called.jobs);
            outputs.extend(called.outputs);
            continue;
        }
        let legs = legs(job);
        for (index, leg) in legs.iter().enumerate() {
            planned.push(plan(root, &key, job, leg, (index, legs.len()), rules)?);
        }
    }
    Ok(Split {
        name: root.get("name").map(text_of),
        jobs: planned,
        outputs,
    })
}

/// Tells whether the workflow's `on` names an event.
pub(crate) fn listens(text: &str, event: &str) -> bool {
    let root: Value = serde_yaml::from_str(text).unwrap_or_default();
    // In YAML 1.1 the key is a boolean.
    let on = root.get("on").or_else(|| root.get(Value::Bool(true)));
    match on {
        Some(Value::String(name)) => name == event,
        Some(Value::Sequence(names)) => names.iter().any(|name| name == event),
        Some(Value::Mapping(events)) => events.contains_key(event),
        _ => false,
    }
}

fn plan(
    root: &Mapping,
    key: &str,
    job: &Mapping,
    leg: &Mapping,
    (index, total): (usize, usize),
    rules: &Rules,
) -> Result<Planned, String> {
    let mut job = job.clone();
    let needs = strings(job.get("needs"));
    let name = display_name(key, &job, leg);
    if !rules.has(Feature::NeedsInPayload) {
        job.remove("needs");
    }
    job.insert("name".into(), name.as_str().into());
    if !leg.is_empty() {
        narrow(&mut job, leg, index, total);
    }
    let mut document = root.clone();
    let only: Mapping = [(key.into(), Value::Mapping(job.clone()))].into_iter().collect();
    document.insert("jobs".into(), only.into());
    let payload = serde_yaml::to_string(&document).map_err(|error| error.to_string())?;
    let labels = match job.get("runs-on") {
        Some(Value::Mapping(group)) => strings(group.get("labels")),
        labels => strings(labels),
    };
    Ok(Planned {
        key: key.to_owned(),
        scope: String::new(),
        call: None,
        is_tolerated: job.get("continue-on-error") == Some(&Value::Bool(true)),
        name,
        payload: payload.into_bytes(),
        runs_on: labels.iter().map(|label| substitute(label, leg)).collect(),
        needs,
        has_condition: job.contains_key("if"),
        steps: step_names(&job),
    })
}

/// Leaves one combination of a job's matrix.
fn narrow(job: &mut Mapping, leg: &Mapping, index: usize, total: usize) {
    let matrix: Mapping = leg
        .iter()
        .map(|(axis, value)| (axis.clone(), Value::Sequence(vec![value.clone()])))
        .collect();
    let strategy = job
        .get_mut("strategy")
        .and_then(Value::as_mapping_mut)
        .map(std::mem::take);
    let mut strategy = strategy.unwrap_or_default();
    strategy.insert("matrix".into(), matrix.into());
    strategy.insert("job-index".into(), index.into());
    strategy.insert("job-total".into(), total.into());
    job.insert("strategy".into(), strategy.into());
}

fn display_name(key: &str, job: &Mapping, leg: &Mapping) -> String {
    let given = job.get("name").map(text_of).filter(|name| !name.is_empty());
    let name = given.unwrap_or_else(|| key.to_owned());
    let replaced = substitute(&name, leg);
    if leg.is_empty() || replaced != name {
        return replaced;
    }
    let values: Vec<String> = leg.values().map(text_of).collect();
    format!("{name} ({})", values.join(", "))
}

fn step_names(job: &Mapping) -> Vec<String> {
    let steps = job.get("steps").and_then(Value::as_sequence);
    let name = |step: &Value| {
        let named = ["name", "uses", "run"].iter().find_map(|key| step.get(*key));
        named.map(text_of).unwrap_or_default()
    };
    steps
        .map(|steps| steps.iter().map(name).collect())
        .unwrap_or_default()
}

/// The combinations of a matrix that is written out; a job without one has one empty combination.
fn legs(job: &Mapping) -> Vec<Mapping> {
    let matrix = job.get("strategy").and_then(|strategy| strategy.get("matrix"));
    let Some(matrix) = matrix.and_then(Value::as_mapping) else {
        return vec![Mapping::new()];
    };
    let axes = matrix
        .iter()
        .filter(|(axis, _)| !["include", "exclude"].contains(&text_of(axis).as_str()));
    let mut legs = vec![Mapping::new()];
    for (axis, values) in axes {
        let Some(values) = values.as_sequence() else {
            return vec![Mapping::new()];
        };
        legs = legs
            .iter()
            .flat_map(|leg| values.iter().map(|value| extended(leg, axis, value)))
            .collect();
    }
    let excluded = mappings(matrix.get("exclude"));
    legs.retain(|leg| !leg.is_empty() && !excluded.iter().any(|except| agrees(leg, except)));
    include(&mut legs, &mappings(matrix.get("include")));
    if legs.is_empty() {
        vec![Mapping::new()]
    } else {
        legs
    }
}

/// An entry of `include` adds to the combinations that it does not contradict, and is one of its own otherwise.
fn include(legs: &mut Vec<Mapping>, entries: &[Mapping]) {
    let axes: Vec<Value> = legs
        .first()
        .map(|leg| leg.keys().cloned().collect())
        .unwrap_or_default();
    let crossed = legs.len();
    for entry in entries {
        let shared: Mapping = entry
            .iter()
            .filter(|(key, _)| axes.contains(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let mut used = false;
        for leg in legs[..crossed].iter_mut().filter(|leg| agrees(leg, &shared)) {
            leg.extend(entry.clone());
            used = true;
        }
        if !used {
            legs.push(entry.clone());
        }
    }
}

fn extended(leg: &Mapping, axis: &Value, value: &Value) -> Mapping {
    let mut leg = leg.clone();
    leg.insert(axis.clone(), value.clone());
    leg
}

fn agrees(leg: &Mapping, part: &Mapping) -> bool {
    part.iter().all(|(key, value)| leg.get(key) == Some(value))
}

fn mappings(value: Option<&Value>) -> Vec<Mapping> {
    let entries = value.and_then(Value::as_sequence).into_iter().flatten();
    entries.filter_map(Value::as_mapping).cloned().collect()
}

pub(super) fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Sequence(items)) => items.iter().map(text_of).collect(),
        Some(one) => vec![text_of(one)],
    }
}

/// Puts the values of a matrix where `${{ matrix.<axis> }}` stands.
fn substitute(text: &str, leg: &Mapping) -> String {
    leg.iter().fold(text.to_owned(), |text, (axis, value)| {
        let expression = format!("matrix.{}", text_of(axis));
        let spellings = [
            format!("${{{{ {expression} }}}}"),
            format!("${{{{{expression}}}}}"),
        ];
        spellings
            .iter()
            .fold(text, |text, spelling| text.replace(spelling, &text_of(value)))
    })
}

pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => serde_yaml::to_string(other)
            .unwrap_or_default()
            .trim_end()
            .to_owned(),
    }
}
