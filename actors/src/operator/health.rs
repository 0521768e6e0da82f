//! Whether the machine is well enough for a job: free disk space, and a program of the operator.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_engine::backend::host::{Finished, OwnProgram, free_bytes};
use gantry_engine::chain::failed_to;
use tokio::time::Instant;

/// What is checked, and how often.
#[derive(Debug, Clone)]
pub struct Health {
    /// Where jobs have their directories; what does not exist yet stands for the nearest directory above it.
    pub directory: PathBuf,
    /// How many bytes must be free there.
    pub min_free: u64,
    /// A program whose failure means that no job is claimed.
    pub script: Option<PathBuf>,
    /// The environment of the program; what is known only at the time of the check is added.
    pub env: Vec<(String, String)>,
    /// How long an answer of the program counts.
    pub interval: Duration,
    /// How long the program, or the look at the disk, may take.
    pub timeout: Duration,
}

/// What the program has said, and until when that counts.
#[derive(Debug)]
struct Answer {
    /// Why the machine is not ready, if it is not.
    unready: Option<String>,
    until: Instant,
}

/// What has been found out, and when.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Why the machine is not ready, if it is not.
    unready: Option<String>,
    /// What the program has said last.
    script: Option<Answer>,
}

impl State {
    /// The answer as it is known; while jobs run nothing else is asked.
    pub fn known(&self) -> Option<String> {
        self.unready.clone()
    }

    /// What the program has said, if that counts still.
    fn said(&self, now: Instant) -> Option<&Answer> {
        self.script.as_ref().filter(|answer| now < answer.until)
    }

    fn on_said(&mut self, unready: Option<String>, now: Instant, interval: Duration) {
        // An interval beyond what a clock can count is as good as this.
        let until = now
            .checked_add(interval)
            .unwrap_or(now + Duration::from_hours(24));
        self.script = Some(Answer { unready, until });
    }

    fn on_checked(&mut self, unready: Option<String>) -> Option<String> {
        self.unready.clone_from(&unready);
        unready
    }
}

impl Health {
    /// Looks at the machine; the reason if it is not ready for a job.
    pub(super) async fn check(&self, state: &mut State, running: usize) -> Option<String> {
        let unready = match self.lacks_space().await {
            Some(reason) => Some(reason),
            None => self.ask_script(state, running).await,
        };
        state.on_checked(unready)
    }

    async fn lacks_space(&self) -> Option<String> {
        let (directory, min_free) = (self.directory.clone(), self.min_free);
        let look = tokio::task::spawn_blocking(move || lacks_space(&directory, min_free));
        match tokio::time::timeout(self.timeout, look).await {
            Ok(Ok(reason)) => reason,
            Ok(Err(panic)) => Some(format!("the look at the disk has failed: {panic}")),
            Err(_) => Some(format!(
                "the disk of {} has not answered within {:?}",
                self.directory.display(),
                self.timeout
            )),
        }
    }

    async fn ask_script(&self, state: &mut State, running: usize) -> Option<String> {
        let path = self.script.as_ref()?;
        if let Some(said) = state.said(Instant::now()) {
            return said.unready.clone();
        }
        let said = self.run_script(path, running).await;
        state.on_said(said.clone(), Instant::now(), self.interval);
        said
    }

    async fn run_script(&self, path: &Path, running: usize) -> Option<String> {
        let mut env = self.env.clone();
        env.push(("GITEA_RUNNER_HEALTH_CHECK".to_owned(), "true".to_owned()));
        env.push(("GITEA_RUNNER_RUNNING_JOBS".to_owned(), running.to_string()));
        let program = OwnProgram {
            path: path.to_owned(),
            env,
            limit: self.timeout,
        };
        let mut last = String::new();
        let mut on_line = |line: &str| {
            tracing::debug!("health check script: {line}");
            if !line.trim().is_empty() {
                line.trim().clone_into(&mut last);
            }
        };
        let finished = program.run(std::future::pending(), &mut on_line).await;
        let path = path.display();
        let reason = match finished {
            Ok(Finished::Exited(exit)) if exit.code == 0 => return None,
            Ok(Finished::Exited(exit)) => {
                format!("the health check script {path} has ended with code {}", exit.code)
            }
            Ok(Finished::TimedOut | Finished::Stopped) => {
                format!(
                    "the health check script {path} has not ended within {:?}",
                    self.timeout
                )
            }
            Err(error) => failed_to(&error),
        };
        if last.is_empty() {
            return Some(reason);
        }
        Some(format!("{reason}: {last}"))
    }
}

fn lacks_space(directory: &Path, min_free: u64) -> Option<String> {
    const MIB: u64 = 1024 * 1024;
    let shown = directory.display();
    match free_bytes(directory) {
        Ok(free) if free >= min_free => None,
        Ok(free) => Some(format!(
            "{} MiB are free for {shown}, and {} MiB must be",
            free / MIB,
            min_free / MIB
        )),
        Err(error) => Some(format!("the free space of {shown} is not known: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_has_said_counts_for_its_interval() {
        let start = Instant::now();
        let seconds = Duration::from_secs;
        let mut state = State::default();
        assert!(state.said(start).is_none());
        state.on_said(Some("ill".to_owned()), start, seconds(30));
        let said = |state: &State, after: u64| Some(state.said(start + seconds(after))?.unready.is_none());
        assert_eq!(said(&state, 29), Some(false));
        assert_eq!(said(&state, 30), None);
        state.on_said(None, start + seconds(31), seconds(30));
        assert_eq!(said(&state, 60), Some(true));
        assert_eq!(said(&state, 61), None);
    }
}
