//! `gantry register`: makes this machine a runner of a forge.
//!
//! ```text
//! lock --> wishes (flags, file, variables, questions) --> draft --> ping until there is an answer --> register --> file
//! ```
//!
//! A registration token may be good for one use, so everything that can go wrong without it comes before it is used.

mod ask;
mod finish;
pub mod wishes;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use gantry_actors::protocols::gitea::Registrar;
use gantry_actors::runtime::block_on;

use self::wishes::Wishes;
use super::exit::{self, Exit};
use super::reach;
use crate::config::{Config, GoDuration};
use crate::runner::connection;
use crate::runner::file::Draft;
use crate::runner::lock::Lock;
use crate::signals::Signals;

/// The flags of `gantry register`.
#[derive(Args)]
pub struct Flags {
    /// Ask nothing: what is missing is an error, or has its default
    #[arg(long)]
    no_interactive: bool,
    /// The address of the forge, such as `https://forge.example`
    #[arg(long, value_name = "URL")]
    instance: Option<String>,
    /// The registration token, which every user of this machine can see in the list of processes [default: the variable
    /// `GANTRY_REGISTRATION_TOKEN`, `GITEA_RUNNER_REGISTRATION_TOKEN` or `FORGEJO_RUNNER_REGISTRATION_TOKEN`]
    #[arg(long)]
    token: Option<String>,
    /// File with the registration token, `-` for stdin; wins over `--token`
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The name that people see [default: the name of this machine]
    #[arg(long)]
    name: Option<String>,
    /// The labels with commas between them; `runner.labels` of the configuration file wins [default: `ubuntu-latest`,
    /// `ubuntu-24.04` and `ubuntu-22.04` in Docker]
    #[arg(long)]
    labels: Option<String>,
    /// Make a runner for one job: the forge removes it afterwards
    #[arg(long)]
    ephemeral: bool,
    /// How long to try to reach the forge [default: 1m; until Ctrl-C if questions are asked]
    #[arg(long, value_name = "DURATION", value_parser = reach::duration)]
    wait: Option<GoDuration>,
}

impl std::fmt::Debug for Flags {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Flags")
    }
}

/// Registers a runner and writes its file.
pub fn run(flags: &Flags, config: &Config) -> exit::Result {
    block_on(register(flags, config)).context("cannot start the runtime")?
}

async fn register(flags: &Flags, config: &Config) -> exit::Result {
    let path = Path::new(&config.runner.file);
    let _lock = Lock::take(path)?;
    let mut signals = Signals::listen().context("cannot listen to signals")?;
    let ready = tokio::select! {
        ready = prepare(flags, config, path) => ready?,
        _ = signals.next() => return Ok(Exit::Cancelled),
    };
    match ready {
        Some(ready) => finish::finish(ready, path, &mut signals).await,
        None => Ok(Exit::Success),
    }
}

/// What is there when the token is used.
struct Ready {
    wishes: Wishes,
    draft: Draft,
    registrar: Registrar,
}

/// Does everything that needs no token; nothing is yielded if the runner file is to stay.
async fn prepare(flags: &Flags, config: &Config, path: &Path) -> anyhow::Result<Option<Ready>> {
    let Some(wishes) = wishes::find(flags, &config.runner, path).await? else {
        return Ok(None);
    };
    let draft = Draft::begin(path)?;
    let client = connection::connect(wishes.address.clone(), &config.runner)?;
    let registrar = Registrar::new(client);
    let limit = match flags.wait {
        Some(wait) => Some(wait.get()),
        None => flags.no_interactive.then_some(reach::PATIENCE),
    };
    reach::reach(limit, || registrar.ping(&wishes.name)).await?;
    Ok(Some(Ready {
        wishes,
        draft,
        registrar,
    }))
}
