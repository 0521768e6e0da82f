//! Host sandboxes: each job has directories of its own, and in a local run works on a copy of the user's tree.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use gantry_engine::backend::Sandbox;
use gantry_engine::backend::host::{
    HostOptions, HostSandbox, Listing, Stale, guard_process, reap_adopted, sweep_stale,
};
use gantry_engine::chain::{Chain, failed_to};
use gantry_engine::expr::Value;
use gantry_engine::plan::JobPlan;

use crate::job::Sandboxes;

/// Makes a host sandbox for every job.
#[derive(Debug, Clone)]
pub struct HostSandboxes {
    /// Where the directories of jobs are made.
    pub root: PathBuf,
    /// The tree that is copied into each workspace, and never written to; without one a workspace is empty.
    pub source: Option<PathBuf>,
    /// Copies what git ignores, too.
    pub copy_ignored: bool,
    /// What git says of that tree, once for all jobs.
    pub listing: Listing,
    /// Where tools are kept from one job to the next; without it each job has a tool cache of its own.
    pub tool_cache: Option<PathBuf>,
    /// More variables of this process's environment that jobs get; a name may end in `*`.
    pub allowed_environment: Vec<String>,
}

impl Sandboxes for HostSandboxes {
    fn prepare(&self) -> BoxFuture<'_, ()> {
        if let Err(error) = guard_process() {
            tracing::warn!(%error, "orphans of jobs may outlive them: the process cannot adopt them");
        }
        tokio::spawn(async {
            let Err(error) = reap_adopted().await;
            tracing::warn!(%error, "adopted processes are not reaped");
        });
        if let Some(source) = self.source.clone()
            && !self.copy_ignored
        {
            let listing = self.listing.clone();
            tokio::spawn(async move { listing.prepare(&source).await });
        }
        Box::pin(async move {
            for stale in sweep_stale(&self.root).await {
                report_stale(&stale);
            }
        })
    }

    fn create<'a>(&'a self, plan: &'a JobPlan) -> BoxFuture<'a, Result<Arc<dyn Sandbox>, String>> {
        let repository = plan
            .contexts
            .github
            .get("repository")
            .map(Value::to_text)
            .unwrap_or_default();
        let options = HostOptions {
            root: self.root.clone(),
            key: plan.key.clone(),
            repository: repository.into_owned(),
            source: self.source.clone(),
            copy_ignored: self.copy_ignored,
            listing: self.listing.clone(),
            tool_cache: self.tool_cache.clone(),
            allowed_environment: self.allowed_environment.clone(),
        };
        Box::pin(async move {
            let sandbox = HostSandbox::create(options)
                .await
                .map_err(|error| failed_to(&error))?;
            Ok(Arc::new(sandbox) as Arc<dyn Sandbox>)
        })
    }
}

/// Says what was found of a runner that was killed.
pub(crate) fn report_stale(stale: &Stale) {
    let (path, ended) = (stale.path.display(), stale.ended.len());
    match &stale.failure {
        None => tracing::info!(%path, ended, "removed what a killed runner has left"),
        Some(failure) => {
            let failure = Chain(failure);
            tracing::warn!(%path, ended, %failure, "failed to remove what a killed runner has left");
        }
    }
}
