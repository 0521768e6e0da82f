//! Which commit a ref was when it was last asked for.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::lock::make_private;
use crate::action::error::Error;
use crate::action::reference::is_commit;

/// A file for each ref of each URL, so that nothing needs a lock: a file is replaced as a whole.
#[derive(Debug)]
pub(super) struct Memory {
    directory: PathBuf,
    /// Makes names for unfinished files.
    names: AtomicU64,
}

impl Memory {
    /// A memory in a directory, which is made when there is something to remember.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            names: AtomicU64::new(0),
        }
    }

    /// The commit that is remembered; what is not readable as one is forgotten.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn recall(&self, url: &str, git_ref: &str) -> Result<Option<String>, Error> {
        let path = self.path(url, git_ref);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(commit_of(&text).map(str::to_owned)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(Error::store(path)(error)),
        }
    }

    /// Remembers the commit of a ref.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn note(&self, url: &str, git_ref: &str, commit: &str) -> Result<(), Error> {
        if self.recall(url, git_ref)?.as_deref() == Some(commit) {
            return Ok(());
        }
        make_private(&self.directory).map_err(Error::store(&self.directory))?;
        let path = self.path(url, git_ref);
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        let part = self
            .directory
            .join(format!("new-{}-{number}", std::process::id()));
        let text = format!("{commit}\n{git_ref}\n{url}\n");
        replace(&part, &path, text.as_bytes()).map_err(Error::store(path))
    }

    /// Forgets every commit for which `keeps` says no.
    pub fn forget(&self, keeps: impl Fn(&str) -> bool) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            if commit_of(&text).is_some_and(|commit| !keeps(commit)) {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    fn path(&self, url: &str, git_ref: &str) -> PathBuf {
        let digest = Sha256::digest(format!("{url}\n{git_ref}"));
        let digit = |bits: u8| char::from_digit(u32::from(bits), 16);
        let digits = digest
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        let name: String = digits.flatten().collect();
        self.directory.join(name)
    }
}

fn commit_of(text: &str) -> Option<&str> {
    text.lines().next().filter(|line| is_commit(line))
}

fn replace(part: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(part)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_remembered_per_url() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(directory.path().join("refs"));
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        memory.note("https://h/o/r", "v1", &a).unwrap();
        memory.note("https://h/o/r", "v2", &a).unwrap();
        memory.note("https://h/o/r", "v2", &b).unwrap();
        let recall = |url: &str, git_ref: &str| memory.recall(url, git_ref).unwrap();
        assert_eq!(recall("https://h/o/r", "v1"), Some(a.clone()));
        assert_eq!(recall("https://h/o/r", "v2"), Some(b.clone()));
        assert_eq!(recall("https://h/o/x", "v1"), None);
        memory.forget(|commit| commit == b).unwrap();
        assert_eq!(recall("https://h/o/r", "v1"), None);
        assert_eq!(recall("https://h/o/r", "v2"), Some(b));
    }

    #[test]
    fn garbage_is_no_memory() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(directory.path().to_owned());
        fs::write(memory.path("u", "r"), b"\xff\xfe").unwrap();
        assert_eq!(memory.recall("u", "r").unwrap(), None);
        fs::write(memory.path("u", "r"), b"../../etc\n").unwrap();
        assert_eq!(memory.recall("u", "r").unwrap(), None);
    }
}
