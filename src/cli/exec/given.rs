//! What the command line and the configuration give to the jobs: environment, secrets, variables and inputs.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;

use super::super::exit::{Result, configuration, usage};
use super::super::{ExecFlags, prompt};
use super::select::resolve;
use crate::config::Config;
use crate::dotenv;

/// Values by name; not `Debug`, because some of them are secret.
pub type Values = BTreeMap<String, String>;

/// What the jobs get from the person who runs them.
#[derive(Clone, Default)]
pub struct Given {
    /// `env` below that of the workflow.
    pub env: Values,
    /// `secrets`
    pub secrets: Values,
    /// `vars`
    pub vars: Values,
    /// `inputs` of `workflow_dispatch`, still as text.
    pub inputs: Values,
}

/// Where a value comes from that is named without one.
pub struct Sources<'a> {
    /// The environment of this process.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Asks the person at the terminal for a secret; `None` if nobody can be asked.
    pub ask: &'a dyn Fn(&str) -> anyhow::Result<Option<String>>,
}

impl Sources<'_> {
    /// The environment and the terminal of this process.
    pub fn process() -> Sources<'static> {
        Sources {
            variable: &|name| std::env::var(name).ok(),
            ask: &prompt::secret,
        }
    }
}

/// Collects what is given; later sources win: configuration, files, flags.
///
/// # Errors
/// A flag has no name or no value, or a file cannot be used.
pub fn collect(flags: &ExecFlags, config: &Config, directory: &Path, sources: &Sources<'_>) -> Result<Given> {
    let mut given = Given {
        env: config
            .runner
            .job_envs()
            .map_err(configuration)?
            .into_iter()
            .collect(),
        ..Given::default()
    };
    let default_file = directory.join(".env");
    match &flags.env_file {
        Some(path) => given
            .env
            .extend(dotenv::read(&resolve(path, directory)).map_err(usage)?),
        None if default_file.is_file() => given.env.extend(dotenv::read(&default_file).map_err(usage)?),
        None => {}
    }
    for flag in &flags.env {
        let (name, value) = named("--env", flag)?;
        let value = value
            .or_else(|| (sources.variable)(&name))
            .ok_or_else(|| no_value("--env", &name))?;
        given.env.insert(name, value);
    }
    if let Some(path) = &flags.input_file {
        given
            .inputs
            .extend(dotenv::read(&resolve(path, directory)).map_err(usage)?);
    }
    insert_all("--input", &flags.input, &mut given.inputs, |name| name)?;
    insert_all("--var", &flags.var, &mut given.vars, |name| name.to_uppercase())?;
    for flag in &flags.secret {
        let (name, value) = secret(flag, sources)?;
        given.secrets.insert(name, value);
    }
    if flags.debug {
        // Workflows ask for it, as they do on a forge whose owner has switched debug rows on.
        given
            .secrets
            .insert("ACTIONS_STEP_DEBUG".to_owned(), "true".to_owned());
    }
    Ok(given)
}

fn insert_all(flag: &str, texts: &[String], into: &mut Values, case: fn(String) -> String) -> Result<()> {
    for text in texts {
        let (name, value) = named(flag, text)?;
        let value = value.ok_or_else(|| no_value(flag, &name))?;
        into.insert(case(name), value);
    }
    Ok(())
}

/// Splits `NAME[=VALUE]`.
fn named(flag: &str, text: &str) -> Result<(String, Option<String>)> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.trim().is_empty() {
        return Err(usage(anyhow!("{flag} needs a name before `=`")));
    }
    Ok((name.trim().to_owned(), value))
}

fn no_value(flag: &str, name: &str) -> super::super::exit::Error {
    usage(anyhow!(
        "{flag} {name} has no value: write {name}=VALUE, or set the environment variable {name}"
    ))
}

/// A secret and its value: the flag's, else the environment's, else that of the person at the terminal.
fn secret(flag: &str, sources: &Sources<'_>) -> Result<(String, String)> {
    let (name, value) = named("--secret", flag)?;
    let upper = name.to_uppercase();
    let value = value
        .or_else(|| (sources.variable)(&name))
        .or_else(|| (sources.variable)(&upper));
    if let Some(value) = value {
        return Ok((upper, value));
    }
    match (sources.ask)(&upper)? {
        Some(value) => Ok((upper, value)),
        None => Err(usage(anyhow!(
            "--secret {name} has no value, and there is no terminal to ask at: write {name}=VALUE, or set the environment \
             variable {name}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Exit;

    /// The flags of `gantry exec` as a program of their own.
    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        exec: ExecFlags,
    }

    fn given(args: &[&str], directory: &Path, answer: Option<&str>) -> Result<Given> {
        let flags = Flags::parse_from(["exec"].iter().chain(args)).exec;
        let sources = Sources {
            variable: &|name| (name == "FROM_PROCESS").then(|| "process".to_owned()),
            ask: &|_| Ok(answer.map(str::to_owned)),
        };
        collect(&flags, &Config::default(), directory, &sources)
    }

    fn pairs(values: &Values) -> Vec<(&str, &str)> {
        values
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn later_sources_win() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::write(root.path().join(".env"), "A=file\nB=file\n").expect("a file");
        std::fs::write(root.path().join("in.env"), "x=file\ny=file\n").expect("a file");
        let args = [
            "--env",
            "A=flag",
            "--env",
            "FROM_PROCESS",
            "--input-file",
            "in.env",
            "--input",
            "x=a=b",
        ];
        let given = given(&args, root.path(), None).unwrap_or_else(|error| panic!("{:#}", error.cause));
        assert_eq!(
            pairs(&given.env),
            [("A", "flag"), ("B", "file"), ("FROM_PROCESS", "process")]
        );
        assert_eq!(pairs(&given.inputs), [("x", "a=b"), ("y", "file")]);
    }

    #[test]
    fn secrets_come_from_flag_environment_or_person() {
        let root = tempfile::tempdir().expect("a directory");
        let args = [
            "-s",
            "token=t",
            "-s",
            "from_process",
            "-s",
            "Asked",
            "--var",
            "region=eu",
        ];
        let given =
            given(&args, root.path(), Some("told")).unwrap_or_else(|error| panic!("{:#}", error.cause));
        assert_eq!(
            pairs(&given.secrets),
            [("ASKED", "told"), ("FROM_PROCESS", "process"), ("TOKEN", "t")]
        );
        assert_eq!(pairs(&given.vars), [("REGION", "eu")]);
    }

    #[test]
    fn a_value_that_nobody_gives_is_a_usage_error() {
        let root = tempfile::tempdir().expect("a directory");
        for args in [
            ["-s", "NOPE"],
            ["--env", "NOPE"],
            ["--var", "X"],
            ["--input", "=1"],
            ["--env-file", "no"],
        ] {
            let exit = given(&args, root.path(), None).map_err(|error| error.exit).err();
            assert_eq!(exit, Some(Exit::Usage), "{args:?}");
        }
    }
}
