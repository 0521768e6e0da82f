//! A run as a person and as a program see it.

use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::local::{Event, JobRef, RunRef};
use gantry_actors::protocols::forge::{Annotation, Level, LogBatch, RowIndex, Summary, TaskId};

use super::{Json, Lines, Renderer, Style};

const PLAIN: Style = Style {
    colour: false,
    terminal: false,
};
const COLOURED: Style = Style {
    colour: true,
    terminal: true,
};
const TIME: SystemTime = SystemTime::UNIX_EPOCH;
const LASTED: Duration = Duration::from_millis(1500);

fn run() -> RunRef {
    RunRef {
        index: 0,
        title: "ci".into(),
    }
}

fn job(name: &str) -> JobRef {
    JobRef {
        run: run(),
        key: name.to_lowercase().as_str().into(),
        name: name.into(),
    }
}

fn rows(texts: &[&str]) -> Event {
    let mut text = String::new();
    let mut ends = Vec::new();
    for row in texts {
        text.push_str(row);
        ends.push(u32::try_from(text.len()).expect("short"));
    }
    let batch = LogBatch {
        task: TaskId(1),
        first: RowIndex(0),
        time: TIME,
        step: Some(0),
        text,
        ends,
    };
    Event::Rows {
        job: job("Build"),
        batch,
    }
}

fn story() -> Vec<Event> {
    let (outcome, conclusion) = (Conclusion::Failure, Conclusion::Success);
    let (index, name) = (0, "Run make".to_owned());
    let reason = "its `if` is false".to_owned();
    vec![
        Event::RunStarted {
            run: run(),
            jobs: Vec::new(),
            time: TIME,
        },
        Event::JobStarted {
            job: job("Build"),
            time: TIME,
        },
        Event::StepStarted {
            job: job("Build"),
            index,
            name: name.clone(),
            time: TIME,
        },
        rows(&["make: \u{1b}[31mno \"rule\"", "##[error]exit code 2", ""]),
        Event::StepFinished {
            job: job("Build"),
            index,
            name,
            outcome,
            conclusion,
            reason: None,
            duration: LASTED,
            time: TIME,
        },
        Event::StepStarted {
            job: job("Build"),
            index: 1,
            name: "Tidy".to_owned(),
            time: TIME,
        },
        Event::StepFinished {
            job: job("Build"),
            index: 1,
            name: "Tidy".to_owned(),
            outcome: Conclusion::Skipped,
            conclusion: Conclusion::Skipped,
            reason: Some("its condition is false: no".to_owned()),
            duration: Duration::ZERO,
            time: TIME,
        },
        Event::Annotation {
            job: job("Build"),
            annotation: Annotation {
                step: Some(0),
                level: Level::Error,
                message: "no rule".to_owned(),
                title: None,
                file: Some("Makefile".to_owned()),
                lines: Some((3, 3)),
                columns: None,
            },
            time: TIME,
        },
        Event::Summary {
            job: job("Build"),
            summary: Summary {
                step: Some(0),
                text: "All **well**.\n".to_owned(),
            },
            time: TIME,
        },
        Event::JobFinished {
            job: job("Build"),
            conclusion,
            tolerated: false,
            duration: LASTED,
            time: TIME,
        },
        Event::JobSkipped {
            job: job("Docs"),
            conclusion: Conclusion::Skipped,
            reason,
            conditions: Vec::new(),
            time: TIME,
        },
        Event::RunFinished {
            run: run(),
            conclusion,
            time: TIME,
        },
    ]
}

fn show(renderer: &mut dyn Renderer, events: &[Event]) {
    for event in events {
        renderer.event(event).expect("a vector takes all");
    }
    renderer.finish().expect("a vector takes all");
}

fn lines(style: Style, events: &[Event]) -> String {
    let mut out = Vec::new();
    show(&mut Lines::new(&mut out, style), events);
    String::from_utf8(out).expect("text")
}

#[test]
fn a_run_reads_as_a_story() {
    let want = "\
        [ci/Build] started\n\
        [ci/Build] > Run make\n\
        [ci/Build] make: no \"rule\"\n\
        [ci/Build] ##[error]exit code 2\n\
        [ci/Build] \n\
        [ci/Build] - failure, tolerated: Run make (1.5 s)\n\
        [ci/Build] - skipped: Tidy (its condition is false: no)\n\
        [ci/Build] success (1.5 s)\n\
        [ci/Docs] skipped: its `if` is false\n\
        \n\
        --- summary of ci/Build\n\
        All **well**.\n\
        \n\
        error: Makefile:3: no rule (ci/Build)\n\
        \n\
        Workflow  Job    Conclusion  Time\n\
        ci        Build  success     1.5 s\n\
        ci        Docs   skipped     \n";
    assert_eq!(lines(PLAIN, &story()), want);
}

#[test]
fn markers_are_coloured_on_a_terminal() {
    let text = lines(
        COLOURED,
        &[rows(&["##[error]a\u{1b}[2Jb", "x\u{1b}[2Jy", "##[group]Title"])],
    );
    let prefix = "\u{1b}[36m[ci/Build] \u{1b}[0m";
    let want = [
        format!("{prefix}\u{1b}[31merror: ab\u{1b}[0m\n"),
        format!("{prefix}xy\n"),
        format!("{prefix}\u{1b}[1m▾ Title\u{1b}[0m\n"),
    ];
    assert_eq!(text, want.concat());
}

#[test]
fn each_event_and_each_row_is_an_object() {
    let mut out = Vec::new();
    show(&mut Json::new(&mut out), &story());
    let head = r#"{"time":"1970-01-01T00:00:00.000Z","event":"#;
    let want = [
        r#""run_started","workflow":"ci"}"#,
        r#""job_started","workflow":"ci","job":"build","job_name":"Build"}"#,
        r#""step_started","workflow":"ci","job":"build","job_name":"Build","step":0,"step_name":"Run make"}"#,
        r#""row","workflow":"ci","job":"build","step":0,"row":"make: \u001b[31mno \"rule\""}"#,
        r###""row","workflow":"ci","job":"build","step":0,"row":"##[error]exit code 2"}"###,
        r#""row","workflow":"ci","job":"build","step":0,"row":""}"#,
        r#""step_finished","workflow":"ci","job":"build","job_name":"Build","step":0,"step_name":"Run make","outcome":"failure","conclusion":"success","seconds":1.5}"#,
        r#""step_started","workflow":"ci","job":"build","job_name":"Build","step":1,"step_name":"Tidy"}"#,
        r#""step_finished","workflow":"ci","job":"build","job_name":"Build","step":1,"step_name":"Tidy","reason":"its condition is false: no","outcome":"skipped","conclusion":"skipped","seconds":0.0}"#,
        r#""annotation","workflow":"ci","job":"build","job_name":"Build","step":0,"annotation":{"level":"error","message":"no rule","file":"Makefile","line":3,"end_line":3}}"#,
        r#""summary","workflow":"ci","job":"build","job_name":"Build","step":0,"summary":"All **well**.\n"}"#,
        r#""job_finished","workflow":"ci","job":"build","job_name":"Build","conclusion":"success","seconds":1.5}"#,
        r#""job_skipped","workflow":"ci","job":"docs","job_name":"Docs","reason":"its `if` is false","conclusion":"skipped"}"#,
        r#""run_finished","workflow":"ci","conclusion":"success"}"#,
    ];
    let text = String::from_utf8(out).expect("text");
    let tails: Vec<&str> = text
        .lines()
        .map(|line| line.strip_prefix(head).unwrap_or(line))
        .collect();
    assert_eq!(tails, want);
}
