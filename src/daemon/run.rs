//! The daemon from its start to its exit code.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use futures::future::join_all;
use gantry_actors::claimer::{Polling, Slots};
use gantry_actors::engine::chain::Chain;
use gantry_actors::engine::clock::Clock;
use gantry_actors::journal::Journal;
use gantry_actors::operator::Caretaker;
use gantry_actors::runtime::block_on;
use gantry_actors::supervisor::StopLevel;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::declare::UNREGISTERED;
use super::ladder::{Ladder, Order};
use super::reload::reload;
use super::runner::{Ended, Runner};
use super::signals::{Signals, Wanted};
use super::{Wishes, identity, operator, settings};
use crate::cli::exit::{self, Exit};
use crate::config::{Config, Loaded};

/// Claims and runs jobs until a signal, or until there is nothing more to do.
///
/// # Errors
/// The runner cannot start, or a forge does not know it any more.
pub fn run(wishes: Wishes, loaded: Loaded) -> exit::Result {
    block_on(daemon(wishes, loaded)).context("cannot start the runtime")?
}

async fn daemon(wishes: Wishes, loaded: Loaded) -> exit::Result {
    let signals = Signals::listen().context("cannot listen to signals")?;
    let identities = identity::find(&loaded.values, &wishes)?;
    warn_of_unused(&loaded.values);
    let journal = open_journal(&loaded.values, &identities.file)?;
    let is_for_one = wishes.once || identities.all.iter().any(|identity| identity.ephemeral);
    let slots = if is_for_one {
        Slots::once()
    } else {
        Slots::new(loaded.values.runner.capacity.get() as usize)
    };
    let clock = Clock::start();
    let runners = identities
        .all
        .into_iter()
        .map(|identity| Runner::new(identity, &loaded.values, &journal, clock).map(Arc::new))
        .collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(runner) = runners.first() {
        // The machine is one, whichever forges its jobs come from.
        runner.service().context.sandboxes.prepare().await;
    }
    let caretaker = Caretaker::new(slots.clone(), clock, None, None);
    let daemon = Daemon {
        caretaker: Arc::new(caretaker),
        runners,
        stops: watch::Sender::new(StopLevel::Running),
        ladder: ladder(&loaded.values),
        wishes,
        loaded,
        slots,
    };
    daemon.look_after(&daemon.loaded.values)?;
    let ended = daemon.run(signals).await;
    drop(identities.lock);
    ended
}

/// Says which wishes have no effect in this version.
fn warn_of_unused(config: &Config) {
    let wishes = [
        ("runner.allocate_pty", config.runner.allocate_pty),
        ("metrics.enabled", config.metrics.enabled),
        ("container.require_docker", config.container.require_docker),
        ("cache.external_server", !config.cache.external_server.is_empty()),
    ];
    for (key, _) in wishes.iter().filter(|(_, is_wanted)| *is_wanted) {
        tracing::warn!("`{key}` has no effect in this version");
    }
}

fn open_journal(config: &Config, runner_file: &Path) -> anyhow::Result<Arc<Journal>> {
    let directory = config.journal.directory(runner_file);
    Journal::open(&directory, settings::journal(config)).map_err(|error| {
        let error = Chain(&error).to_string();
        anyhow!(error).context(format!(
            "the data directory {} cannot be used",
            directory.display()
        ))
    })
}

fn ladder(config: &Config) -> Ladder {
    let runner = &config.runner;
    Ladder::new(
        runner.shutdown_timeout.get(),
        runner.shutdown_cancel_timeout.get(),
    )
}

/// What holds for all forges.
struct Daemon {
    runners: Vec<Arc<Runner>>,
    stops: watch::Sender<StopLevel>,
    ladder: Ladder,
    wishes: Wishes,
    loaded: Loaded,
    slots: Slots,
    caretaker: Arc<Caretaker>,
}

impl Daemon {
    /// Serves all forges, and does what signals and time ask for meanwhile.
    async fn run(mut self, mut signals: Signals) -> exit::Result {
        let is_one_of_several = self.runners.len() > 1;
        let all = join_all(self.runners.iter().map(|runner| {
            let polling = Polling {
                slots: self.slots.clone(),
                pacing: runner.service().pacing,
                upkeep: self.caretaker.clone(),
            };
            let (runner, stops) = (Arc::clone(runner), self.stops.subscribe());
            async move {
                let ended = runner.serve(polling, stops).await;
                if let Err(error) = &ended
                    && is_one_of_several
                {
                    // The process ends with it only after the other forges, which may be never.
                    tracing::error!("{error:#}");
                }
                ended
            }
        }));
        tokio::pin!(all);
        loop {
            let due = self.ladder.due();
            let order = tokio::select! {
                ended = &mut all => return verdict(ended),
                wanted = signals.next() => self.obey(wanted),
                () = until(due) => self.ladder.on_due(Instant::now()),
            };
            match order {
                Some(Order::Stop(level)) => {
                    tracing::debug!(?level, "the runner stops");
                    self.stops.send_replace(level);
                }
                Some(Order::Abandon) => {
                    tracing::error!("jobs that were killed do not end; nobody waits for them any longer");
                    return Ok(Exit::Failure);
                }
                None => {}
            }
        }
    }

    fn obey(&mut self, wanted: Wanted) -> Option<Order> {
        match wanted {
            Wanted::Stop => {
                if !self.ladder.has_begun() {
                    self.announce();
                }
                self.ladder.on_signal(Instant::now())
            }
            Wanted::Reload => {
                if let Some(new) = reload(&self.loaded) {
                    self.apply(new);
                }
                None
            }
        }
    }

    fn announce(&self) {
        let time = &self.loaded.values.runner.shutdown_timeout;
        for runner in &self.runners {
            tracing::info!(
                "runner: {} shutdown initiated, waiting {time} for running jobs to complete before shutting down",
                runner.name()
            );
        }
    }

    /// Lets the machine be looked after as a configuration says.
    fn look_after(&self, config: &Config) -> anyhow::Result<()> {
        let Some(runner) = self.runners.first() else {
            return Ok(());
        };
        let health = operator::health(config, runner.identity())?;
        self.caretaker.reconfigure(health, operator::clean_up(config));
        Ok(())
    }

    fn apply(&mut self, new: Loaded) {
        for runner in &self.runners {
            if let Err(error) = runner.reconfigure(&new.values, &self.wishes) {
                tracing::error!(
                    "runner: {}: the old values go on to count: {error:#}",
                    runner.name()
                );
                return;
            }
        }
        if let Err(error) = self.look_after(&new.values) {
            tracing::error!("the machine is looked after as before: {error:#}");
        }
        let runner = &new.values.runner;
        self.slots.resize(runner.capacity.get() as usize);
        self.ladder.set_times(
            runner.shutdown_timeout.get(),
            runner.shutdown_cancel_timeout.get(),
        );
        self.loaded = new;
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What the process ends with, of how it went with each forge.
fn verdict(all: Vec<anyhow::Result<Ended>>) -> exit::Result {
    let mut refused = false;
    for ended in all {
        let Ended { name, drained } = ended?;
        let Some(drained) = drained else { continue };
        if drained.cancelled_jobs {
            tracing::info!("runner: {name} cancelled in progress jobs during shutdown");
        }
        if drained.undelivered > 0 {
            tracing::warn!(
                "runner: {name} could not tell the forge the end of {} jobs; the next start goes on with that",
                drained.undelivered
            );
        }
        refused |= drained.refused;
    }
    if refused {
        return Err(anyhow!(UNREGISTERED).into());
    }
    Ok(Exit::Success)
}
