//! Events go in, lines come out; no terminal takes part.

use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::local::{Event, JobRef, RunRef};
use gantry_actors::protocols::forge::{LogBatch, RowIndex, TaskId};

use super::frame;
use super::model::{Expanded, Model};
use super::tail::KEPT_ROWS;

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
    assert_eq!(shown, []);
    let want = [
        "⠋ ci  2.0 s",
        "  - docs  skipped: its condition is false: \u{fffd}[2Jx",
        "  ⠋ build  2.0 s",
        "    ✓ step 0  1.5 s",
        "    - step 1  skipped",
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
    let want = Expanded {
        title: "ci / build / step 3".to_owned(),
        outcome: Failure,
        rows: ["1", "2", "##[error]bad \u{1b}[2J\u{1b}[31mred", "a\tb"]
            .map(str::to_owned)
            .to_vec(),
        earlier: 0,
    };
    assert_eq!(shown, [want]);
    let want = [
        "✗ ci  failure, 3.0 s",
        "  - docs  skipped: its condition is false: \u{fffd}[2Jx",
        "  ✗ build  failure, 2.5 s",
        "    ! step 2  failure, tolerated, 1.5 s",
        "    ✗ step 3  failure, 1.5 s",
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
    assert_eq!(shown.len(), 1);
    assert_eq!((shown[0].title.as_str(), shown[0].rows.len()), ("ci / build", 1));
}

#[test]
fn only_the_last_rows_are_kept() {
    let many: Vec<String> = (0..1000).map(|index| index.to_string()).collect();
    let long = vec!["x".repeat(64 << 10); 8];
    let cases = [
        (many.clone(), Conclusion::Failure, KEPT_ROWS, 800),
        (many, Conclusion::Cancelled, 5, 995),
        (long, Conclusion::Failure, 4, 4),
    ];
    for (texts, outcome, kept, earlier) in cases {
        let events = [
            run_started(),
            job_started("build"),
            step_started("build", 0),
            rows("build", Some(0), &texts),
            step_finished("build", 0, outcome, outcome),
        ];
        let (_, shown) = after(&events);
        assert_eq!((shown[0].rows.len(), shown[0].earlier), (kept, earlier));
        assert_eq!(shown[0].rows.last(), texts.last());
    }
}

#[test]
fn the_log_above_the_tree_cannot_act_on_the_terminal() {
    let expanded = Expanded {
        title: "ci / \u{1b}]0;title\u{7}".to_owned(),
        outcome: Conclusion::Failure,
        rows: vec!["a\u{1b}[2Jb\u{1b}[31mred".to_owned(), "##[error]x".to_owned()],
        earlier: 7,
    };
    let plain = super::Style {
        colour: false,
        terminal: true,
    };
    let want = "\
        ✗ ci / \u{fffd}]0;title\u{fffd}\n\
        \u{20} │ (7 earlier rows; --plain shows every row)\n\
        \u{20} │ abred\n\
        \u{20} │ ##[error]x\n";
    assert_eq!(String::from_utf8_lossy(&super::log(&expanded, plain)), want);
}
