//! Asking the person at the terminal for a secret, without showing what is typed.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Context;

use crate::echo::{Quiet, Typed};

/// Asks for a secret; `None` if stdin is not a terminal, or at its end.
///
/// # Errors
/// The terminal cannot be read or written.
pub fn secret(name: &str) -> anyhow::Result<Option<String>> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Ok(None);
    }
    let mut stderr = io::stderr().lock();
    let mut line = String::new();
    let length = {
        // Whoever sees the question may answer at once, and nobody is to see the answer.
        let _quiet = Quiet::start(io::stdin(), Typed::Dropped).context("cannot turn the echo off")?;
        write!(stderr, "value of secret {name}: ")
            .and_then(|()| stderr.flush())
            .context("cannot ask")?;
        stdin
            .lock()
            .read_line(&mut line)
            .context("cannot read from the terminal")?
    };
    writeln!(stderr).context("cannot write to the terminal")?;
    Ok((length > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}
