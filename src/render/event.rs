//! The events of a local run, until the actors crate brings them.

use std::time::Duration;

use gantry_actors::engine::plan::Conclusion;

#[derive(Debug, Clone)]
pub struct JobRef {
    pub key: String,
    pub name: String,
}

#[derive(Debug, Clone)]
pub struct StepRef {
    pub index: usize,
    pub name: String,
}

#[derive(Debug, Clone, Default)]
pub struct Rows {
    text: String,
    ends: Vec<usize>,
}

impl Rows {
    pub fn push(&mut self, row: &str) {
        self.text.push_str(row);
        self.ends.push(self.text.len());
    }
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.text[*start..*end])
    }
}

#[derive(Debug, Clone)]
pub enum Event {
    RunStarted {
        workflow: String,
    },
    JobStarted {
        job: JobRef,
    },
    JobSkipped {
        job: JobRef,
        reason: String,
    },
    StepStarted {
        job: JobRef,
        step: StepRef,
    },
    Rows {
        job: JobRef,
        rows: Rows,
    },
    StepFinished {
        job: JobRef,
        step: StepRef,
        outcome: Conclusion,
        conclusion: Conclusion,
        duration: Duration,
    },
    JobFinished {
        job: JobRef,
        conclusion: Conclusion,
        duration: Duration,
    },
    RunFinished {
        workflow: String,
        conclusion: Conclusion,
    },
}
