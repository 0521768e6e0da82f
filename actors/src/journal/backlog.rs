//! What a process has left behind of a task, and how such a task is brought to its end.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::SystemTime;

use gantry_protocols::forge::{Conclusion, LogBatch, Progress, Report, RowIndex, StepState, TaskId};

use super::Pending;

/// What the forge has not acknowledged of a task.
#[derive(Debug, Clone)]
pub struct Backlog {
    /// The task.
    pub task: TaskId,
    /// When it was claimed, unless that is not known any more.
    pub claimed: Option<SystemTime>,
    /// What a person would call it.
    pub summary: String,
    /// The numbers of the rows that are not acknowledged.
    pub rows: Range<u64>,
    /// About how many bytes they take.
    pub row_bytes: u64,
    /// The numbers of the items of progress that are not acknowledged.
    pub progress: Range<u64>,
    /// About how many bytes they take.
    pub progress_bytes: u64,
    /// The steps with everything that is known of them.
    pub steps: Vec<StepState>,
    /// The steps as the forge knows them.
    pub reported: Vec<StepState>,
    /// When the last row was written, and by which step.
    pub last_row: Option<(SystemTime, Option<usize>)>,
    /// Whether the last row already says why the job has ended.
    pub concluded: bool,
    /// Whether rows were lost to a damaged file.
    pub damaged: bool,
    /// The last word, if there was time for it.
    pub report: Option<Report>,
}

/// What ends a task that has no report.
#[derive(Debug)]
pub struct LastWords {
    /// Why the job has ended, for its author; no rows if the log says so already.
    pub rows: Option<LogBatch>,
    /// The ends of the steps that ran.
    pub progress: Vec<Pending>,
    /// The job has failed.
    pub report: Report,
}

impl Backlog {
    /// What brings the task to its end at `now` because of `reason`.
    ///
    /// No time in a log runs backwards: a clock that was set back between two processes is held at the last row.
    pub fn last_words(&self, now: SystemTime, reason: &str) -> LastWords {
        let now = self.last_row.map_or(now, |(last, _)| now.max(last));
        let running = |step: &&StepState| step.started.is_some() && step.conclusion.is_none();
        let rows = (!self.concluded).then(|| self.reason(now, reason));
        let next = rows.as_ref().map_or(RowIndex(self.rows.end), LogBatch::next);
        let ended = self.steps.iter().filter(running).map(|step| {
            let wrote_reason = rows.as_ref().is_some_and(|rows| rows.step == Some(step.index));
            StepState {
                stopped: Some(step.started.map_or(now, |started| now.max(started))),
                outcome: Some(Conclusion::Failure),
                conclusion: Some(Conclusion::Failure),
                // How long a running step's log is was not written down with each row.
                log_length: if wrote_reason {
                    next.0.saturating_sub(step.log_first.0)
                } else {
                    step.log_length
                },
                ..step.clone()
            }
        });
        let progress = ended.zip(self.progress.end..).map(|(step, number)| Pending {
            number,
            after: next,
            urgent: true,
            progress: Progress {
                steps: vec![step],
                ..Progress::of(self.task)
            },
        });
        let progress: Vec<Pending> = progress.collect();
        let mut steps = self.steps.clone();
        for step in progress.iter().flat_map(|item| &item.progress.steps) {
            steps.retain(|known| known.index != step.index);
            steps.push(step.clone());
        }
        steps.sort_by_key(|step| step.index);
        LastWords {
            progress,
            report: Report {
                task: self.task,
                conclusion: Conclusion::Failure,
                outputs: BTreeMap::new(),
                started: self.claimed.map_or(now, |claimed| now.min(claimed)),
                stopped: now,
                steps,
                rows: next,
            },
            rows,
        }
    }

    /// The row of the running step, or of no step, that says why the job has ended.
    fn reason(&self, now: SystemTime, reason: &str) -> LogBatch {
        let lost = if self.damaged {
            "; the end of its log is lost"
        } else {
            ""
        };
        let text = format!("##[error]{reason}{lost}");
        // A step's rows have no other rows between them.
        let is_last = |step: &&StepState| {
            let wrote_last = self.last_row.is_some_and(|(_, last)| last == Some(step.index));
            step.conclusion.is_none() && (wrote_last || step.log_first.0 == self.rows.end)
        };
        LogBatch {
            task: self.task,
            first: RowIndex(self.rows.end),
            time: now,
            step: self.steps.iter().find(is_last).map(|step| step.index),
            ends: vec![u32::try_from(text.len()).unwrap_or(u32::MAX)],
            text,
        }
    }
}
