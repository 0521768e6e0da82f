//! Traces of runs that were made up.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_actors::engine::mask::Masks;
use gantry_actors::engine::plan::Conclusion;
use gantry_actors::engine::run::{Observation, ObservedJob, OpenedStep, Part, Phase};
use gantry_actors::local::{Event, JobRef, RunRef};
use serde_json::Value;

use super::Trace;

fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

fn job(key: &str) -> JobRef {
    JobRef {
        run: RunRef {
            index: 0,
            title: Arc::from("ci"),
        },
        key: Arc::from(key),
        name: Arc::from(format!("{key} of hid-den")),
    }
}

fn opened(depth: usize, name: &str, millis: u64) -> Observation {
    Observation::StepOpened(OpenedStep {
        depth,
        index: 0,
        part: Part::Main,
        id: None,
        name: name.to_owned(),
        line: 7,
        at: at(millis),
    })
}

fn closed(millis: u64) -> Observation {
    Observation::StepClosed {
        outcome: Conclusion::Failure,
        conclusion: Conclusion::Failure,
        at: at(millis),
    }
}

fn phase(phase: Phase, from: u64, to: u64) -> Observation {
    Observation::Phase {
        phase,
        from: at(from),
        to: at(to),
    }
}

/// The spans of a trace as `process/track name from+duration`.
fn traced(events: &[Event], observations: &[Observation]) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("trace.json");
    let masks = Masks::default();
    masks.add_secret("S", "hid-den").expect("a secret");
    let trace = Trace::create(&path, masks).expect("a file");
    for event in events {
        trace.event(event);
    }
    let observed = ObservedJob {
        run: 0,
        key: Arc::from("build"),
    };
    for observation in observations {
        trace.observe(&observed, observation);
    }
    trace.finish().expect("written");
    let text = fs::read_to_string(&path).expect("readable");
    assert!(!text.contains("hid-den"), "{text}");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let events = value["traceEvents"].as_array().expect("events");
    let spans = events.iter().filter(|event| event["ph"] == "X");
    spans
        .map(|span| {
            let millis = |key: &str| span[key].as_u64().expect("a time") / 1000;
            let name = span["name"].as_str().expect("a name");
            let (job, place) = (&span["pid"], &span["tid"]);
            format!("{job}/{place} {name} {}+{}", millis("ts"), millis("dur"))
        })
        .collect()
}

fn story() -> (Vec<Event>, Vec<Observation>) {
    let run = job("build").run;
    let events = vec![
        Event::RunStarted {
            run,
            jobs: Vec::new(),
            time: at(1000),
        },
        Event::JobStarted {
            job: job("build"),
            time: at(1030),
        },
        // It may be told late.
        Event::JobOffered {
            job: job("build"),
            time: at(1020),
        },
        Event::JobFinished {
            job: job("build"),
            conclusion: Conclusion::Failure,
            tolerated: false,
            duration: Duration::ZERO,
            time: at(1200),
        },
        Event::JobSkipped {
            job: job("docs"),
            conclusion: Conclusion::Skipped,
            reason: "hid-den is false".to_owned(),
            conditions: Vec::new(),
            time: at(1210),
        },
    ];
    let observations = vec![
        phase(Phase::Fetch, 1045, 1049),
        phase(Phase::SetUp, 1040, 1050),
        opened(0, "outer", 1050),
        phase(Phase::Evaluate, 1050, 1055),
        opened(1, "inner", 1055),
        phase(Phase::Run, 1060, 1090),
        closed(1095),
        closed(1100),
        phase(Phase::WindUp, 1100, 1150),
    ];
    (events, observations)
}

#[test]
fn a_job_is_a_process_and_a_step_a_track() {
    let (events, observations) = story();
    let want = [
        "1/0 wait for needs 0+20",
        "1/0 wait for a place 20+10",
        "1/0 job 30+170",
        "1/0 copy workspace 30+10",
        "1/0 set up 40+10",
        "1/0 fetch 45+4",
        "1/0 wind up 100+50",
        "1/0 flush log 150+50",
        "1/1 outer 50+50",
        "1/1 evaluate 50+5",
        "1/1 inner 55+40",
        "1/1 run 60+30",
        "2/0 wait for needs 0+210",
        "2/0 never ran 210+0",
    ];
    assert_eq!(traced(&events, &observations), want);
}

#[test]
fn what_was_never_closed_ends_with_its_job() {
    let (events, mut observations) = story();
    observations.truncate(6);
    let spans = traced(&events, &observations);
    for want in ["1/1 outer 50+150", "1/1 inner 55+145", "1/0 job 30+170"] {
        assert!(spans.iter().any(|span| span == want), "{spans:#?}");
    }
}
