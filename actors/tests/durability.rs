//! Nothing is lost and nothing is doubled: outages of hours, lost answers, and kills at every phase, in simulated time.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod simulated;

use std::time::Duration;

use gantry_actors::journal::Settings;
use gantry_actors::protocols::forge::{Conclusion, TaskId};
use gantry_actors::supervisor::{RequestStop, StopLevel};

use simulated::sandbox::SimulatedSandboxes;
use simulated::{Bench, Life, simulate, wait_for};

const TASK: TaskId = TaskId(7);
const OTHER: TaskId = TaskId(8);

/// A step that prints so many rows, one every so many milliseconds.
fn prints(from: u64, to: u64, every: u64) -> String {
    format!("      - {{run: x, env: {{FROM: {from}, TO: {to}, EVERY: {every}}}}}\n")
}

fn rows(count: u64) -> Vec<String> {
    (0..count).map(|row| format!("row {row}")).collect()
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

/// The conclusion of the one report of a task, after all of its rows, with every step ended.
fn conclusion(bench: &Bench, task: TaskId) -> Conclusion {
    let kept = bench.world.kept();
    let reports: Vec<_> = kept.reports.iter().filter(|report| report.task == task).collect();
    assert_eq!(reports.len(), 1, "a task is reported exactly once");
    let report = reports.first().unwrap();
    for step in &report.steps {
        assert!(step.conclusion.is_some(), "{step:?}");
        assert!(step.log_first.0 + step.log_length <= report.rows.0);
    }
    report.conclusion
}

/// Runs the runner with a future beside it, until nothing is left to do.
fn run_with(bench: &Bench, beside: impl AsyncFnOnce(&Life)) {
    simulate(async {
        let life = bench.start("journal");
        let (drained, ()) = futures::future::join(life.run(), beside(&life)).await;
        assert_eq!(drained.undelivered, 0);
    });
    bench.assert_nothing_left("journal");
}

#[test]
fn a_two_hour_outage_during_a_job_costs_nothing() {
    let bench = Bench::new();
    bench.queue(TASK, &(prints(0, 2000, 5000) + &prints(2000, 2010, 5000)));
    run_with(&bench, async |_| {
        wait_for("rows arrive", || bench.world.printed(TASK).len() > 100).await;
        bench.world.cut();
        let before = bench.world.printed(TASK).len();
        tokio::time::sleep(hours(2)).await;
        assert_eq!(bench.world.printed(TASK).len(), before);
        bench.world.mend();
        bench.world.kept().exhausted = true;
    });
    assert_eq!(bench.world.printed(TASK), rows(2010));
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    let kept = bench.world.kept();
    let steps = &kept.reports.first().unwrap().steps;
    let [first, second] = steps.as_slice() else {
        panic!("two steps: {steps:?}");
    };
    let end_of_first = first.log_first.0 + first.log_length;
    assert_eq!(second.log_first.0, end_of_first);
    let last = usize::try_from(end_of_first).unwrap() - 1;
    assert_eq!(kept.rows[&TASK][last], "row 1999");
}

#[test]
fn a_job_that_ends_in_an_outage_frees_its_slot_and_is_reported_hours_later() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 20, 1000));
    bench.queue(OTHER, &prints(0, 10, 1000));
    run_with(&bench, async |_| {
        wait_for("rows arrive", || bench.world.printed(TASK).len() > 5).await;
        bench.world.cut_deliveries();
        wait_for("the other job starts", || bench.sandboxes.made() == 2).await;
        tokio::time::sleep(hours(2)).await;
        assert!(bench.has("journal", TASK, "report") && bench.has("journal", OTHER, "report"));
        assert_eq!(bench.world.kept().reports.len(), 0);
        bench.world.mend();
        bench.world.kept().exhausted = true;
    });
    assert_eq!(bench.world.printed(TASK), rows(20));
    assert_eq!(bench.world.printed(OTHER), rows(10));
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    assert_eq!(conclusion(&bench, OTHER), Conclusion::Success);
}

#[test]
fn lost_answers_double_nothing() {
    let bench = Bench::new();
    bench.queue(TASK, &(prints(0, 300, 200) + &prints(300, 301, 1)));
    bench.world.lose_answers();
    assert_eq!(bench.run("journal").undelivered, 0);
    assert_eq!(bench.world.printed(TASK), rows(301));
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    bench.assert_nothing_left("journal");
}

