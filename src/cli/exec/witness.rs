//! What is kept of a run beyond what it shows: the record that `gantry explain` reads, and the trace.

use std::path::{Path, PathBuf};

use anyhow::Context;
use gantry_actors::engine::mask::Masks;
use gantry_actors::engine::run::{Observation, ObservedJob, Observer};
use gantry_actors::local::Event;

use super::super::exit::{Result, usage};
use super::given::Values;
use crate::record::{Recorder, Store};
use crate::trace::Trace;

/// Sees everything of a run.
#[derive(Debug)]
pub struct Witness {
    directory: PathBuf,
    recorder: Recorder,
    trace: Option<Trace>,
}

impl Witness {
    /// Sees a run of `directory` for an event, and traces it to a file if there is one. What it keeps shows none of
    /// the secrets.
    ///
    /// # Errors
    /// The file of the trace cannot be written.
    pub fn new(directory: &Path, event: &str, secrets: &Values, trace: Option<&Path>) -> Result<Self> {
        let shown = directory.to_string_lossy().into_owned();
        let create = |path: &Path| {
            Trace::create(path, masks(secrets))
                .with_context(|| format!("cannot write the trace to {}", path.display()))
        };
        Ok(Self {
            directory: directory.to_owned(),
            recorder: Recorder::new(shown, event.to_owned(), masks(secrets)),
            trace: trace.map(create).transpose().map_err(usage)?,
        })
    }

    /// Takes an event.
    pub fn event(&self, event: &Event) {
        self.recorder.event(event);
        if let Some(trace) = &self.trace {
            trace.event(event);
        }
    }

    /// Keeps what was seen. A run is none the worse for it if its record cannot be kept.
    ///
    /// # Errors
    /// The trace cannot be written.
    pub fn finish(&self) -> anyhow::Result<()> {
        let record = self.recorder.take();
        if let Err(error) = records().write(&self.directory, &record) {
            let error = format!("{error:#}");
            tracing::warn!(error, "`gantry explain` will not know of this run");
        }
        self.trace.as_ref().map_or(Ok(()), Trace::finish)
    }
}

impl Observer for Witness {
    fn observe(&self, job: &ObservedJob, observation: Observation) {
        if let Some(trace) = &self.trace {
            trace.observe(job, &observation);
        }
        self.recorder.observe(job, observation);
    }
}

/// Where the records of runs are.
pub fn records() -> Store {
    Store::new(crate::directories::cache().join("runs"))
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
