//! What outlives the process: the tasks that were claimed, the rows and states that no forge has acknowledged, and the
//! reports that wait for a forge.
//!
//! ```text
//! begin --> append ... advance --> keep(report) --> forget
//!             '------ the process is killed: recover, then deliver the same way
//! ```
//!
//! A task is in the journal from the moment at which it was claimed until its completion is acknowledged. What is
//! appended survives the death of the process at once, and a loss of power once it is synced. Only masked rows get
//! here; outputs may hold anything, so nobody but the runner's user can read the files.
//!
//! Everything that touches the disk runs on the threads for blocking work.

mod backlog;
mod durable;
mod error;
mod files;
mod record;
mod spool;
mod stored;
mod task;
mod volume;
mod walk;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_protocols::forge::{LogBatch, Progress, RowIndex, StepState, TaskId};

pub use backlog::{Backlog, LastWords};
pub use error::Error;
pub use task::TaskJournal;

use files::TaskFiles;
use volume::Volume;

/// The layout of the directory that this program writes, and the newest that it reads.
const FORMAT: u32 = 1;

/// How the journal uses the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How many bytes the rows and states of all tasks may take before rows are dropped.
    pub cap: u64,
    /// How long a file becomes before the next one is begun, in bytes; acknowledged files are deleted.
    pub segment_size: u64,
    /// The longest that rows may be at risk if the machine loses its power; the ends of steps are synced at once.
    pub sync_interval: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            cap: 1024 * 1024 * 1024,
            segment_size: 8 * 1024 * 1024,
            sync_interval: Duration::from_secs(5),
        }
    }
}

/// A step state, annotation or summary on its way to the forge.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Its number in the task's progress, from 0.
    pub number: u64,
    /// The forge must have every row before this one first.
    pub after: RowIndex,
    /// Whether it is the beginning or the end of a step, which nobody wants to wait for.
    pub urgent: bool,
    /// What is to be told.
    pub progress: Progress,
}

impl Pending {
    /// An item of which only the number is known.
    pub(crate) fn nothing(task: TaskId, number: u64) -> Self {
        Self {
            number,
            after: RowIndex::default(),
            urgent: false,
            progress: Progress::of(task),
        }
    }
}

/// What is appended to the journal of a task. It is shared, since memory and disk want it at the same time.
#[derive(Debug, Clone)]
pub enum Item {
    /// Rows.
    Rows(Arc<LogBatch>),
    /// Progress.
    Progress(Arc<Pending>),
}

/// How far a forge has acknowledged a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The first row that the forge does not have.
    pub rows: RowIndex,
    /// The first item of progress that the forge does not have.
    pub progress: u64,
    /// The steps as the forge knows them.
    pub steps: Vec<StepState>,
}

/// The journal of one process.
#[derive(Debug)]
pub struct Journal {
    root: PathBuf,
    volume: Arc<Volume>,
    settings: Settings,
    /// Held until the process ends, in whatever way.
    _lock: File,
}

impl Journal {
    /// Opens the journal in a directory, which is made if it is not there. Blocks.
    ///
    /// # Errors
    /// Another process uses it, a newer program has written it, or the directory cannot be used.
    pub fn open(root: &Path, settings: Settings) -> Result<Arc<Self>, Error> {
        durable::make_directory(&root.join("tasks")).map_err(Error::writing(root))?;
        let path = root.join("lock");
        let lock = durable::open_file(&path).map_err(Error::writing(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Locked(root.to_owned())),
            Err(TryLockError::Error(error)) => return Err(Error::writing(&path)(error)),
        }
        check_format(root)?;
        clear_trash(&root.join("trash"))?;
        Ok(Arc::new(Self {
            root: root.to_owned(),
            volume: Arc::new(Volume::new(root, settings)),
            settings,
            _lock: lock,
        }))
    }

    /// The tasks of one connection to a forge, by the name under which the connection will be known after a restart.
    pub fn connection(self: &Arc<Self>, name: &str) -> Connection {
        Connection {
            directory: self.root.join("tasks").join(encode(name)),
            journal: self.clone(),
        }
    }

