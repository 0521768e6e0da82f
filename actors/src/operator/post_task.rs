//! The operator's program after each job.

use std::path::PathBuf;
use std::time::Duration;

use gantry_engine::backend::host::{Finished, OwnProgram};
use gantry_engine::chain::failed_to;
use gantry_protocols::forge::{Claim, Conclusion, TaskId};
use serde_json::Value;

/// So many lines of one run go to the runner's log.
const LINES: usize = 1000;

/// A program that runs on the runner's machine after each job, once the job's place is removed.
#[derive(Debug, Clone)]
pub struct PostTask {
    /// Where it is.
    pub script: PathBuf,
    /// How long it may take, whatever time the job had.
    pub timeout: Duration,
    /// Its environment, besides what it is told of the job; it gets nothing else.
    pub env: Vec<(String, String)>,
}

/// What the program is told of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aftermath {
    /// The task.
    pub task: TaskId,
    /// The number of its run, as the forge has it.
    pub run: String,
    /// `owner/name`
    pub repository: String,
    /// Where the job's workspace was; empty if it never had one.
    pub workspace: String,
    /// How the job ended.
    pub conclusion: Conclusion,
}

impl Aftermath {
    /// What is known of a job that was claimed.
    pub fn of(claim: &Claim, workspace: String, conclusion: Conclusion) -> Self {
        let text = |key: &str| match claim.given.context.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        Self {
            task: claim.task,
            run: text("run_id"),
            repository: text("repository"),
            workspace,
            conclusion,
        }
    }

    fn variables(&self) -> [(String, String); 5] {
        let result = match self.conclusion {
            Conclusion::Success => "success",
            Conclusion::Failure => "failure",
            Conclusion::Cancelled => "cancelled",
            Conclusion::Skipped => "skipped",
        };
        [
            ("GITEA_TASK_ID", self.task.to_string()),
            ("GITEA_RUN_ID", self.run.clone()),
            ("GITEA_REPOSITORY", self.repository.clone()),
            ("GITEA_WORKSPACE", self.workspace.clone()),
            ("GITEA_JOB_RESULT", result.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }
}

impl PostTask {
    /// Runs the program to its end, or to its kill at its time-out or once `stop` resolves. What goes wrong is a
    /// warning in the runner's log.
    ///
    /// # Cancel safety
    /// A dropped call kills the program.
    pub async fn run(&self, aftermath: &Aftermath, stop: impl Future<Output = ()> + Send) {
        let task = aftermath.task;
        let program = OwnProgram {
            path: self.script.clone(),
            env: self.env.iter().cloned().chain(aftermath.variables()).collect(),
            limit: self.timeout,
        };
        let mut lines = 0_usize;
        let on_line = |line: &str| {
            lines += 1;
            if lines <= LINES {
                tracing::info!(%task, "post-task script: {line}");
            }
        };
        let finished = program.run(stop, on_line).await;
        if let Some(more) = lines.checked_sub(LINES).filter(|more| *more > 0) {
            tracing::warn!(%task, "post-task script: {more} more lines are not shown");
        }
        match finished {
            Ok(Finished::Exited(exit)) if exit.code == 0 => {}
            Ok(Finished::Exited(exit)) => {
                tracing::warn!(%task, code = exit.code, "the post-task script has failed");
            }
            Ok(Finished::TimedOut) => {
                tracing::warn!(%task, limit = ?self.timeout, "the post-task script has taken too long and was killed");
            }
            Ok(Finished::Stopped) => {
                tracing::warn!(%task, "the post-task script was killed with the runner's jobs");
            }
            Err(error) => tracing::warn!(%task, "{}", failed_to(&error)),
        }
    }
}
