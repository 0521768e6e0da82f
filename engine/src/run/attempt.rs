//! The process of a step, run as often as a person wants it.

use indexmap::IndexMap;
use tokio::time::Instant;

use super::Session;
use super::breakpoint::{BREAK_ROW, Decision, FailedStep};
use super::environment::{Environment, Layers};
use super::file_commands::FileCommands;
use super::observe::Phase;
use super::output::Effects;
use super::process::Ended;
use super::session::Done;
use super::step::Prepared;
use super::stop::Stop;
use crate::backend::{Command, Error};
use crate::job::{Frame, StepIdentity};
use crate::plan::Conclusion;

/// What a process has left behind.
pub(super) struct Concluded {
    pub done: Done,
    /// What it saved for its post step.
    pub state: IndexMap<String, String>,
}

/// A process of a step that is ready to start.
pub(super) struct Attempt<'a> {
    /// What a person calls the step.
    pub name: &'a str,
    pub command: Command,
    pub files: FileCommands,
    /// The script file, if the step is a script.
    pub script: Option<String>,
}

impl Session<'_> {
    /// The complete environment of a process.
    pub fn environment_of(
        &self,
        frame: &Frame,
        identity: &StepIdentity,
        layers: &Layers<'_>,
        files: &FileCommands,
    ) -> Vec<(String, String)> {
        let github = self.view.github(frame, identity);
        let environment = Environment::build(self.runtime, &self.view, frame, &github, layers, files);
        self.runtime.observe_environment(&environment);
        environment.into_pairs()
    }

    /// Runs a process and makes an outcome of all that it has left; where it fails, a breakpoint may have it run again.
    ///
    /// # Errors
    /// The sandbox could not start it or lost it.
    pub async fn attempt(&mut self, attempt: Attempt<'_>) -> Result<Concluded, Error> {
        loop {
            let (before, started) = (self.view.clone(), Instant::now());
            let (ended, effects) = self.process(attempt.command.clone()).await?;
            let ended_at = Instant::now();
            let (mut concluded, summary) = self.conclude(&ended, effects, &attempt.files).await;
            let decision = match concluded.done.outcome {
                Conclusion::Failure => {
                    self.break_on_failure(attempt.name, Some((&attempt, &ended)))
                        .await
                }
                _ => Decision::Continue,
            };
            match decision {
                // Time in which a person thinks counts for no time-out.
                Decision::Continue => self.postpone_deadlines(ended_at),
                Decision::Skip => {
                    self.postpone_deadlines(started);
                    self.view = before.clone();
                    concluded = self.skip(&attempt).await;
                }
                Decision::Rerun => {
                    self.postpone_deadlines(started);
                    self.view = before;
                    attempt.files.empty(self.runtime).await?;
                    continue;
                }
            }
            concluded.done.decided = true;
            if let Some(summary) = &summary {
                self.log.summarize(summary).await;
            }
            self.note_written(&before.env);
            attempt.files.remove(self.runtime).await;
            return Ok(concluded);
        }
    }

    /// Runs what a step is written for; where it fails without a process, a breakpoint may have it run again.
    pub async fn act_until_decided(&mut self, prepared: &Prepared<'_>) -> Done {
        loop {
            let (before, posts) = (self.view.clone(), self.posts.len());
            let started = Instant::now();
            let done = self.act(prepared).await;
            if done.decided || done.outcome != Conclusion::Failure {
                return done;
            }
            let ended_at = Instant::now();
            let decision = self.break_on_failure(&prepared.name, None).await;
            if decision == Decision::Continue {
                self.postpone_deadlines(ended_at);
                return done;
            }
            self.postpone_deadlines(started);
            self.view = before;
            if decision == Decision::Skip {
                return Done::plain(Conclusion::Success);
            }
            self.posts.truncate(posts);
        }
    }

    /// Reads the file commands and makes an outcome of all that the process has left, and yields the summary.
    pub(super) async fn conclude(
        &mut self,
        ended: &Ended,
        effects: Effects,
        files: &FileCommands,
    ) -> (Concluded, Option<String>) {
        if let Ended::Exited(code) = ended
            && *code != 0
        {
            self.log
                .error(format_args!("Process completed with exit code {code}."));
        }
        let mark = self.runtime.mark();
        let written = files.read(self.runtime, &mut self.view).await;
        self.runtime.phase(Phase::Collect, mark);
        for message in &written.messages {
            self.log.line(message);
        }
        let failed = effects.failed || written.failed;
        let outcome = match ended {
            Ended::Cancelled => Conclusion::Cancelled,
            Ended::Exited(0) if !failed => Conclusion::Success,
            Ended::Exited(_) | Ended::TimedOut => Conclusion::Failure,
        };
        let (mut outputs, mut state) = (effects.outputs, effects.state);
        outputs.extend(written.outputs);
        state.extend(written.state);
        let done = Done {
            outputs,
            ..Done::plain(outcome)
        };
        (Concluded { done, state }, written.summary)
    }

    /// Asks what becomes of a step that failed, maybe with a process. A job that is being stopped asks nobody.
    async fn break_on_failure(&mut self, name: &str, process: Option<(&Attempt<'_>, &Ended)>) -> Decision {
        let settings = &self.runtime.settings;
        let (Some(breakpoint), Some(job)) = (&settings.breakpoint, &self.runtime.job) else {
            return Decision::Continue;
        };
        if self.stop.level() > Stop::No {
            return Decision::Continue;
        }
        self.log.line(BREAK_ROW);
        self.log.flush().await;
        let mark = self.runtime.mark();
        let failed = FailedStep {
            job: job.clone(),
            name: self.runtime.concealed(name),
            code: match process {
                Some((_, Ended::Exited(code))) => Some(*code),
                Some((_, Ended::TimedOut | Ended::Cancelled)) | None => None,
            },
            command: process.map(|(attempt, _)| attempt.command.clone()),
            script: process.and_then(|(attempt, _)| attempt.script.clone()),
        };
        let waiting = self.runtime.held.begin();
        let decision = tokio::select! {
            decision = breakpoint.decide(failed) => decision,
            _ = self.stop.above(Stop::No) => Decision::Continue,
        };
        drop(waiting);
        self.runtime.phase(Phase::Break, mark);
        match decision {
            Decision::Continue => {}
            Decision::Rerun => self.log.line("Running the step again"),
            Decision::Skip => self.log.line("The step counts as a success"),
        }
        decision
    }

    /// What a failed step has left if it counts as a success: only its files speak for it.
    async fn skip(&mut self, attempt: &Attempt<'_>) -> Concluded {
        let written = attempt.files.read(self.runtime, &mut self.view).await;
        for message in &written.messages {
            self.log.line(message);
        }
        Concluded {
            done: Done {
                outputs: written.outputs,
                ..Done::plain(Conclusion::Success)
            },
            state: written.state,
        }
    }

    /// Gives the steps that are being run the time back that has passed since `from`.
    fn postpone_deadlines(&mut self, from: Instant) {
        if self.runtime.settings.breakpoint.is_none() {
            return;
        }
        let passed = from.elapsed();
        for deadline in self.guards.iter_mut().filter_map(|guard| guard.deadline.as_mut()) {
            // A moment that no clock can count never comes.
            *deadline = deadline.checked_add(passed).unwrap_or(*deadline);
        }
    }
}
