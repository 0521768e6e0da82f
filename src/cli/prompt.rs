//! Asking the person at the terminal for a secret, without showing what is typed.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Context;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

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
        let _quiet = Quiet::start()?;
        stdin
            .lock()
            .read_line(&mut line)
            .context("cannot read from the terminal")?;
    }
    writeln!(stderr).context("cannot write to the terminal")?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The terminal does not echo while this lives.
struct Quiet {
    before: Termios,
}

impl Quiet {
    fn start() -> anyhow::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin).context("cannot read the terminal's mode")?;
        let mut mode = before.clone();
        mode.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &mode).context("cannot set the terminal's mode")?;
        Ok(Self { before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if tcsetattr(io::stdin(), OptionalActions::Flush, &self.before).is_err() {
            tracing::warn!("the terminal's echo could not be restored");
        }
    }
}
