//! `gantry config`: everything about the configuration file.

mod check;
mod lookup;
mod show;

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::exit::{self, Exit};
use crate::config::{self, Given};

/// The flags of `gantry config`.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct ConfigFlags {
    #[command(subcommand)]
    verb: Verb,
}

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Print every key with its default and what it means
    Generate,
    /// Check the configuration file and name every mistake
    Check,
    /// Print every key with the value that counts
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Print the JSON schema of the file, for editors
    Schema,
}

/// Does what the verb says.
///
/// # Errors
/// The file cannot be read or is wrong, or there is no such key.
pub fn run(flags: &ConfigFlags, mut given: Given) -> exit::Result {
    match &flags.verb {
        Verb::Generate => print(&config::example()),
        Verb::Check => {
            given.file = Some(lookup::find(given.file.as_deref())?);
            check::run(given)
        }
        Verb::Show { origin } => show::run(given, *origin),
        Verb::Schema => {
            let text =
                serde_json::to_string_pretty(&config::schema()).context("failed to write the schema")?;
            print(&(text + "\n"))
        }
    }
}

/// `gantry generate-config`, the old name of `gantry config generate`.
///
/// # Errors
/// Nobody reads what is printed.
pub fn generate() -> exit::Result {
    eprintln!("gantry: generate-config is the old name of `config generate`");
    print(&config::example())
}

fn print(text: &str) -> exit::Result {
    io::stdout()
        .write_all(text.as_bytes())
        .context("failed to write to stdout")?;
    Ok(Exit::Success)
}
