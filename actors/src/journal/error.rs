//! Why the journal cannot do its work.

use std::io;
use std::path::{Path, PathBuf};

use gantry_protocols::forge::TaskId;

use super::volume::is_full;

/// Why the journal cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process uses the directory.
    #[error("another gantry uses the journal in {}", .0.display())]
    Locked(PathBuf),
    /// A newer program has written the directory.
    #[error(
        "the journal in {} has format {found}, and this gantry knows only format {known}: let the newer gantry deliver it, \
         or move the directory away to lose what it holds",
        path.display()
    )]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this program knows.
        known: u32,
    },
    /// The directory is no journal.
    #[error("{} is not the directory of a journal", .0.display())]
    Foreign(PathBuf),
    /// The task is in the journal already.
    #[error("task {0} is in the journal already")]
    Known(TaskId),
    /// Something cannot be written or deleted.
    #[error("failed to write to the journal at {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something cannot be read.
    #[error("failed to read the journal at {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The work was given up because the program ends or has a bug.
    #[error("the journal's work was interrupted")]
    Interrupted,
}

impl Error {
    /// Tells whether the disk was full.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Write { source, .. } if is_full(source))
    }

    pub(super) fn writing(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Write {
            path: path.clone(),
            source,
        }
    }

    pub(super) fn reading(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Read {
            path: path.clone(),
            source,
        }
    }
}
