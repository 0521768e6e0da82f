//! A forge in the same process: it hands out the claims that a test gives it, keeps what it is told, and fails as its
//! script says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use gantry_protocols::forge::{
    Ack, Claim, Directive, Error, Forge, LogBatch, Progress, Report, RowIndex, StepState, TaskId,
};

/// What goes wrong with one call. Calls that no fault is left for go well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The call never arrives.
    Refuse,
    /// The call arrives and its answer is lost.
    LoseAnswer,
    /// Only half of the rows are taken.
    TakeHalf,
}

#[derive(Default)]
struct Kept {
    claims: VecDeque<Claim>,
    rows: BTreeMap<TaskId, Vec<String>>,
    steps: BTreeMap<(TaskId, usize), StepState>,
    reports: Vec<Report>,
    faults: VecDeque<Fault>,
    cancel_at_step: Option<usize>,
    row_count_at_report: Option<usize>,
}

/// The forge.
#[derive(Default)]
pub struct ScriptedForge {
    kept: Mutex<Kept>,
}

impl ScriptedForge {
    /// A forge that hands out these claims, one after the other, and fails as `faults` say, one for each call.
    pub fn new(claims: impl IntoIterator<Item = Claim>, faults: impl IntoIterator<Item = Fault>) -> Self {
        let kept = Kept {
            claims: claims.into_iter().collect(),
            faults: faults.into_iter().collect(),
            ..Kept::default()
        };
        Self {
            kept: Mutex::new(kept),
        }
    }

    /// Asks for a cancel in the answer to every update that tells of this step.
    #[must_use]
    pub fn cancelling_at_step(self, index: usize) -> Self {
        self.kept().cancel_at_step = Some(index);
        self
    }

    /// The rows of a task, in order.
    pub fn rows(&self, task: TaskId) -> Vec<String> {
        self.kept().rows.get(&task).cloned().unwrap_or_default()
    }

    /// The last state of a step.
    pub fn step(&self, task: TaskId, index: usize) -> Option<StepState> {
        self.kept().steps.get(&(task, index)).cloned()
    }

    /// The reports in the order in which they came; a repeated one counts once.
    pub fn reports(&self) -> Vec<Report> {
        self.kept().reports.clone()
    }

    /// How many rows there were when the first report came.
    pub fn rows_at_report(&self) -> Option<usize> {
        self.kept().row_count_at_report
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn fault(&mut self, operation: &'static str) -> Result<Fault, Error> {
        match self.faults.pop_front().unwrap_or(Fault::None) {
            Fault::Refuse => Err(Error::Unavailable {
                operation,
                reason: "refused by script".to_owned(),
            }),
            fault => Ok(fault),
        }
    }

    fn answer<T>(fault: Fault, operation: &'static str, answer: T) -> Result<T, Error> {
        if fault == Fault::LoseAnswer {
            return Err(Error::Unavailable {
                operation,
                reason: "answer lost by script".to_owned(),
            });
        }
        Ok(answer)
    }

    fn append(&mut self, batches: &[LogBatch]) -> Result<Ack, Error> {
        let fault = self.fault("append_log")?;
        let Some(first) = batches.first() else {
            return Err(Error::Refused {
                operation: "append_log",
                reason: "there is no batch".to_owned(),
            });
        };
        let rows = self.rows.entry(first.task).or_default();
        let sent: usize = batches.iter().map(LogBatch::len).sum();
        let taken = if fault == Fault::TakeHalf { sent / 2 } else { sent };
        let numbered = batches.iter().flat_map(|batch| batch.rows().zip(batch.first.0..));
        for (row, index) in numbered.take(taken) {
            // Rows that are known are skipped; a gap would be a loss, which the answer shows.
            if index == rows.len() as u64 {
                rows.push(row.to_owned());
            }
        }
        let next = RowIndex(rows.len() as u64);
        Self::answer(fault, "append_log", Ack { next })
    }

    fn update(&mut self, progress: Progress) -> Result<Directive, Error> {
        let fault = self.fault("update")?;
        let cancel = progress
            .steps
            .iter()
            .any(|step| Some(step.index) == self.cancel_at_step);
        for step in progress.steps {
            self.steps.insert((progress.task, step.index), step);
        }
        let directive = if cancel {
            Directive::Cancel
        } else {
            Directive::Continue
        };
        Self::answer(fault, "update", directive)
    }

    fn complete(&mut self, report: Report) -> Result<(), Error> {
        let fault = self.fault("complete")?;
        let rows = self.rows.get(&report.task).map_or(0, Vec::len);
        self.row_count_at_report.get_or_insert(rows);
        if !self.reports.iter().any(|known| known.task == report.task) {
            self.reports.push(report);
        }
        Self::answer(fault, "complete", ())
    }
}

impl Forge for ScriptedForge {
    fn claim(&self, capacity: usize) -> BoxFuture<'_, Result<Vec<Claim>, Error>> {
        let mut kept = self.kept();
        let count = capacity.min(kept.claims.len());
        let claims: Vec<Claim> = kept.claims.drain(..count).collect();
        let answer = if claims.is_empty() {
            Err(Error::Exhausted)
        } else {
            Ok(claims)
        };
        Box::pin(std::future::ready(answer))
    }

    fn append_log(&self, batches: Vec<LogBatch>) -> BoxFuture<'_, Result<Ack, Error>> {
        Box::pin(std::future::ready(self.kept().append(&batches)))
    }

    fn update(&self, progress: Progress) -> BoxFuture<'_, Result<Directive, Error>> {
        Box::pin(std::future::ready(self.kept().update(progress)))
    }

    fn complete(&self, report: Report) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(std::future::ready(self.kept().complete(report)))
    }
}
