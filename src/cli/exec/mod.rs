//! `gantry exec`: runs the workflows of a directory on this machine.

mod given;
mod list;
mod place;
mod select;

use std::io::{self, Write};

use anyhow::{Context, anyhow};

use super::ExecFlags;
use super::exit::{Exit, Result, usage};
use crate::config::Config;

/// Runs the workflows that the event starts.
///
/// # Errors
/// A flag is wrong, there is no workflow, or the run could not be done.
pub fn run(flags: &ExecFlags, config: &Config) -> Result {
    let directory = flags.directory.canonicalize().map_err(|error| {
        usage(anyhow!(error).context(format!("no directory {}", flags.directory.display())))
    })?;
    let selection = select::workflows(flags, &directory)?;
    if flags.list {
        let mut out = io::BufWriter::new(io::stdout().lock());
        list::write(&mut out, &selection.workflows, flags.json)
            .and_then(|()| out.flush())
            .context("cannot write to stdout")?;
        return Ok(if selection.broken == 0 {
            Exit::Success
        } else {
            Exit::Failure
        });
    }
    let _places = place::read(&flags.image)?;
    let _event = select::event(flags, &selection.workflows);
    let _payload = select::payload(flags, &directory)?;
    let _given = given::collect(flags, config, &directory, &given::Sources::process())?;
    Err(anyhow!("this build cannot run jobs yet").into())
}
