//! `gantry config init`, `get`, `set`, `add` and `remove`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::super::exit::{self, Exit, Result, usage};
use super::{lookup, print, write};
use crate::config::Given;
use crate::config::edit::{self, Change, Error};

/// Writes a configuration file that holds nothing but a comment.
///
/// # Errors
/// There is a configuration file already, unless `is_forced`, or it cannot be written.
pub fn init(named: Option<&Path>, is_forced: bool) -> Result {
    let path = named.map_or_else(|| PathBuf::from(lookup::NAMES[0]), Path::to_owned);
    let usual: Vec<PathBuf> = lookup::NAMES.iter().map(PathBuf::from).collect();
    let others = usual.iter().filter(|_| named.is_none());
    let existing = [&path]
        .into_iter()
        .chain(others)
        .find(|path| path.symlink_metadata().is_ok());
    match existing {
        Some(found) if !is_forced => {
            return Err(exit::Error::from(anyhow!(
                "there is {} already; -f replaces it",
                found.display()
            )));
        }
        _ if path.exists() => write::replace(&path, edit::MINIMAL)?,
        _ => write::create(&path, edit::MINIMAL)?,
    }
    eprintln!("gantry: wrote {}", path.display());
    Ok(Exit::Success)
}

/// Prints what the file says of a key or a section.
///
/// # Errors
/// There is no such key, the file does not have it, or it cannot be read.
pub fn get(given: &Given, key: &str) -> Result {
    let (path, text) = read(given)?;
    let found = edit::get(&text, key).map_err(|error| failure(error, &path))?;
    match found {
        Some(value) => print(&value),
        None => Err(exit::Error::from(anyhow!(
            "`{key}` is not set in {}",
            path.display()
        ))),
    }
}

/// Changes the file.
///
/// # Errors
/// There is no such key, the value does not fit, or the file cannot be changed or written.
pub fn change(given: &Given, key: &str, change: Change<'_>, is_forced: bool) -> Result {
    let (path, text) = read(given)?;
    // What counts for the file is the file: variables and flags of this call say nothing about it.
    let alone = Given {
        file: Some(path.clone()),
        ..Given::default()
    };
    let changed =
        edit::apply(&text, key, change, &alone, is_forced).map_err(|error| failure(error, &path))?;
    if changed != text {
        write::replace(&path, &changed)?;
    }
    Ok(Exit::Success)
}

fn read(given: &Given) -> Result<(PathBuf, String)> {
    let path = lookup::find(given.file.as_deref())?;
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()));
    Ok((path, text.map_err(exit::configuration)?))
}

fn failure(error: Error, path: &Path) -> exit::Error {
    match error {
        Error::Usage(message) => usage(anyhow!(message)),
        Error::File(message) => exit::configuration(anyhow!("{}: {message}", path.display())),
        Error::Rejected(mut rejected) => {
            rejected.file = Some(path.to_owned());
            exit::configuration(anyhow::Error::from(rejected).context("the file is not changed"))
        }
    }
}
