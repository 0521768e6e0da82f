//! How much disk the journal may take, and what it keeps back for the moment when there is none left.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Settings, durable};

/// Enough for the reports and cursors of many jobs.
const RESERVE: usize = 256 * 1024;

/// The disk space of one journal.
#[derive(Debug)]
pub struct Volume {
    settings: Settings,
    used: AtomicU64,
    reserve: PathBuf,
}

impl Volume {
    /// Sets a reserve aside in the directory; a disk that has no room for it is noticed soon enough.
    pub fn new(directory: &Path, settings: Settings) -> Self {
        let volume = Self {
            settings,
            used: AtomicU64::new(0),
            reserve: directory.join("reserve"),
        };
        volume.set_reserve_aside();
        volume
    }

    /// How long a segment of a spool may become, in bytes.
    pub fn segment_size(&self) -> u64 {
        self.settings.segment_size
    }

    /// How many bytes the spools of all tasks may take.
    pub fn cap(&self) -> u64 {
        self.settings.cap
    }

    /// Tells whether the spools may grow.
    pub fn has_room(&self) -> bool {
        self.used.load(Ordering::Relaxed) < self.settings.cap
    }

    /// A task's files took `before` bytes and take `now` bytes.
    pub fn account(&self, before: u64, now: u64) {
        if now >= before {
            self.used.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.used.fetch_sub(before - now, Ordering::Relaxed);
        }
    }

    /// Writes something that must not be lost: when the disk is full, the reserve is given up for it.
    pub fn spend<T>(&self, mut write: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        match write() {
            Err(error) if is_full(&error) && std::fs::remove_file(&self.reserve).is_ok() => {
                tracing::warn!(%error, "the disk of the journal is full; its reserve is used now");
                write()
            }
            other => other,
        }
    }

    /// Sets the reserve aside again, if it was given up and there is room.
    pub fn set_reserve_aside(&self) {
        let is_there = std::fs::metadata(&self.reserve).is_ok_and(|file| file.len() >= RESERVE as u64);
        if is_there {
            return;
        }
        let write = |mut file: File| file.write_all(&vec![0; RESERVE]);
        if let Err(error) = durable::open_file(&self.reserve).and_then(write) {
            tracing::warn!(%error, "failed to set disk space aside for the journal");
        }
    }
}

/// Tells whether there was no room for a write.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> io::Error {
        ErrorKind::StorageFull.into()
    }

    #[test]
    fn the_reserve_is_given_up_once_for_what_must_not_be_lost() {
        let directory = tempfile::tempdir().unwrap();
        let volume = Volume::new(directory.path(), Settings::default());
        let reserve = directory.path().join("reserve");
        assert!(reserve.exists());
        let mut room = false;
        let written = volume.spend(|| {
            if !std::mem::replace(&mut room, true) {
                return Err(full());
            }
            assert!(!reserve.exists());
            Ok("written")
        });
        assert_eq!(written.unwrap(), "written");
        assert!(volume.spend(|| Err::<(), _>(full())).is_err());
        volume.set_reserve_aside();
        assert!(reserve.exists());
    }

    #[test]
    fn room_is_counted_over_all_tasks() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings {
            cap: 100,
            ..Settings::default()
        };
        let volume = Volume::new(directory.path(), settings);
        volume.account(0, 60);
        assert!(volume.has_room());
        volume.account(0, 60);
        assert!(!volume.has_room());
        volume.account(60, 10);
        assert!(volume.has_room());
    }
}
