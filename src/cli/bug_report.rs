//! `gantry bug-report`: what whoever reads a report of a bug would ask for first.

use std::io::Write;
use std::process::Stdio;

use anyhow::Context;

use super::exit::{Exit, Result};

/// Prints versions and the machine, one fact per line.
///
/// # Errors
/// Stdout cannot be written to.
pub fn run() -> Result {
    let cores =
        std::thread::available_parallelism().map_or_else(|_| "unknown".to_owned(), |cores| cores.to_string());
    let lines = [
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        (
            "os/arch",
            format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        ),
        ("cores", cores),
        ("git", version_of("git")),
        ("node", version_of("node")),
    ];
    let text: String = lines
        .map(|(name, value)| format!("{:<9}{value}\n", format!("{name}:")))
        .concat();
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .context("cannot write to stdout")?;
    Ok(Exit::Success)
}

/// What a program says of its version.
#[expect(
    clippy::disallowed_methods,
    reason = "these programs answer at once and start nothing that could outlive them"
)]
fn version_of(program: &str) -> String {
    let asked = std::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            let line = text.lines().next().unwrap_or_default();
            line.trim_start_matches("git version ").trim().to_owned()
        }
        Ok(output) => format!("failed ({})", output.status),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "not found".to_owned(),
        Err(error) => format!("cannot be started: {error}"),
    }
}