    /// The names of the connections that have tasks in the journal. Blocks.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn connections(&self) -> Result<Vec<String>, Error> {
        let tasks = self.root.join("tasks");
        let mut names = Vec::new();
        for name in names_in(&tasks)? {
            if !names_in(&tasks.join(&name))?.is_empty() {
                names.extend(decode(&name));
            }
        }
        Ok(names)
    }
}

/// The tasks of one connection to a forge.
#[derive(Debug, Clone)]
pub struct Connection {
    journal: Arc<Journal>,
    directory: PathBuf,
}

impl Connection {
    /// Begins the journal of a task that was just claimed; `summary` is what a person would call it.
    ///
    /// # Errors
    /// The task is in the journal already, or the disk does not take it.
    ///
    /// # Cancel safety
    /// A dropped call may leave the task in the journal.
    pub async fn begin(
        &self,
        task: TaskId,
        claimed: SystemTime,
        summary: String,
    ) -> Result<TaskJournal, Error> {
        let directory = self.directory.join(task.to_string());
        let volume = self.journal.volume.clone();
        let create = move || TaskFiles::create(task, directory, volume, claimed, &summary);
        let files = task::blocking(create).await?;
        Ok(TaskJournal::new(task, self.journal.clone(), files))
    }

    /// The tasks that another process has left behind. One that cannot be opened stays where it is and is logged.
    ///
    /// # Errors
    /// The directory of the tasks cannot be read.
    ///
    /// # Cancel safety
    /// May be dropped and called again, as long as no task of it is used.
    pub async fn recover(&self) -> Result<Vec<TaskJournal>, Error> {
        let connection = self.clone();
        task::blocking(move || connection.open_tasks()).await
    }

    fn open_tasks(&self) -> Result<Vec<TaskJournal>, Error> {
        let names = match names_in(&self.directory) {
            Err(Error::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Vec::new());
            }
            other => other?,
        };
        let mut tasks: Vec<TaskId> = names
            .iter()
            .filter_map(|name| name.parse().ok().map(TaskId))
            .collect();
        tasks.sort_unstable();
        let open = |task: TaskId| {
            let directory = self.directory.join(task.to_string());
            TaskFiles::open(task, directory, self.journal.volume.clone())
                .map(|files| TaskJournal::new(task, self.journal.clone(), files))
                .inspect_err(|error| {
                    let error = gantry_engine::chain::Chain(error);
                    tracing::error!(%task, %error, "a task of the journal cannot be delivered");
                })
                .ok()
        };
        Ok(tasks.into_iter().filter_map(open).collect())
    }
}

/// Refuses a directory whose layout is newer, and marks a new one.
fn check_format(root: &Path) -> Result<(), Error> {
    let path = root.join("format");
    match std::fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse() {
            Ok(FORMAT) => Ok(()),
            Ok(found) => Err(Error::Newer {
                path: root.to_owned(),
                found,
                known: FORMAT,
            }),
            Err(_not_a_number) => Err(Error::Foreign(root.to_owned())),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            durable::replace(root, "format", format!("{FORMAT}\n").as_bytes()).map_err(Error::writing(&path))
        }
        Err(error) => Err(Error::reading(&path)(error)),
    }
}

/// A task is forgotten by moving it here, which either happens or does not; what is here is of no use to anyone.
fn clear_trash(trash: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(trash) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::writing(trash)(error));
        }
        _ => {}
    }
    durable::make_directory(trash).map_err(Error::writing(trash))
}

fn names_in(directory: &Path) -> Result<Vec<String>, Error> {
    let reading = Error::reading(directory);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(&reading)? {
        names.extend(entry.map_err(&reading)?.file_name().into_string());
    }
    Ok(names)
}

/// A connection's name as the name of a directory.
fn encode(name: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(encode).collect()
}

/// The connection's name that [`encode`] made this directory's name of.
fn decode(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((first, after)) = rest.split_at_checked(1) {
        if first == "%" {
            let (digits, after) = after.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.extend_from_slice(first.as_bytes());
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
