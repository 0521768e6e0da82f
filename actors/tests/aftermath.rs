//! What the operator has of each job besides the forge's log: a program after it, and a copy of its log.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod operator;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gantry_actors::operator::{Aftermath, LogCopies};
use gantry_actors::protocols::forge::{Claim, Conclusion, Given};
use gantry_actors::supervisor::{RequestStop, StopLevel};
use operator::{Bench, TASK, wait_for_file, wait_until};
use serde_json::json;

const LONG: Duration = Duration::from_mins(5);

fn is_gone(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    state.map_or(true, |stat| {
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
    })
}

#[test]
fn the_program_after_a_job_has_a_clean_environment_and_finds_nothing_of_the_job() {
    let mut bench = Bench::new("      - run: pwd > $WHERE; exit 1\n");
    let place = bench.path("where").to_str().unwrap().to_owned();
    bench.settings.env.push(("WHERE".to_owned(), place.clone()));
    bench.after_each_job("report.sh", LONG);
    assert_eq!(bench.run(), Conclusion::Failure);
    let workspace = std::fs::read_to_string(place).unwrap();
    let mut env: Vec<String> = std::fs::read_to_string(bench.path("out"))
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    env.sort();
    let out = bench.path("out").display().to_string();
    let jobs = bench.path("jobs").display().to_string();
    assert_eq!(
        env,
        [
            "GITEA_JOB_RESULT=failure".to_owned(),
            "GITEA_REPOSITORY=".to_owned(),
            "GITEA_RUN_ID=".to_owned(),
            "GITEA_TASK_ID=7".to_owned(),
            format!("GITEA_WORKSPACE={}", workspace.trim()),
            format!("JOBS={jobs}"),
            format!("OUT={out}"),
        ]
    );
    assert_eq!(std::fs::read_to_string(bench.path("out.left")).unwrap(), "");
}

#[test]
fn the_program_hears_of_the_run_and_the_repository() {
    let context = json!({"run_id": 42, "repository": "owner/repository"});
    let mut claim = Claim::of(TASK);
    claim.given = Arc::new(Given {
        context: context.as_object().unwrap().clone(),
        ..Given::default()
    });
    let told = Aftermath::of(&claim, "/w".to_owned(), Conclusion::Skipped);
    assert_eq!(
        (told.run.as_str(), told.repository.as_str()),
        ("42", "owner/repository")
    );
}

#[test]
fn the_place_of_a_job_is_free_only_after_the_program() {
    let mut bench = Bench::twice("      - run: echo job >> $ORDER\n");
    let order = bench.path("out.order").to_str().unwrap().to_owned();
    bench.settings.env.push(("ORDER".to_owned(), order.clone()));
    bench.after_each_job("report.sh", LONG);
    bench.run();
    assert_eq!(bench.forge.reports().len(), 2);
    assert_eq!(
        std::fs::read_to_string(order).unwrap(),
        "job\nafter 7\njob\nafter 8\n"
    );
}

#[test]
fn a_program_that_fails_or_is_missing_changes_nothing_for_the_job() {
    for (script, code) in [("report.sh", "3"), ("missing.sh", "0")] {
        let mut bench = Bench::new("      - run: echo step\n");
        bench.after_each_job(script, LONG);
        let post_task = bench.post_task.as_mut().unwrap();
        post_task.env.push(("CODE".to_owned(), code.to_owned()));
        assert_eq!(bench.run(), Conclusion::Success, "{script}");
        assert_eq!(bench.path("out").exists(), code == "3");
    }
}

#[test]
fn a_program_that_takes_too_long_is_killed() {
    let mut bench = Bench::new("      - run: echo step\n");
    bench.after_each_job("deaf.sh", Duration::from_millis(300));
    assert_eq!(bench.run(), Conclusion::Success);
}

#[test]
fn a_runner_that_must_end_kills_the_program_and_all_that_it_has_started() {
    let mut bench = Bench::new("      - run: echo step\n");
    bench.after_each_job("deaf.sh", LONG);
    let out = bench.path("out");
    let conclusion = bench.run_and(async |supervisor| {
        wait_for_file(&out).await;
        // The forge has the report while the program still runs.
        wait_until(|| !bench.forge.reports().is_empty()).await;
        supervisor.send(RequestStop(StopLevel::Killing)).await.unwrap();
    });
    assert_eq!(conclusion, Conclusion::Success, "the job was over");
    let pids = std::fs::read_to_string(&out).unwrap();
    for pid in pids.split_whitespace() {
        assert!(is_gone(pid), "{pid} of {pids}");
    }
}

fn copies(bench: &Bench) -> LogCopies {
    LogCopies {
        directory: bench.path("copies"),
        retention: Some(Duration::from_hours(24)),
        max_size: None,
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_copy_of_the_log_has_every_row_masked_and_ends_with_the_conclusion() {
    let mut bench =
        Bench::new("      - run: seq -f 'row %g' 1 5000; echo s3cret-value\n      - run: exit 2\n");
    bench.copies = Some(copies(&bench));
    assert_eq!(bench.run(), Conclusion::Failure);
    let directory = bench.path("copies");
    let path = directory.join("20260102-030405-task-7.log");
    assert_eq!((mode(&directory), mode(&path)), (0o700, 0o600));
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = Vec::new();
    for line in text.lines() {
        let (time, row) = line.split_at("2026-01-02T03:04:05.000Z".len());
        assert!(
            time.starts_with("2026-01-02T03:0") && time.ends_with('Z'),
            "{line}"
        );
        rows.push(row.strip_prefix(' ').unwrap().to_owned());
    }
    let last = rows.pop().unwrap();
    assert_eq!(last, "[runner] task 7 finished: failure");
    assert_eq!(rows, bench.rows(), "the same rows as the forge has");
    assert!(rows.iter().any(|row| row == "***"));
}

#[test]
fn a_copy_has_a_limit_and_old_copies_go_when_a_task_begins() {
    let mut bench = Bench::new("      - run: seq -f 'row %g' 1 5000\n");
    let directory = bench.path("copies");
    std::fs::create_dir(&directory).unwrap();
    let names = [
        ("20260101-030404-task-1.log", false),
        ("20260101-030406-task-2.log", true),
        ("20200101-030406-task-2.log.gz", true),
        ("notes.txt", true),
    ];
    for (name, _) in names {
        std::fs::write(directory.join(name), "").unwrap();
    }
    bench.copies = Some(LogCopies {
        max_size: Some(2000),
        ..copies(&bench)
    });
    assert_eq!(bench.run(), Conclusion::Success);
    for (name, stays) in names {
        assert_eq!(directory.join(name).exists(), stays, "{name}");
    }
    let text = std::fs::read_to_string(directory.join("20260102-030405-task-7.log")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let [rows @ .., cut, end] = lines.as_slice() else {
        panic!("{text}")
    };
    assert!(rows.iter().map(|row| row.len() + 1).sum::<usize>() <= 2000);
    assert!(rows.len() > 10);
    assert!(
        cut.ends_with(" [runner] truncated: log.job.max_size of 2000 bytes reached"),
        "{cut}"
    );
    assert!(end.ends_with(" [runner] task 7 finished: success"), "{end}");
}

#[test]
fn a_copy_that_cannot_be_made_changes_nothing_for_the_job() {
    let mut bench = Bench::new("      - run: echo step\n");
    bench.file("copies", "in the way");
    bench.copies = Some(copies(&bench));
    assert_eq!(bench.run(), Conclusion::Success);
    assert_eq!(bench.printed("step"), ["step"]);
}
