//! The journal of one task, for those who must not block.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use gantry_protocols::forge::{LogBatch, Report, RowIndex, TaskId};

use super::files::{TaskFiles, sync};
use super::record::FLAG_LAST_WORDS;
use super::{Backlog, Cursor, Error, Item, Journal, LastWords, Pending, durable};

/// The journal of one task; clones share it.
///
/// # Cancel safety
/// The work of a dropped call is still done; only its outcome is lost.
#[derive(Clone)]
pub struct TaskJournal {
    task: TaskId,
    journal: Arc<Journal>,
    files: Arc<Mutex<TaskFiles>>,
}

impl fmt::Debug for TaskJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskJournal").field(&self.task).finish()
    }
}

impl TaskJournal {
    pub(super) fn new(task: TaskId, journal: Arc<Journal>, files: TaskFiles) -> Self {
        Self {
            task,
            journal,
            files: Arc::new(Mutex::new(files)),
        }
    }

    /// The task.
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// Tells whether somebody else holds it too.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.files) > 1
    }

    /// Tells whether the journal takes more rows; if not, this is why.
    ///
    /// # Errors
    /// The text says that the cap is reached, for whoever reads the log.
    pub fn has_room(&self) -> Result<(), String> {
        if self.journal.volume.has_room() {
            return Ok(());
        }
        let cap = self.journal.volume.cap() / (1024 * 1024);
        Err(format!("the spool has reached its cap of {cap} MiB"))
    }

    /// The longest that rows may wait for a sync.
    pub fn sync_interval(&self) -> Duration {
        self.journal.settings.sync_interval
    }

    /// Appends items in their order; when this returns, the death of the process does not lose them.
    ///
    /// # Errors
    /// The disk does not take them.
    pub async fn append(&self, items: Vec<Item>) -> Result<(), Error> {
        self.with(move |files| files.append(&items, 0)).await
    }

    /// Makes what was appended survive a loss of power; appending goes on meanwhile.
    ///
    /// # Errors
    /// The disk does not take it.
    pub async fn sync(&self) -> Result<(), Error> {
        let files = self.files.clone();
        blocking(move || {
            let (directory, unsynced) = {
                let mut files = lock(&files);
                (files.directory().to_owned(), files.take_unsynced()?)
            };
            sync(&directory, &unsynced)
        })
        .await
    }

    /// Reads batches of rows, of about `wanted` bytes in all; the first one holds row `from`.
    ///
    /// # Errors
    /// The rows cannot be read any more.
    pub async fn read_rows(&self, from: RowIndex, wanted: u64) -> Result<Vec<LogBatch>, Error> {
        self.with(move |files| files.read_rows(from, wanted)).await
    }

    /// Reads progress from item `from` on, of about `wanted` bytes in all.
    ///
    /// # Errors
    /// The items cannot be read any more.
    pub async fn read_progress(&self, from: u64, wanted: u64) -> Result<Vec<Pending>, Error> {
        self.with(move |files| files.read_progress(from, wanted)).await
    }

    /// Notes how far the forge is, and deletes what it has; a cursor that goes back changes nothing.
    ///
    /// # Errors
    /// The disk does not take it.
    pub async fn advance(&self, cursor: Cursor) -> Result<(), Error> {
        self.with(move |files| files.advance(cursor)).await
    }

    /// Keeps the last word on the task until it can be delivered; survives a loss of power.
    ///
    /// # Errors
    /// The disk does not take it.
    pub async fn keep(&self, report: Report) -> Result<(), Error> {
        self.with(move |files| files.keep(&report)).await
    }

    /// What has to be delivered.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        self.with(TaskFiles::backlog).await
    }

    /// What has to be delivered of a task that nobody works on any more; a task without a last word gets one, which says
    /// that the job has failed for this reason.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub async fn conclude(&self, now: SystemTime, reason: &'static str) -> Result<(Backlog, Report), Error> {
        self.with(move |files| {
            let backlog = files.backlog()?;
            if let Some(report) = backlog.report.clone() {
                return Ok((backlog, report));
            }
            let LastWords {
                rows,
                progress,
                report,
            } = backlog.last_words(now, reason);
            // Progress first: only the row tells the next process that nothing is missing.
            let progress: Vec<Item> = progress.into_iter().map(Arc::new).map(Item::Progress).collect();
            files.append(&progress, 0)?;
            let rows: Vec<Item> = rows.map(Arc::new).map(Item::Rows).into_iter().collect();
            files.append(&rows, FLAG_LAST_WORDS)?;
            files.keep(&report)?;
            Ok((files.backlog()?, report))
        })
        .await
    }

    /// Forgets the task: its completion is acknowledged.
    ///
    /// # Errors
    /// The files cannot be removed; the next process will deliver the task once more.
    pub async fn forget(self) -> Result<(), Error> {
        let Self { task, journal, files } = self;
        blocking(move || {
            let directory = lock(&files).directory().to_owned();
            // A task is forgotten at once or not at all.
            let connection = directory.parent().and_then(Path::file_name).unwrap_or_default();
            let trash = journal.root.join("trash").join(connection).join(task.to_string());
            if trash.exists() {
                std::fs::remove_dir_all(&trash).map_err(Error::writing(&trash))?;
            }
            if let Some(parent) = trash.parent() {
                durable::make_directory(parent).map_err(Error::writing(parent))?;
            }
            std::fs::rename(&directory, &trash).map_err(Error::writing(&directory))?;
            if let Some(parent) = directory.parent() {
                durable::sync_directory(parent).map_err(Error::writing(parent))?;
            }
            std::fs::remove_dir_all(&trash).map_err(Error::writing(&trash))?;
            journal.volume.set_reserve_aside();
            Ok(())
        })
        .await
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut TaskFiles) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let files = self.files.clone();
        blocking(move || work(&mut lock(&files))).await
    }
}

fn lock(files: &Mutex<TaskFiles>) -> MutexGuard<'_, TaskFiles> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does work that blocks on a thread for such work.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "the journal's work was interrupted");
            Err(Error::Interrupted)
        }
    }
}
