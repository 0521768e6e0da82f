//! The server of a scenario, seen through its REST interface alone: the fake by default, a real one if the environment
//! names it.
//!
//! With `GANTRY_E2E_GITEA_URL` and `GANTRY_E2E_ADMIN_TOKEN` the scenarios of `cli` and `jobs` drive that server; its
//! address begins with `http://`, and it has to be in the local network, since nothing here speaks TLS.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Rules};
use serde_json::{Value, json};

use super::harness::{PATIENCE, Place};
use super::rest::Rest;
use super::scene::QUICK;

/// How often a real server is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// A server with a runner of this scenario's own.
pub struct Server {
    kind: Kind,
    rest: Rest,
    /// Tells the scenarios on one real server apart; empty on a server of its own.
    suffix: String,
}

enum Kind {
    Fake(FakeForge),
    Real,
}

impl Server {
    /// The servers on which a scenario has to hold: a fake of each dialect, or the real one.
    pub fn all() -> Vec<Self> {
        match Self::real() {
            Some(real) => vec![real],
            None => DIALECTS.map(|dialect| Self::fake(dialect.rules())).into(),
        }
    }

    fn fake(rules: Rules) -> Self {
        let forge = FakeForge::start_on_thread(rules);
        Self {
            rest: Rest::new(&forge.url(), &forge.admin_token()),
            kind: Kind::Fake(forge),
            suffix: String::new(),
        }
    }

    fn real() -> Option<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let url = std::env::var("GANTRY_E2E_GITEA_URL").ok()?;
        let token = std::env::var("GANTRY_E2E_ADMIN_TOKEN").expect("GANTRY_E2E_ADMIN_TOKEN");
        let count = COUNT.fetch_add(1, Ordering::SeqCst);
        Some(Self {
            kind: Kind::Real,
            rest: Rest::new(&url, &token),
            suffix: format!("-{}-{count}", std::process::id()),
        })
    }

    /// The name of the runner.
    pub fn runner_name(&self) -> String {
        format!("e2e{}", self.suffix)
    }

    /// A label as this scenario writes it in its workflows, as the server sees it.
    pub fn label(&self, label: &str) -> String {
        format!("{label}{}", self.suffix)
    }

    /// A place where a runner of this server is registered, with more lines of its configuration's section `runner`.
    pub fn place(&self, runner: &str) -> Place {
        self.place_with(runner, &[])
    }

    /// The same with more flags of `register`.
    pub fn place_with(&self, runner: &str, flags: &[&str]) -> Place {
        let place = Place::new();
        let own = place.path("");
        place.configure(&format!("{QUICK}  envs: {{E2E: '{}'}}\n{runner}", own.display()));
        let found = self
            .rest
            .try_post("admin/actions/runners/registration-token", &json!({}));
        let found = found.unwrap_or_else(|| self.rest.get("admin/runners/registration-token"));
        let labels = format!("{}:host", self.label("build"));
        let token = found["token"].as_str().expect("a token");
        place.register_as(self.rest.url(), token, (&self.runner_name(), &labels), flags);
        place
    }

    /// The runner as the server knows it now.
    pub fn runner(&self) -> Option<Value> {
        let listed = self.rest.try_get("admin/actions/runners");
        let listed = listed.unwrap_or_else(|| self.rest.get("admin/runners"));
        let all = listed["runners"].as_array().cloned().unwrap_or_default();
        all.into_iter()
            .find(|runner| runner["name"] == self.runner_name().as_str())
    }

    /// The names of the runner's labels.
    pub fn labels(&self) -> Vec<String> {
        let runner = self.runner().expect("the runner");
        let labels = runner["labels"].as_array().expect("labels").iter();
        labels
            .filter_map(|label| Some(label["name"].as_str()?.to_owned()))
            .collect()
    }

    /// Makes a repository.
    pub fn repository(&self) -> Repository<'_> {
        let wanted =
            json!({"name": format!("e2e{}", self.suffix), "auto_init": true, "default_branch": "main"});
        let made = self.rest.post("user/repos", &wanted);
        Repository {
            server: self,
            path: format!("repos/{}", made["full_name"].as_str().expect("a name")),
        }
    }

    /// Waits until something is so that a server can tell, and returns it.
    ///
    /// A fake is asked again after each call of its runner, and a runner at work calls all the time.
    pub fn wait<T>(&self, what: &str, condition: impl Fn() -> Option<T>) -> T {
        let real = (PATIENCE.as_millis() / PAUSE.as_millis()) as usize;
        let rounds = if matches!(self.kind, Kind::Real) {
            real
        } else {
            usize::MAX
        };
        for _ in 0..rounds {
            let seen = match &self.kind {
                Kind::Fake(forge) => forge.read(|state| state.calls().len()),
                Kind::Real => 0,
            };
            if let Some(found) = condition() {
                return found;
            }
            match &self.kind {
                Kind::Fake(forge) => {
                    forge.wait_for_blocking(what, |state| (state.calls().len() > seen).then_some(()));
                }
                Kind::Real => pause(),
            }
        }
        panic!("waited in vain for {what}")
    }

    /// Waits for a file that a job makes.
    pub fn wait_for_file(&self, path: &Path) {
        self.wait(&path.display().to_string(), || path.exists().then_some(()));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.kind, Kind::Real)
            && !std::thread::panicking()
            && let Some(runner) = self.runner()
        {
            self.rest
                .delete(&format!("admin/actions/runners/{}", runner["id"]));
        }
    }
}