#[test]
fn a_silent_job_is_told_of_every_few_seconds_and_hears_of_a_cancel() {
    let bench = Bench::new();
    let steps = "      - {run: x, env: {REST: 4000}}\n      - {run: y, if: always(), env: {TO: 1}}\n";
    bench.queue(TASK, steps);
    run_with(&bench, async |_| {
        tokio::time::sleep(Duration::from_mins(10)).await;
        bench.world.kept().cancelled.insert(TASK);
        bench.world.kept().exhausted = true;
    });
    assert_eq!(conclusion(&bench, TASK), Conclusion::Cancelled);
    assert_eq!(bench.world.printed(TASK), rows(1));
    let kept = bench.world.kept();
    let gaps = kept.updates.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.max().unwrap() < Duration::from_secs(6));
    let told = kept.updates.len();
    assert!((110..140).contains(&told), "{told} updates in ten minutes");
}

#[test]
fn a_task_that_the_forge_does_not_know_is_dropped() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 20, 1000));
    bench.world.kept().unknown.insert(TASK);
    assert_eq!(bench.run("journal").undelivered, 0);
    assert_eq!(bench.world.kept().said, 1);
    bench.assert_nothing_left("journal");
}

#[test]
fn a_task_that_is_handed_out_again_runs_once() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 20, 1000));
    run_with(&bench, async |_| {
        wait_for("rows arrive", || bench.world.printed(TASK).len() > 5).await;
        bench.world.cut_deliveries();
        // The slot is free, and the server has not heard of the job's end.
        wait_for("the job has ended", || bench.has("journal", TASK, "report")).await;
        bench.queue(TASK, &prints(0, 20, 1000));
        tokio::time::sleep(Duration::from_mins(5)).await;
        bench.world.mend();
        bench.world.kept().exhausted = true;
    });
    assert_eq!(bench.sandboxes.made(), 1);
    assert_eq!(bench.world.printed(TASK), rows(20));
}

#[test]
fn a_full_spool_is_said_in_the_log_and_the_job_goes_on() {
    let mut bench = Bench::new();
    bench.settings = Settings {
        cap: 0,
        ..Settings::default()
    };
    let wide = "      - {run: x, env: {TO: 300, EVERY: 1000, WIDTH: 50000}}\n";
    bench.queue(TASK, &(wide.to_owned() + &prints(0, 1, 1)));
    run_with(&bench, async |_| {
        wait_for("rows arrive", || bench.world.printed(TASK).len() > 10).await;
        bench.world.cut();
        tokio::time::sleep(Duration::from_mins(4)).await;
        bench.world.mend();
        bench.world.kept().exhausted = true;
    });
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    let rows = bench.world.rows(TASK);
    let notices: Vec<&String> = rows.iter().filter(|row| row.starts_with("##[warning]")).collect();
    assert_eq!(notices.len(), 1);
    let missing: usize = notices[0]
        .trim_start_matches("##[warning]")
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        notices[0].contains("the spool has reached its cap"),
        "{notices:?}"
    );
    assert_eq!(bench.world.printed(TASK).len() + missing, 301);
}

#[test]
fn a_job_whose_actor_dies_is_reported_as_a_bug_and_the_others_go_on() {
    let bench = Bench::new();
    bench.world.kept().deadly = true;
    bench.queue(TASK, &prints(0, 20, 1000));
    bench.queue(OTHER, &prints(0, 10, 1000));
    assert_eq!(bench.run("journal").undelivered, 0);
    assert_eq!(conclusion(&bench, TASK), Conclusion::Failure);
    assert!(last_row(&bench).contains("runner bug, please report it"));
    assert_eq!(conclusion(&bench, OTHER), Conclusion::Success);
    bench.assert_nothing_left("journal");
}

