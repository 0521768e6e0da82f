//! Events go in, lines come out; no terminal takes part.

use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::engine::plan::graph::PlannedJob;
use gantry_actors::engine::run::ObservedJob;
use gantry_actors::local::{Event, JobRef, RunRef};
use gantry_actors::protocols::forge::{LogBatch, RowIndex, TaskId};

use super::frame;
use super::model::{Expanded, Model};
use super::tail::{Log, Piece, Tail};

const START: SystemTime = SystemTime::UNIX_EPOCH;

fn at(millis: u64) -> SystemTime {
    START + Duration::from_millis(millis)
}

fn run() -> RunRef {
    RunRef {
        index: 0,
        title: "ci".into(),
    }
}

fn job(name: &str) -> JobRef {
    JobRef {
        run: run(),
        key: name.into(),
        name: name.into(),
    }
}

fn run_started() -> Event {
    Event::RunStarted {
        run: run(),
        jobs: Vec::new(),
        time: START,
    }
}

fn job_started(name: &str) -> Event {
    Event::JobStarted {
        job: job(name),
        time: START,
    }
}

fn job_finished(name: &str, conclusion: Conclusion) -> Event {
    Event::JobFinished {
        job: job(name),
        conclusion,
        tolerated: false,
        duration: Duration::from_millis(2500),
        time: at(2500),
    }
}

fn step_started(of: &str, index: usize) -> Event {
    Event::StepStarted {
        job: job(of),
        index,
        name: format!("step {index}"),
        time: at(1000),
    }
}

fn step_finished(of: &str, index: usize, outcome: Conclusion, conclusion: Conclusion) -> Event {
    Event::StepFinished {
        job: job(of),
        index,
        name: format!("step {index}"),
        outcome,
        conclusion,
        reason: (outcome == Conclusion::Skipped).then(|| "its condition is false: no".to_owned()),
        duration: Duration::from_millis(1500),
        time: at(2500),
    }
}

fn rows(of: &str, step: Option<usize>, texts: &[String]) -> Event {
    let mut text = String::new();
    let mut ends = Vec::new();
    for row in texts {
        text.push_str(row);
        ends.push(u32::try_from(text.len()).expect("short"));
    }
    Event::Rows {
        job: job(of),
        batch: LogBatch {
            task: TaskId(1),
            first: RowIndex(0),
            time: START,
            step,
            text,
            ends,
        },
    }
}

/// The model after some events, and the logs that were to be shown.
fn after(events: &[Event]) -> (Model, Vec<Expanded>) {
    let mut model = Model::default();
    let shown = events.iter().filter_map(|event| model.on_event(event)).collect();
    (model, shown)
}

/// The rows of a log, and a number in place of those that are left out.
fn texts(log: Log) -> Vec<String> {
    let mut texts = Vec::new();
    let mut take = |piece: Piece<'_>| {
        texts.push(match piece {
            Piece::Row(row) => row.to_owned(),
            Piece::LeftOut(count) => format!("({count})"),
            Piece::Shown(count) => format!("(+{count})"),
        });
        Ok(())
    };
    log.read(&mut take).expect("read");
    texts
}

/// The picture two seconds after the start.
fn picture(model: &Model, height: usize, width: usize) -> Vec<String> {
    let lines = frame::fit(frame::lines(model, at(2000)), height);
    lines
        .iter()
        .map(|line| frame::text(line, width, 0, false))
        .collect()
}

/// A job with a step of each kind, and one that runs.
fn busy() -> Vec<Event> {
    use Conclusion::{Failure, Skipped, Success};
    vec![
        run_started(),
        Event::JobSkipped {
            job: job("docs"),
            conclusion: Skipped,
            reason: "its condition is false:\n\u{1b}[2Jx".to_owned(),
            conditions: Vec::new(),
            time: START,
        },
        job_started("build"),
        step_started("build", 0),
        step_finished("build", 0, Success, Success),
        step_started("build", 1),
        step_finished("build", 1, Skipped, Skipped),
        step_started("build", 2),
        step_finished("build", 2, Failure, Success),
        step_started("build", 3),
        rows(
            "build",
            Some(3),
            &["1", "2", "##[error]bad \u{1b}[2J\u{1b}[31mred", "a\tb"].map(str::to_owned),
        ),
    ]
}

