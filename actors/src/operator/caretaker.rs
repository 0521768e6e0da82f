//! Looks after the machine between two questions for a job.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use gantry_engine::backend::host::sweep_stale_before;
use gantry_engine::clock::Clock;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::health::{self, Health};
use crate::claimer::{Slots, Upkeep};
use crate::local::report_stale;

/// What an idle runner removes.
#[derive(Debug, Clone)]
pub struct CleanUp {
    /// Where the directories of jobs on this machine are.
    pub root: PathBuf,
    /// How long a directory must not have changed before it is removed.
    pub age: Duration,
    /// How often it is looked for such directories.
    pub interval: Duration,
}

impl CleanUp {
    /// Nothing is removed if one of the durations is zero.
    pub fn new(root: PathBuf, age: Duration, interval: Duration) -> Option<Self> {
        (!age.is_zero() && !interval.is_zero()).then_some(Self { root, age, interval })
    }
}

/// The upkeep of one machine, whichever forges its jobs come from.
#[derive(Debug)]
pub struct Caretaker {
    slots: Slots,
    clock: Clock,
    wishes: Mutex<Wishes>,
    /// Held while the machine is checked: who asks meanwhile gets the same answer.
    known: tokio::sync::Mutex<health::State>,
    sweeping: Mutex<Sweeping>,
}

/// What the operator wants, which may change.
#[derive(Debug)]
struct Wishes {
    health: Option<Arc<Health>>,
    clean_up: Option<CleanUp>,
}

/// The clean-up that was started last.
#[derive(Debug, Default)]
struct Sweeping {
    at: Option<Instant>,
    work: Option<JoinHandle<()>>,
}

impl Caretaker {
    /// Looks after what is given; `slots` are the places of all jobs of this machine.
    pub fn new(slots: Slots, clock: Clock, health: Option<Health>, clean_up: Option<CleanUp>) -> Self {
        Self {
            slots,
            clock,
            wishes: Mutex::new(Wishes::of(health, clean_up)),
            known: tokio::sync::Mutex::default(),
            sweeping: Mutex::default(),
        }
    }

    /// Looks after what is given from now on.
    pub fn reconfigure(&self, health: Option<Health>, clean_up: Option<CleanUp>) {
        *self.wishes() = Wishes::of(health, clean_up);
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a clean-up if it is time for one.
    fn sweep_if_due(&self, now: Instant) {
        let Some(clean_up) = self.wishes().clean_up.clone() else {
            return;
        };
        if self.slots.running() > 0 {
            return;
        }
        let mut sweeping = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        let too_soon = sweeping
            .at
            .is_some_and(|at| now.saturating_duration_since(at) < clean_up.interval);
        let busy = sweeping.work.as_ref().is_some_and(|work| !work.is_finished());
        if too_soon || busy {
            return;
        }
        sweeping.at = Some(now);
        // Beside the questions for jobs: to remove a large tree can take minutes.
        sweeping.work = Some(tokio::spawn(sweep(clean_up, self.clock)));
    }
}

impl Wishes {
    fn of(health: Option<Health>, clean_up: Option<CleanUp>) -> Self {
        Self {
            health: health.map(Arc::new),
            clean_up,
        }
    }
}

async fn sweep(clean_up: CleanUp, clock: Clock) {
    let Some(moment) = clock.now().checked_sub(clean_up.age) else {
        return;
    };
    for stale in sweep_stale_before(&clean_up.root, moment).await {
        report_stale(&stale);
    }
}

impl Upkeep for Caretaker {
    fn unready(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let health = self.wishes().health.clone()?;
            let mut known = self.known.lock().await;
            match self.slots.running() {
                0 => health.check(&mut known, 0).await,
                // A check must not disturb the jobs, nor take what they do to the machine for its state.
                _ => known.known(),
            }
        })
    }

    fn idle(&self) -> BoxFuture<'_, ()> {
        self.sweep_if_due(Instant::now());
        Box::pin(std::future::ready(()))
    }
}
