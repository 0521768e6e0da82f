//! One forge, what its jobs are given, and how both change.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use gantry_actors::claimer::Polling;
use gantry_actors::engine::clock::Clock;
use gantry_actors::job::JobContext;
use gantry_actors::job::intake::{Served, ServerFacts};
use gantry_actors::journal::Journal;
use gantry_actors::protocols::gitea::GiteaForge;
use gantry_actors::service::{Service, serve};
use gantry_actors::supervisor::{Drained, StopLevel};
use tokio::sync::watch;

use super::declare::declare;
use super::identity::Identity;
use super::place::ByLabel;
use super::{Wishes, operator, settings};
use crate::config::Config;
use crate::runner::connection::{VERSION, connect};
use crate::runner::labels::Labels;

/// One forge and what its jobs are given.
pub struct Runner {
    identity: Identity,
    /// What counts now; a new configuration may change it.
    labels: Mutex<Labels>,
    forge: Arc<GiteaForge>,
    services: watch::Sender<Service>,
}

/// How it went with one forge.
pub struct Ended {
    /// What people call the runner there.
    pub name: String,
    /// Nothing if a stop came before anything was claimed.
    pub drained: Option<Drained>,
}

impl Runner {
    /// Makes the connection and everything that jobs are given.
    ///
    /// # Errors
    /// The configuration names files that cannot be used.
    pub fn new(
        identity: Identity,
        config: &Config,
        journal: &Arc<Journal>,
        clock: Clock,
    ) -> anyhow::Result<Self> {
        let way = identity
            .way(config)
            .context("the configuration has lost a connection")?;
        let client = connect(identity.address.clone(), way)?;
        let calls = settings::calls(config, &identity);
        let forge = Arc::new(GiteaForge::new(client, identity.credentials.clone(), calls));
        let context = JobContext {
            forge: forge.clone(),
            intake: Arc::new(Served::new(ServerFacts {
                instance: identity.url(),
                version: VERSION.to_owned(),
            })),
            sandboxes: Arc::new(by_label(config, &identity.labels)),
            clock,
            settings: settings::of_jobs(config, &identity)?,
            runner_name: identity.name.clone(),
            batching: settings::batching(config),
            journal: Some(journal.connection(&identity.credentials.uuid)),
            copies: operator::copies(config),
            post_task: operator::post_task(config)?,
        };
        let pacing = settings::pacing(config, &identity);
        Ok(Self {
            labels: Mutex::new(identity.labels.clone()),
            identity,
            forge,
            services: watch::Sender::new(Service { context, pacing }),
        })
    }

    /// What people call the runner there.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// Who the runner is there.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What the runner's jobs are given now.
    pub fn service(&self) -> Service {
        self.services.borrow().clone()
    }

    /// Declares the runner and serves the forge; nothing is served if a stop comes first.
    ///
    /// # Errors
    /// The forge does not know the runner, or refuses it.
    pub async fn serve(
        &self,
        polling: Polling,
        mut stops: watch::Receiver<StopLevel>,
    ) -> anyhow::Result<Ended> {
        let name = self.name().to_owned();
        let labels = self.labels();
        tokio::select! {
            biased;
            _ = stops.wait_for(|level| *level > StopLevel::Running) => {
                return Ok(Ended { name, drained: None });
            }
            declared = declare(&self.forge, &name, &labels) => declared.with_context(|| format!("runner: {name}"))?,
        }
        let drained = serve(polling, self.services.subscribe(), stops).await;
        Ok(Ended {
            name,
            drained: Some(drained),
        })
    }

    /// Lets later jobs have what a new configuration says, and tells the forge of other labels.
    ///
    /// # Errors
    /// The new configuration cannot be used for jobs; then nothing has changed.
    pub fn reconfigure(self: &Arc<Self>, config: &Config, wishes: &Wishes) -> anyhow::Result<()> {
        let labels = self.identity.labels_by(config, wishes)?;
        let settings = settings::of_jobs(config, &self.identity)?;
        let post_task = operator::post_task(config)?;
        let pacing = settings::pacing(config, &self.identity);
        let sandboxes = Arc::new(by_label(config, &labels));
        self.services.send_modify(|service| {
            service.context.settings = settings;
            service.context.sandboxes = sandboxes;
            service.context.batching = settings::batching(config);
            service.context.copies = operator::copies(config);
            service.context.post_task = post_task;
            service.pacing = pacing;
        });
        let old = std::mem::replace(
            &mut *self.labels.lock().unwrap_or_else(PoisonError::into_inner),
            labels,
        );
        if old != self.labels() {
            self.redeclare();
        }
        Ok(())
    }

    fn redeclare(self: &Arc<Self>) {
        let runner = Arc::clone(self);
        tokio::spawn(async move {
            if let Err(error) = declare(&runner.forge, runner.name(), &runner.labels()).await {
                tracing::error!("the new labels are not declared: {error:#}");
            }
        });
    }

    fn labels(&self) -> Labels {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn by_label(config: &Config, labels: &Labels) -> ByLabel {
    ByLabel {
        labels: labels.clone(),
        host: settings::host(config),
    }
}
