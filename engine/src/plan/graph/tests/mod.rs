//! Runs as tables: what happens, and what the owner of the run is told to do.

mod calls;
mod cancelling;
mod concurrency;
mod laws;
mod order;

use std::sync::Arc;

use indexmap::IndexMap;

use super::{CancelReason, Effect, JobResult, Library, Run, RunSpec};
use crate::expr::{Object, Value};
use crate::model::{Workflow, WorkflowRef};
use crate::plan::{Conclusion, JobCondition, JobPlan};

/// A run with a script's view of it.
pub(super) struct Bench {
    run: Run,
    plans: Vec<JobPlan>,
    /// The reasons of jobs that never ran, by key.
    reasons: IndexMap<String, String>,
    /// The conditions of jobs that never ran, by key.
    conditions: IndexMap<String, Vec<JobCondition>>,
}

/// The files of a run: the first is the root; the others are local reusable workflows or `owner/repo/path@ref`.
pub(super) fn spec<'a>(library: &'a Library, root: &str) -> RunSpec<'a> {
    let object = |entries: &[(&str, &str)]| -> Arc<Object> { Arc::new(entries.iter().copied().collect()) };
    RunSpec {
        workflow: parse("w.yml", root),
        workflows: library,
        github: object(&[("event_name", "push"), ("ref", "refs/heads/main")]),
        vars: object(&[("V", "v")]),
        inputs: object(&[("word", "hello")]),
        secrets: object(&[("GITHUB_TOKEN", "t0ken"), ("ONE", "1"), ("TWO", "2")]),
        only: None,
    }
}

pub(super) fn library(files: &[(&str, &str)]) -> Library {
    let mut library = Library::default();
    for (name, text) in files {
        library.insert(reference(name), parse(name, text));
    }
    library
}

fn reference(name: &str) -> WorkflowRef {
    let Some((path, git_ref)) = name.split_once('@') else {
        return WorkflowRef::Local(name.to_owned());
    };
    let cut = path.match_indices('/').nth(1).unwrap().0;
    WorkflowRef::Remote {
        repository: path[..cut].to_owned(),
        path: path[cut + 1..].to_owned(),
        git_ref: git_ref.to_owned(),
    }
}

pub(super) fn parse(name: &str, text: &str) -> Arc<Workflow> {
    let text = text.replace("STEPS", "runs-on: x, steps: [{run: a}]");
    match Workflow::parse(name, &text) {
        Ok(workflow) => Arc::new(workflow),
        Err(errors) => panic!(
            "{}\n{text}",
            errors
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        ),
    }
}

/// The mistakes that show before the run starts.
pub(super) fn mistakes(root: &str, files: &[(&str, &str)]) -> Vec<String> {
    let library = library(files);
    match Run::new(spec(&library, root)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

impl Bench {
    pub(super) fn new(root: &str, files: &[(&str, &str)]) -> Self {
        let library = library(files);
        Self::of(spec(&library, root))
    }

    pub(super) fn of(spec: RunSpec<'_>) -> Self {
        Self {
            run: Run::new(spec).unwrap(),
            plans: Vec::new(),
            reasons: IndexMap::new(),
            conditions: IndexMap::new(),
        }
    }

    /// Makes something happen: `start`, `cancel`, or `KEY CONCLUSION [NAME=VALUE]...`.
    pub(super) fn event(&mut self, event: &str) -> String {
        let effects = match event {
            "start" => self.run.start(),
            "cancel" => self.run.on_cancel(),
            _ => {
                let mut words = event.split(' ');
                let key = words.next().unwrap();
                let conclusion = conclusion(words.next().unwrap());
                let outputs = words.filter_map(|word| word.split_once('='));
                let outputs = outputs
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect();
                self.run.on_job_finished(key, JobResult { conclusion, outputs })
            }
        };
        effects
            .into_iter()
            .map(|effect| self.take(effect))
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn take(&mut self, effect: Effect) -> String {
        match effect {
            Effect::Start(plan) => {
                let text = format!("start {}", plan.key);
                self.plans.push(*plan);
                text
            }
            Effect::Cancel { key, reason } => match reason {
                CancelReason::FailFast => format!("cancel {key} for fail-fast"),
                CancelReason::Concurrency(group) => format!("cancel {key} for group {group}"),
                CancelReason::Requested => format!("cancel {key}"),
            },
            Effect::Concluded {
                key,
                conclusion,
                reason,
                conditions,
                ..
            } => {
                let text = format!("{key} is {}", conclusion.as_str());
                self.conditions.insert(key.clone(), conditions);
                self.reasons.insert(key, reason);
                text
            }
            Effect::Finished(conclusion) => format!("finished {}", conclusion.as_str()),
        }
    }

    pub(super) fn play(&mut self, script: &[(&str, &str)]) {
        for (event, expected) in script {
            assert_eq!(self.event(event), *expected, "after '{event}'");
        }
    }

    pub(super) fn plan(&self, key: &str) -> &JobPlan {
        self.plans.iter().find(|plan| plan.key == key).unwrap()
    }

    pub(super) fn reason(&self, key: &str) -> &str {
        &self.reasons[key]
    }

    /// The conditions behind a job as lines: the condition with its answer, and its operands with their values.
    pub(super) fn conditions(&self, key: &str) -> Vec<String> {
        let plan = self.plans.iter().find(|plan| plan.key == key);
        let conditions = plan.map_or_else(|| &self.conditions[key], |plan| &plan.conditions);
        let mut lines = Vec::new();
        for condition in conditions {
            let explanation = &condition.explanation;
            lines.push(format!(
                "{}: {} is {:?}",
                condition.key, explanation.condition, explanation.answer
            ));
            let operands = explanation.operands.iter();
            lines.extend(operands.map(|operand| format!("  {} = {}", operand.text, operand.value)));
        }
        lines
    }
}

fn conclusion(word: &str) -> Conclusion {
    [
        Conclusion::Success,
        Conclusion::Failure,
        Conclusion::Cancelled,
        Conclusion::Skipped,
    ]
    .into_iter()
    .find(|conclusion| conclusion.as_str() == word)
    .unwrap()
}

/// Plays a script on a run of one workflow.
pub(super) fn check(root: &str, script: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new(root, &[]);
    bench.play(script);
    bench
}

pub(super) fn json(object: &Arc<Object>) -> String {
    Value::Object(Arc::clone(object))
        .to_json()
        .split_whitespace()
        .collect()
}
