//! From what a job says to numbered items: rows of one stream, and the progress that is to be told between them.

use std::sync::Arc;
use std::time::SystemTime;

use gantry_engine::run::{Entry, Rows};
use gantry_protocols::forge::{LogBatch, Progress, RowIndex, StepState, Summary, TaskId};

use super::wire::wire_annotation;
use crate::job::wire_conclusion;
use crate::journal::{Backlog, Item, Pending};

/// Rows that nothing had room for.
#[derive(Debug)]
struct Dropped {
    count: u64,
    time: SystemTime,
    step: Option<usize>,
}

/// The numbers of one task, and what its steps have written.
#[derive(Debug)]
pub struct Numbering {
    task: TaskId,
    next_row: u64,
    next_progress: u64,
    steps: Vec<StepState>,
    dropped: Option<Dropped>,
    /// When the last rows were written.
    time: SystemTime,
}

impl Numbering {
    /// Nothing has been said yet.
    pub fn new(task: TaskId) -> Self {
        Self {
            task,
            next_row: 0,
            next_progress: 0,
            steps: Vec::new(),
            dropped: None,
            time: SystemTime::UNIX_EPOCH,
        }
    }

    /// Nothing more will be said of this task.
    pub fn of_backlog(backlog: &Backlog) -> Self {
        Self {
            task: backlog.task,
            next_row: backlog.rows.end,
            next_progress: backlog.progress.end,
            steps: backlog.steps.clone(),
            dropped: None,
            time: backlog.last_row.map_or(SystemTime::UNIX_EPOCH, |(time, _)| time),
        }
    }

    /// The number that the next row will have.
    pub fn next_row(&self) -> RowIndex {
        RowIndex(self.next_row)
    }

    /// The steps with everything that was said of them.
    pub fn steps(&self) -> &[StepState] {
        &self.steps
    }

    /// When the last rows were written.
    pub fn time(&self) -> SystemTime {
        self.time
    }

    /// Numbers what the job has said.
    pub fn number(&mut self, entry: Entry) -> Option<Item> {
        match entry {
            Entry::Rows(rows) => Some(self.number_rows(rows)),
            Entry::Annotation { step, annotation } => {
                let annotations = vec![wire_annotation(step, annotation)];
                Some(self.number_progress(
                    false,
                    Progress {
                        annotations,
                        ..Progress::of(self.task)
                    },
                ))
            }
            Entry::Summary { step, text } => {
                let summaries = vec![Summary { step, text }];
                Some(self.number_progress(
                    false,
                    Progress {
                        summaries,
                        ..Progress::of(self.task)
                    },
                ))
            }
            Entry::StepStarted { index, name, at } => {
                self.steps.retain(|step| step.index != index);
                self.steps.push(StepState {
                    index,
                    name,
                    started: Some(at),
                    stopped: None,
                    outcome: None,
                    conclusion: None,
                    log_first: RowIndex(self.next_row),
                    log_length: 0,
                });
                self.number_step(index)
            }
            Entry::StepFinished {
                index,
                outcome,
                conclusion,
                at,
            } => {
                let step = self.step(Some(index))?;
                step.stopped = Some(at);
                step.outcome = Some(wire_conclusion(outcome));
                step.conclusion = Some(wire_conclusion(conclusion));
                self.number_step(index)
            }
        }
    }

    /// Tells whether nothing is lost if this is never said: the edges of steps are few and small.
    pub fn may_drop(entry: &Entry) -> bool {
        matches!(
            entry,
            Entry::Rows(_) | Entry::Annotation { .. } | Entry::Summary { .. }
        )
    }

    /// Counts rows that nothing has room for.
    pub fn drop_entry(&mut self, entry: Entry) {
        let Entry::Rows(rows) = entry else { return };
        let count = self.dropped.as_ref().map_or(0, |dropped| dropped.count) + rows.ends.len() as u64;
        self.dropped = Some(Dropped {
            count,
            time: rows.time,
            step: rows.step,
        });
    }

    /// The row that says how many rows are missing before it, if any are.
    pub fn take_notice(&mut self, reason: &str) -> Option<Item> {
        let Dropped { count, time, step } = self.dropped.take()?;
        let text =
            format!("##[warning]{count} rows are missing here: the forge could not be reached, and {reason}");
        Some(self.number_rows(Rows::of_lines(time, step, &text)))
    }

    fn step(&mut self, index: Option<usize>) -> Option<&mut StepState> {
        self.steps.iter_mut().find(|step| Some(step.index) == index)
    }

    fn number_rows(&mut self, rows: Rows) -> Item {
        let Rows {
            time,
            step,
            text,
            ends,
        } = rows;
        let batch = LogBatch {
            task: self.task,
            first: RowIndex(self.next_row),
            time,
            step,
            text,
            ends,
        };
        self.next_row = batch.next().0;
        self.time = time;
        if let Some(state) = self.step(step) {
            state.log_length += batch.len() as u64;
        }
        Item::Rows(Arc::new(batch))
    }

    fn number_step(&mut self, index: usize) -> Option<Item> {
        let step = self.step(Some(index))?.clone();
        let progress = Progress {
            steps: vec![step],
            ..Progress::of(self.task)
        };
        Some(self.number_progress(true, progress))
    }

    fn number_progress(&mut self, urgent: bool, progress: Progress) -> Item {
        let number = self.next_progress;
        self.next_progress += 1;
        Item::Progress(Arc::new(Pending {
            number,
            after: RowIndex(self.next_row),
            urgent,
            progress,
        }))
    }
}
