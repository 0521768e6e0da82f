//! Workflows without what depends on the outputs of jobs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::super::JobPlan;
use super::super::graph::WorkflowSource;
use super::Unknown;
use crate::expr::{Expression, Function, Names};
use crate::model::{CallJob, Condition, Field, Job, JobBody, Node, StepsJob, Workflow, WorkflowRef};

/// A source of workflows that softens them and remembers the jobs as they were.
pub(super) struct Softened<'a> {
    inner: &'a dyn WorkflowSource,
    jobs: RefCell<HashMap<Place, Written>>,
}

/// The file and the id of a job.
type Place = (Arc<str>, String);

/// A job as it was, and what was taken out of it.
type Written = (Arc<Job>, Vec<Unknown>);

impl<'a> Softened<'a> {
    pub fn new(inner: &'a dyn WorkflowSource) -> Self {
        Self {
            inner,
            jobs: RefCell::default(),
        }
    }

    /// A workflow in which nothing that decides about jobs depends on outputs.
    pub fn soften(&self, workflow: &Workflow) -> Arc<Workflow> {
        let mut softened = Workflow::clone(workflow);
        for job in &mut softened.jobs {
            let written = Arc::clone(job);
            let unknown = soften_job(Arc::make_mut(job), &workflow.file);
            let place = (Arc::clone(&workflow.file), written.id.clone());
            self.jobs.borrow_mut().insert(place, (written, unknown));
        }
        // Outputs of jobs that never ran are empty, and not every expression takes that.
        if let Some(call) = &mut softened.on.call {
            call.outputs.clear();
        }
        Arc::new(softened)
    }
}

impl WorkflowSource for Softened<'_> {
    fn workflow(&self, reference: &WorkflowRef) -> Option<Arc<Workflow>> {
        self.inner
            .workflow(reference)
            .map(|workflow| self.soften(&workflow))
    }
}

/// The job of a plan as it was written, and what was taken out of it.
pub(super) fn original(softened: &Softened<'_>, plan: &JobPlan) -> (Arc<Job>, Vec<Unknown>) {
    let place = (Arc::clone(&plan.workflow.file), plan.job.id.clone());
    let jobs = softened.jobs.borrow();
    let found = jobs.get(&place).cloned();
    found.unwrap_or_else(|| (Arc::clone(&plan.job), Vec::new()))
}

/// What is not known of a job, found key by key.
#[derive(Default)]
struct Findings {
    unknown: Vec<Unknown>,
    /// The legs are not known, and with them the contexts `matrix` and `strategy`.
    any_legs: bool,
}

fn soften_job(job: &mut Job, file: &Arc<str>) -> Vec<Unknown> {
    let mut findings = Findings::default();
    if findings.depends(&job.condition.expression) {
        findings
            .unknown
            .extend(job.condition.written().map(|written| Unknown {
                key: "if",
                written: written.to_owned(),
            }));
        if let Some(expression) = success() {
            job.condition = Condition {
                expression,
                file: Arc::clone(file),
                position: None,
            };
        }
    }
    if let Some(strategy) = &job.strategy
        && findings.note("strategy", &strategy.node)
    {
        job.strategy = None;
        findings.any_legs = true;
    }
    if findings.note_field("name", job.name.as_ref()) {
        job.name = None;
    }
    findings.take_out(&mut job.concurrency);
    match &mut job.body {
        JobBody::Steps(steps) => soften_steps(steps, file, &mut findings),
        JobBody::Call(call) => {
            if let Some(steps) = soften_call(call, file, &mut findings) {
                job.body = JobBody::Steps(Box::new(steps));
            }
        }
    }
    findings.unknown
}

fn soften_steps(steps: &mut StepsJob, file: &Arc<str>, findings: &mut Findings) {
    findings.take_out(&mut steps.timeout_minutes);
    findings.take_out(&mut steps.cancel_timeout_minutes);
    findings.take_out(&mut steps.continue_on_error);
    if findings.note_field("runs-on", Some(&steps.runs_on)) {
        steps.runs_on = StepsJob::nowhere(Arc::clone(file), steps.runs_on.position()).runs_on;
    }
}

/// A call with inputs that are not known yet cannot be followed; an empty job takes its place.
fn soften_call(call: &CallJob, file: &Arc<str>, findings: &mut Findings) -> Option<StepsJob> {
    let mut is_unknown = false;
    for field in call.with.values() {
        is_unknown |= findings.note("with", field.node());
    }
    let place = call.with.values().next().filter(|_| is_unknown)?;
    Some(StepsJob::nowhere(Arc::clone(file), place.position()))
}

impl Findings {
    fn depends(&self, expression: &Expression) -> bool {
        expression.depends_on_outputs("needs") || self.any_legs && expression.contexts_used().any(is_of_leg)
    }

    /// Adds what of a node is not known, and tells whether anything is.
    fn note(&mut self, key: &'static str, node: &Node) -> bool {
        let found: Vec<String> = node
            .expressions()
            .into_iter()
            .filter(|expression| self.depends(expression))
            .map(|expression| expression.source().to_owned())
            .collect();
        if found.is_empty() {
            return false;
        }
        self.unknown.push(Unknown {
            key,
            written: found.join(", "),
        });
        true
    }

    fn note_field<T>(&mut self, key: &'static str, field: Option<&Field<T>>) -> bool {
        field.is_some_and(|field| self.note(key, field.node()))
    }

    /// Takes out a field that is not known and that nobody needs to see.
    fn take_out<T>(&self, field: &mut Option<Field<T>>) {
        let expressions = field.as_ref().map(|field| field.node().expressions());
        if expressions
            .into_iter()
            .flatten()
            .any(|expression| self.depends(expression))
        {
            *field = None;
        }
    }
}

/// Tells whether a context is another one for each leg of a job.
fn is_of_leg(context: &str) -> bool {
    ["matrix", "strategy"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(context))
}

/// The condition of a job that has no `if`.
fn success() -> Option<Expression> {
    let function = Function {
        name: "success",
        min: 0,
        max: 0,
    };
    let names = Names {
        contexts: &[],
        functions: &[function],
    };
    Expression::parse("success()", names).ok()
}
