//! The lock on a runner file: one process speaks to the forge in a runner's name.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::bail;

/// The lock on a runner file. It is free again when this is dropped, or when the process ends in any way.
///
/// The file of the lock stays: whoever removed it could remove that of another process.
#[derive(Debug)]
pub struct Lock {
    _file: Option<File>,
}

impl Lock {
    /// Takes the lock on a runner file, which need not exist. Where files cannot be locked, a warning has to do.
    ///
    /// # Errors
    /// Another process has it.
    pub fn take(file: &Path) -> anyhow::Result<Self> {
        let lock = beside(file);
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock);
        let error = match opened {
            Ok(opened) => match opened.try_lock() {
                Ok(()) => return Ok(Self { _file: Some(opened) }),
                Err(TryLockError::WouldBlock) => bail!(
                    "another process is already using {} (it holds the lock {}); stop it first",
                    file.display(),
                    lock.display()
                ),
                Err(TryLockError::Error(error)) => error,
            },
            Err(error) => error,
        };
        tracing::warn!(
            lock = %lock.display(),
            %error,
            "the runner file cannot be locked; nothing keeps a second process from using it"
        );
        Ok(Self { _file: None })
    }
}

/// The path of the lock's file.
fn beside(file: &Path) -> PathBuf {
    let mut path = OsString::from(file);
    path.push(".lock");
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_one_is_gone() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join(".runner");
        let first = Lock::take(&file).expect("free");
        let text = Lock::take(&file).expect_err("held").to_string();
        let shown = file.display();
        assert_eq!(
            text,
            format!(
                "another process is already using {shown} (it holds the lock {shown}.lock); stop it first"
            )
        );
        drop(first);
        Lock::take(&file).expect("free again");
    }

    #[test]
    fn a_lock_that_cannot_be_made_does_not_stop_the_runner() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("missing/.runner");
        let locks = [Lock::take(&file), Lock::take(&file)];
        assert!(locks.iter().all(Result::is_ok), "{locks:?}");
    }
}
