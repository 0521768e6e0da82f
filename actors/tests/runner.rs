//! The whole runner against a forge that fails by script: real steps on this machine, nothing lost, nothing doubled.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_actors::claimer::Polling;
use gantry_actors::engine::backend::host::Listing;
use gantry_actors::engine::clock::Clock;
use gantry_actors::engine::expr::{Object, Value};
use gantry_actors::engine::model::{RunsOn, Workflow};
use gantry_actors::engine::plan::{JobContexts, JobPlan};
use gantry_actors::engine::run::Settings;
use gantry_actors::job::JobContext;
use gantry_actors::job::intake::Prepared;
use gantry_actors::local::HostSandboxes;
use gantry_actors::log_stream::Batching;
use gantry_actors::protocols::forge::{Claim, Conclusion, TaskId};
use gantry_actors::supervisor::{Drained, RequestStop, RunUntilDrained, StopLevel, Supervisor};
use gantry_fakes::{Fault, ScriptedForge};

const TASK: TaskId = TaskId(1);

/// A runner with one job, whose steps are given, and a forge that fails as `faults` say.
struct Bench {
    forge: Arc<ScriptedForge>,
    intake: Arc<Prepared>,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new(steps: &str, forge: ScriptedForge) -> Self {
        Self::of(plan(steps), forge)
    }