#[test]
fn a_running_job_shows_its_steps() {
    let (model, shown) = after(&busy());
    assert!(shown.is_empty(), "{shown:?}");
    let want = [
        "⠋ ci  2.0 s",
        "  - docs  skipped: its condition is false: \u{fffd}[2Jx",
        "  ⠋ build  2.0 s",
        "    ✓ step 0  1.5 s",
        "    - step 1  skipped: its condition is false: no",
        "    ! step 2  failure, tolerated, 1.5 s",
        "    ⠋ step 3  1.0 s",
        "      │ 2",
        "      │ error: bad red",
        "      │ a    b",
    ];
    assert_eq!(picture(&model, 24, 80), want);
}

#[test]
fn what_matters_stays_on_a_small_terminal() {
    let (model, _) = after(&busy());
    let cases: [(usize, &[&str]); 4] = [
        (
            6,
            &[
                "⠋ ci  2.0 s",
                "  - docs  skipped:…",
                "  ⠋ build  2.0 s",
                "    ! step 2  failu…",
                "    ⠋ step 3  1.0 s",
                "… 5 more lines",
            ],
        ),
        (3, &["  ⠋ build  2.0 s", "    ⠋ step 3  1.0 s", "… 8 more lines"]),
        (1, &["    ⠋ step 3  1.0 s"]),
        (0, &["    ⠋ step 3  1.0 s"]),
    ];
    for (height, want) in cases {
        assert_eq!(picture(&model, height, 20), want, "{height}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut events = busy();
    events.push(job_started("日本語の長い名前のジョブ"));
    let (model, _) = after(&events);
    for width in 0..60 {
        for line in picture(&model, 24, width) {
            let columns = unicode_width::UnicodeWidthStr::width(line.as_str());
            assert!(columns <= width.max(2), "{width}: {line:?}");
        }
    }
}

#[test]
fn a_job_that_has_ended_keeps_what_went_wrong() {
    use Conclusion::{Failure, Skipped};
    let mut events = busy();
    events.push(step_finished("build", 3, Failure, Failure));
    events.push(step_started("build", 4));
    events.push(step_finished("build", 4, Skipped, Skipped));
    events.push(job_finished("build", Failure));
    events.push(Event::RunFinished {
        run: run(),
        conclusion: Failure,
        time: at(3000),
    });
    let (model, shown) = after(&events);
    let [shown] = shown.try_into().expect("one log");
    assert_eq!(
        (shown.title.as_str(), shown.outcome),
        ("ci / build / step 3", Failure)
    );
    let want = ["1", "2", "##[error]bad \u{1b}[2J\u{1b}[31mred", "a\tb"];
    assert_eq!(texts(shown.log), want);
    let want = [
        "✗ ci  failure, 3.0 s",
        "  - docs  skipped: its condition is false: \u{fffd}[2Jx",
        "  ✗ build  failure, 2.5 s",
        "    - step 1  skipped: its condition is false: no",
        "    ! step 2  failure, tolerated, 1.5 s",
        "    ✗ step 3  failure, 1.5 s",
        "    - step 4  skipped: its condition is false: no",
    ];
    assert_eq!(picture(&model, 24, 80), want);
    assert_eq!(
        frame::sum_up(&model, at(9000)),
        "2 jobs: 1 failure, 1 skipped (3.0 s)"
    );
}

#[test]
fn a_job_without_a_step_to_blame_shows_its_own_rows() {
    let events = [
        run_started(),
        job_started("build"),
        rows("build", None, &["##[error]no room".to_owned()]),
        job_finished("build", Conclusion::Failure),
    ];
    let (_, shown) = after(&events);
    let [shown] = shown.try_into().expect("one log");
    assert_eq!(shown.title, "ci / build");
    assert_eq!(texts(shown.log), ["##[error]no room"]);
}

#[test]
fn the_log_of_a_failure_is_complete_and_that_of_a_cancelled_step_short() {
    let many: Vec<String> = (0..1000).map(|index| index.to_string()).collect();
    let end = ["(995)", "995", "996", "997", "998", "999"].map(str::to_owned);
    for (outcome, want) in [
        (Conclusion::Failure, many.as_slice()),
        (Conclusion::Cancelled, &end),
    ] {
        let events = [
            run_started(),
            job_started("build"),
            step_started("build", 0),
            rows("build", Some(0), &many),
            step_finished("build", 0, outcome, outcome),
        ];
        let (_, shown) = after(&events);
        let [shown] = shown.try_into().expect("one log");
        assert_eq!(texts(shown.log), want);
    }
}

#[test]
fn what_was_shown_at_a_hold_is_not_shown_again() {
    use Conclusion::Failure;
    let texts_of = |range: std::ops::Range<usize>| range.map(|row| row.to_string()).collect::<Vec<_>>();
    let held = ObservedJob {
        run: 0,
        key: "build".into(),
    };
    let (mut model, _) = after(&[
        run_started(),
        job_started("build"),
        step_started("build", 0),
        rows("build", Some(0), &texts_of(0..1000)),
    ]);
    let shown = model.on_hold(&held).expect("a log");
    assert_eq!(
        (shown.title.as_str(), shown.outcome),
        ("ci / build / step 0", Failure)
    );
    assert_eq!(texts(shown.log), texts_of(0..1000));
    // A second try goes on in the same step.
    let again = rows("build", Some(0), &texts_of(1000..1300));
    assert!(model.on_event(&again).is_none());
    let finished = step_finished("build", 0, Failure, Failure);
    let shown = model.on_event(&finished).expect("a log");
    let mut want = vec!["(+1000)".to_owned()];
    want.extend(texts_of(1000..1300));
    assert_eq!(texts(shown.log), want);
}

#[test]
fn jobs_that_have_not_begun_say_what_they_wait_for() {
    let planned = |id: &str, needs: &[&str]| PlannedJob {
        id: id.to_owned(),
        name: format!("The {id}"),
        needs: needs.iter().map(|need| (*need).to_owned()).collect(),
    };
    let jobs = vec![
        planned("build", &[]),
        planned("build-more", &[]),
        planned("test", &["build"]),
        planned("deploy", &["build", "test"]),
    ];
    let started = Event::RunStarted {
        run: run(),
        jobs,
        time: START,
    };
    let mut events = vec![started, job_started("build(x64)")];
    let want = [
        "⠋ ci  2.0 s",
        "  ⠋ build(x64)  2.0 s",
        "  · The build-more  waits for its turn",
        "  · The test  waits for build",
        "  · The deploy  waits for build, test",
    ];
    assert_eq!(picture(&after(&events).0, 24, 80), want);
    events.push(job_finished("build(x64)", Conclusion::Success));
    events.push(job_started("build-more"));
    events.push(job_started("test.inner"));
    let want = [
        "⠋ ci  2.0 s",
        "  ✓ build(x64)  2.5 s",
        "  ⠋ build-more  2.0 s",
        "  ⠋ test.inner  2.0 s",
        "  · The deploy  waits for test",
    ];
    assert_eq!(picture(&after(&events).0, 24, 80), want);
}

#[test]
fn the_log_above_the_tree_cannot_act_on_the_terminal() {
    let mut tail = Tail::default();
    for row in ["gone", "a\u{1b}[2Jb\u{1b}[31mred", "##[error]x"] {
        let Event::Rows { batch, .. } = rows("build", None, &[row.to_owned()]) else {
            continue;
        };
        tail.extend(&batch);
    }
    let expanded = Expanded {
        title: "ci / \u{1b}]0;title\u{7}".to_owned(),
        outcome: Conclusion::Failure,
        log: tail.into_end(2),
    };
    let plain = super::Style {
        colour: false,
        terminal: true,
    };
    let want = "\
        ✗ ci / \u{fffd}]0;title\u{fffd}\n\
        \u{20} │ (1 rows are left out here; --plain shows every row)\n\
        \u{20} │ abred\n\
        \u{20} │ ##[error]x\n";
    let mut out = Vec::new();
    super::write_log(&mut out, expanded, plain).expect("written");
    assert_eq!(String::from_utf8_lossy(&out), want);
}
