//! The files of one task; every call blocks until the file system has answered.
//!
//! ```text
//! claim                when it was claimed, and what a person would call it
//! rows-NUMBER          the masked rows, in segments
//! progress-NUMBER      step states, annotations and summaries, in segments
//! cursor               how far the forge has both, and the steps as it knows them
//! report               the last word, once there is one
//! ```

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use gantry_protocols::forge::{LogBatch, Report, RowIndex, StepState, TaskId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::backlog::Backlog;
use super::record::{self, FLAG_LAST_WORDS, Head};
use super::spool::{Opened, Spool};
use super::stored::{StoredClaim, StoredCursor, StoredProgress, StoredReport};
use super::volume::Volume;
use super::{Cursor, Error, Item, Pending, durable};

const CLAIM: &str = "claim";
const CURSOR: &str = "cursor";
const REPORT: &str = "report";

/// How many bytes of progress are in memory at once while the states of steps are looked for.
const STEPS_AT_ONCE: u64 = 1024 * 1024;

/// The files of one task.
#[derive(Debug)]
pub struct TaskFiles {
    task: TaskId,
    directory: PathBuf,
    volume: Arc<Volume>,
    rows: Spool,
    progress: Spool,
    cursor: Cursor,
    last: Option<Head>,
    damaged: bool,
    /// What the volume was told that the files take.
    accounted: u64,
    buffer: Vec<u8>,
}

impl TaskFiles {
    /// Makes the files of a task that was just claimed.
    pub fn create(
        task: TaskId,
        directory: PathBuf,
        volume: Arc<Volume>,
        claimed: SystemTime,
        summary: &str,
    ) -> Result<Self, Error> {
        if directory.exists() {
            return Err(Error::Known(task));
        }
        let make = || {
            durable::make_directory(&directory)?;
            // The way down to a new directory is made durable too.
            directory.parent().map_or(Ok(()), durable::sync_directory)
        };
        volume.spend(make).map_err(Error::writing(&directory))?;
        let claim = StoredClaim {
            claimed: claimed.into(),
            summary: summary.to_owned(),
        };
        let files = Self {
            task,
            rows: Spool::new(&directory, "rows", volume.segment_size()),
            progress: Spool::new(&directory, "progress", volume.segment_size()),
            directory,
            volume,
            cursor: Cursor::default(),
            last: None,
            damaged: false,
            accounted: 0,
            buffer: Vec::new(),
        };
        files.replace(CLAIM, &claim)?;
        Ok(files)
    }

    /// Opens the files of a task that another process has left behind.
    pub fn open(task: TaskId, directory: PathBuf, volume: Arc<Volume>) -> Result<Self, Error> {
        // A cursor that cannot be read costs only repeated deliveries, which the forge skips by their numbers.
        let cursor =
            read_json::<StoredCursor>(&directory.join(CURSOR)).map_or_else(Cursor::default, Cursor::from);
        let open = |name, acked| {
            Spool::open(&directory, name, volume.segment_size(), acked).map_err(Error::reading(&directory))
        };
        let Opened {
            spool: rows,
            last,
            damaged,
        } = open("rows", cursor.rows.0)?;
        let progress = open("progress", cursor.progress)?;
        let mut files = Self {
            task,
            directory,
            volume,
            rows,
            cursor,
            last,
            damaged: damaged || progress.damaged,
            progress: progress.spool,
            accounted: 0,
            buffer: Vec::new(),
        };
        files.account();
        Ok(files)
    }

    /// Appends rows and progress; rows are written first, since progress speaks of them.
    pub fn append(&mut self, items: &[Item], flags: u32) -> Result<(), Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.append_with(&mut buffer, items, flags);
        buffer.clear();
        // A single huge batch must not hold its memory for the rest of the job.
        buffer.shrink_to(1024 * 1024);
        self.buffer = buffer;
        self.account();
        result
    }

    fn append_with(&mut self, buffer: &mut Vec<u8>, items: &[Item], flags: u32) -> Result<(), Error> {
        let encoding =
            |error| Error::writing(&self.directory)(io::Error::new(io::ErrorKind::InvalidData, error));
        let mut rows: Option<(u64, u64)> = None;
        for item in items {
            let Item::Rows(batch) = item else { continue };
            record::encode_rows(batch, flags, buffer).map_err(encoding)?;
            let first = rows.map_or(batch.first.0, |(first, _)| first);
            rows = Some((first, batch.next().0));
        }
        let mut progress: Option<(u64, u64)> = None;
        let split = buffer.len();
        for item in items {
            let Item::Progress(pending) = item else { continue };
            let json = to_json(&StoredProgress::from(&**pending)).map_err(Error::writing(&self.directory))?;
            record::encode_item(pending.number, &json, buffer).map_err(encoding)?;
            let first = progress.map_or(pending.number, |(first, _)| first);
            progress = Some((first, pending.number + 1));
        }
        let (row_frames, progress_frames) = buffer.split_at(split);
        if let Some((first, next)) = rows {
            self.rows
                .append(row_frames, first, next)
                .map_err(Error::writing(&self.directory))?;
        }
        if let Some((first, next)) = progress {
            let spool = &mut self.progress;
            self.volume
                .spend(|| spool.append(progress_frames, first, next))
                .map_err(Error::writing(&self.directory))?;
        }
        Ok(())
    }

    /// Reads batches of rows, the first of which holds row `from`, of about `wanted` bytes in all.
    pub fn read_rows(&mut self, from: RowIndex, wanted: u64) -> Result<Vec<LogBatch>, Error> {
        let task = self.task;
        let mut batches = Vec::new();
        let mut mistake = None;
        self.rows
            .read(from.0, wanted, |head, payload| {
                match record::decode_rows(task, head, payload) {
                    Ok(batch) => batches.push(batch),
                    Err(error) => mistake = Some(error),
                }
            })
            .map_err(Error::reading(&self.directory))?;
        match mistake {
            Some(error) => Err(Error::reading(&self.directory)(io::Error::other(error))),
            None => Ok(batches),
        }
    }

    /// Reads progress from item `from` on, of about `wanted` bytes in all.
    pub fn read_progress(&mut self, from: u64, wanted: u64) -> Result<Vec<Pending>, Error> {
        let task = self.task;
        let mut items = Vec::new();
        self.progress
            .read(from, wanted, |head, payload| {
                // The checksum was right, so another program has written it, and what it means is lost.
                let stored: Option<StoredProgress> = serde_json::from_slice(payload).ok();
                items.push(stored.map_or_else(
                    || Pending::nothing(task, head.first),
                    |stored| stored.into_pending(task, head.first),
                ));
            })
            .map_err(Error::reading(&self.directory))?;
        Ok(items)
    }

    /// Moves the cursor, never back, and deletes what is acknowledged.
    pub fn advance(&mut self, cursor: Cursor) -> Result<(), Error> {
        if cursor.rows < self.cursor.rows || cursor.progress < self.cursor.progress {
            return Ok(());
        }
        self.replace(CURSOR, &StoredCursor::from(&cursor))?;
        self.cursor = cursor;
        let reclaimed = self
            .rows
            .reclaim(self.cursor.rows.0)
            .and_then(|()| self.progress.reclaim(self.cursor.progress))
            .map_err(Error::writing(&self.directory));
        self.account();
        reclaimed
    }

    /// Keeps the last word on the task; what was appended before survives a loss of power with it.
    pub fn keep(&mut self, report: &Report) -> Result<(), Error> {
        let unsynced = self.take_unsynced()?;
        sync(&self.directory, &unsynced)?;
        self.replace(REPORT, &StoredReport::from(report))
    }

    /// The files to sync with [`sync`], which others need not wait for.
    pub fn take_unsynced(&mut self) -> Result<Vec<File>, Error> {
        let mut files = self
            .rows
            .take_unsynced()
            .map_err(Error::writing(&self.directory))?;
        let progress = self.progress.take_unsynced();
        files.extend(progress.map_err(Error::writing(&self.directory))?);
        Ok(files)
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What has to be delivered, and what is known of the task.
    pub fn backlog(&mut self) -> Result<Backlog, Error> {
        let claim: Option<StoredClaim> = read_json(&self.directory.join(CLAIM));
        let report: Option<StoredReport> = read_json(&self.directory.join(REPORT));
        let progress = self.cursor.progress.max(self.progress.first())..self.progress.next();
        let steps = self.steps(progress.start)?;
        Ok(Backlog {
            task: self.task,
            claimed: claim.as_ref().map(|claim| SystemTime::from(claim.claimed)),
            summary: claim.map(|claim| claim.summary).unwrap_or_default(),
            rows: self.cursor.rows.0.max(self.rows.first())..self.rows.next(),
            row_bytes: self.rows.bytes(),
            progress,
            progress_bytes: self.progress.bytes(),
            steps,
            reported: self.cursor.steps.clone(),
            last_row: self.last.map(|head| (head.time, head.step)),
            concluded: self.last.is_some_and(|head| head.flags & FLAG_LAST_WORDS != 0),
            damaged: self.damaged,
            report: report.map(|report| report.into_report(self.task)),
        })
    }

    /// The steps as the forge knows them, with what it has not been told yet.
    fn steps(&mut self, mut from: u64) -> Result<Vec<StepState>, Error> {
        let mut steps = self.cursor.steps.clone();
        while from < self.progress.next() {
            let items = self.read_progress(from, STEPS_AT_ONCE)?;
            let Some(last) = items.last() else { break };
            from = last.number + 1;
            for step in items.into_iter().flat_map(|item| item.progress.steps) {
                steps.retain(|known| known.index != step.index);
                steps.push(step);
            }
        }
        Ok(steps)
    }

    /// Tells the volume how much the files take now.
    fn account(&mut self) {
        let bytes = self.rows.bytes() + self.progress.bytes();
        self.volume.account(self.accounted, bytes);
        self.accounted = bytes;
    }

    fn replace(&self, name: &str, content: &impl Serialize) -> Result<(), Error> {
        let replace = || durable::replace(&self.directory, name, &to_json(content)?);
        self.volume
            .spend(replace)
            .map_err(Error::writing(&self.directory.join(name)))
    }
}

impl Drop for TaskFiles {
    fn drop(&mut self) {
        self.volume.account(self.accounted, 0);
    }
}

/// Waits until what was written to the files would survive a loss of power.
pub fn sync(directory: &Path, files: &[File]) -> Result<(), Error> {
    for file in files {
        file.sync_data().map_err(Error::writing(directory))?;
    }
    // The names of new segments.
    durable::sync_directory(directory).map_err(Error::writing(directory))
}

fn to_json(content: &impl Serialize) -> io::Result<Vec<u8>> {
    serde_json::to_vec(content).map_err(io::Error::other)
}

/// The content of a file, unless it is not there or makes no sense.
fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %path.display(), %error, "failed to read a file of the journal");
            }
            return None;
        }
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed
        .inspect_err(
            |error| tracing::warn!(path = %path.display(), %error, "a file of the journal makes no sense"),
        )
        .ok()
}
