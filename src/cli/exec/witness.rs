//! What is kept of a run beyond what it shows: the record that `gantry explain` reads, and the trace.

use std::path::{Path, PathBuf};

use gantry_actors::engine::mask::Masks;
use gantry_actors::engine::run::{Observation, ObservedJob, Observer};
use gantry_actors::local::Event;

use super::given::Values;
use crate::record::{Recorder, Store};

/// Sees everything of a run.
#[derive(Debug)]
pub struct Witness {
    directory: PathBuf,
    recorder: Recorder,
}

impl Witness {
    /// Sees a run of `directory` for an event; what it keeps shows none of the secrets.
    pub fn new(directory: &Path, event: &str, secrets: &Values) -> Self {
        let masks = masks(secrets);
        let shown = directory.to_string_lossy().into_owned();
        Self {
            directory: directory.to_owned(),
            recorder: Recorder::new(shown, event.to_owned(), masks),
        }
    }

    /// Takes an event.
    pub fn event(&self, event: &Event) {
        self.recorder.event(event);
    }

    /// Keeps what was seen. A run is none the worse for it if its record cannot be kept.
    pub fn finish(&self) {
        let record = self.recorder.take();
        if let Err(error) = records().write(&self.directory, &record) {
            let error = format!("{error:#}");
            tracing::warn!(error, "`gantry explain` will not know of this run");
        }
    }
}

impl Observer for Witness {
    fn observe(&self, job: &ObservedJob, observation: Observation) {
        self.recorder.observe(job, observation);
    }
}

/// Where the records of runs are.
pub fn records() -> Store {
    Store::new(super::host::cache().join("runs"))
}

fn masks(secrets: &Values) -> Masks {
    let masks = Masks::default();
    for (name, value) in secrets {
        // The job that is given the secret says why it is not masked.
        if let Err(refusal) = masks.add_secret(name, value) {
            tracing::debug!(name, %refusal, "a secret is not masked");
        }
    }
    masks
}
