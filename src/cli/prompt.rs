//! Asking the person at the terminal for a secret, without showing what is typed.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Context;

use crate::echo::{Quiet, Typed};

/// Asks for a secret; `None` if stdin is not a terminal.
///
/// # Errors
/// The terminal cannot be read or written.
pub fn secret(name: &str) -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(None);
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "value of secret {name}: ")
        .and_then(|()| stderr.flush())
        .context("cannot ask")?;
    let mut line = String::new();
    {
        let _quiet = Quiet::start(io::stdin(), Typed::Dropped).context("cannot turn the echo off")?;
        stdin
            .lock()
            .read_line(&mut line)
            .context("cannot read from the terminal")?;
    }
    writeln!(stderr).context("cannot write to the terminal")?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}
