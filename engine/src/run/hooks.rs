//! Programs of the runner's operator that run inside of every job: before its first step and after its last one.
//!
//! A hook is like a step that always runs: it has a job's environment and its file commands, and a job whose hook fails
//! has failed. As on GitHub the steps go on then, each by its own condition.

use std::time::Duration;

use tokio::time::Instant;

use super::environment::Layers;
use super::file_commands::{FileCommands, reserve};
use super::process::Ended;
use super::stop::{Stop, StopSignal};
use super::{JobRuntime, Session};
use crate::backend::{Command, Error};
use crate::chain::failed_to;
use crate::job::{Frame, JobView, StepIdentity, Work};
use crate::plan::Conclusion;

/// The variables that name hooks where the configuration does not.
const STARTED_VARIABLE: &str = "ACTIONS_RUNNER_HOOK_JOB_STARTED";
/// See [`STARTED_VARIABLE`].
const COMPLETED_VARIABLE: &str = "ACTIONS_RUNNER_HOOK_JOB_COMPLETED";

/// The hooks of every job; their paths are ones of the job's environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Runs before actions are fetched.
    pub job_started: Option<String>,
    /// Runs after the last post step.
    pub job_completed: Option<String>,
}

impl Hooks {
    /// The hooks that an operator has named, or else those that the variables of the runner's jobs name.
    pub fn named(job_started: &str, job_completed: &str, env: &[(String, String)]) -> Self {
        let named = |path: &str, variable: &str| {
            let fallback = || env.iter().rev().find(|(name, _)| name == variable);
            let path = match path {
                "" => fallback().map_or("", |(_, path)| path.as_str()),
                path => path,
            };
            (!path.is_empty()).then(|| path.to_owned())
        };
        Self {
            job_started: named(job_started, STARTED_VARIABLE),
            job_completed: named(job_completed, COMPLETED_VARIABLE),
        }
    }
}

/// Which hook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Started,
    Completed,
}

impl Moment {
    /// What `github.action` says.
    fn id(self) -> &'static str {
        match self {
            Self::Started => "__job_started",
            Self::Completed => "__job_completed",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Started => "Job started hook",
            Self::Completed => "Job completed hook",
        }
    }

    fn hook(self, hooks: &Hooks) -> Option<&String> {
        match self {
            Self::Started => hooks.job_started.as_ref(),
            Self::Completed => hooks.job_completed.as_ref(),
        }
    }
}

/// What a hook has left behind.
pub(super) struct Hooked {
    /// How it ended.
    pub outcome: Conclusion,
    /// The job after it.
    pub view: JobView,
}

/// Runs a hook to its end; nothing if there is none, or if `stop` says already that nothing more may begin.
///
/// # Cancel safety
/// Not cancel safe; end it with `stop`.
pub(super) async fn run_hook(
    runtime: &JobRuntime,
    moment: Moment,
    view: JobView,
    frame: &Frame,
    limit: Option<Duration>,
    stop: StopSignal,
) -> Option<Hooked> {
    let path = moment.hook(&runtime.settings.hooks)?.clone();
    if stop.level() > Stop::No {
        return None;
    }
    let mut session = Session::open(runtime, 0, &Work::Pre, view, stop);
    session.log.line(format_args!("##[group]{}", moment.title()));
    session.log.line(format_args!(
        "Run '{path}', as the operator of this runner wants it"
    ));
    let outcome = match session.hook(moment, &path, frame, limit).await {
        Ok(outcome) => outcome,
        Err(reason) => {
            session.log.line("##[endgroup]");
            session.refuse(&reason).outcome
        }
    };
    if outcome == Conclusion::Failure {
        session.log.error(format_args!("{} failed", moment.title()));
    }
    session.log.finish().await;
    runtime.collect_leaks(&mut session.log);
    Some(Hooked {
        outcome,
        view: session.view,
    })
}

impl Session<'_> {
    async fn hook(
        &mut self,
        moment: Moment,
        path: &str,
        frame: &Frame,
        limit: Option<Duration>,
    ) -> Result<Conclusion, String> {
        if !path.starts_with('/') {
            // What a relative path names would depend on the directory, which may hold a stranger's files.
            return Err(format!("the hook '{path}' has no absolute path"));
        }
        let identity = StepIdentity {
            action: moment.id().to_owned(),
            files: reserve(self.runtime),
            ..StepIdentity::default()
        };
        let told = |error: Error| failed_to(&error);
        let files = FileCommands::create(self.runtime, &identity)
            .await
            .map_err(told)?;
        let env = self.environment_of(frame, &identity, &Layers::default(), &files);
        let command = Command {
            argv: self.hook_argv(path, &env).await?,
            env,
            cwd: self.runtime.sandbox.layout().workspace.clone(),
        };
        // A limit beyond what a clock can count is none.
        self.limit = limit.and_then(|limit| Instant::now().checked_add(limit));
        let (ended, effects) = self.process(command).await.map_err(told)?;
        self.log.line("##[endgroup]");
        match ended {
            Ended::Exited(_) => {}
            Ended::Cancelled => self.log.error("The operation was canceled."),
            Ended::TimedOut => {
                let seconds = limit.unwrap_or_default().as_secs();
                self.log
                    .error(format_args!("The hook has not ended within {seconds} seconds."));
            }
        }
        // What it has written counts also if it failed.
        let (concluded, summary) = self.conclude(&ended, effects, &files).await;
        if let Some(summary) = summary {
            self.log.summarize(&summary).await;
        }
        files.remove(self.runtime).await;
        Ok(concluded.done.outcome)
    }

    /// How a hook is started: by its extension, as GitHub documents it.
    async fn hook_argv(&self, path: &str, env: &[(String, String)]) -> Result<Vec<String>, String> {
        let (shell, others, arguments) = match path.rsplit_once('.') {
            Some((_, "sh")) => ("bash", "sh", vec!["-e".to_owned(), path.to_owned()]),
            Some((_, "ps1")) => {
                let command = format!(". '{}'", path.replace('\'', "''"));
                ("pwsh", "powershell", vec!["-command".to_owned(), command])
            }
            _ => {
                let program = self.find_program(path, env).await;
                let missing = || format!("the hook '{path}' is no program that this job can start");
                return program.map(|program| vec![program]).ok_or_else(missing);
            }
        };
        let program = match self.find_program(shell, env).await {
            Some(program) => program,
            None => self
                .find_program(others, env)
                .await
                .unwrap_or_else(|| shell.to_owned()),
        };
        Ok([vec![program], arguments].concat())
    }
}
