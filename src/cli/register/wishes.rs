//! What is registered: from flags, files, variables, the configuration and answers to questions.

use std::path::Path;

use anyhow::{anyhow, bail};
use gantry_actors::protocols::connect::Address;
use gantry_actors::protocols::gitea::Secret;

use super::Flags;
use super::ask::{ask, ask_secretly, tell};
use crate::cli::given::{self, Sources};
use crate::config;
use crate::runner::connection;
use crate::runner::file::RunnerFile;
use crate::runner::labels::{DEFAULTS, Label, Labels, listed};

/// The variables that may hold the registration token.
const TOKENS: [&str; 3] = [
    "GANTRY_REGISTRATION_TOKEN",
    "GITEA_RUNNER_REGISTRATION_TOKEN",
    "FORGEJO_RUNNER_REGISTRATION_TOKEN",
];

/// What is registered. It cannot be printed.
pub struct Wishes {
    pub address: Address,
    pub token: Secret,
    pub name: String,
    pub labels: Labels,
    pub ephemeral: bool,
}

/// Finds out what is wanted; nothing if a runner file is to stay as it is.
///
/// # Errors
/// Something is missing or wrong, and nobody is there to ask.
///
/// # Cancel safety
/// May be dropped.
pub async fn find(flags: &Flags, config: &config::Runner, path: &Path) -> anyhow::Result<Option<Wishes>> {
    let asks = !flags.no_interactive;
    if !may_replace(path, asks).await? {
        return Ok(None);
    }
    let address = match flags.instance.as_deref().map(str::trim) {
        Some(text) if !text.is_empty() => connection::address(text)?,
        _ if asks => ask_address().await?,
        _ => bail!("missing the address of the forge: give it with --instance"),
    };
    let given = Sources {
        file_flag: "--token-file",
        file: flags.token_file.as_deref(),
        text: flags.token.as_deref(),
        variables: &TOKENS,
    };
    let token = match given.find(given::variable)? {
        Some(token) => token,
        None if asks => ask_token().await?,
        None => bail!(
            "missing the registration token: give it with --token-file, --token or the variable {}",
            TOKENS[0]
        ),
    };
    let name = match flags.name.as_deref().map(str::trim) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ if asks => ask_name().await?,
        _ => hostname(),
    };
    Ok(Some(Wishes {
        address,
        token,
        name,
        labels: labels(flags, config, asks).await?,
        ephemeral: flags.ephemeral,
    }))
}

/// The name of this machine.
pub fn hostname() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// Asks before a registration is replaced; without questions it is replaced, and that is said.
async fn may_replace(path: &Path, asks: bool) -> anyhow::Result<bool> {
    let before = match RunnerFile::read_if_there(path) {
        Ok(None) => return Ok(true),
        Ok(Some(runner)) => format!(
            "{} registers the runner {} at {} already",
            path.display(),
            runner.name,
            runner.address
        ),
        Err(error) => format!("{error:#}"),
    };
    if !asks {
        tracing::warn!("{before}; it is replaced");
        return Ok(true);
    }
    let answer = ask(&format!("{before}. Overwrite it? [y/N] ")).await?;
    match answer.as_deref() {
        Some("y" | "Y") => Ok(true),
        Some(_) => Ok(false),
        None => Err(anyhow!("nobody says whether it may be replaced")).map_err(|error| error.context(before)),
    }
}

async fn ask_address() -> anyhow::Result<Address> {
    loop {
        let answer = ask("The address of the forge (such as https://forge.example): ").await?;
        let text = answer.ok_or_else(|| ended("the address of the forge", "--instance"))?;
        match connection::address(&text) {
            Ok(address) => return Ok(address),
            Err(_) if text.is_empty() => {}
            Err(error) => tell(&error.to_string())?,
        }
    }
}

async fn ask_token() -> anyhow::Result<Secret> {
    loop {
        let answer = ask_secretly("The registration token (it is not shown): ").await?;
        let text = answer.ok_or_else(|| ended("the registration token", "--token-file"))?;
        if !text.is_empty() {
            return Ok(Secret::new(text));
        }
    }
}

async fn ask_name() -> anyhow::Result<String> {
    let usual = hostname();
    let answer = ask(&format!("The name of the runner [{usual}]: ")).await?;
    Ok(answer.filter(|name| !name.is_empty()).unwrap_or(usual))
}

async fn labels(flags: &Flags, config: &config::Runner, asks: bool) -> anyhow::Result<Labels> {
    let given = flags
        .labels
        .as_deref()
        .filter(|text| listed(text).next().is_some());
    if !config.labels.is_empty() {
        if given.is_some() {
            tracing::warn!("--labels is ignored: `runner.labels` of the configuration wins");
        }
        return Ok(read(&config.labels));
    }
    if let Some(text) = given {
        return check(text);
    }
    if !asks {
        return Ok(read(DEFAULTS));
    }
    loop {
        let usual = DEFAULTS
            .map(|text| text.split(':').next().unwrap_or(text))
            .join(", ");
        let question = format!("The labels, such as build:host,node:docker://node:22 [{usual} in Docker]: ");
        let answer = ask(&question).await?.unwrap_or_default();
        if listed(&answer).next().is_none() {
            return Ok(read(DEFAULTS));
        }
        match check(&answer) {
            Ok(labels) => return Ok(labels),
            Err(error) => tell(&error.to_string())?,
        }
    }
}

/// Reads labels of the command line.
///
/// # Errors
/// One of them has no name.
pub fn check(text: &str) -> anyhow::Result<Labels> {
    match listed(text).find(|text| Label::parse(text).is_none()) {
        Some(wrong) => bail!("the label `{wrong}` has no name: a label is NAME:host or NAME:docker://IMAGE"),
        None => Ok(read(listed(text))),
    }
}

/// Reads labels and says what is odd about them.
pub fn read<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Labels {
    let (labels, remarks) = Labels::read(texts);
    for remark in remarks {
        tracing::warn!("{remark}");
    }
    if labels.is_empty() {
        tracing::warn!("the runner has no labels: it will get no jobs");
    }
    labels
}

fn ended(what: &str, flag: &str) -> anyhow::Error {
    anyhow!("stdin has ended before {what} was given: give it with {flag}")
}
