//! Where records are kept: one for each directory, below the user's cache.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use super::{Record, VERSION};
use crate::cli::files::read_text;

/// The records of one user.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The records below `root`, which need not exist.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Keeps the record of a run of `directory` in place of the one before. Only the user may read it.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn write(&self, directory: &Path, record: &Record) -> anyhow::Result<()> {
        let path = self.path(directory);
        let subject = || format!("cannot write {}", path.display());
        let parent = path.parent().with_context(subject)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .with_context(subject)?;
        // Two runs of the same directory may end at the same time, and each file is whole.
        let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .with_context(subject)?;
        let text = serde_json::to_vec(record).with_context(subject)?;
        file.write_all(&text)
            .and_then(|()| fs::rename(&fresh, &path))
            .with_context(subject)
    }

    /// The record of the last run of `directory`; `None` if there is none that this version can read.
    ///
    /// # Errors
    /// The file is there and cannot be read, or holds something else.
    pub fn read(&self, directory: &Path) -> anyhow::Result<Option<Record>> {
        #[derive(serde::Deserialize)]
        struct Head {
            version: u32,
        }
        let path = self.path(directory);
        if !path.exists() {
            return Ok(None);
        }
        let text = read_text(&path)?;
        let subject = || format!("cannot read {}", path.display());
        let head: Head = serde_json::from_str(&text).with_context(subject)?;
        if head.version != VERSION {
            return Ok(None);
        }
        let record: Record = serde_json::from_str(&text).with_context(subject)?;
        // The name of the file is a digest, and the file of another directory would be a wrong answer.
        Ok(Some(record).filter(|record| record.directory == directory.to_string_lossy()))
    }

    fn path(&self, directory: &Path) -> PathBuf {
        let digest = Sha256::digest(directory.as_os_str().as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self.root.join(name).join("last.json")
    }
}
