//! What is kept as JSON: claims, progress, cursors and reports, in a form that does not change with the forges' words.

use std::collections::BTreeMap;
use std::time::SystemTime;

use gantry_protocols::forge::{
    Annotation, Conclusion, Level, Progress, Report, RowIndex, StepState, Summary, TaskId,
};
use serde::{Deserialize, Serialize};

use super::record::{parts_of, time_of};
use super::{Cursor, Pending};

/// Whole seconds since 1970, rounded down, and nanoseconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Time(i64, u32);

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        let (seconds, nanoseconds) = parts_of(time);
        Self(seconds, nanoseconds)
    }
}

impl From<Time> for SystemTime {
    /// A time that no clock shows can only come from an edited file; it becomes 1970.
    fn from(Time(seconds, nanoseconds): Time) -> Self {
        time_of(seconds, nanoseconds).unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

/// A task that was handed out to this runner.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredClaim {
    pub claimed: Time,
    pub summary: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredConclusion {
    Success,
    Failure,
    Cancelled,
    Skipped,
}

impl From<Conclusion> for StoredConclusion {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Success => Self::Success,
            Conclusion::Failure => Self::Failure,
            Conclusion::Cancelled => Self::Cancelled,
            Conclusion::Skipped => Self::Skipped,
        }
    }
}

impl From<StoredConclusion> for Conclusion {
    fn from(conclusion: StoredConclusion) -> Self {
        match conclusion {
            StoredConclusion::Success => Self::Success,
            StoredConclusion::Failure => Self::Failure,
            StoredConclusion::Cancelled => Self::Cancelled,
            StoredConclusion::Skipped => Self::Skipped,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredStep {
    index: usize,
    name: String,
    started: Option<Time>,
    stopped: Option<Time>,
    outcome: Option<StoredConclusion>,
    conclusion: Option<StoredConclusion>,
    log_first: u64,
    log_length: u64,
}

impl From<&StepState> for StoredStep {
    fn from(step: &StepState) -> Self {
        Self {
            index: step.index,
            name: step.name.clone(),
            started: step.started.map(Time::from),
            stopped: step.stopped.map(Time::from),
            outcome: step.outcome.map(StoredConclusion::from),
            conclusion: step.conclusion.map(StoredConclusion::from),
            log_first: step.log_first.0,
            log_length: step.log_length,
        }
    }
}

impl From<StoredStep> for StepState {
    fn from(step: StoredStep) -> Self {
        Self {
            index: step.index,
            name: step.name,
            started: step.started.map(SystemTime::from),
            stopped: step.stopped.map(SystemTime::from),
            outcome: step.outcome.map(Conclusion::from),
            conclusion: step.conclusion.map(Conclusion::from),
            log_first: RowIndex(step.log_first),
            log_length: step.log_length,
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredLevel {
    Notice,
    Warning,
    Error,
}

impl From<Level> for StoredLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Notice => Self::Notice,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
        }
    }
}

impl From<StoredLevel> for Level {
    fn from(level: StoredLevel) -> Self {
        match level {
            StoredLevel::Notice => Self::Notice,
            StoredLevel::Warning => Self::Warning,
            StoredLevel::Error => Self::Error,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredAnnotation {
    step: Option<usize>,
    level: StoredLevel,
    message: String,
    title: Option<String>,
    file: Option<String>,
    lines: Option<(u32, u32)>,
    columns: Option<(u32, u32)>,
}

impl From<&Annotation> for StoredAnnotation {
    fn from(annotation: &Annotation) -> Self {
        Self {
            step: annotation.step,
            level: annotation.level.into(),
            message: annotation.message.clone(),
            title: annotation.title.clone(),
            file: annotation.file.clone(),
            lines: annotation.lines,
            columns: annotation.columns,
        }
    }
}

impl From<StoredAnnotation> for Annotation {
    fn from(annotation: StoredAnnotation) -> Self {
        Self {
            step: annotation.step,
            level: annotation.level.into(),
            message: annotation.message,
            title: annotation.title,
            file: annotation.file,
            lines: annotation.lines,
            columns: annotation.columns,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredSummary {
    step: Option<usize>,
    text: String,
}

/// One item of progress; its number is that of its record.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredProgress {
    after: u64,
    urgent: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StoredStep>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<StoredAnnotation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    summaries: Vec<StoredSummary>,
}

impl From<&Pending> for StoredProgress {
    fn from(pending: &Pending) -> Self {
        let progress = &pending.progress;
        let summary = |summary: &Summary| StoredSummary {
            step: summary.step,
            text: summary.text.clone(),
        };
        Self {
            after: pending.after.0,
            urgent: pending.urgent,
            steps: progress.steps.iter().map(StoredStep::from).collect(),
            annotations: progress.annotations.iter().map(StoredAnnotation::from).collect(),
            summaries: progress.summaries.iter().map(summary).collect(),
        }
    }
}

impl StoredProgress {
    /// The item with this number of this task.
    pub fn into_pending(self, task: TaskId, number: u64) -> Pending {
        let summary = |summary: StoredSummary| Summary {
            step: summary.step,
            text: summary.text,
        };
        Pending {
            number,
            after: RowIndex(self.after),
            urgent: self.urgent,
            progress: Progress {
                task,
                steps: self.steps.into_iter().map(StepState::from).collect(),
                annotations: self.annotations.into_iter().map(Annotation::from).collect(),
                summaries: self.summaries.into_iter().map(summary).collect(),
            },
        }
    }
}

/// How far a forge has acknowledged a task, and the steps as it knows them.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredCursor {
    rows: u64,
    progress: u64,
    steps: Vec<StoredStep>,
}

impl From<&Cursor> for StoredCursor {
    fn from(cursor: &Cursor) -> Self {
        Self {
            rows: cursor.rows.0,
            progress: cursor.progress,
            steps: cursor.steps.iter().map(StoredStep::from).collect(),
        }
    }
}

impl From<StoredCursor> for Cursor {
    fn from(cursor: StoredCursor) -> Self {
        Self {
            rows: RowIndex(cursor.rows),
            progress: cursor.progress,
            steps: cursor.steps.into_iter().map(StepState::from).collect(),
        }
    }
}

/// A report that no forge has acknowledged.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredReport {
    conclusion: StoredConclusion,
    outputs: BTreeMap<String, String>,
    started: Time,
    stopped: Time,
    #[serde(default)]
    steps: Vec<StoredStep>,
    rows: u64,
}

impl From<&Report> for StoredReport {
    fn from(report: &Report) -> Self {
        Self {
            conclusion: report.conclusion.into(),
            outputs: report.outputs.clone(),
            started: report.started.into(),
            stopped: report.stopped.into(),
            steps: report.steps.iter().map(StoredStep::from).collect(),
            rows: report.rows.0,
        }
    }
}

impl StoredReport {
    /// The report on this task.
    pub fn into_report(self, task: TaskId) -> Report {
        Report {
            task,
            conclusion: self.conclusion.into(),
            outputs: self.outputs,
            started: self.started.into(),
            stopped: self.stopped.into(),
            steps: self.steps.into_iter().map(StepState::from).collect(),
            rows: RowIndex(self.rows),
        }
    }
}
