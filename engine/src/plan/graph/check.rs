//! What can be checked of a run before anything runs: the selected jobs, their matrices, and their calls.

use std::sync::Arc;

use super::super::matrix;
use super::super::suggest::nearest;
use super::call::{given, typed};
use super::evaluate::scope;
use super::frame::nodes;
use super::permissions::excess;
use super::source::{Library, WorkflowSource, call_of, qualify, written};
use crate::expr::Object;
use crate::model::{
    CallJob, CallSecrets, CallTrigger, Diagnostic, Job, Permissions, Position, Workflow, WorkflowRef,
};

/// Levels of workflows in a run, the root included (GitHub: docs, "Reuse workflows").
const MAX_LEVELS: usize = 10;
/// Reusable workflows in a run (GitHub: docs, "Reuse workflows").
const MAX_WORKFLOWS: usize = 50;
/// Mistakes reported at once.
const MAX_DIAGNOSTICS: usize = 10;

/// The jobs of the run: all, or the one that was asked for with what it needs.
pub(super) fn selection(workflow: &Workflow, only: Option<&str>) -> Result<Vec<Arc<Job>>, Vec<Diagnostic>> {
    let Some(only) = only else {
        return Ok(workflow.jobs.clone());
    };
    let Some(wanted) = workflow
        .jobs
        .iter()
        .position(|job| job.id.eq_ignore_ascii_case(only))
    else {
        let ids = workflow.jobs.iter().map(|job| job.id.as_str());
        let hint = nearest(only, ids)
            .map(|id| format!(" (did you mean '{id}'?)"))
            .unwrap_or_default();
        let message = format!("the workflow has no job '{only}'{hint}");
        return Err(vec![Diagnostic {
            file: Arc::clone(&workflow.file),
            position: None,
            reached: None,
            message,
        }]);
    };
    let graph = nodes(&workflow.jobs);
    let mut kept = vec![false; graph.len()];
    let mut open = vec![wanted];
    while let Some(job) = open.pop() {
        if !std::mem::replace(&mut kept[job], true) {
            open.extend(&graph[job].needs);
        }
    }
    Ok(workflow
        .jobs
        .iter()
        .zip(kept)
        .filter(|(_, kept)| *kept)
        .map(|(job, _)| Arc::clone(job))
        .collect())
}

/// Checks the jobs of a run and everything that they call, and collects the called workflows.
pub(super) fn check(
    workflow: &Workflow,
    jobs: &[Arc<Job>],
    source: &dyn WorkflowSource,
) -> Result<Library, Vec<Diagnostic>> {
    let checker = Checker::run(workflow, jobs, source, true);
    if checker.diagnostics.is_empty() {
        Ok(checker.library)
    } else {
        Err(checker.diagnostics)
    }
}

/// Checks a whole workflow; other repositories may be out of reach.
pub(super) fn diagnose(workflow: &Workflow, source: &dyn WorkflowSource) -> Vec<Diagnostic> {
    Checker::run(workflow, &workflow.jobs, source, false).diagnostics
}

struct Checker<'a> {
    source: &'a dyn WorkflowSource,
    /// Whether workflows of other repositories must be in the source.
    needs_remote: bool,
    library: Library,
    visited: Vec<(WorkflowRef, usize, Option<Permissions>)>,
    diagnostics: Vec<Diagnostic>,
}

/// A workflow at the place of the call tree that is looked at.
struct Site<'a> {
    workflow: &'a Workflow,
    origin: Option<&'a WorkflowRef>,
    level: usize,
    /// The permissions that the callers allow, if any of them states some.
    allowed: Option<&'a Permissions>,
}

impl<'a> Checker<'a> {
    fn run(
        workflow: &Workflow,
        jobs: &[Arc<Job>],
        source: &'a dyn WorkflowSource,
        needs_remote: bool,
    ) -> Self {
        let mut checker = Self {
            source,
            needs_remote,
            library: Library::default(),
            visited: Vec::new(),
            diagnostics: Vec::new(),
        };
        checker.jobs(
            &Site {
                workflow,
                origin: None,
                level: 1,
                allowed: None,
            },
            jobs,
        );
        checker
    }

