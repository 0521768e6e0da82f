//! The root of a workflow file.

use std::sync::Arc;

use super::{concurrency, condition, entries, graph, job, permissions, triggers};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{self, Definition, WORKFLOW};
use crate::model::{Diagnostic, Job, JobBody, Node, Spanned, StepsJob, Triggers, Workflow, reader};

impl Workflow {
    /// Reads a workflow file and checks all that can be checked without running it.
    ///
    /// # Errors
    /// Up to ten mistakes in the order in which they were found.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let file: Arc<str> = Arc::from(file);
        let mut errors = Diagnostics::new(file.clone());
        let root = reader::read(text, &WORKFLOW, &mut errors);
        match root {
            Some(root) if errors.is_empty() => {
                let workflow = convert(file, root, &mut errors);
                errors.into_result(workflow)
            }
            _ => Err(errors.into_vec()),
        }
    }
}

/// A workflow with one job, as a forge hands it out.
#[derive(Debug, Clone)]
pub struct ClaimedWorkflow {
    /// The workflow; the jobs that its job waited for are in it, but do nothing.
    pub workflow: Workflow,
    /// The id of its job.
    pub job: String,
    /// What stands in it that GitHub would refuse and that is passed over, as the forge has accepted it.
    pub notes: Vec<Diagnostic>,
}

impl ClaimedWorkflow {
    /// Reads the document of one job that a forge has made of a workflow.
    ///
    /// The forge has decided already what the job waited for: `needs` are the ids of those jobs, whatever the document
    /// says. A forge writes what it has read anew and takes what GitHub does not, so that unknown keys are passed over
    /// and numbers and booleans may be quoted.
    ///
    /// # Errors
    /// Up to ten mistakes in the order in which they were found; also when there is not exactly one job.
    pub fn parse<'a>(
        file: &str,
        text: &str,
        needs: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let file: Arc<str> = Arc::from(file);
        let mut errors = Diagnostics::lenient(file.clone());
        let root = reader::read(text, &WORKFLOW, &mut errors);
        let Some(root) = root.filter(|_| errors.is_empty()) else {
            return Err(errors.into_vec());
        };
        let mut workflow = convert(file, root, &mut errors);
        let notes = errors.take_notes();
        let job = match &mut workflow.jobs[..] {
            [job] => {
                let id = job.id.clone();
                workflow.jobs = with_stand_ins(job, needs, &workflow.file);
                id
            }
            [] => {
                errors.abort("no jobs found");
                String::new()
            }
            _ => {
                errors.abort("multiple jobs found");
                String::new()
            }
        };
        errors.into_result(Self { workflow, job, notes })
    }
}

/// A job after the stand-ins of those that it waited for.
fn with_stand_ins<'a>(
    job: &Arc<Job>,
    needs: impl IntoIterator<Item = &'a str>,
    file: &Arc<str>,
) -> Vec<Arc<Job>> {
    let mut job = Job::clone(job);
    let position = job.position;
    let ids: Vec<&str> = needs.into_iter().filter(|id| *id != job.id).collect();
    job.needs = ids
        .iter()
        .map(|id| Spanned {
            value: (*id).to_owned(),
            position,
        })
        .collect();
    let stand_in = |id: &&str| {
        Some(Arc::new(Job {
            id: (*id).to_owned(),
            position,
            name: None,
            needs: Vec::new(),
            condition: condition::wrapped(None, &schema::JOB_IF, &mut Diagnostics::new(file.clone()))?,
            strategy: None,
            permissions: None,
            concurrency: None,
            body: JobBody::Steps(Box::new(StepsJob::nowhere(file.clone(), position))),
        }))
    };
    let mut jobs: Vec<Arc<Job>> = ids.iter().filter_map(stand_in).collect();
    jobs.push(Arc::new(job));
    jobs
}

fn convert(file: Arc<str>, root: Node, errors: &mut Diagnostics) -> Workflow {
    let mut workflow = Workflow {
        file,
        name: None,
        run_name: None,
        on: Triggers::default(),
        env: None,
        defaults: None,
        permissions: None,
        concurrency: None,
        jobs: Vec::new(),
    };
    for entry in entries(root, &WORKFLOW) {
        match &*entry.name {
            "name" => workflow.name = entry.text(),
            "run-name" => workflow.run_name = Some(entry.field(errors)),
            "on" => workflow.on = triggers::convert(entry.value, entry.definition, errors),
            "env" => workflow.env = Some(entry.field(errors)),
            "defaults" => workflow.defaults = Some(entry.field(errors)),
            "permissions" => workflow.permissions = Some(permissions::convert(&entry.value)),
            "concurrency" => {
                concurrency::check(&entry.value, errors);
                workflow.concurrency = Some(entry.field(errors));
            }
            "jobs" => workflow.jobs = jobs(entry.value, entry.definition, errors),
            _ => {}
        }
    }
    workflow
}

fn jobs(node: Node, definition: &'static Definition, errors: &mut Diagnostics) -> Vec<Arc<Job>> {
    let position = node.position;
    let mut jobs: Vec<_> = entries(node, definition)
        .filter_map(|entry| job::convert(entry, errors))
        .collect();
    // What needs what is looked at only if the jobs themselves are in order; of a forge's job it is known.
    if errors.is_empty() && !errors.is_lenient() {
        graph::check(&mut jobs, position, errors);
    }
    jobs.into_iter().map(Arc::new).collect()
}