/// Starts a runner, kills it when something has happened, and lets a second one bring the task to its end.
fn killed_when(bench: &Bench, what: &str, happened: impl Fn() -> bool) {
    simulate(async {
        let life = bench.start("first");
        let wait = wait_for(what, happened);
        tokio::pin!(wait);
        futures::future::select(Box::pin(life.run()), &mut wait).await;
        bench.kill(&life, "second");
    });
    // The server may hand the task out again: it has not heard of its end.
    bench.queue(TASK, &prints(0, 20, 1000));
    bench.world.mend();
    assert_eq!(bench.run("second").undelivered, 0);
    bench.assert_nothing_left("second");
    assert_eq!(bench.sandboxes.made(), 1, "the task ran once");
}

fn last_row(bench: &Bench) -> String {
    bench.world.rows(TASK).pop().unwrap()
}

const REASON: &str = "##[error]The runner was stopped while this job ran; the job can be run again.";

#[test]
fn a_kill_after_the_claim_is_reported_with_its_reason() {
    let bench = Bench {
        sandboxes: std::sync::Arc::new(SimulatedSandboxes::slow(hours(1))),
        ..Bench::new()
    };
    bench.queue(TASK, &prints(0, 20, 1000));
    killed_when(&bench, "the job is set up", || bench.sandboxes.made() == 1);
    assert_eq!(conclusion(&bench, TASK), Conclusion::Failure);
    assert_eq!(last_row(&bench), REASON);
}

#[test]
fn a_kill_while_steps_run_keeps_the_rows_and_is_reported_with_its_reason() {
    let bench = Bench::new();
    bench.queue(TASK, &(prints(0, 10, 1000) + &prints(10, 20, 1000)));
    killed_when(&bench, "rows arrive", || bench.world.printed(TASK).len() > 12);
    assert_eq!(conclusion(&bench, TASK), Conclusion::Failure);
    assert_eq!(last_row(&bench), REASON);
    let printed = bench.world.printed(TASK);
    assert!(printed.len() > 12);
    assert_eq!(printed, rows(printed.len() as u64));
    let kept = bench.world.kept();
    let steps = &kept.reports.first().unwrap().steps;
    let conclusions: Vec<_> = steps.iter().map(|step| step.conclusion.unwrap()).collect();
    assert_eq!(conclusions, [Conclusion::Success, Conclusion::Failure]);
}

#[test]
fn a_kill_while_rows_wait_for_the_forge_keeps_rows_and_conclusion() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 20, 1000));
    let world = bench.world.clone();
    killed_when(&bench, "the report is kept", || {
        if world.printed(TASK).len() > 5 {
            world.cut();
        }
        bench.has("first", TASK, "report")
    });
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    assert_eq!(bench.world.printed(TASK), rows(20));
}

#[test]
fn a_kill_while_the_report_waits_keeps_the_conclusion() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 20, 1000));
    bench.world.kept().away.insert("complete");
    killed_when(&bench, "the last word is said", || bench.world.kept().said > 2);
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    assert_eq!(bench.world.printed(TASK), rows(20));
}

#[test]
fn a_kill_after_the_report_says_the_last_word_again() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 20, 1000));
    bench.world.kept().losing.insert("complete");
    killed_when(&bench, "the report arrives", || {
        !bench.world.kept().reports.is_empty()
    });
    assert_eq!(conclusion(&bench, TASK), Conclusion::Success);
    assert!(bench.world.kept().said > 1);
}

#[test]
fn whoever_kills_the_runner_does_not_wait_for_the_forge_and_the_next_one_delivers() {
    let bench = Bench::new();
    bench.queue(TASK, &prints(0, 2000, 1000));
    simulate(async {
        let life = bench.start("journal");
        let stop = async {
            wait_for("rows arrive", || bench.world.printed(TASK).len() > 5).await;
            bench.world.cut();
            tokio::time::sleep(Duration::from_mins(1)).await;
            life.supervisor
                .send(RequestStop(StopLevel::Killing))
                .await
                .unwrap();
        };
        let (drained, ()) = futures::future::join(life.run(), stop).await;
        assert_eq!((drained.level, drained.undelivered), (StopLevel::Killing, 1));
        bench.kill(&life, "next");
    });
    bench.world.mend();
    assert_eq!(bench.run("next").undelivered, 0);
    assert_eq!(conclusion(&bench, TASK), Conclusion::Cancelled);
    let printed = bench.world.printed(TASK);
    assert!(printed.len() > 60);
    assert_eq!(printed, rows(printed.len() as u64));
}
