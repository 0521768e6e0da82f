//! Reads and writes single files in a directory that the job can write to.
//!
//! Whatever stands there may have been put there by a step, so nothing is followed, nothing blocks and nothing is read
//! without a bound. Small files are handled in place: a hop to another thread would cost more than the work.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, unlinkat};
use rustix::io::Errno;

use super::beneath::open_parent;
use crate::backend::ReadError;

/// Up to this size the work is done on the calling thread.
pub(super) const SMALL: u64 = 256 * 1024;

/// Opens a file for reading if it is a regular one of at most `limit` bytes; `None` when there is none.
pub(super) fn open_regular(path: &str, limit: u64) -> Result<Option<(File, u64)>, ReadError> {
    // NONBLOCK keeps open() from waiting for a FIFO's writer; it means nothing for regular files.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let not_regular = |found| ReadError::NotRegular {
        path: path.to_owned(),
        found,
    };
    let file: File = match open(path, flags, Mode::empty()) {
        Ok(descriptor) => descriptor.into(),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(not_regular("a symbolic link")),
        Err(Errno::NXIO) => return Err(not_regular("a socket or a device")),
        Err(error) => {
            return Err(ReadError::Io {
                path: path.to_owned(),
                reason: error.into(),
            });
        }
    };
    let status = fstat(&file).map_err(|error| ReadError::Io {
        path: path.to_owned(),
        reason: error.into(),
    })?;
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => {}
        other => return Err(not_regular(describe(other))),
    }
    let size = u64::try_from(status.st_size).unwrap_or(0);
    if size > limit {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(Some((file, size)))
}

/// Reads at most `limit` bytes; the file may have grown since it was opened.
pub(super) fn read_all(file: File, size: u64, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(limit.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|reason| ReadError::Io {
            path: path.to_owned(),
            reason,
        })?;
    if content.len() as u64 > limit {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
            limit,
        });
    }
    Ok(content)
}

/// Writes a whole file below `root` that only its owner can read; makes the directories above it.
pub(super) fn write(root: &Path, path: &str, content: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY
        | OFlags::CREATE
        | OFlags::TRUNC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let (directory, name) = open_parent(root, path, true)?;
    let mut file: File = openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into();
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => file.write_all(content),
        other => Err(io::Error::other(format!("{} is in the way", describe(other)))),
    }
}

/// Removes a file below `root`; it is no error when there is none.
pub(super) fn remove(root: &Path, path: &str) -> io::Result<()> {
    let removed = open_parent(root, path, false)
        .and_then(|(directory, name)| Ok(unlinkat(directory, name, AtFlags::empty())?));
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Makes a directory and those above it, for the owner only.
pub(super) fn make_directories(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

fn describe(found: FileType) -> &'static str {
    match found {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}