    fn of(plan: JobPlan, forge: ScriptedForge) -> Self {
        let intake = Arc::new(Prepared::default());
        intake.put(TASK, plan);
        Self {
            forge: Arc::new(forge),
            intake,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn supervisor(&self) -> actix::Addr<Supervisor> {
        let source = self.directory.path().join("source");
        std::fs::create_dir_all(&source).unwrap();
        let sandboxes = HostSandboxes {
            root: self.directory.path().join("jobs"),
            source: Some(source),
            tool_cache: Some(self.directory.path().join("tools")),
            copy_ignored: false,
            listing: Listing::default(),
            allowed_environment: Vec::new(),
        };
        let context = JobContext {
            forge: self.forge.clone(),
            intake: self.intake.clone(),
            sandboxes: Arc::new(sandboxes),
            clock: Clock::starting_at(SystemTime::UNIX_EPOCH),
            settings: Settings::default(),
            runner_name: "bench".to_owned(),
            batching: Batching::IMMEDIATE,
            journal: None,
            copies: None,
            post_task: None,
        };
        Supervisor::start_new(context, Polling::with_capacity(1))
    }

    fn run(&self) -> Drained {
        block_on(async { self.supervisor().send(RunUntilDrained).await.unwrap() })
    }

    /// The rows that the job's own commands printed.
    fn printed(&self, prefix: &str) -> Vec<String> {
        self.forge
            .rows(TASK)
            .into_iter()
            .filter(|row| row.starts_with(prefix))
            .collect()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    gantry_actors::runtime::block_on(future).unwrap()
}

fn claim() -> Claim {
    Claim::of(TASK)
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
        timeout: Some(Duration::from_mins(2)),
        cancel_timeout: Duration::from_secs(30),
        continue_on_error: false,
        conditions: Vec::new(),
    }
}

fn conclusion(bench: &Bench) -> Conclusion {
    let reports = bench.forge.reports();
    assert_eq!(reports.len(), 1, "a job is reported exactly once");
    reports.first().unwrap().conclusion
}

#[test]
fn a_job_runs_and_its_rows_come_before_its_report() {
    let bench = Bench::new(
        "      - run: seq -f 'row %g' 1 1000\n",
        ScriptedForge::new([claim()], []),
    );
    assert_eq!(
        bench.run(),
        Drained {
            level: StopLevel::Running,
            refused: false,
            cancelled_jobs: false,
            undelivered: 0,
        }
    );
    let want: Vec<String> = (1..=1000).map(|row| format!("row {row}")).collect();
    assert_eq!(bench.printed("row "), want);
    assert_eq!(conclusion(&bench), Conclusion::Success);
    assert_eq!(bench.forge.rows_at_report(), Some(bench.forge.rows(TASK).len()));
    let step = bench.forge.step(TASK, 0).unwrap();
    let rows = bench.forge.rows(TASK);
    let first = usize::try_from(step.log_first.0).unwrap();
    let slice = &rows[first..first + usize::try_from(step.log_length).unwrap()];
    assert!(
        slice.first().unwrap().starts_with("##[group]Run seq"),
        "{slice:?}"
    );
    assert_eq!(slice.last().unwrap(), "row 1000");
}

#[test]
fn lost_answers_and_refused_calls_lose_and_double_nothing() {
    let faults = [Fault::LoseAnswer, Fault::TakeHalf, Fault::Refuse, Fault::None];
    let script = faults.into_iter().cycle().take(24);
    let bench = Bench::new(
        "      - run: seq -f 'a %g' 1 50\n      - run: seq -f 'b %g' 1 50\n",
        ScriptedForge::new([claim()], script),
    );
    bench.run();
    let numbered = |name: &str| (1..=50).map(|row| format!("{name} {row}")).collect::<Vec<_>>();
    assert_eq!(bench.printed("a "), numbered("a"), "{:?}", bench.forge.rows(TASK));
    assert_eq!(bench.printed("b "), numbered("b"));
    assert_eq!(conclusion(&bench), Conclusion::Success);
}

#[test]
fn a_cancel_in_an_answer_ends_the_step_and_runs_the_clean_up() {
    // The forge answers with a cancel as soon as the second step is announced.
    let steps = "      - run: echo first\n      - run: sleep 300\n      - run: echo never\n      - if: always()\n        run: echo clean-up\n";
    let bench = Bench::new(steps, ScriptedForge::new([claim()], []).cancelling_at_step(1));
    bench.run();
    assert_eq!(conclusion(&bench), Conclusion::Cancelled);
    assert_eq!(bench.printed("clean-up"), ["clean-up"]);
    assert_eq!(bench.printed("never"), [""; 0]);
    let slept = bench.forge.step(TASK, 1).unwrap();
    assert_eq!(slept.conclusion, Some(Conclusion::Cancelled));
    assert_eq!(
        bench.forge.step(TASK, 2).unwrap().conclusion,
        Some(Conclusion::Skipped)
    );
}

#[test]
fn a_job_that_is_out_of_time_is_ended_and_still_cleans_up() {
    let steps = "      - run: sleep 300\n      - run: echo never\n      - if: always()\n        run: echo clean-up ${{ job.status }}\n";
    let plan = JobPlan {
        timeout: Some(Duration::from_millis(500)),
        ..plan(steps)
    };
    let bench = Bench::of(plan, ScriptedForge::new([claim()], []));
    bench.run();
    assert_eq!(conclusion(&bench), Conclusion::Cancelled);
    assert_eq!(bench.printed("clean-up"), ["clean-up cancelled"]);
    assert_eq!(bench.printed("never"), [""; 0]);
    let told = bench.printed("##[error]The job has exceeded the maximum execution time of ");
    assert_eq!(told.len(), 1, "{:?}", bench.forge.rows(TASK));
}

#[test]
fn clean_up_after_a_time_out_has_a_limit_of_its_own() {
    let steps = "      - run: sleep 300\n      - if: always()\n        run: trap '' INT TERM; sleep 300\n      - if: always()\n        run: echo never\n";
    let plan = JobPlan {
        timeout: Some(Duration::from_millis(300)),
        cancel_timeout: Duration::from_millis(500),
        ..plan(steps)
    };
    let bench = Bench::of(plan, ScriptedForge::new([claim()], []));
    bench.run();
    assert_eq!(conclusion(&bench), Conclusion::Cancelled);
    assert_eq!(bench.printed("never"), [""; 0]);
    let left = std::fs::read_dir(bench.directory.path().join("jobs"))
        .unwrap()
        .count();
    assert_eq!(left, 0);
}

#[test]
fn a_kill_ends_everything_and_the_job_is_still_reported() {
    let bench = Bench::new(
        "      - run: trap '' INT TERM; echo started; sleep 300\n      - if: always()\n        run: echo never\n",
        ScriptedForge::new([claim()], []),
    );
    let drained = block_on(async {
        let supervisor = bench.supervisor();
        let run = supervisor.send(RunUntilDrained);
        let kill = async {
            while bench.printed("started").is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            supervisor.send(RequestStop(StopLevel::Killing)).await.unwrap();
        };
        futures::future::join(run, kill).await.0.unwrap()
    });
    assert_eq!(drained.level, StopLevel::Killing);
    assert_eq!(conclusion(&bench), Conclusion::Cancelled);
    assert_eq!(bench.printed("never"), [""; 0]);
}

#[test]
fn nothing_of_a_job_is_left_behind() {
    let bench = Bench::new(
        "      - run: sleep 300 & mkdir -p a/b && touch a/b/c && chmod 0 a\n",
        ScriptedForge::new([claim()], []),
    );
    bench.run();
    assert_eq!(conclusion(&bench), Conclusion::Success);
    assert!(
        bench.printed("Terminate orphan process").len() == 1,
        "{:?}",
        bench.forge.rows(TASK)
    );
    let left = std::fs::read_dir(bench.directory.path().join("jobs"))
        .unwrap()
        .count();
    assert_eq!(left, 0);
}
