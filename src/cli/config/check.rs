//! `gantry config check`: every mistake of a configuration file.

use super::super::exit::{self, Exit, Result};
use crate::config::{self, Given};

/// Names every mistake; a key that nobody knows is one.
///
/// # Errors
/// There is no file that could be checked.
pub fn run(given: Given) -> Result {
    let file = given.file.clone().unwrap_or_default();
    let rejected = match config::load(given) {
        Err(rejected) if rejected.is_unread => return Err(exit::configuration(rejected)),
        Err(rejected) => rejected,
        Ok(loaded) => {
            for warning in loaded.notes() {
                eprintln!("warning: {warning}");
            }
            if loaded.unknown.is_empty() {
                println!("{}: no mistakes", file.display());
                return Ok(Exit::Success);
            }
            loaded.rejected()
        }
    };
    eprint!("{}", rejected.report());
    Ok(Exit::Failure)
}
