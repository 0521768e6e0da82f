//! Records from observations, and the place where they are kept.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_actors::engine::expr::{Explanation, Operand as Seen};
use gantry_actors::engine::mask::Masks;
use gantry_actors::engine::plan::{Conclusion, JobCondition};
use gantry_actors::engine::run::{self, Observation, ObservedJob, Observer, OpenedStep};
use gantry_actors::local::{Event, JobRef, RunRef};

use super::{Origin, Record, Recorder, Store};

fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

fn observed() -> ObservedJob {
    ObservedJob {
        run: 0,
        key: Arc::from("build"),
    }
}

fn job(key: &str) -> JobRef {
    JobRef {
        run: RunRef {
            index: 0,
            title: Arc::from("ci"),
        },
        key: Arc::from(key),
        name: Arc::from("Name of hid-den"),
    }
}

fn explanation(holds: bool) -> Explanation {
    Explanation {
        condition: "success()".to_owned(),
        operands: vec![Seen {
            text: "success()".to_owned(),
            value: holds.to_string(),
        }],
        answer: Ok(holds),
    }
}

fn opened(depth: usize, index: usize, name: &str) -> Observation {
    Observation::StepOpened(OpenedStep {
        depth,
        index,
        part: run::Part::Main,
        id: None,
        name: name.to_owned(),
        line: 7,
        at: at(1000),
    })
}

fn closed(outcome: Conclusion, conclusion: Conclusion) -> Observation {
    Observation::StepClosed {
        outcome,
        conclusion,
        at: at(2500),
    }
}

fn recorder() -> Recorder {
    let masks = Masks::default();
    masks.add_secret("S", "hid-den").expect("long enough");
    Recorder::new("/d".to_owned(), "push".to_owned(), masks)
}

fn play(recorder: &Recorder, observations: impl IntoIterator<Item = Observation>) {
    for observation in observations {
        recorder.observe(&observed(), observation);
    }
}

#[test]
fn steps_stand_inside_of_those_that_are_open() {
    use Conclusion::{Failure, Skipped, Success};
    let recorder = recorder();
    let variable = run::Variable {
        name: "A".to_owned(),
        value: "1".to_owned(),
        origin: run::Origin::Written {
            index: 0,
            name: Arc::from("first"),
        },
    };
    play(
        &recorder,
        [
            opened(0, 0, "composite"),
            Observation::Condition(explanation(true)),
            opened(1, 0, "inner"),
            Observation::Environment(vec![variable]),
            closed(Failure, Success),
            closed(Success, Success),
            // A step that was never closed does not take in the next one.
            opened(0, 1, "broken"),
            opened(0, 2, "last"),
            Observation::Condition(explanation(false)),
            closed(Skipped, Skipped),
        ],
    );
    let record = recorder.take();
    let steps = &record.jobs[0].steps;
    let numbers: Vec<_> = steps.iter().map(|step| step.number.as_str()).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    let inner = &steps[0].steps[0];
    assert_eq!(
        (inner.number.as_str(), inner.outcome.as_deref()),
        ("1.1", Some("failure"))
    );
    assert_eq!(inner.env[0].origin, Origin::GithubEnv);
    assert_eq!(inner.env[0].step.as_deref(), Some("1 first"));
    assert_eq!(steps[0].seconds, Some(1.5));
    let holds = |step: &super::Step| step.condition.as_ref().and_then(|condition| condition.holds);
    assert_eq!(
        steps.iter().map(holds).collect::<Vec<_>>(),
        [Some(true), None, Some(false)]
    );
}

#[test]
fn events_tell_what_observations_do_not() {
    let recorder = recorder();
    // Observations may come before the event that names their job.
    play(
        &recorder,
        [
            opened(0, 0, "a"),
            closed(Conclusion::Success, Conclusion::Success),
        ],
    );
    let conditions = vec![JobCondition {
        key: "docs".to_owned(),
        explanation: Arc::new(explanation(false)),
    }];
    for event in [
        Event::RunStarted {
            run: job("build").run,
            jobs: Vec::new(),
            time: at(0),
        },
        Event::JobStarted {
            job: job("build"),
            time: at(0),
        },
        Event::JobSkipped {
            job: job("docs"),
            conclusion: Conclusion::Skipped,
            reason: "its condition is false".to_owned(),
            conditions,
            time: at(0),
        },
        Event::JobFinished {
            job: job("build"),
            conclusion: Conclusion::Failure,
            tolerated: true,
            duration: Duration::from_secs(2),
            time: at(0),
        },
    ] {
        recorder.event(&event);
    }
    let record = recorder.take();
    assert_eq!(record.started, "1970-01-01T00:00:00.000Z");
    let [build, docs] = &record.jobs[..] else {
        panic!("{record:?}")
    };
    assert_eq!((build.name.as_str(), build.steps.len()), ("Name of ***", 1));
    assert!(build.tolerated && build.seconds == Some(2.0));
    assert_eq!(docs.reason.as_deref(), Some("its condition is false"));
    assert_eq!(docs.conditions[0].job.as_deref(), Some("docs"));
}

#[test]
fn a_record_has_a_bound() {
    let recorder = recorder();
    let large = || run::Variable {
        name: "A".to_owned(),
        value: "x".repeat(1000),
        origin: run::Origin::Step,
    };
    for step in 0..200 {
        play(
            &recorder,
            [
                opened(0, step, "a"),
                Observation::Environment((0..100).map(|_| large()).collect()),
                opened(1, step, "b"),
                closed(Conclusion::Success, Conclusion::Success),
                closed(Conclusion::Success, Conclusion::Success),
            ],
        );
    }
    let record = recorder.take();
    assert!(record.truncated);
    let steps = record.jobs[0].steps.len();
    assert!((40..60).contains(&steps), "{steps}");
    assert!(serde_json::to_vec(&record).expect("JSON").len() < 32 << 20);
}

#[test]
fn the_last_record_of_a_directory_is_kept_for_its_user_only() {
    let root = tempfile::tempdir().expect("a directory");
    let store = Store::new(root.path().join("runs"));
    let directory = Path::new("/some/where");
    assert_eq!(store.read(directory).expect("readable"), None);
    let record = |event: &str| Record {
        version: super::VERSION,
        directory: "/some/where".to_owned(),
        event: event.to_owned(),
        ..Record::default()
    };
    for event in ["push", "schedule"] {
        store.write(directory, &record(event)).expect("writable");
        assert_eq!(store.read(directory).expect("readable"), Some(record(event)));
    }
    assert_eq!(store.read(Path::new("/some/where/else")).expect("readable"), None);
    let place = std::fs::read_dir(root.path().join("runs"))
        .expect("readable")
        .next()
        .expect("one")
        .expect("readable")
        .path();
    let files: Vec<_> = std::fs::read_dir(&place).expect("readable").flatten().collect();
    assert_eq!(files.len(), 1, "no other file is left");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&place), mode(&files[0].path())), (0o700, 0o600));

    let other = Record {
        version: super::VERSION + 1,
        ..record("push")
    };
    store.write(directory, &other).expect("writable");
    assert_eq!(store.read(directory).expect("readable"), None);
}
