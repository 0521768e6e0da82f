//! `gantry explain`: why the jobs and steps of the last run ran or not, and with what.

mod find;
mod show;

use std::io::{self, Write};

use anyhow::{Context, anyhow};
use serde_json::json;

use super::ExplainFlags;
use super::exec::records;
use super::exit::{Exit, Result, usage};
use crate::record::Record;
use find::Found;

/// Explains the last run of a directory, or a part of it.
///
/// # Errors
/// There is no run yet, it has no such job or step, or stdout is gone.
pub fn run(flags: &ExplainFlags) -> Result {
    let directory = flags.directory.canonicalize().map_err(|error| {
        usage(anyhow!(error).context(format!("no directory {}", flags.directory.display())))
    })?;
    let Some(record) = records().read(&directory)? else {
        let directory = directory.display();
        return Err(
            anyhow!("nothing has run in {directory} yet; `gantry exec` there, then ask again").into(),
        );
    };
    let found = match &flags.what {
        Some(what) => find::find(&record.jobs, what).map_err(|mistake| usage(anyhow!(mistake)))?,
        None => Found::All,
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = if flags.json {
        write_json(&mut out, &record, &found)
    } else {
        show::write(&mut out, &record, &found, flags.env)
    };
    written
        .and_then(|()| out.flush())
        .context("cannot write to stdout")?;
    Ok(Exit::Success)
}

fn write_json(out: &mut impl Write, record: &Record, found: &Found<'_>) -> io::Result<()> {
    let value = match found {
        Found::All => json!(record),
        Found::Jobs(jobs) => json!(jobs),
        Found::Steps(steps) => steps
            .iter()
            .map(|(job, step)| json!({"workflow": job.workflow, "job": job.key, "step": step}))
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &value)?;
    writeln!(out)
}
