//! What the server keeps: runners, runs, jobs, tasks and rows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use gantry_protocols::gitea::wire;
use serde_json::Value;

use super::calls::Call as WorkflowCall;

/// How a job or a task stands. The order is that of the numbers in a server's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It ended well.
    Success,
    /// It ended badly.
    Failure,
    /// It was cancelled.
    Cancelled,
    /// It never ran.
    Skipped,
    /// It waits for a runner.
    Waiting,
    /// A runner has it.
    Running,
    /// It waits for other jobs.
    Blocked,
    /// It was cancelled and its runner cleans up.
    Cancelling,
}

impl Status {
    /// Tells whether nothing will follow.
    pub fn is_done(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failure | Self::Cancelled | Self::Skipped
        )
    }

    /// What a runner is told.
    pub fn result(self) -> wire::Result {
        match self {
            Self::Success => wire::Result::Success,
            Self::Failure => wire::Result::Failure,
            Self::Cancelled | Self::Cancelling => wire::Result::Cancelled,
            Self::Skipped => wire::Result::Skipped,
            Self::Waiting | Self::Running | Self::Blocked => wire::Result::Unspecified,
        }
    }

    /// The end that a runner reports; nothing if it reports none.
    pub fn of_result(result: wire::Result) -> Option<Self> {
        match result {
            wire::Result::Unspecified => None,
            wire::Result::Success => Some(Self::Success),
            wire::Result::Failure => Some(Self::Failure),
            wire::Result::Cancelled => Some(Self::Cancelled),
            wire::Result::Skipped => Some(Self::Skipped),
        }
    }

    /// The status of several jobs together.
    pub(crate) fn together(all: impl IntoIterator<Item = Self>) -> Self {
        let all: BTreeSet<Self> = all.into_iter().collect();
        let has = |status| all.contains(&status);
        if all.iter().any(|status| !status.is_done()) {
            let unfinished = [Self::Cancelling, Self::Running, Self::Waiting, Self::Blocked];
            return unfinished.into_iter().find(|s| has(*s)).unwrap_or(Self::Waiting);
        }
        let ended = [Self::Failure, Self::Cancelled, Self::Success];
        ended.into_iter().find(|s| has(*s)).unwrap_or(Self::Skipped)
    }
}

/// A registered runner.
#[derive(Debug, Clone)]
pub struct Runner {
    /// The server's number for it.
    pub id: i64,
    /// The name with which it authenticates.
    pub uuid: String,
    /// The secret with which it authenticates; a real server keeps only its hash.
    pub token: String,
    /// The name that people see.
    pub name: String,
    /// The version that it told last.
    pub version: String,
    /// The names of its labels.
    pub labels: Vec<String>,
    /// What it says it can do; nothing if it never said anything.
    pub capabilities: Option<Vec<String>>,
    /// Whether it is for one task only.
    pub ephemeral: bool,
    /// Whether it gets no tasks for now.
    pub disabled: bool,
    /// When it was removed, if it was.
    pub removed: Option<SystemTime>,
    /// When it called last.
    pub last_online: SystemTime,
    /// When it last told something of a task.
    pub last_active: Option<SystemTime>,
}

/// One execution of a workflow for one event.
#[derive(Debug, Clone)]
pub struct Run {
    /// The server's number for it.
    pub id: i64,
    /// Its number in its repository.
    pub number: i64,
    /// Which attempt it is, from 1.
    pub attempt: i64,
    /// What started it.
    pub trigger: Trigger,
    /// The workflow's name.
    pub workflow: String,
    /// When it was made.
    pub created: SystemTime,
    /// The outputs of the jobs that call workflows: for each name the job that makes it, and its name there.
    pub outputs: BTreeMap<String, BTreeMap<String, (String, String)>>,
}

