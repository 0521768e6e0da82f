//! What shells and manuals know of the command line, made from the one table of flags.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
pub use clap_complete::Shell;
use clap_mangen::Man;

use super::Cli;
use super::exit::{Exit, Result};

/// Prints the script that completes commands and flags in a shell.
///
/// # Errors
/// Stdout cannot be written to.
pub fn completion(shell: Shell) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "gantry", &mut script);
    print(&script)
}

/// Prints the pages of the manual one after the other, or writes each to a file of its own.
///
/// # Errors
/// Stdout, the directory or a file cannot be written to.
pub fn pages(directory: Option<&Path>) -> Result {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut all = Vec::new();
    for page in [&root].into_iter().chain(root.get_subcommands()) {
        let name = page.get_display_name().unwrap_or_else(|| page.get_name());
        let mut text = Vec::new();
        Man::new(page.clone())
            .title(name)
            .render(&mut text)
            .with_context(|| format!("cannot make the manual of {name}"))?;
        match directory {
            Some(directory) => write(directory, name, &text)?,
            None => all.extend(text),
        }
    }
    print(&all)
}

fn write(directory: &Path, name: &str, text: &[u8]) -> anyhow::Result<()> {
    let path = directory.join(format!("{name}.1"));
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, text))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn print(text: &[u8]) -> Result {
    let mut out = io::stdout().lock();
    out.write_all(text)
        .and_then(|()| out.flush())
        .context("cannot write to stdout")?;
    Ok(Exit::Success)
}
