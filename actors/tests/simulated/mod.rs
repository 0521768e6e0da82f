//! A runner in simulated time, with a journal on disk, which can be killed.

pub mod forge;
pub mod sandbox;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_actors::engine::clock::Clock;
use gantry_actors::engine::expr::{Object, Value};
use gantry_actors::engine::model::{RunsOn, Workflow};
use gantry_actors::engine::plan::{JobContexts, JobPlan};
use gantry_actors::job::JobContext;
use gantry_actors::job::intake::Prepared;
use gantry_actors::journal::{Journal, Settings};
use gantry_actors::log_stream::Batching;
use gantry_actors::protocols::forge::{Claim, TaskId};
use gantry_actors::supervisor::{Drained, RunUntilDrained, Supervisor};

use forge::{Line, World};
use sandbox::SimulatedSandboxes;

/// A server, and a directory that survives the runner.
pub struct Bench {
    pub world: World,
    pub directory: tempfile::TempDir,
    pub sandboxes: Arc<SimulatedSandboxes>,
    pub intake: Arc<Prepared>,
    pub settings: Settings,
}

/// A runner that lives.
pub struct Life {
    pub supervisor: actix::Addr<Supervisor>,
    line: Arc<Line>,
    journal: std::path::PathBuf,
}

impl Bench {
    pub fn new() -> Self {
        Self {
            world: World::default(),
            directory: tempfile::tempdir().unwrap(),
            sandboxes: Arc::default(),
            intake: Arc::default(),
            settings: Settings::default(),
        }
    }

    /// Queues a job with these steps.
    pub fn queue(&self, task: TaskId, steps: &str) {
        self.intake.put(task, plan(steps));
        self.world.kept().claims.push_back(Claim::of(task));
    }

    /// Starts a runner with one slot whose journal has this name.
    pub fn start(&self, journal: &str) -> Life {
        let path = self.directory.path().join(journal);
        let line = Line::new(&self.world);
        let opened = Journal::open(&path, self.settings).unwrap();
        let context = JobContext {
            forge: line.clone(),
            intake: self.intake.clone(),
            sandboxes: self.sandboxes.clone(),
            clock: Clock::starting_at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)),
            settings: gantry_actors::engine::run::Settings::default(),
            runner_name: "simulated".to_owned(),
            batching: Batching::SERVER,
            journal: Some(opened.connection("forge")),
            copies: None,
            post_task: None,
        };
        Life {
            supervisor: Supervisor::start_new(context, gantry_actors::claimer::Polling::with_capacity(1)),
            line,
            journal: path,
        }
    }

    /// Kills a runner: what another one will find is what is on disk now.
    pub fn kill(&self, life: &Life, successor: &str) {
        life.line.cut_for_good();
        copy_tree(&life.journal, &self.directory.path().join(successor));
    }

    /// Runs a runner until nothing is left to do.
    pub fn run(&self, journal: &str) -> Drained {
        self.world.kept().exhausted = true;
        simulate(async { self.start(journal).run().await })
    }

    /// Nothing is left in a journal that nobody uses.
    pub fn assert_nothing_left(&self, journal: &str) {
        let opened = Journal::open(&self.directory.path().join(journal), self.settings).unwrap();
        assert_eq!(opened.connections().unwrap(), [""; 0]);
    }

    /// Whether a file of a task is there.
    pub fn has(&self, journal: &str, task: TaskId, file: &str) -> bool {
        let tasks = self.directory.path().join(journal).join("tasks/forge");
        tasks.join(task.to_string()).join(file).exists()
    }
}

impl Life {
    pub async fn run(&self) -> Drained {
        self.supervisor.send(RunUntilDrained).await.unwrap()
    }
}

/// Waits in simulated time for something that must happen.
pub async fn wait_for(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..2_000_000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("this has not happened: {what}");
}

/// Runs actors in simulated time: whenever nothing else is to be done, the clock goes on to the next timer.
pub fn simulate<T>(future: impl Future<Output = T>) -> T {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
    };
    // A test that waits for what never happens ends too: a day is over in seconds.
    let day = Duration::from_hours(24);
    let bounded = async move { tokio::time::timeout(day, future).await };
    let over = actix::System::with_tokio_rt(runtime).block_on(bounded);
    over.expect("it is over after a simulated day")
}

/// Copies files that somebody may be replacing.
fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else if let Err(error) = std::fs::copy(entry.path(), target) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
        }
    }
}

fn plan(steps: &str) -> JobPlan {
    let text = format!("on: push\njobs:\n  j:\n    runs-on: x\n    steps:\n{steps}");
    let workflow = Arc::new(Workflow::parse("w.yml", &text).unwrap());
    let job = workflow.jobs.first().unwrap().clone();
    let empty: Arc<Object> = Arc::default();
    JobPlan {
        run: 0,
        key: "j".to_owned(),
        name: "j".to_owned(),
        workflow,
        job,
        contexts: JobContexts {
            github: Arc::new(
                [("repository", Value::from("owner/repository"))]
                    .into_iter()
                    .collect(),
            ),
            inputs: empty.clone(),
            vars: empty.clone(),
            secrets: empty.clone(),
            needs: empty.clone(),
            strategy: empty,
            matrix: Value::Null,
        },
        runs_on: RunsOn::default(),
        timeout: None,
        cancel_timeout: Duration::from_mins(5),
        continue_on_error: false,
        conditions: Vec::new(),
    }
}
