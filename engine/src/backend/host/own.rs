//! Programs that the runner's operator runs on this machine for the runner itself, outside of every job.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::process::{HostProcess, Piped, read_some, start_piped};
use super::tree::{StepTree, TRACKING_VARIABLE};
use super::{procfs, spawn};
use crate::backend::{Error, Exit, Process, Signal};

/// How long the output of a program that has exited is read, should something in the background hold it.
const DRAIN: Duration = Duration::from_secs(1);

/// A longer line is cut: it goes to the runner's own log.
const LINE_LIMIT: usize = 4096;

/// A program of the operator.
#[derive(Debug, Clone)]
pub struct OwnProgram {
    /// Where it is; a relative path counts from the runner's directory.
    pub path: PathBuf,
    /// Its whole environment.
    pub env: Vec<(String, String)>,
    /// How long it may take.
    pub limit: Duration,
}

/// How a program of the operator ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// By itself.
    Exited(Exit),
    /// It took too long and was killed with everything that it had started.
    TimedOut,
    /// The runner had no more time for it: it was killed with everything that it had started.
    Stopped,
}

impl OwnProgram {
    /// Runs the program in the runner's directory and hands out its lines, both outputs in their order; it is killed
    /// once `stop` resolves.
    ///
    /// # Errors
    /// [`Error::Start`] when it cannot be started, and [`Error::Wait`] when nobody knows how it ended.
    ///
    /// # Cancel safety
    /// A dropped call kills the program and its process group.
    pub async fn run(
        &self,
        stop: impl Future<Output = ()> + Send,
        mut on_line: impl FnMut(&str) + Send,
    ) -> Result<Finished, Error> {
        let Piped { spawned, pipe, inode } = self.start()?;
        let mut process = HostProcess {
            tree: Arc::new(self.tree(spawned.pid, inode)),
            spawned,
            reaped: AtomicBool::new(false),
        };
        // A limit beyond what a clock can count is none.
        let deadline = Instant::now().checked_add(self.limit);
        let mut stop = std::pin::pin!(stop);
        let mut lines = Lines::default();
        let (mut exit, mut closed, mut drained) = (None, false, None);
        while !(exit.is_some() && closed) {
            let running = exit.is_none();
            let why = tokio::select! {
                biased;
                () = &mut stop, if running => Finished::Stopped,
                () = at(deadline), if running => Finished::TimedOut,
                read = read_some(&pipe, &mut lines.bytes), if !closed => {
                    closed = !matches!(read, Ok(count) if count > 0);
                    lines.hand_out(closed, &mut on_line);
                    continue;
                }
                ended = process.wait(), if running => {
                    exit = Some(ended?);
                    drained = Instant::now().checked_add(DRAIN);
                    continue;
                }
                () = at(drained) => {
                    closed = true;
                    lines.hand_out(true, &mut on_line);
                    continue;
                }
            };
            process.signal(Signal::Kill).await;
            process.wait().await?;
            lines.hand_out(true, &mut on_line);
            return Ok(why);
        }
        // The loop ends only with an exit.
        Ok(exit.map_or(Finished::Stopped, Finished::Exited))
    }

    fn start(&self) -> Result<Piped, Error> {
        let started = || {
            let cwd = std::env::current_dir()?;
            let program = std::path::absolute(&self.path)?;
            let env = self.env.iter().map(|(name, value)| (name, value));
            start_piped(spawn::command(&program, env, &cwd))
        };
        started().map_err(|source| Error::Start {
            program: self.path.display().to_string(),
            cwd: ".".to_owned(),
            source,
        })
    }

    fn tree(&self, pid: u32, pipe: u64) -> StepTree {
        // Without an entry there is nothing that could belong to it.
        let start = procfs::entry(pid).map_or(u64::MAX, |entry| entry.id.start);
        let tracking = self.env.iter().rev().find(|(name, _)| name == TRACKING_VARIABLE);
        StepTree {
            leader: procfs::Identity { pid, start },
            mark: None,
            pipe,
            tracking: tracking.map_or_else(Vec::new, |(name, value)| format!("{name}={value}").into_bytes()),
            seen: Mutex::default(),
        }
    }
}

/// Waits for a moment that may not exist.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Output on its way to lines.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    /// The rest of a line of which the beginning was handed out already.
    cut: bool,
}

impl Lines {
    /// Hands out the lines that are complete, and at the end what is left.
    fn hand_out(&mut self, is_end: bool, on_line: &mut impl FnMut(&str)) {
        let mut rest = self.bytes.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            if !std::mem::take(&mut self.cut) {
                hand_out_line(line, on_line);
            }
            rest = after.get(1..).unwrap_or_default();
        }
        let is_long = rest.len() > LINE_LIMIT;
        if (is_end || is_long) && !rest.is_empty() {
            if !std::mem::replace(&mut self.cut, true) {
                hand_out_line(rest, on_line);
            }
            rest = &[];
        }
        let left = rest.len();
        self.bytes.drain(..self.bytes.len() - left);
    }
}

fn hand_out_line(line: &[u8], on_line: &mut impl FnMut(&str)) {
    let line = line.get(..LINE_LIMIT).unwrap_or(line);
    on_line(String::from_utf8_lossy(line).trim_end_matches('\r'));
}

/// How many bytes a user of this machine may still write where the path is, or will be.
///
/// # Errors
/// The system cannot tell.
pub fn free_bytes(path: &Path) -> std::io::Result<u64> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find(|path| path.exists());
    let found = rustix::fs::statvfs(existing.unwrap_or(&path))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_becomes_lines_of_bounded_length() {
        let long = "x".repeat(LINE_LIMIT);
        let mut lines = Lines::default();
        let mut told = Vec::new();
        for (chunk, is_end) in [
            ("a\r\nb", false),
            ("c\n", false),
            (&format!("{long}yy"), false),
            ("zz", false),
            ("z\nd", true),
        ] {
            lines.bytes.extend_from_slice(chunk.as_bytes());
            lines.hand_out(is_end, &mut |line: &str| told.push(line.to_owned()));
        }
        assert_eq!(told, ["a", "bc", &long, "d"]);
    }

    #[test]
    fn there_is_room_where_a_directory_will_be() {
        let here = tempfile::tempdir().unwrap();
        assert!(free_bytes(&here.path().join("not/yet")).unwrap() > 0);
    }
}
