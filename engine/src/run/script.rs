//! `run` steps.

use super::Session;
use super::attempt::{Attempt, Concluded};
use super::environment::Layers;
use super::file_commands::FileCommands;
use super::observe::{Mark, Phase};
use super::session::Done;
use super::shell::{Shell, script_header};
use super::step::Prepared;
use crate::backend::{Command, Error};
use crate::chain::failed_to;
use crate::model::RunStep;

/// A script that is ready to start.
struct Script {
    shell: Shell,
    text: String,
    directory: String,
}

impl Session<'_> {
    /// Runs a `run` step.
    pub async fn script(&mut self, prepared: &Prepared<'_>, run: &RunStep) -> Done {
        let mark = self.runtime.mark();
        let script = match self.evaluate_script(prepared, run).await {
            Ok(script) => script,
            Err(message) => return self.refuse(&message),
        };
        let mark = self.runtime.phase(Phase::Evaluate, mark);
        match self.run_script(prepared, &script, mark).await {
            Ok(concluded) => concluded.done,
            Err(error) => self.refuse(&failed_to(&error)),
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

    async fn run_script(
        &mut self,
        prepared: &Prepared<'_>,
        script: &Script,
        mark: Mark,
    ) -> Result<Concluded, Error> {
        let files = FileCommands::create(self.runtime, &prepared.identity).await?;
        let layers = Layers {
            step: &prepared.own_env,
            ..Layers::default()
        };
        let env = self.environment_of(prepared.frame, &prepared.identity, &layers, &files);
        let program = self.find_program(&script.shell.program, &env).await;
        let shown = shown_environment(self.listed_environment(), prepared);
        let description = script.shell.description(program.as_deref());
        self.log.text(&script_header(&script.text, &description, &shown));

        let sandbox = &self.runtime.sandbox;
        let temp = &sandbox.layout().temp;
        let path = format!("{temp}/{}{}", self.runtime.unique_name(), script.shell.extension);
        sandbox
            .write_file(&path, script.shell.script_file(&script.text).as_bytes())
            .await?;
        self.runtime.phase(Phase::Files, mark);
        let mut argv = vec![program.unwrap_or_else(|| script.shell.program.clone())];
        argv.extend(script.shell.argv(&path));
        let attempt = Attempt {
            name: &prepared.name,
            command: Command {
                argv,
                env,
                cwd: script.directory.clone(),
            },
            files,
            script: Some(path.clone()),
        };
        let concluded = self.attempt(attempt).await;
        if let Err(error) = sandbox.remove_file(&path).await {
            tracing::debug!(%error, path, "a script file stays until the job is removed");
        }
        concluded
    }
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
