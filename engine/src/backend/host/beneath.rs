//! Finds the directory of a file below a job's root without following a link on the way.
//!
//! A step may replace any directory of its job by a link. What the runner writes there, it must not write elsewhere.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
use rustix::io::Errno;

const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens the directory that holds `path`, which lies below `root`, and returns it with the name of the file.
///
/// With `make`, directories that are not there are made, for the owner only.
///
/// # Errors
/// The path does not lie below the root, or something on the way is no directory.
pub(super) fn open_parent<'p>(root: &Path, path: &'p str, make: bool) -> io::Result<(OwnedFd, &'p OsStr)> {
    let outside = || io::Error::other("it is not below the job's directory");
    let mut components = Path::new(path)
        .strip_prefix(root)
        .map_err(|_| outside())?
        .components();
    let Some(Component::Normal(name)) = components.next_back() else {
        return Err(outside());
    };
    let mut directory = open(root, DIRECTORY, Mode::empty())?;
    for component in components {
        let Component::Normal(component) = component else {
            return Err(outside());
        };
        directory = match openat(&directory, component, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if make => {
                mkdirat(&directory, component, Mode::RWXU)?;
                openat(&directory, component, DIRECTORY, Mode::empty())?
            }
            Err(Errno::NOTDIR | Errno::LOOP) => return Err(replaced(component)),
            result => result?,
        };
    }
    Ok((directory, name))
}

fn replaced(component: &OsStr) -> io::Error {
    let component = component.display();
    io::Error::other(format!(
        "the directory '{component}' of the job was replaced by something else"
    ))
}