/// A pause between two questions to a server that cannot tell when something changes.
fn pause() {
    let (_sender, never) = sync_channel::<()>(0);
    assert!(never.recv_timeout(PAUSE).is_err(), "nobody sends anything");
}

/// A repository of this scenario's own.
pub struct Repository<'a> {
    server: &'a Server,
    path: String,
}

impl Repository<'_> {
    /// Writes a file, with the labels in it as this server has them.
    pub fn write(&self, file: &str, text: &str) {
        let text = text.replace(
            "runs-on: build",
            &format!("runs-on: {}", self.server.label("build")),
        );
        let content = BASE64_STANDARD.encode(text);
        let path = format!("{}/contents/{file}", self.path);
        self.server.rest.post(
            &path,
            &json!({"content": content, "message": file, "branch": "main"}),
        );
    }

    /// Writes a workflow, and returns the number of the run that this starts.
    pub fn push(&self, workflow: &str) -> i64 {
        let before = self.runs();
        self.write(".gitea/workflows/ci.yaml", workflow);
        self.newer_than(&before)
    }

    /// Dispatches the workflow that was written as `ci.yaml`, and returns the number of the run.
    pub fn dispatch(&self, inputs: &Value) -> i64 {
        let before = self.runs();
        let path = format!("{}/actions/workflows/ci.yaml/dispatches", self.path);
        self.server
            .rest
            .post(&path, &json!({"ref": "main", "inputs": inputs}));
        self.newer_than(&before)
    }

    fn runs(&self) -> Vec<i64> {
        let found = self.server.rest.get(&format!("{}/actions/runs", self.path));
        let runs = found["workflow_runs"].as_array().cloned().unwrap_or_default();
        runs.iter().filter_map(|run| run["id"].as_i64()).collect()
    }

    fn newer_than(&self, before: &[i64]) -> i64 {
        self.server.wait("a run", || {
            self.runs().into_iter().find(|run| !before.contains(run))
        })
    }

    /// Cancels a run.
    pub fn cancel(&self, run: i64) {
        let path = format!("{}/actions/runs/{run}/cancel", self.path);
        self.server.rest.post(&path, &json!({}));
    }

    /// The jobs of a run.
    pub fn jobs(&self, run: i64) -> Vec<Value> {
        let found = self
            .server
            .rest
            .get(&format!("{}/actions/runs/{run}/jobs", self.path));
        found["jobs"].as_array().cloned().unwrap_or_default()
    }

    /// A job of a run.
    pub fn job(&self, run: i64, name: &str) -> Value {
        let jobs = self.jobs(run);
        let found = jobs.iter().find(|job| job["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("no job {name} in {jobs:#?}"))
    }

    /// How a job stands: its conclusion if it has one, else its status.
    pub fn state(&self, run: i64, name: &str) -> String {
        state_of(&self.job(run, name))
    }

    /// How many jobs of a run stand like this.
    pub fn count(&self, run: i64, state: &str) -> usize {
        self.jobs(run).iter().filter(|job| state_of(job) == state).count()
    }

    /// Waits until a job stands like this.
    pub fn wait_for_job(&self, run: i64, name: &str, state: &str) {
        self.server.wait(&format!("job {name} {state}"), || {
            (self.state(run, name) == state).then_some(())
        });
    }

    /// Waits until a run has ended, and returns its conclusion.
    pub fn wait_for(&self, run: i64) -> String {
        self.server.wait("the end of the run", || self.conclusion(run))
    }

    /// How a run has ended, if it has.
    pub fn conclusion(&self, run: i64) -> Option<String> {
        let found = self.server.rest.get(&format!("{}/actions/runs/{run}", self.path));
        let conclusion = found["conclusion"].as_str().filter(|text| !text.is_empty());
        conclusion.map(str::to_owned)
    }

    /// The log of a job, each row with its time before it.
    pub fn log(&self, run: i64, name: &str) -> String {
        let id = self.job(run, name)["id"].clone();
        self.server
            .rest
            .text(&format!("{}/actions/jobs/{id}/logs", self.path))
    }

    /// Waits until the log of a job that runs has this text.
    pub fn wait_for_log(&self, run: i64, name: &str, text: &str) {
        self.server.wait(&format!("{text:?} of job {name}"), || {
            let has_begun = self.state(run, name) != "queued";
            (has_begun && self.log(run, name).contains(text)).then_some(())
        });
    }
}

impl Drop for Repository<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.rest.delete(&self.path);
        }
    }
}

fn state_of(job: &Value) -> String {
    let conclusion = job["conclusion"].as_str().filter(|text| !text.is_empty());
    let state = conclusion.or(job["status"].as_str());
    state.expect("a state").to_owned()
}
