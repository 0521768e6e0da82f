//! `gantry config`: everything about the configuration file.

mod check;
mod edit;
mod lookup;
mod show;
mod write;

use std::io::{self, Write};

use anyhow::Context;
use clap::{Args, Subcommand};

use super::exit::{self, Exit};
use crate::config::edit::Change;
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
    /// Write a configuration file that holds nothing but a comment
    Init {
        /// Replace a file that is there
        #[arg(short, long)]
        force: bool,
    },
    /// Print what the file says of a key or a section
    Get {
        /// The key, such as runner.capacity
        key: String,
    },
    /// Give a key its value in the file; a list gets all of the values
    Set {
        /// Change the file although it cannot be loaded afterwards
        #[arg(short, long)]
        force: bool,
        /// The key, such as runner.capacity or runner.envs.NAME
        key: String,
        /// The value
        #[arg(
            required = true,
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_name = "VALUE"
        )]
        values: Vec<String>,
    },
    /// Add a value to a list in the file
    Add {
        /// The list, such as runner.labels
        key: String,
        /// The value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Take a value out of a list in the file
    Remove {
        /// The list, such as runner.labels
        key: String,
        /// The value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
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
        Verb::Init { force } => edit::init(given.file.as_deref(), *force),
        Verb::Get { key } => edit::get(&given, key),
        Verb::Set { force, key, values } => edit::change(&given, key, Change::Set(values), *force),
        Verb::Add { key, value } => edit::change(&given, key, Change::Add(value), false),
        Verb::Remove { key, value } => edit::change(&given, key, Change::Remove(value), false),
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
