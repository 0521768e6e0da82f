//! Where reusable workflows come from.

use std::sync::Arc;

use crate::model::{Job, JobBody, Position, Workflow, WorkflowRef};

/// Gives the workflows that a run may call; they have been read before the run is made.
pub trait WorkflowSource {
    /// The workflow that a qualified reference names (see [`qualify`]).
    fn workflow(&self, reference: &WorkflowRef) -> Option<Arc<Workflow>>;
}

/// Workflows by their qualified references.
#[derive(Debug, Clone, Default)]
pub struct Library {
    workflows: Vec<(WorkflowRef, Arc<Workflow>)>,
}

impl Library {
    /// Adds a workflow; one of the same reference is replaced.
    pub fn insert(&mut self, reference: WorkflowRef, workflow: Arc<Workflow>) {
        self.workflows.retain(|(known, _)| *known != reference);
        self.workflows.push((reference, workflow));
    }

    /// How many workflows there are.
    pub fn len(&self) -> usize {
        self.workflows.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.workflows.is_empty()
    }
}

impl WorkflowSource for Library {
    fn workflow(&self, reference: &WorkflowRef) -> Option<Arc<Workflow>> {
        let found = self.workflows.iter().find(|(known, _)| known == reference)?;
        Some(Arc::clone(&found.1))
    }
}

/// What `reference` means in a workflow that comes from `origin`: a local reference in a called workflow of another
/// repository names a file of that repository at the same commit.
pub fn qualify(origin: Option<&WorkflowRef>, reference: &WorkflowRef) -> WorkflowRef {
    match (origin, reference) {
        (
            Some(WorkflowRef::Remote {
                repository, git_ref, ..
            }),
            WorkflowRef::Local(path),
        ) => WorkflowRef::Remote {
            repository: repository.clone(),
            path: path.clone(),
            git_ref: git_ref.clone(),
        },
        _ => reference.clone(),
    }
}

/// The workflows that `workflow` calls itself, qualified, with the places of the calls.
///
/// A caller that loads workflows repeats this for each that it loaded, at most ten levels deep.
pub fn called_workflows(workflow: &Workflow, origin: Option<&WorkflowRef>) -> Vec<(WorkflowRef, Position)> {
    let mut called: Vec<(WorkflowRef, Position)> = Vec::new();
    for uses in workflow
        .jobs
        .iter()
        .filter_map(|job| call_of(job))
        .map(|call| &call.uses)
    {
        let reference = qualify(origin, &uses.value);
        if !called.iter().any(|(known, _)| *known == reference) {
            called.push((reference, uses.position));
        }
    }
    called
}

/// The call of a job that calls a workflow.
pub(super) fn call_of(job: &Job) -> Option<&crate::model::CallJob> {
    match &job.body {
        JobBody::Call(call) => Some(call),
        JobBody::Steps(_) => None,
    }
}

/// The reference as a person writes it.
pub(super) fn written(reference: &WorkflowRef) -> String {
    match reference {
        WorkflowRef::Local(path) => format!("./{path}"),
        WorkflowRef::Remote {
            repository,
            path,
            git_ref,
        } => format!("{repository}/{path}@{git_ref}"),
    }
}
