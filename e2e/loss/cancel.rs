//! A person cancels a run while its log is watched.

use gantry_actors::protocols::gitea::wire;
use gantry_fakes::forge::{DIALECTS, Status};

use super::gate::is_alive;
use super::stage::{JOB, Stage, task, wait_until};

const CANCELLED: &str = include_str!("../workflows/cancelled.yaml");

#[test]
fn cancellation_with_a_live_log() {
    for dialect in DIALECTS {
        let mut stage = Stage::new(dialect);
        let daemon = stage.daemon();
        let run = stage.push(CANCELLED);
        for tick in 1..=3 {
            stage.gate.tick(tick);
            stage.wait_for_row(&format!("tick {tick}"));
            assert_eq!(stage.forge.read(|state| state.status_of(run)), Status::Running);
        }
        let processes = stage.gate.processes(1).expect("the step has begun");
        stage.forge.cancel(run);
        let result = stage.forge.wait_for_blocking("the runner's last word", |state| {
            let told = task(state).states.last()?;
            let result = told.state.result();
            (result != wire::Result::Unspecified).then_some(result)
        });
        daemon.stop();
        assert_eq!(result, wire::Result::Cancelled);
        assert_eq!(stage.forge.read(|state| state.status_of(run)), Status::Cancelled);
        let log = stage.forge.read(|state| state.log_of(JOB));
        let has = |row: &str| log.iter().any(|other| other == row);
        for row in [
            "main step ran",
            "cancelled step ran",
            "always step ran",
            "post step ran",
        ] {
            assert!(has(row), "{row}: {log:#?}");
        }
        assert!(!has("next step ran"), "{log:#?}");
        wait_until("the step is gone", || !is_alive(processes[0]));
        assert!(stage.place.left().is_empty(), "{:?}", stage.place.left());
    }
}
