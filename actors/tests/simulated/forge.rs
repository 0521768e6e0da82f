//! A forge in simulated time: what a server would keep, and what goes wrong with calls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use gantry_actors::protocols::forge::{
    Ack, Claim, Directive, Error, Forge, LogBatch, Progress, Report, RowIndex, StepState, TaskId,
};
use tokio::time::Instant;

/// What the server knows, and how it behaves.
#[derive(Default)]
pub struct Kept {
    pub claims: VecDeque<Claim>,
    /// Nothing will be handed out any more.
    pub exhausted: bool,
    pub rows: BTreeMap<TaskId, Vec<String>>,
    pub steps: BTreeMap<TaskId, Vec<StepState>>,
    pub reports: Vec<Report>,
    /// How often the last word was said, heard or not.
    pub said: usize,
    /// When each update arrived.
    pub updates: Vec<Instant>,
    /// Calls of this name do not arrive.
    pub away: BTreeSet<&'static str>,
    /// Calls of this name arrive, and every other answer is lost.
    pub losing: BTreeSet<&'static str>,
    pub lost: bool,
    pub cancelled: BTreeSet<TaskId>,
    /// The next job that listens for a cancel dies of it.
    pub deadly: bool,
    /// Tasks that the server has deleted.
    pub unknown: BTreeSet<TaskId>,
}

/// The server, which outlives the runner.
#[derive(Clone, Default)]
pub struct World(Arc<Mutex<Kept>>);

const DELIVERIES: [&str; 3] = ["append_log", "update", "complete"];

impl World {
    pub fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }

    /// Rows, states and reports do not arrive; claims are answered.
    pub fn cut_deliveries(&self) {
        self.kept().away.extend(DELIVERIES);
    }

    /// Nothing arrives.
    pub fn cut(&self) {
        self.cut_deliveries();
        self.kept().away.insert("claim");
    }

    pub fn mend(&self) {
        self.kept().away.clear();
    }

    pub fn lose_answers(&self) {
        self.kept().losing.extend(DELIVERIES);
    }

    pub fn rows(&self, task: TaskId) -> Vec<String> {
        self.kept().rows.get(&task).cloned().unwrap_or_default()
    }

    /// The rows that the job's own commands printed.
    pub fn printed(&self, task: TaskId) -> Vec<String> {
        let mut rows = self.rows(task);
        rows.retain(|row| row.starts_with("row "));
        rows
    }
}

/// One runner's way to the server: it ends with the runner.
pub struct Line {
    world: World,
    dead: AtomicBool,
}

impl Line {
    pub fn new(world: &World) -> Arc<Self> {
        Arc::new(Self {
            world: world.clone(),
            dead: AtomicBool::new(false),
        })
    }

    /// The runner is killed: whatever it does until it is gone reaches nobody.
    pub fn cut_for_good(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    fn call<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&mut Kept) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, Error>> {
        Box::pin(async move {
            // A call takes its time, and what happens meanwhile happens.
            tokio::time::sleep(Duration::from_millis(5)).await;
            if self.dead.load(Ordering::SeqCst) {
                return std::future::pending().await;
            }
            let mut kept = self.world.kept();
            let unavailable = |reason: &str| Error::Unavailable {
                operation,
                reason: reason.to_owned(),
            };
            if kept.away.contains(operation) {
                return Err(unavailable("away"));
            }
            let answer = work(&mut kept)?;
            if kept.losing.contains(operation) {
                kept.lost = !kept.lost;
                if kept.lost {
                    return Err(unavailable("the answer is lost"));
                }
            }
            Ok(answer)
        })
    }
}

impl Kept {
    fn check(&self, operation: &'static str, task: TaskId) -> Result<(), Error> {
        if self.unknown.contains(&task) {
            return Err(Error::Refused {
                operation,
                reason: "task not found".to_owned(),
            });
        }
        Ok(())
    }
}

impl Forge for Line {
    fn claim(&self, capacity: usize) -> BoxFuture<'_, Result<Vec<Claim>, Error>> {
        self.call("claim", move |kept| {
            let count = capacity.min(kept.claims.len());
            let claims: Vec<Claim> = kept.claims.drain(..count).collect();
            if claims.is_empty() && kept.exhausted {
                return Err(Error::Exhausted);
            }
            Ok(claims)
        })
    }

    fn append_log(&self, batches: Vec<LogBatch>) -> BoxFuture<'_, Result<Ack, Error>> {
        self.call("append_log", move |kept| {
            let task = batches.first().unwrap().task;
            kept.check("append_log", task)?;
            assert!(
                kept.reports.iter().all(|report| report.task != task),
                "a row after the last word"
            );
            let rows = kept.rows.entry(task).or_default();
            for (row, index) in batches.iter().flat_map(|batch| batch.rows().zip(batch.first.0..)) {
                assert!(index <= rows.len() as u64, "a gap before row {index}");
                if index == rows.len() as u64 {
                    rows.push(row.to_owned());
                }
            }
            Ok(Ack {
                next: RowIndex(rows.len() as u64),
            })
        })
    }

    fn update(&self, progress: Progress) -> BoxFuture<'_, Result<Directive, Error>> {
        self.call("update", move |kept| {
            kept.check("update", progress.task)?;
            kept.updates.push(Instant::now());
            let is_cancelled = kept.cancelled.contains(&progress.task);
            kept.steps.insert(progress.task, progress.steps);
            Ok(if is_cancelled {
                Directive::Cancel
            } else {
                Directive::Continue
            })
        })
    }

    fn cancelled(&self, _: TaskId) -> BoxFuture<'_, ()> {
        let deadly = std::mem::take(&mut self.world.kept().deadly);
        assert!(!deadly, "a bug in the runner, wanted by a test");
        Box::pin(std::future::pending())
    }

    fn complete(&self, report: Report) -> BoxFuture<'_, Result<(), Error>> {
        self.world.kept().said += 1;
        self.call("complete", move |kept| {
            kept.check("complete", report.task)?;
            let rows = kept.rows.get(&report.task).map_or(0, Vec::len) as u64;
            assert_eq!(rows, report.rows.0, "the last word comes after the last row");
            if !kept.reports.iter().any(|known| known.task == report.task) {
                kept.reports.push(report);
            }
            Ok(())
        })
    }
}
