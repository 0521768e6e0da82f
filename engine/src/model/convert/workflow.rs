//! The root of a workflow file.

use std::sync::Arc;

use super::{concurrency, entries, graph, job, permissions, triggers};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{Definition, WORKFLOW};
use crate::model::{Diagnostic, Job, Node, Triggers, Workflow, reader};

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
    // What needs what is looked at only if the jobs themselves are in order.
    if errors.is_empty() {
        graph::check(&mut jobs, position, errors);
    }
    jobs.into_iter().map(Arc::new).collect()
}
