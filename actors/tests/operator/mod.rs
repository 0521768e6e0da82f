//! A runner with one job and what its operator has added to every job.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_actors::claimer::Polling;
use gantry_actors::engine::backend::host::Listing;
use gantry_actors::engine::clock::Clock;
use gantry_actors::engine::expr::{Object, Value};
use gantry_actors::engine::model::{RunsOn, Workflow};
use gantry_actors::engine::plan::{JobContexts, JobPlan};
use gantry_actors::engine::run::{Hooks, Settings};
use gantry_actors::job::JobContext;
use gantry_actors::job::intake::Prepared;
use gantry_actors::local::HostSandboxes;
use gantry_actors::log_stream::Batching;
use gantry_actors::operator::{LogCopies, PostTask};
use gantry_actors::protocols::forge::{Claim, Conclusion, TaskId};
use gantry_actors::supervisor::{RequestStop, RunUntilDrained, StopLevel, Supervisor};
use gantry_fakes::ScriptedForge;

pub const TASK: TaskId = TaskId(7);
const SECOND: TaskId = TaskId(8);

/// 2026-01-02 03:04:05 UTC
pub const START: Duration = Duration::from_secs(1_767_323_045);

/// A runner with one job, whose steps are given.
pub struct Bench {
    pub forge: Arc<ScriptedForge>,
    pub settings: Settings,
    pub timeout: Option<Duration>,
    pub cancel_timeout: Duration,
    pub copies: Option<LogCopies>,
    pub post_task: Option<PostTask>,
    steps: String,
    directory: tempfile::TempDir,
}

impl Bench {
    pub fn new(steps: &str) -> Self {
        Self {
            forge: Arc::new(ScriptedForge::new([Claim::of(TASK)], [])),
            settings: Settings::default(),
            timeout: Some(Duration::from_mins(2)),
            cancel_timeout: Duration::from_secs(30),
            copies: None,
            post_task: None,
            steps: steps.to_owned(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// A runner that gets the job twice, and has one place.
    pub fn twice(steps: &str) -> Self {
        let claims = [TASK, SECOND].map(Claim::of);
        Self {
            forge: Arc::new(ScriptedForge::new(claims, [])),
            ..Self::new(steps)
        }
    }

    /// Runs a script of the operator after each job; it finds `OUT` and the directory of the jobs in its environment.
    pub fn after_each_job(&mut self, script: &str, timeout: Duration) {
        let variable = |name: &str, path: PathBuf| (name.to_owned(), path.to_str().unwrap().to_owned());
        self.post_task = Some(PostTask {
            script: script_path(script),
            timeout,
            env: vec![
                variable("OUT", self.path("out")),
                variable("JOBS", self.path("jobs")),
            ],
        });
    }

    /// A place of the test's own.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file that a shell reads; it is never executed itself.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Sets the hooks: scripts for a shell.
    pub fn hooks(&mut self, started: Option<&str>, completed: Option<&str>) {
        self.settings.hooks = Hooks {
            job_started: started.map(|text| self.file("started.sh", text)),
            job_completed: completed.map(|text| self.file("completed.sh", text)),
        };
    }

    fn supervisor(&self) -> actix::Addr<Supervisor> {
        let source = self.path("source");
        std::fs::create_dir_all(&source).unwrap();
        let sandboxes = HostSandboxes {
            root: self.path("jobs"),
            source: Some(source),
            tool_cache: None,
            copy_ignored: false,
            listing: Listing::default(),
            allowed_environment: Vec::new(),
        };
        let intake = Arc::new(Prepared::default());
        for task in [TASK, SECOND] {
            intake.put(task, self.plan());
        }
        let context = JobContext {
            forge: self.forge.clone(),
            intake,
            sandboxes: Arc::new(sandboxes),
            clock: Clock::starting_at(SystemTime::UNIX_EPOCH + START),
            settings: self.settings.clone(),
            runner_name: "bench".to_owned(),
            batching: Batching::IMMEDIATE,
            journal: None,
            copies: self.copies.clone().map(Arc::new),
            post_task: self.post_task.clone().map(Arc::new),
        };
        Supervisor::start_new(context, Polling::with_capacity(1))
    }

    /// Runs the job to its end.
    pub fn run(&self) -> Conclusion {
        self.run_and(async |_| {})
    }

    /// Runs the job to its end, and does something meanwhile.
    pub fn run_and(&self, meanwhile: impl AsyncFnOnce(&actix::Addr<Supervisor>)) -> Conclusion {
        gantry_actors::runtime::block_on(async {
            let supervisor = self.supervisor();
            let run = supervisor.send(RunUntilDrained);
            futures::future::join(run, meanwhile(&supervisor))
                .await
                .0
                .unwrap();
        })
        .unwrap();
        let reports = self.forge.reports();
        reports.first().unwrap().conclusion
    }

    /// Stops the runner once a file is there.
    pub fn stop_once(&self, file: &str, level: StopLevel) -> Conclusion {
        let file = self.path(file);
        self.run_and(async |supervisor| {
            wait_for_file(&file).await;
            supervisor.send(RequestStop(level)).await.unwrap();
        })
    }

    pub fn rows(&self) -> Vec<String> {
        self.forge.rows(TASK)
    }

    /// The rows that start so.
    pub fn printed(&self, prefix: &str) -> Vec<String> {
        let mut rows = self.rows();
        rows.retain(|row| row.starts_with(prefix));
        rows
    }

    /// How many directories of jobs there are.
    pub fn directories(&self) -> usize {
        std::fs::read_dir(self.path("jobs")).unwrap().count()
    }

    fn plan(&self) -> JobPlan {
        let text = format!(
            "on: push\njobs:\n  j:\n    runs-on: x\n    steps:\n{}",
            self.steps
        );
        let workflow = Arc::new(Workflow::parse("w.yml", &text).unwrap());
        let job = workflow.jobs.first().unwrap().clone();
        let empty: Arc<Object> = Arc::default();
        let github: Object = [
            ("repository", Value::from("owner/repository")),
            ("run_id", Value::from("42")),
        ]
        .into_iter()
        .collect();
        let secrets: Object = [("TOKEN", Value::from("s3cret-value"))].into_iter().collect();
        JobPlan {
            run: 0,
            key: "j".to_owned(),
            name: "j".to_owned(),
            workflow,
            job,
            contexts: JobContexts {
                github: Arc::new(github),
                inputs: empty.clone(),
                vars: empty.clone(),
                secrets: Arc::new(secrets),
                needs: empty.clone(),
                strategy: empty,
                matrix: Value::Null,
            },
            runs_on: RunsOn::default(),
            timeout: self.timeout,
            cancel_timeout: self.cancel_timeout,
            continue_on_error: false,
            conditions: Vec::new(),
        }
    }
}

pub async fn wait_for_file(path: &Path) {
    wait_until(|| path.exists()).await;
}

pub async fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A script of the operator; it was never written to by this process, which could not start it then.
pub fn script_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/operator/scripts")
        .join(name)
}
