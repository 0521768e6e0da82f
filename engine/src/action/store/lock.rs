//! Locks on trees that hold between processes.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use tokio::time::Instant;

use super::beside;
use crate::action::error::Error;

/// What the name of a lock file ends in.
pub(super) const SUFFIX: &str = ".lock";

/// The pauses between two looks at a lock that another has.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// A lock on a tree; the kernel releases it when its holder dies, however it dies.
#[derive(Debug)]
pub(in crate::action) struct TreeLock {
    file: File,
    path: PathBuf,
}

/// How [`TreeLock::exclusive_or_shared`] was answered.
pub(in crate::action) enum Lock {
    /// Nobody else makes, removes or reads the tree.
    Exclusive(TreeLock),
    /// The tree is there, and nobody makes or removes it.
    Shared(TreeLock),
}

#[derive(Clone, Copy)]
enum Mode {
    Shared,
    Exclusive,
}

impl TreeLock {
    /// Waits until nobody makes or removes the tree.
    ///
    /// # Errors
    /// [`Error::Store`], or [`Error::Busy`] after `limit`.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn shared(tree: &Path, commit: &str, limit: Duration) -> Result<Self, Error> {
        Self::wait(tree, commit, limit, Mode::Shared).await
    }

    /// Waits until nobody makes, removes or reads the tree.
    ///
    /// # Errors
    /// [`Error::Store`], or [`Error::Busy`] after `limit`.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn exclusive(tree: &Path, commit: &str, limit: Duration) -> Result<Self, Error> {
        Self::wait(tree, commit, limit, Mode::Exclusive).await
    }

    /// Waits until nobody has the lock, or until the tree is there and can be read: somebody else has made it, and may
    /// read it for as long as a job lasts.
    ///
    /// # Errors
    /// [`Error::Store`], or [`Error::Busy`] after `limit`.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn exclusive_or_shared(tree: &Path, commit: &str, limit: Duration) -> Result<Lock, Error> {
        let path = beside(tree, SUFFIX);
        poll(commit, limit, || {
            if let Some(lock) = Self::attempt(&path, Mode::Exclusive).map_err(Error::store(&path))? {
                return Ok(Some(Lock::Exclusive(lock)));
            }
            let shared = Self::attempt(&path, Mode::Shared).map_err(Error::store(&path))?;
            Ok(shared.filter(|_| tree.is_dir()).map(Lock::Shared))
        })
        .await
    }

    /// Takes the lock if nobody has it.
    pub fn try_exclusive(tree: &Path) -> io::Result<Option<Self>> {
        Self::attempt(&beside(tree, SUFFIX), Mode::Exclusive)
    }

    async fn wait(tree: &Path, commit: &str, limit: Duration, mode: Mode) -> Result<Self, Error> {
        let path = beside(tree, SUFFIX);
        poll(commit, limit, || {
            Self::attempt(&path, mode).map_err(Error::store(&path))
        })
        .await
    }

    fn attempt(path: &Path, mode: Mode) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let locked = match mode {
            Mode::Shared => file.try_lock_shared(),
            Mode::Exclusive => file.try_lock(),
        };
        match locked {
            // A file that was removed meanwhile locks nothing.
            Ok(()) if file.metadata()?.nlink() > 0 => Ok(Some(Self {
                file,
                path: path.to_owned(),
            })),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Lets others read, too. For a moment the lock may be lost, so that the tree has to be looked for again.
    pub fn share(self) -> io::Result<Option<Self>> {
        match self.file.try_lock_shared() {
            Ok(()) if self.file.metadata()?.nlink() > 0 => Ok(Some(self)),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Notes that the tree is used now.
    pub fn touch(&self) -> io::Result<()> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        futimens(
            &self.file,
            &Timestamps {
                last_access: now,
                last_modification: now,
            },
        )?;
        Ok(())
    }

    /// Notes the size of the tree.
    pub fn write_size(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all_at(bytes.to_string().as_bytes(), 0)
    }

    /// Gives the lock up together with its file: there is no tree.
    pub fn remove(self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "failed to remove a lock file");
        }
    }
}

/// Repeats an attempt with growing pauses until it yields something.
async fn poll<T>(
    commit: &str,
    limit: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, Error>,
) -> Result<T, Error> {
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(found) = attempt()? {
            return Ok(found);
        }
        if Instant::now() >= deadline {
            let commit = commit.to_owned();
            return Err(Error::Busy { commit, limit });
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Makes a directory and those above it, for this user only.
pub(in crate::action) fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
