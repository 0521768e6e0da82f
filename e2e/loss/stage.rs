//! A forge, a way to it that can break, and a runner.

use std::time::Duration;

use gantry_fakes::forge::{Dialect, State, Status, Task};
use gantry_fakes::{CuttingProxy, FakeForge};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use super::gate::{Gate, is_alive};
use crate::harness::{Daemon, PATIENCE, Place};

/// Rows and states go out quickly, so that no test waits for a timer of the runner.
pub const QUICK: &str = "  log_report_max_latency: 50ms\n  state_report_interval: 200ms\n";

/// The job of the workflows with a gate.
pub const JOB: &str = "ticks";

/// A forge, a proxy before it, and a registered runner that knows only the proxy.
pub struct Stage {
    pub forge: FakeForge,
    pub place: Place,
    pub gate: Gate,
    proxy: CuttingProxy,
    runtime: Runtime,
}

impl Stage {
    pub fn new(dialect: Dialect) -> Self {
        let forge = FakeForge::start_on_thread(dialect.rules());
        let (runtime, proxy) = proxy_to(&forge);
        let place = Place::new();
        place.configure(QUICK);
        place.register(&proxy.url(), &forge.registration_token(), "build:host");
        let gate = Gate::new(&place);
        Self {
            forge,
            place,
            gate,
            proxy,
            runtime,
        }
    }

    /// Starts the daemon and waits until it asks for jobs.
    pub fn daemon(&self) -> Daemon {
        let mut daemon = self.place.daemon(&[]);
        daemon.wait_for("declare successfully");
        daemon
    }

    /// Starts a run of a workflow with the gate in its place.
    pub fn push(&self, workflow: &str) -> i64 {
        self.forge.push(&self.gate.fill(workflow))
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        self.runtime.block_on(self.proxy.cut());
    }

    /// The forge cannot be reached any more.
    pub fn take_away(&self) {
        self.runtime.block_on(self.proxy.stop());
    }

    /// The forge can be reached again.
    pub fn bring_back(&self) {
        self.runtime.block_on(self.proxy.resume());
    }

    /// Waits until the forge has a row of the job.
    pub fn wait_for_row(&self, row: &str) {
        self.forge.wait_for_blocking(row, |state| {
            let task = state.task_of(JOB)?;
            task.texts().contains(&row).then_some(())
        });
    }

    /// Waits until the forge knows how a run ended.
    pub fn wait_for_end(&self, run: i64) -> Status {
        wait_for_end(&self.forge, run)
    }

    /// The rows that are ticks.
    pub fn ticks(&self) -> Vec<String> {
        let mut rows = self.forge.read(|state| state.log_of(JOB));
        rows.retain(|row| row.starts_with("tick "));
        rows
    }

    /// The job was finalized once, and nothing of it is left here: no process of the step, no directory, no entry.
    pub fn check_that_nothing_is_left(&self, processes: &[u32]) {
        for process in processes {
            wait_until("the process is gone", || !is_alive(*process));
        }
        assert!(self.place.left().is_empty(), "{:?}", self.place.left());
        let ends = self.forge.read(|state| ends(task(state)));
        assert_eq!(ends, 1, "{}", self.forge.read(State::describe));
    }
}

/// A proxy before a forge, and what it runs on.
pub fn proxy_to(forge: &FakeForge) -> (Runtime, CuttingProxy) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let server = forge.address();
    let proxy = runtime.block_on(async { CuttingProxy::start(server) });
    (runtime, proxy)
}

/// Waits until the forge knows how a run ended.
pub fn wait_for_end(forge: &FakeForge, run: i64) -> Status {
    forge.wait_for_blocking("the end of the run", |state| {
        let status = state.status_of(run);
        status.is_done().then_some(status)
    })
}

/// The task of the job with the gate.
pub fn task(state: &State) -> &Task {
    state.task_of(JOB).expect("the job was handed out")
}

/// How often a runner has ended a task.
pub fn ends(task: &Task) -> usize {
    let told = task.states.iter();
    told.filter(|told| told.state.stopped_at.is_some() && !told.before.is_done())
        .count()
}

/// Waits for what no event tells: it looks again and again.
#[expect(
    clippy::disallowed_methods,
    reason = "a test without a runtime waits between two looks"
)]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