    fn report(&mut self, file: &Arc<str>, position: Position, message: String) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(Diagnostic {
                file: Arc::clone(file),
                position: Some(position),
                reached: None,
                message,
            });
        }
    }

    fn jobs(&mut self, site: &Site<'_>, jobs: &[Arc<Job>]) {
        for job in jobs {
            let found = matrix::check(job, &site.workflow.file);
            let room = MAX_DIAGNOSTICS.saturating_sub(self.diagnostics.len());
            self.diagnostics.extend(found.into_iter().take(room));
            if let Some(call) = call_of(job) {
                self.call(site, job, call);
            }
        }
    }

    fn call(&mut self, site: &Site<'_>, job: &Job, call: &CallJob) {
        let file = &site.workflow.file;
        let position = call.uses.position;
        if site.level >= MAX_LEVELS {
            self.report(
                file,
                position,
                format!("Nested reusable workflow depth exceeded {MAX_LEVELS}."),
            );
            return;
        }
        let reference = qualify(site.origin, &call.uses.value);
        let Some(workflow) = self.load(&reference, file, position) else {
            return;
        };
        let Some(trigger) = &workflow.on.call else {
            let message = "workflow_call key is not defined in the referenced workflow.";
            self.report(file, position, message.to_owned());
            return;
        };
        self.inputs(file, call, trigger);
        self.secrets(file, call, trigger);
        let allowed = job
            .permissions
            .as_ref()
            .or(site.workflow.permissions.as_ref())
            .or(site.allowed);
        self.permissions(file, job, call, &workflow, allowed);
        self.descend(&workflow, reference, site.level + 1, allowed);
    }

    fn load(
        &mut self,
        reference: &WorkflowRef,
        file: &Arc<str>,
        position: Position,
    ) -> Option<Arc<Workflow>> {
        if let Some(workflow) = self.library.workflow(reference) {
            return Some(workflow);
        }
        if self.library.len() >= MAX_WORKFLOWS {
            let message =
                format!("a run may not call more than {MAX_WORKFLOWS} different reusable workflows");
            self.report(file, position, message);
            return None;
        }
        let Some(workflow) = self.source.workflow(reference) else {
            if !self.needs_remote && matches!(reference, WorkflowRef::Remote { .. }) {
                return None;
            }
            let message = format!("the reusable workflow '{}' was not found", written(reference));
            self.report(file, position, message);
            return None;
        };
        self.library.insert(reference.clone(), Arc::clone(&workflow));
        Some(workflow)
    }

    /// Checks the jobs of a called workflow, once for each level and each set of permissions that it is called with.
    fn descend(
        &mut self,
        workflow: &Workflow,
        reference: WorkflowRef,
        level: usize,
        allowed: Option<&Permissions>,
    ) {
        let visit = (reference, level, allowed.cloned());
        if self.diagnostics.len() >= MAX_DIAGNOSTICS || self.visited.contains(&visit) {
            return;
        }
        self.visited.push(visit.clone());
        // The recursion is as deep as there are levels.
        self.jobs(
            &Site {
                workflow,
                origin: Some(&visit.0),
                level,
                allowed,
            },
            &workflow.jobs,
        );
    }

    fn inputs(&mut self, file: &Arc<str>, call: &CallJob, trigger: &CallTrigger) {
        for (name, input) in &trigger.inputs {
            match given(call, name) {
                Some(field) if !field.node().has_expression() => {
                    if let Err(error) = typed(input.kind, field, scope(&Object::new())) {
                        self.diagnostics.extend(super::diagnostics(error));
                    }
                }
                None if input.required => {
                    let message = format!("Input {name} is required, but not provided while calling.");
                    self.report(file, call.uses.position, message);
                }
                _ => {}
            }
        }
        for (name, field) in &call.with {
            if !trigger
                .inputs
                .keys()
                .any(|known| known.eq_ignore_ascii_case(name))
            {
                let position = call.with_positions.get(name).copied().unwrap_or(field.position());
                let message = format!("Invalid input, {name} is not defined in the referenced workflow.");
                self.report(file, position, message);
            }
        }
    }

    fn secrets(&mut self, file: &Arc<str>, call: &CallJob, trigger: &CallTrigger) {
        // What is inherited is known only at run time.
        let CallSecrets::Listed(listed) = &call.secrets else {
            return;
        };
        for (name, required) in &trigger.secrets {
            if *required && !listed.keys().any(|given| given.eq_ignore_ascii_case(name)) {
                let message = format!("Secret {name} is required, but not provided while calling.");
                self.report(file, call.uses.position, message);
            }
        }
        for (name, field) in listed {
            if !trigger
                .secrets
                .keys()
                .any(|known| known.eq_ignore_ascii_case(name))
            {
                let message = format!("Invalid secret, {name} is not defined in the referenced workflow.");
                self.report(file, field.position(), message);
            }
        }
    }

    fn permissions(
        &mut self,
        file: &Arc<str>,
        job: &Job,
        call: &CallJob,
        callee: &Workflow,
        allowed: Option<&Permissions>,
    ) {
        let Some(allowed) = allowed else { return };
        let reference = written(&call.uses.value);
        let requests = std::iter::once((None, callee.permissions.as_ref())).chain(
            callee
                .jobs
                .iter()
                .map(|job| (Some(&job.id), job.permissions.as_ref())),
        );
        for (id, requested) in requests {
            let Some((asked, granted)) = requested.and_then(|requested| excess(requested, allowed)) else {
                continue;
            };
            let who = id.map_or_else(
                || "The workflow".to_owned(),
                |id| format!("The nested job '{id}'"),
            );
            let message = format!(
                "Error calling workflow '{reference}'. {who} is requesting '{asked}', but is only allowed '{granted}'."
            );
            self.report(file, job.position, message);
        }
    }
}
