//! A fake server with a registered runner, for scenarios that look into the server or break it.

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Dialect, Status};

use super::harness::{Daemon, Place};

/// What every scenario's runner has in its configuration, so that the server soon hears of everything.
pub const QUICK: &str =
    "  log_report_interval: 100ms\n  log_report_max_latency: 50ms\n  state_report_interval: 200ms\n";

/// A server and a place where its runner `e2e` with the label `build` is registered.
pub struct Scene {
    pub forge: FakeForge,
    pub place: Place,
}

impl Scene {
    /// Registers the runner, with more lines of its configuration's section `runner`.
    pub fn new(dialect: Dialect, runner: &str) -> Self {
        let forge = FakeForge::start_on_thread(dialect.rules());
        let place = Place::new();
        let scene = Self { forge, place };
        scene.configure(runner);
        let (url, token) = (scene.forge.url(), scene.forge.registration_token());
        scene.place.register(&url, &token, "build:host");
        scene
    }

    /// Writes the configuration anew.
    pub fn configure(&self, runner: &str) {
        let own = self.place.path("");
        let lines = format!("{QUICK}  envs: {{E2E: '{}'}}\n{runner}", own.display());
        self.place.configure(&lines);
    }

    /// Starts the daemon, and waits until the server knows of it.
    pub fn daemon(&self) -> Daemon {
        self.place.declared(&[])
    }

    /// Waits for the end of a run.
    pub fn wait(&self, run: i64) -> Status {
        self.forge.wait_for_blocking("the end of the run", |state| {
            Some(state.status_of(run)).filter(|status| status.is_done())
        })
    }

    /// Runs a workflow, which has to go well.
    pub fn succeed(&self, workflow: &str) -> i64 {
        let run = self.forge.push(workflow);
        let status = self.wait(run);
        assert_eq!(status, Status::Success, "{:#?}", self.logs(run));
        run
    }

    /// The log of the newest job with this name.
    pub fn log(&self, job: &str) -> String {
        self.forge.read(|state| state.log_of(job)).join("\n")
    }

    fn logs(&self, run: i64) -> Vec<String> {
        self.forge.read(|state| {
            let names = state.jobs_of(run).map(|job| job.name.clone());
            names.flat_map(|name| state.log_of(&name)).collect()
        })
    }

    /// Waits for a file that a job makes; the server is called again and again meanwhile.
    pub fn wait_for_file(&self, name: &str) {
        let path = self.place.path(name);
        self.forge
            .wait_for_blocking(name, |_| path.exists().then_some(()));
    }
}
