//! Copies of the jobs' logs on the runner's machine.
//!
//! ```text
//! LogStream --rows, bounded, never waits--> writer --> YYYYMMDD-HHMMSS-task-<id>.log
//! Job ------the last line-----------------/
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use gantry_engine::run::Rows;
use gantry_engine::stamp::{compact, rfc3339};
use gantry_protocols::forge::{Conclusion, TaskId};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};

/// How many batches of rows may wait for the disk; each has a few hundred kilobytes at most.
const WAITING: usize = 128;
/// How many batches are written at once.
const AT_ONCE: usize = 16;
/// How long the end of a job waits for a disk that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where copies of the jobs' logs are kept.
#[derive(Debug, Clone)]
pub struct LogCopies {
    /// The directory.
    pub directory: PathBuf,
    /// How long a copy is kept; without it for ever.
    pub retention: Option<Duration>,
    /// How large a copy may become.
    pub max_size: Option<u64>,
}

/// The copy of one task's log; clones write to the same one.
#[derive(Debug, Clone)]
pub struct LogCopy {
    pieces: mpsc::Sender<Piece>,
    /// Rows that found no room, since the last that did.
    missing: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Piece {
    Rows(Rows),
    /// So many rows are not there.
    Missing(SystemTime, u64),
    /// The last line; whoever waits hears once it is written.
    End(SystemTime, String, oneshot::Sender<()>),
}

impl LogCopies {
    /// Begins the copy of a task, and removes those that are too old. It does not wait for the disk; what goes wrong is
    /// one warning, and then there is no copy.
    pub fn begin(&self, task: TaskId, now: SystemTime) -> LogCopy {
        let (pieces, waiting) = mpsc::channel(WAITING);
        let copies = self.clone();
        tokio::spawn(async move {
            if let Err((error, path)) = copies.write(task, now, waiting).await {
                let path = path.display();
                tracing::warn!(%task, %error, %path, "the job's log is not copied, or not to its end");
            }
        });
        LogCopy {
            pieces,
            missing: Arc::default(),
        }
    }

    async fn write(
        self,
        task: TaskId,
        now: SystemTime,
        mut waiting: mpsc::Receiver<Piece>,
    ) -> Result<(), (io::Error, PathBuf)> {
        let path = self.directory.join(format!("{}-task-{task}.log", compact(now)));
        let copies = self.clone();
        let own = path.clone();
        let mut writer = on_disk(move || copies.open(&own, now), &path).await?;
        loop {
            let mut pieces = Vec::new();
            if waiting.recv_many(&mut pieces, AT_ONCE).await == 0 {
                return Ok(());
            }
            let work = move || {
                for piece in pieces {
                    writer.write(piece)?;
                }
                Ok(writer)
            };
            writer = on_disk(work, &path).await?;
        }
    }

    fn open(&self, path: &Path, now: SystemTime) -> io::Result<Writer> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        if let Some(oldest) = self.retention.and_then(|retention| now.checked_sub(retention)) {
            remove_before(&self.directory, &compact(oldest));
        }
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        Ok(Writer {
            file,
            limit: self.max_size,
            size: 0,
            is_full: false,
        })
    }
}

