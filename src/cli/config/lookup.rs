//! Which file is meant where nobody names one.

use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::super::exit::{Error, usage};

/// The names that a configuration file has.
pub const NAMES: [&str; 2] = ["config.yaml", "config.yml"];

/// The file that `-c` names, else the first that is in the current directory or beside the program; which of those it
/// is, is said on stderr.
///
/// # Errors
/// There is none.
pub fn find(named: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent().map(Path::to_owned));
    let directories = [Some(PathBuf::new()), beside];
    let candidates = directories
        .iter()
        .flatten()
        .flat_map(|directory| NAMES.map(|name| directory.join(name)));
    let found = candidates.into_iter().find(|path| path.is_file());
    let Some(path) = found else {
        return Err(usage(anyhow!(
            "no configuration file: name it with -c, or write one with `gantry config init`"
        )));
    };
    eprintln!("gantry: using {}", path.display());
    Ok(path)
}
