//! Whose a job's directory is.
//!
//! Beside each directory stands a file that the runner holds locked. The kernel releases the lock when the runner dies,
//! however it dies, and unlike a process id a lock means the same in every container that shares the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// What the name of the lock file ends in.
pub(super) const SUFFIX: &str = ".lock";

/// What the line with the job's tracking id starts with.
pub(super) const TRACKING: &str = "tracking ";

/// More than a lock file ever has.
pub(super) const MAX_BYTES: u64 = 64 * 1024;

const ID_DIGITS: usize = 16;
const TRACKING_PREFIX: &str = "github_";
const TRACKING_DIGITS: usize = 32;

/// The lock on a job's directory.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Claim {
    /// Makes and locks the file of a new job; `None` when a sweep was faster and took it for a leftover.
    pub fn take(directory: &Path, key: &str, tracking: &str) -> io::Result<Option<Self>> {
        let path = path_of(directory);
        let mut file = match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            result => result?,
        };
        if !lock(&file)? {
            return Ok(None);
        }
        let pid = std::process::id();
        writeln!(
            file,
            "pid {pid}\n{TRACKING}{tracking}\njob {}",
            key.escape_debug()
        )?;
        Ok(Some(Self { path, _file: file }))
    }

    /// Locks the file of a job whose owner is dead and opens it for reading; `None` when the owner lives.
    pub fn take_over(path: &Path) -> io::Result<Option<(Self, File)>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        if !lock(&file)? {
            return Ok(None);
        }
        let reader = file.try_clone()?;
        Ok(Some((
            Self {
                path: path.to_owned(),
                _file: file,
            },
            reader,
        )))
    }

    /// Removes the file, now that the directory is gone.
    pub fn release(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "failed to remove the lock file of a job");
        }
    }
}

/// Locks the file, unless another has it or has already removed it.
fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file.metadata()?.nlink() > 0),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The lock file of a job's directory.
pub(super) fn path_of(directory: &Path) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    path.push(SUFFIX);
    path.into()
}

/// A fresh name for a job's directory.
pub(super) fn new_id() -> io::Result<String> {
    random_hex(ID_DIGITS)
}

/// Says whether a name is one of a job's directory.
pub(super) fn is_id(name: &str) -> bool {
    is_hex(name, ID_DIGITS)
}

/// A fresh value for `RUNNER_TRACKING_ID`.
pub(super) fn new_tracking_id() -> io::Result<String> {
    Ok(format!("{TRACKING_PREFIX}{}", random_hex(TRACKING_DIGITS)?))
}

/// Says whether a text is a value of [`new_tracking_id`].
pub(super) fn is_tracking_id(text: &str) -> bool {
    text.strip_prefix(TRACKING_PREFIX)
        .is_some_and(|digits| is_hex(digits, TRACKING_DIGITS))
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn random_hex(digits: usize) -> io::Result<String> {
    let mut bytes = vec![0_u8; digits];
    // Requests of up to 256 bytes are answered as a whole (getrandom(2)).
    getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    Ok(bytes
        .iter()
        .filter_map(|byte| char::from_digit(u32::from(byte % 16), 16))
        .collect())
}
