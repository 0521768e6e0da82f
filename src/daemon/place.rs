//! Where a claimed job runs: its labels decide.

use std::sync::Arc;

use futures::future::BoxFuture;
use gantry_actors::engine::backend::Sandbox;
use gantry_actors::engine::model::JobBody;
use gantry_actors::engine::plan::JobPlan;
use gantry_actors::job::Sandboxes;
use gantry_actors::local::HostSandboxes;

use crate::runner::labels::{Labels, Place};

/// Makes the sandbox that a job's labels ask for.
#[derive(Debug, Clone)]
pub struct ByLabel {
    /// The labels of the runner.
    pub labels: Labels,
    /// This machine.
    pub host: HostSandboxes,
}

impl Sandboxes for ByLabel {
    fn prepare(&self) -> BoxFuture<'_, ()> {
        self.host.prepare()
    }

    fn create<'a>(&'a self, plan: &'a JobPlan) -> BoxFuture<'a, Result<Arc<dyn Sandbox>, String>> {
        let fallback = self.labels.fallback();
        let place = self.labels.pick(&plan.runs_on.labels).unwrap_or(&fallback);
        let image = match place {
            Place::Host => return self.create_here(plan),
            Place::Docker(image) | Place::Kubernetes(image) => image.clone(),
        };
        Box::pin(async move {
            Err(format!(
                "the runner's label asks for the image '{image}', and this runner does not run containers yet"
            ))
        })
    }
}

impl ByLabel {
    fn create_here<'a>(&'a self, plan: &'a JobPlan) -> BoxFuture<'a, Result<Arc<dyn Sandbox>, String>> {
        match container_key(plan) {
            None => self.host.create(plan),
            Some(key) => Box::pin(async move {
                Err(format!(
                    "the job has '{key}', and its label runs jobs on the machine itself, where there are no containers"
                ))
            }),
        }
    }
}

/// The key by which a job asks for containers.
fn container_key(plan: &JobPlan) -> Option<&'static str> {
    let JobBody::Steps(steps) = &plan.job.body else {
        return None;
    };
    match (&steps.container, &steps.services) {
        (Some(_), _) => Some("container"),
        (None, Some(_)) => Some("services"),
        (None, None) => None,
    }
}