impl LogCopy {
    /// Copies rows. It never waits: where the disk is slower than the job, the copy says how many rows it lacks.
    pub fn rows(&self, rows: &Rows) {
        let count = rows.ends.len() as u64;
        let missing = self.missing.swap(0, Ordering::Relaxed);
        if missing > 0 && self.is_full_for(Piece::Missing(rows.time, missing)) {
            self.missing.fetch_add(missing + count, Ordering::Relaxed);
        } else if self.is_full_for(Piece::Rows(rows.clone())) {
            self.missing.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Hands a piece over, unless there is no room. A writer that has gone has said why.
    fn is_full_for(&self, piece: Piece) -> bool {
        matches!(self.pieces.try_send(piece), Err(TrySendError::Full(_)))
    }

    /// Writes the last line and waits until it is there, but not for ever.
    ///
    /// # Cancel safety
    /// A dropped call may leave the copy without its last line.
    pub async fn end(self, now: SystemTime, task: TaskId, conclusion: Conclusion) {
        let status = match conclusion {
            Conclusion::Success => "success",
            Conclusion::Failure => "failure",
            Conclusion::Cancelled => "cancelled",
            Conclusion::Skipped => "skipped",
        };
        let missing = self.missing.swap(0, Ordering::Relaxed);
        let end = async {
            if missing > 0 {
                self.pieces.send(Piece::Missing(now, missing)).await.ok()?;
            }
            let (written, waiting) = oneshot::channel();
            let line = format!("[runner] task {task} finished: {status}");
            self.pieces.send(Piece::End(now, line, written)).await.ok()?;
            waiting.await.ok()
        };
        if tokio::time::timeout(PATIENCE, end).await.is_err() {
            tracing::warn!(%task, "the copy of the job's log is not at its end: the disk is too slow");
        }
    }
}

/// The file of a copy.
struct Writer {
    file: File,
    /// How many bytes of rows it may have.
    limit: Option<u64>,
    size: u64,
    /// There was one row too many; no other row follows.
    is_full: bool,
}

impl Writer {
    fn write(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Rows(rows) => {
                let text = self.text_of(&rows);
                self.file.write_all(text.as_bytes())
            }
            Piece::Missing(..) if self.is_full => Ok(()),
            Piece::Missing(time, count) => {
                let line =
                    format!("[runner] {count} rows are missing: the disk of this machine was too slow");
                self.line(time, &line)
            }
            Piece::End(time, line, written) => {
                self.line(time, &line)?;
                // Whoever waited may have lost patience.
                written.send(()).ok();
                Ok(())
            }
        }
    }

    /// The lines of rows, as far as there is room for them.
    fn text_of(&mut self, rows: &Rows) -> String {
        let time = rfc3339(rows.time);
        let mut text = String::with_capacity(rows.text.len() + rows.ends.len() * (time.len() + 2));
        for row in rows.iter() {
            if self.is_full {
                break;
            }
            self.size += (time.len() + row.len() + 2) as u64;
            let over = self.limit.filter(|limit| self.size > *limit);
            self.is_full = over.is_some();
            let cut =
                over.map(|limit| format!("[runner] truncated: log.job.max_size of {limit} bytes reached"));
            for part in [&time, " ", cut.as_deref().unwrap_or(row), "\n"] {
                text.push_str(part);
            }
        }
        text
    }

    fn line(&mut self, time: SystemTime, line: &str) -> io::Result<()> {
        writeln!(self.file, "{} {line}", rfc3339(time))
    }
}

/// Removes copies that were begun before a time, which their names say.
fn remove_before(directory: &Path, oldest: &str) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_old = name.to_str().and_then(begun).is_some_and(|begun| begun < oldest);
        if is_old && let Err(error) = fs::remove_file(entry.path()) {
            let path = entry.path();
            tracing::warn!(%error, path = %path.display(), "an old copy of a job's log stays");
            return;
        }
    }
}

/// When the copy of this name was begun; nothing if it is no copy.
fn begun(name: &str) -> Option<&str> {
    let (begun, rest) = name.split_at_checked(15)?;
    let is_time = begun.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let task = rest.strip_prefix("-task-")?.strip_suffix(".log")?;
    (is_time && task.parse::<i64>().is_ok()).then_some(begun)
}

/// Does what may block where blocking is allowed.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
    path: &Path,
) -> Result<T, (io::Error, PathBuf)> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|panic| Err(io::Error::other(panic)));
    done.map_err(|error| (error, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_copies_tell_a_time() {
        for (name, time) in [
            ("20260102-030405-task-7.log", Some("20260102-030405")),
            ("20260102-030405-task-7.log.gz", None),
            ("20260102x030405-task-7.log", None),
            ("20260102-030405-task-x.log", None),
            ("notes.txt", None),
            ("ä20260102-03040-task-7.log", None),
        ] {
            assert_eq!(begun(name), time, "{name}");
        }
    }

    #[tokio::test]
    async fn rows_without_room_are_counted_and_never_waited_for() {
        let (pieces, mut waiting) = mpsc::channel(2);
        let copy = LogCopy {
            pieces,
            missing: Arc::default(),
        };
        let rows = Rows::of_lines(SystemTime::UNIX_EPOCH, None, "a\nb\n");
        for _ in 0..4 {
            copy.rows(&rows);
        }
        let mut next = || waiting.try_recv();
        assert!(matches!(next(), Ok(Piece::Rows(_))));
        copy.rows(&rows);
        assert!(matches!(next(), Ok(Piece::Rows(_))));
        assert!(matches!(next(), Ok(Piece::Missing(_, 4))));
        copy.rows(&rows);
        assert!(matches!(next(), Ok(Piece::Missing(_, 2))));
        assert!(matches!(next(), Ok(Piece::Rows(_))));
    }
}
