//! `gantry create-runner-file`: the file of a runner that was registered on the forge itself, with a shared secret.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use gantry_actors::protocols::connect::Address;
use gantry_actors::protocols::forge::Error;
use gantry_actors::protocols::gitea::{Credentials, GiteaForge, Registrar, Settings};
use gantry_actors::runtime::block_on;

use super::exit::{self, Exit};
use super::given::{self, Sources};
use super::reach;
use super::register::wishes::{check, hostname, read};
use crate::config::{self, Config, GoDuration};
use crate::runner::connection::{self, VERSION};
use crate::runner::file::{Draft, RunnerFile};
use crate::runner::labels::{DEFAULTS, Labels, listed};
use crate::runner::lock::Lock;
use crate::signals::Signals;

/// The variables that may hold the secret.
const SECRETS: [&str; 2] = ["GANTRY_SHARED_SECRET", "FORGEJO_RUNNER_SECRET"];

/// The flags of `gantry create-runner-file`.
#[derive(Args)]
pub struct Flags {
    /// The address of the forge, such as `https://forge.example`
    #[arg(long, value_name = "URL")]
    instance: Option<String>,
    /// The secret that the forge was given, 40 hexadecimal digits, which every user of this machine can see in the list of
    /// processes [default: the variable `GANTRY_SHARED_SECRET` or `FORGEJO_RUNNER_SECRET`]
    #[arg(long)]
    secret: Option<String>,
    /// File with the secret, `-` for stdin; wins over `--secret`
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,
    /// The name that people see [default: that of the file, else the name of this machine]
    #[arg(long)]
    name: Option<String>,
    /// The labels with commas between them; `runner.labels` of the configuration file wins [default: those of the file,
    /// else those of `gantry register`]
    #[arg(long)]
    labels: Option<String>,
    /// Ask the forge whether it knows the runner, and tell it the labels, before the file is written
    #[arg(long)]
    connect: bool,
    /// How long to try to reach the forge with `--connect` [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = reach::duration)]
    wait: Option<GoDuration>,
}

impl std::fmt::Debug for Flags {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Flags")
    }
}

/// Writes the runner file. It may be run again and again: what is not given stays as it is in the file.
pub fn run(flags: &Flags, config: &Config) -> exit::Result {
    let path = Path::new(&config.runner.file);
    let _lock = Lock::take(path)?;
    let address = match flags.instance.as_deref().map(str::trim) {
        Some(text) if !text.is_empty() => connection::address(text)?,
        _ => return Err(anyhow!("missing the address of the forge: give it with --instance").into()),
    };
    let runner = runner(flags, &config.runner, &address, path)?;
    let draft = Draft::begin(path)?;
    if flags.connect
        && !block_on(connect(flags, config, address, &runner)).context("cannot start the runtime")??
    {
        return Ok(Exit::Cancelled);
    }
    draft.finish(&runner)?;
    println!(
        "{} at {} is kept in {}",
        runner.name,
        runner.address,
        path.display()
    );
    Ok(Exit::Success)
}

fn runner(
    flags: &Flags,
    config: &config::Runner,
    address: &Address,
    path: &Path,
) -> anyhow::Result<RunnerFile> {
    let credentials = credentials(flags)?;
    let before = before(path, &credentials);
    let mut runner = before.unwrap_or_else(|| RunnerFile::new(0, credentials, String::new(), String::new()));
    runner.address = address.to_string();
    match flags.name.as_deref().map(str::trim) {
        Some(name) if !name.is_empty() => name.clone_into(&mut runner.name),
        _ if runner.name.is_empty() => runner.name = hostname(),
        _ => {}
    }
    runner.labels = labels(flags, config, &runner)?.texts();
    Ok(runner)
}

fn credentials(flags: &Flags) -> anyhow::Result<Credentials> {
    let sources = Sources {
        file_flag: "--secret-file",
        file: flags.secret_file.as_deref(),
        text: flags.secret.as_deref(),
        variables: &SECRETS,
    };
    let secret = sources.find(given::variable)?.with_context(|| {
        format!(
            "missing the secret: give it with --secret-file, --secret or the variable {}",
            SECRETS[0]
        )
    })?;
    Credentials::of_shared_secret(secret.reveal()).map_err(|reason| anyhow!(reason))
}

/// The file that is there, if it is that of the same runner.
fn before(path: &Path, credentials: &Credentials) -> Option<RunnerFile> {
    match RunnerFile::read_if_there(path) {
        Ok(before) => before.filter(|before| {
            let is_same = before.credentials == *credentials;
            if !is_same {
                let (name, address) = (&before.name, &before.address);
                tracing::warn!("{} of the runner {name} at {address} is replaced", path.display());
            }
            is_same
        }),
        Err(error) => {
            tracing::warn!("{error:#}; it is replaced");
            None
        }
    }
}

fn labels(flags: &Flags, config: &config::Runner, runner: &RunnerFile) -> anyhow::Result<Labels> {
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
    match given {
        Some(text) => check(text),
        None if runner.labels.is_empty() => Ok(read(DEFAULTS)),
        None => Ok(read(&runner.labels)),
    }
}

/// Asks the forge whether it knows the runner; false if a signal came first.
async fn connect(
    flags: &Flags,
    config: &Config,
    address: Address,
    runner: &RunnerFile,
) -> anyhow::Result<bool> {
    let mut signals = Signals::listen().context("cannot listen to signals")?;
    let client = connection::connect(address, &config.runner)?;
    let registrar = Registrar::new(client.clone());
    let forge = GiteaForge::new(client, runner.credentials.clone(), Settings::default());
    let limit = flags.wait.map_or(reach::PATIENCE, GoDuration::get);
    let declare = async {
        reach::reach(Some(limit), || registrar.ping(&runner.name)).await?;
        let names = Labels::read(&runner.labels).0.names();
        match forge.declare(VERSION, &names).await {
            Ok(_declared) => Ok(true),
            Err(error @ Error::Unsupported { .. }) => {
                tracing::warn!(%error, "the forge cannot say whether it knows the runner");
                Ok(true)
            }
            Err(error @ Error::Unregistered { .. }) => Err(error).context(
                "the forge does not know the runner: register it there with the same secret first (`forgejo forgejo-cli actions register --secret`)",
            ),
            Err(error) => Err(error).context("the forge does not say whether it knows the runner"),
        }
    };
    tokio::select! {
        declared = declare => declared,
        _ = signals.next() => Ok(false),
    }
}
