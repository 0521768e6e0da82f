//! `run` steps.

use indexmap::IndexMap;

use super::Session;
use super::environment::{self, Layers};
use super::file_commands::FileCommands;
use super::output::Effects;
use super::process::Ended;
use super::session::Done;
use super::shell::{Shell, script_header};
use super::step::Prepared;
use crate::backend::{Command, Error};
use crate::chain::Chain;
use crate::job::{Frame, StepIdentity};
use crate::model::RunStep;
use crate::plan::Conclusion;

/// A script that is ready to start.
struct Script {
    shell: Shell,
    text: String,
    directory: String,
}

impl Session<'_> {
    /// Runs a `run` step.
    pub async fn script(&mut self, prepared: &Prepared<'_>, run: &RunStep) -> Done {
        let script = match self.evaluate_script(prepared, run).await {
            Ok(script) => script,
            Err(message) => return self.refuse(&message),
        };
        let files = match FileCommands::create(self.runtime, &prepared.identity).await {
            Ok(files) => files,
            Err(error) => return self.refuse(&Chain(&error).to_string()),
        };
        let layers = Layers {
            step: &prepared.own_env,
            ..Layers::default()
        };
        let env = self.environment_of(prepared.frame, &prepared.identity, &layers, &files);
        match self.start_script(prepared, &script, env).await {
            Ok((ended, effects)) => self.conclude(&ended, effects, files).await.done,
            Err(error) => self.refuse(&Chain(&error).to_string()),
        }
    }

    async fn evaluate_script(&self, prepared: &Prepared<'_>, run: &RunStep) -> Result<Script, String> {
        let evaluator = self.evaluator(prepared.frame, &prepared.identity);
        let env = &prepared.env;
        let text = evaluator
            .field(&run.script, env.clone())
            .await
            .map_err(|error| error.0)?;
        let shell = evaluator
            .optional(run.shell.as_ref(), env)
            .await
            .map_err(|error| error.0)?;
        let directory = evaluator
            .optional(run.working_directory.as_ref(), env)
            .await
            .map_err(|error| error.0)?;
        // Defaults of the job are not used inside of composite actions.
        let in_job = prepared.frame.action.is_none();
        let shell = shell.or_else(|| self.view.default_shell.clone().filter(|_| in_job));
        let directory = directory.or_else(|| self.view.default_working_directory.clone().filter(|_| in_job));
        Ok(Script {
            shell: self.shell(shell).await?,
            text,
            directory: self.directory(directory.as_deref().unwrap_or_default()),
        })
    }

    async fn shell(&self, shell: Option<String>) -> Result<Shell, String> {
        match shell.filter(|shell| !shell.trim().is_empty()) {
            Some(shell) => Shell::parse(&shell).map_err(str::to_owned),
            None => Ok(Shell::default_of(self.find_program("bash", &[]).await.is_some())),
        }
    }

    /// Joins a working directory with the workspace; an absolute one stands for itself.
    fn directory(&self, directory: &str) -> String {
        let workspace = &self.runtime.sandbox.layout().workspace;
        match directory {
            "" => workspace.clone(),
            absolute if absolute.starts_with('/') => absolute.to_owned(),
            relative => format!("{workspace}/{relative}"),
        }
    }

    pub async fn find_program(&self, name: &str, env: &[(String, String)]) -> Option<String> {
        let base = self.runtime.sandbox.base_environment();
        let path = env.iter().chain(base.iter()).find(|(name, _)| name == "PATH");
        let path = path.map_or("", |(_, value)| value.as_str());
        self.runtime.sandbox.find_program(name, path).await
    }

    async fn start_script(
        &mut self,
        prepared: &Prepared<'_>,
        script: &Script,
        env: Vec<(String, String)>,
    ) -> Result<(Ended, Effects), Error> {
        let program = self.find_program(&script.shell.program, &env).await;
        let shown = shown_environment(self.view.env.iter(), prepared);
        let description = script.shell.description(program.as_deref());
        self.log.text(&script_header(&script.text, &description, &shown));

        let sandbox = &self.runtime.sandbox;
        let temp = &sandbox.layout().temp;
        let path = format!("{temp}/{}{}", self.runtime.unique_name(), script.shell.extension);
        sandbox
            .write_file(&path, script.shell.script_file(&script.text).as_bytes())
            .await?;
        let mut argv = vec![program.unwrap_or_else(|| script.shell.program.clone())];
        argv.extend(script.shell.argv(&path));
        let ended = self
            .process(Command {
                argv,
                env,
                cwd: script.directory.clone(),
            })
            .await;
        if let Err(error) = sandbox.remove_file(&path).await {
            tracing::debug!(%error, path, "a script file stays until the job is removed");
        }
        ended
    }

    /// The complete environment of a process.
    pub fn environment_of(
        &self,
        frame: &Frame,
        identity: &StepIdentity,
        layers: &Layers<'_>,
        files: &FileCommands,
    ) -> Vec<(String, String)> {
        let github = self.view.github(frame, identity);
        environment::build(self.runtime, &self.view, frame, &github, layers, files)
    }

    /// Reads the file commands and makes an outcome of all that the process has left.
    pub async fn conclude(&mut self, ended: &Ended, effects: Effects, files: FileCommands) -> Concluded {
        if let Ended::Exited(code) = ended
            && *code != 0
        {
            self.log
                .error(format_args!("Process completed with exit code {code}."));
        }
        let written = files.collect(self.runtime, &mut self.view).await;
        for message in &written.messages {
            self.log.line(message);
        }
        if let Some(summary) = &written.summary {
            self.log.summarize(summary).await;
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
        Concluded {
            done: Done {
                outputs,
                ..Done::plain(outcome)
            },
            state,
        }
    }
}

/// What a process has left behind.
pub(super) struct Concluded {
    pub done: Done,
    /// What it saved for its post step.
    pub state: IndexMap<String, String>,
}

/// What the log shows under `env:`.
pub(super) fn shown_environment<'a>(
    job: impl Iterator<Item = (&'a String, &'a String)>,
    prepared: &Prepared<'_>,
) -> Vec<(String, String)> {
    let mut shown: indexmap::IndexMap<&str, &str> =
        job.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    shown.extend(
        prepared
            .frame
            .env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    shown.extend(
        prepared
            .own_env
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    shown
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