/// A job of a run: one node of its graph, or one leg of its matrix.
#[derive(Debug, Clone)]
pub struct Job {
    /// The server's number for it.
    pub id: i64,
    /// The run that it belongs to.
    pub run: i64,
    /// Its name in the workflow, after those of the jobs that call that.
    pub key: String,
    /// What the names of the jobs of the same workflow begin with, if that was called.
    pub scope: String,
    /// What its workflow was called with, if it was.
    pub call: Option<WorkflowCall>,
    /// Whether its failure counts as a success for its run.
    pub is_tolerated: bool,
    /// The name that people see.
    pub name: String,
    /// Names the attempt for a runner that wants exactly this one.
    pub handle: String,
    /// The document that a runner gets.
    pub payload: Vec<u8>,
    /// The labels that a runner must have.
    pub runs_on: Vec<String>,
    /// The jobs that it waits for.
    pub needs: Vec<String>,
    /// Whether it has an `if`, which the runner decides.
    pub has_condition: bool,
    /// The names of its steps.
    pub steps: Vec<String>,
    /// How it stands.
    pub status: Status,
    /// The task that it was handed out as.
    pub task: Option<i64>,
    /// When it changed last, which gives the order of handing out.
    pub updated: SystemTime,
}

impl Job {
    /// How it counts for its run.
    pub(super) fn counted(&self) -> Status {
        match self.status {
            Status::Failure if self.is_tolerated => Status::Success,
            status => status,
        }
    }
}

/// A job that was handed out.
#[derive(Debug, Clone)]
pub struct Task {
    /// The server's number for it.
    pub id: i64,
    /// The job.
    pub job: i64,
    /// The runner that has it.
    pub runner: i64,
    /// The token with which the job may call the server.
    pub token: String,
    /// The token with which the job may store artifacts.
    pub runtime_token: String,
    /// How it stands.
    pub status: Status,
    /// When it was handed out.
    pub started: SystemTime,
    /// When it ended.
    pub stopped: Option<SystemTime>,
    /// When its runner last told something of it.
    pub updated: SystemTime,
    /// Its steps as the runner told last.
    pub steps: Vec<wire::StepState>,
    /// Its outputs.
    pub outputs: BTreeMap<String, String>,
    /// The rows of its log.
    pub rows: Vec<Row>,
    /// Whether its log is closed for good.
    pub archived: bool,
    /// Every state that its runner told, in order.
    pub states: Vec<Told>,
    /// The summaries of its steps, by the steps' places.
    pub summaries: BTreeMap<usize, String>,
}

impl Task {
    /// The rows' texts, in order.
    pub fn texts(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.content.as_str()).collect()
    }
}

/// A row of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// When the runner says it was written.
    pub written: SystemTime,
    /// When it came.
    pub received: SystemTime,
    /// Its text as the server stores it.
    pub content: String,
}

/// A state that a runner told.
#[derive(Debug, Clone)]
pub struct Told {
    /// When it came.
    pub at: SystemTime,
    /// How many rows the server had then.
    pub rows: usize,
    /// The state.
    pub state: wire::TaskState,
    /// The outputs that came with it.
    pub outputs: BTreeMap<String, String>,
    /// How the task stood before.
    pub before: Status,
}

/// What starts a run.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// The repository's full name.
    pub repository: String,
    /// The workflow's path in the repository.
    pub file: String,
    /// The workflow.
    pub text: String,
    /// The event's name.
    pub event: String,
    /// What the event says.
    pub payload: Value,
    /// The ref, in full.
    pub git_ref: String,
    /// The commit.
    pub sha: String,
    /// Who did it.
    pub actor: String,
}

impl Trigger {
    /// A push of this workflow to the main branch of `octo/demo`.
    pub fn push(text: impl Into<String>) -> Self {
        Self {
            repository: "octo/demo".to_owned(),
            file: ".gitea/workflows/ci.yaml".to_owned(),
            text: text.into(),
            event: "push".to_owned(),
            payload: Value::Object(serde_json::Map::new()),
            git_ref: "refs/heads/main".to_owned(),
            sha: "5f1d38a0c1e9b7a6f00d5f1d38a0c1e9b7a6f00d".to_owned(),
            actor: "octo".to_owned(),
        }
    }

    /// A dispatch with these inputs.
    pub fn dispatch(text: impl Into<String>, inputs: &Value) -> Self {
        Self {
            event: "workflow_dispatch".to_owned(),
            payload: serde_json::json!({ "inputs": inputs }),
            ..Self::push(text)
        }
    }

    /// The same event in another repository, `owner/name`.
    #[must_use]
    pub fn in_repository(self, repository: &str) -> Self {
        Self {
            repository: repository.to_owned(),
            ..self
        }
    }

    /// The same event for another workflow file.
    #[must_use]
    pub fn of_file(self, file: &str) -> Self {
        Self {
            file: file.to_owned(),
            ..self
        }
    }
}
