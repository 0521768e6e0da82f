//! Time-outs and cancels of steps, in simulated time and with processes that obey signals by script.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod scripted;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use gantry_engine::backend::Signal::{Interrupt, Kill, Terminate};
use gantry_engine::backend::{BoxFuture, Signal};
use gantry_engine::clock::Clock;
use gantry_engine::expr::{Object, Value};
use gantry_engine::job::{Machine, Next, StepReport};
use gantry_engine::model::{RunsOn, Workflow};
use gantry_engine::plan::Conclusion::{Cancelled, Failure, Success};
use gantry_engine::plan::{Conclusion, JobContexts, JobPlan};
use gantry_engine::run::{
    Breakpoint, Decision, Entry, FailedStep, JobRuntime, SetUp, Settings, Stop, StopSwitch, run_step, set_up,
};
use scripted::{Scripted, Sent};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

const COMPOSITE: &str = "
runs:
  using: composite
  steps:
    - {run: x, shell: bash}
    - {run: never, shell: bash}
";

fn plan(step: &str) -> JobPlan {
    let text = format!("on: push\njobs: {{j: {{runs-on: x, steps: [{step}]}}}}");
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
            github: empty.clone(),
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

/// A job with one step that is ready to run.
struct Bench {
    runtime: Arc<JobRuntime>,
    machine: Machine,
    entries: mpsc::Receiver<Entry>,
    sandbox: Arc<Scripted>,
}

impl Bench {
    async fn new(step: &str) -> Self {
        Self::with(step, Settings::default()).await
    }

    async fn with(step: &str, settings: Settings) -> Self {
        let sandbox = Arc::new(Scripted::new([("./c/action.yml", COMPOSITE)]));
        let (sender, entries) = mpsc::channel(1024);
        let (_never, signal) = StopSwitch::new();
        let request = SetUp {
            plan: plan(step),
            sandbox: sandbox.clone(),
            entries: sender,
            clock: Clock::starting_at(SystemTime::UNIX_EPOCH),
            settings,
            runner_name: "bench".to_owned(),
            stop: signal,
        };
        let (runtime, _, machine) = set_up(request).await;
        Self {
            runtime,
            machine: machine.unwrap(),
            entries,
            sandbox,
        }
    }

    /// Runs the step; after the given times more is asked of it.
    async fn run(&mut self, stops: &[(u64, Stop)]) -> StepReport {
        let Next::Step(plan) = self.machine.advance() else {
            unreachable!("the job has a step")
        };
        let (switch, signal) = StopSwitch::new();
        let start = Instant::now();
        let stopping = async {
            for (second, stop) in stops {
                sleep(Duration::from_secs(*second).saturating_sub(start.elapsed())).await;
                switch.raise(*stop);
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            report = run_step(&self.runtime, *plan, signal) => report,
            () = stopping => unreachable!("it never ends"),
        }
    }

    fn rows(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        while let Ok(entry) = self.entries.try_recv() {
            if let Entry::Rows(more) = entry {
                rows.extend(more.iter().map(str::to_owned));
            }
        }
        rows
    }
}

/// What is to be seen of a step.
struct Expected<'a> {
    outcome: Conclusion,
    conclusion: Conclusion,
    /// The signals that its process gets, and after how many milliseconds.
    signals: &'a [(u64, Signal)],
    /// The last error of its log.
    error: Option<&'a str>,
}

async fn check(step: &str, stops: &[(u64, Stop)], expected: Expected<'_>) {
    let mut bench = Bench::new(step).await;
    let report = bench.run(stops).await;
    let rows = bench.rows();
    assert_eq!(report.outcome, expected.outcome, "{step}: {rows:#?}");
    assert_eq!(report.conclusion, expected.conclusion, "{step}");
    let signals: Vec<_> = bench
        .sandbox
        .sent()
        .iter()
        .map(|Sent { after, signal }| (*after, *signal))
        .collect();
    assert_eq!(signals, expected.signals, "{step}");
    let error = rows.iter().rev().find_map(|row| row.strip_prefix("##[error]"));
    assert_eq!(error, expected.error, "{step}: {rows:#?}");
}

/// A step whose process takes an hour and ends at a signal; `keys` are more keys of the step.
fn step(obeys: &str, keys: &str) -> String {
    format!("{{name: s, run: x, env: {{TAKES: 3600, OBEYS: {obeys}}}, {keys}}}")
}

fn failed<'a>(signals: &'a [(u64, Signal)], error: &'a str) -> Expected<'a> {
    Expected {
        outcome: Failure,
        conclusion: Failure,
        signals,
        error: Some(error),
    }
}

/// The process of a cancelled or timed-out step is always killed at the end: it may have left others.
#[tokio::test(start_paused = true)]
async fn a_time_out_climbs_the_ladder_as_far_as_it_must() {
    let error = "The action 's' has timed out after 2 minutes.";
    let limit = "timeout-minutes: \"${{ fromJSON('2') }}\"";
    let rows: [(&str, &[(u64, Signal)]); 3] = [
        ("interrupt", &[(120_000, Interrupt), (120_000, Kill)]),
        (
            "terminate",
            &[(120_000, Interrupt), (127_500, Terminate), (127_500, Kill)],
        ),
        (
            "kill",
            &[
                (120_000, Interrupt),
                (127_500, Terminate),
                (130_000, Kill),
                (130_000, Kill),
            ],
        ),
    ];
    for (obeys, signals) in rows {
        check(&step(obeys, limit), &[], failed(signals, error)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_out_may_be_tolerated() {
    let keys = "timeout-minutes: 1, continue-on-error: true";
    let expected = Expected {
        conclusion: Success,
        ..failed(
            &[(60_000, Interrupt), (60_000, Kill)],
            "The action 's' has timed out after 1 minutes.",
        )
    };
    check(&step("interrupt", keys), &[], expected).await;
}

#[tokio::test(start_paused = true)]
async fn whole_minutes_count_and_what_is_no_number_is_told() {
    let minute: &[(u64, Signal)] = &[(60_000, Interrupt), (60_000, Kill)];
    for text in ["1.9", "\"${{ fromJSON('1') }}\"", "\"${{ 1 }}\""] {
        let step = step("interrupt", &format!("timeout-minutes: {text}"));
        check(
            &step,
            &[],
            failed(minute, "The action 's' has timed out after 1 minutes."),
        )
        .await;
    }
    let passes = || Expected {
        outcome: Success,
        conclusion: Success,
        signals: &[],
        error: None,
    };
    for text in ["0", "-5", "0.5", "61"] {
        check(
            &step("interrupt", &format!("timeout-minutes: {text}")),
            &[],
            passes(),
        )
        .await;
    }
    // An environment holds texts only, and a text is no number.
    for (text, told) in [
        ("fromJSON('soon')", "Unexpected character"),
        ("env.TAKES", "Unexpected value '3600'"),
    ] {
        let step = step("interrupt", &format!("timeout-minutes: \"${{{{ {text} }}}}\""));
        let mut bench = Bench::new(&step).await;
        assert_eq!(bench.run(&[]).await.outcome, Success);
        let rows = bench.rows();
        let is_told = |row: &String| row.starts_with("##[error]") && row.contains(told);
        assert!(rows.iter().any(is_told), "{rows:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_composite_ends_with_its_time_out() {
    let step = "{name: s, uses: ./c, timeout-minutes: 1, env: {TAKES: 3600, OBEYS: interrupt}}";
    let error = "The action 's' has timed out after 1 minutes.";
    check(step, &[], failed(&[(60_000, Interrupt), (60_000, Kill)], error)).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_steps_whose_condition_no_longer_holds() {
    let cancelled = |signals| Expected {
        outcome: Cancelled,
        conclusion: Cancelled,
        signals,
        error: Some("The operation was canceled."),
    };
    let cancel: &[(u64, Stop)] = &[(10, Stop::Cancel)];
    let ladder: &[(u64, Signal)] = &[(10_000, Interrupt), (17_500, Terminate), (17_500, Kill)];
    for condition in ["success()", "true", "'always()'", "!cancelled()"] {
        let step = step("terminate", &format!("if: \"{condition}\""));
        check(&step, cancel, cancelled(ladder)).await;
    }
    let passes = Expected {
        outcome: Success,
        conclusion: Success,
        signals: &[],
        error: None,
    };
    check(&step("interrupt", "if: always()"), cancel, passes).await;
    let killed = [(10, Stop::Cancel), (20, Stop::Kill)];
    check(
        &step("interrupt", "if: always()"),
        &killed,
        cancelled(&[(20_000, Kill), (20_000, Kill)]),
    )
    .await;
    let ladder = [(10_000, Interrupt), (12_000, Kill), (12_000, Kill)];
    check(
        &step("kill", ""),
        &[(10, Stop::Cancel), (12, Stop::Kill)],
        cancelled(&ladder),
    )
    .await;
}

/// A person who takes an hour for each decision; the first ones are given, and then the failure stands.
#[derive(Debug)]
struct Slow(Mutex<Vec<Decision>>);

impl Breakpoint for Slow {
    fn decide(&self, failed: FailedStep) -> BoxFuture<'_, Decision> {
        assert_eq!((failed.name.as_str(), failed.code), ("s", None));
        Box::pin(async {
            sleep(Duration::from_hours(1)).await;
            self.0.lock().unwrap().pop().unwrap_or(Decision::Continue)
        })
    }
}

async fn decided(decisions: Vec<Decision>, stops: &[(u64, Stop)]) -> (Bench, StepReport) {
    let settings = Settings {
        breakpoint: Some(Arc::new(Slow(Mutex::new(decisions)))),
        ..Settings::default()
    };
    let mut bench = Bench::with(&step("interrupt", "timeout-minutes: 1"), settings).await;
    let report = bench.run(stops).await;
    (bench, report)
}

#[tokio::test(start_paused = true)]
async fn no_time_out_goes_on_while_a_person_decides() {
    let start = Instant::now();
    let (bench, report) = decided(vec![Decision::Rerun], &[]).await;
    assert_eq!(report.outcome, Failure);
    let after: Vec<_> = bench.sandbox.sent().iter().map(|sent| sent.after).collect();
    assert_eq!(
        after,
        [60_000, 60_000, 60_000, 60_000],
        "each process has its minute"
    );
    assert_eq!(start.elapsed(), Duration::from_mins(122));
    assert_eq!(bench.runtime.take_held(), Some(Duration::from_hours(2)));
    assert_eq!(bench.runtime.take_held(), None);
}

#[tokio::test(start_paused = true)]
async fn a_skipped_failure_is_a_success_and_a_cancel_asks_nobody() {
    let (_, report) = decided(vec![Decision::Skip], &[]).await;
    assert_eq!((report.outcome, report.conclusion), (Success, Success));
    let start = Instant::now();
    let (_, report) = decided(vec![Decision::Skip], &[(100, Stop::Cancel)]).await;
    assert_eq!(report.outcome, Failure);
    assert_eq!(start.elapsed(), Duration::from_secs(100));
}
