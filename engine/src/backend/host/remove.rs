//! Removes a tree that a stranger filled and may still be changing.
//!
//! Every step is relative to an open directory and follows no link, so that nothing outside the tree can be reached by
//! swapping a directory for a link. Mounts are never entered. The depth of the tree costs neither stack nor file
//! descriptors: what lies too deep is moved up first.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, FileType, IFlags, Mode, OFlags, ResolveFlags, chmod, fchmod, fstat, ioctl_getflags,
    ioctl_setflags, open, openat, openat2, renameat, unlinkat,
};
use rustix::io::Errno;

use super::claim;
use crate::backend::RemoveFailure;

/// How many directories are open at once.
const MAX_DEPTH: usize = 64;

/// How many failures are kept to be counted without repetition.
const MAX_FAILURES: usize = 1000;

/// How often a directory is read again that is filled while it is emptied.
const MAX_LOOKS: u8 = 8;

const OPEN_DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Removes a directory with all that is in it; it is no error when there is none.
pub(crate) fn remove_tree(root: &Path) -> Result<(), RemoveFailure> {
    let failed = |error: Errno| RemoveFailure {
        path: root.to_owned(),
        reason: error.into(),
        others: 0,
    };
    let (Some(parent), Some(name)) = (root.parent(), root.file_name()) else {
        return Err(failed(Errno::INVAL));
    };
    let name = CString::new(name.as_bytes()).map_err(|_| failed(Errno::INVAL))?;
    let parent = match open(
        parent,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    ) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let salt = claim::new_id().map_err(|reason| RemoveFailure {
        path: root.to_owned(),
        reason,
        others: 0,
    })?;
    let mut removal = Removal {
        root,
        failures: BTreeMap::new(),
        salt,
        hoisted: 0,
    };
    match remove_entry(parent.as_fd(), &name, FileType::Unknown) {
        Ok(Step::Removed) => {}
        Ok(Step::Descend(directory)) => {
            removal.run(parent.as_fd(), Frame::new(name, directory).map_err(failed)?);
        }
        Err(error) => return Err(failed(error)),
    }
    removal.result()
}

/// A directory that is being emptied.
struct Frame {
    name: CString,
    directory: Dir,
    /// Something in it cannot be removed, and that has been noted.
    failed: bool,
    /// How often it turned out not to be empty after all.
    looks: u8,
}

impl Frame {
    fn new(name: CString, descriptor: OwnedFd) -> Result<Self, Errno> {
        Ok(Self {
            name,
            directory: Dir::new(descriptor)?,
            failed: false,
            looks: 0,
        })
    }

    fn descriptor(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.directory.fd()
    }

    /// The next entry apart from `.` and `..`.
    fn next(&mut self) -> Option<Result<(CString, FileType), Errno>> {
        loop {
            match self.directory.read()? {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => return Some(Ok((entry.file_name().to_owned(), entry.file_type()))),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

struct Removal<'a> {
    root: &'a Path,
    failures: BTreeMap<PathBuf, io::Error>,
    /// What the names of directories start with that were moved up.
    salt: String,
    /// How many directories were moved up.
    hoisted: usize,
}

impl Removal<'_> {
    fn run(&mut self, parent: BorrowedFd<'_>, root: Frame) {
        let mut stack = vec![root];
        let mut hoisted_before = 0;
        while let Some(top) = stack.last_mut() {
            match top.next() {
                Some(Ok((name, kind))) => self.visit(&mut stack, &name, kind),
                Some(Err(error)) => {
                    self.fail(&mut stack, None, error);
                    self.leave(parent, &mut stack);
                }
                // What was moved up lies in the root now, perhaps behind the reader's position.
                None if stack.len() == 1 && self.hoisted > hoisted_before => {
                    hoisted_before = self.hoisted;
                    if let Some(root) = stack.last_mut() {
                        root.directory.rewind();
                    }
                }
                None => self.leave(parent, &mut stack),
            }
        }
    }

    /// Removes one entry, or makes its directory the next to be emptied.
    fn visit(&mut self, stack: &mut Vec<Frame>, name: &CStr, kind: FileType) {
        let Some(top) = stack.last() else { return };
        let step = top
            .descriptor()
            .and_then(|directory| remove_entry(directory, name, kind));
        let outcome = match step {
            Ok(Step::Removed) => Ok(()),
            Ok(Step::Descend(_)) if stack.len() >= MAX_DEPTH => self.hoist(stack, name),
            Ok(Step::Descend(directory)) => {
                Frame::new(name.to_owned(), directory).map(|frame| stack.push(frame))
            }
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            self.fail(stack, Some(name), error);
        }
    }

    /// Moves a directory that lies too deep into the root, under a name that the job cannot have foreseen.
    fn hoist(&mut self, stack: &[Frame], name: &CStr) -> Result<(), Errno> {
        let (Some(root), Some(top)) = (stack.first(), stack.last()) else {
            return Ok(());
        };
        self.hoisted += 1;
        let target = format!("{}-{}", self.salt, self.hoisted);
        renameat(top.descriptor()?, name, root.descriptor()?, target)
    }

    /// Removes the directory that has been emptied and goes on with the one above.
    fn leave(&mut self, parent: BorrowedFd<'_>, stack: &mut Vec<Frame>) {
        let Some(mut done) = stack.pop() else { return };
        let above = match stack.last() {
            Some(frame) => frame.descriptor(),
            None => Ok(parent),
        };
        match above.and_then(|above| unlink(above, &done.name, AtFlags::REMOVEDIR)) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Something was added, or the file system's reader skipped entries while others were removed.
            Err(Errno::NOTEMPTY | Errno::EXIST) if !done.failed && done.looks < MAX_LOOKS => {
                done.directory.rewind();
                done.looks += 1;
                stack.push(done);
            }
            Err(_) if done.failed => {
                if let Some(frame) = stack.last_mut() {
                    frame.failed = true;
                }
            }
            Err(error) => self.fail(stack, Some(&done.name), error),
        }
    }

    fn path(&self, stack: &[Frame], name: Option<&CStr>) -> PathBuf {
        let below = stack
            .iter()
            .skip(1)
            .map(|frame| frame.name.as_c_str())
            .chain(name);
        let mut path = self.root.to_owned();
        path.extend(below.map(|name| OsStr::from_bytes(name.to_bytes())));
        path
    }

    fn fail(&mut self, stack: &mut [Frame], name: Option<&CStr>, error: Errno) {
        if self.failures.len() < MAX_FAILURES {
            let name = name.filter(|_| !stack.is_empty());
            self.failures.insert(self.path(stack, name), error.into());
        }
        if let Some(frame) = stack.last_mut() {
            frame.failed = true;
        }
    }

    fn result(mut self) -> Result<(), RemoveFailure> {
        match self.failures.pop_first() {
            None => Ok(()),
            Some((path, reason)) => Err(RemoveFailure {
                path,
                reason,
                others: self.failures.len(),
            }),
        }
    }
}

/// What became of an entry.
enum Step {
    /// It is gone.
    Removed,
    /// It is a directory that is not empty.
    Descend(OwnedFd),
}

fn remove_entry(directory: BorrowedFd<'_>, name: &CStr, kind: FileType) -> Result<Step, Errno> {
    if !matches!(kind, FileType::Directory | FileType::Unknown) {
        match unlink(directory, name, AtFlags::empty()) {
            // It was swapped for a directory after the directory was read.
            Err(Errno::ISDIR) => {}
            result => return gone(result),
        }
    }
    match unlink(directory, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTDIR) => gone(unlink(directory, name, AtFlags::empty())),
        Err(Errno::NOTEMPTY | Errno::EXIST | Errno::ACCESS) => {
            open_directory(directory, name).map(Step::Descend)
        }
        result => gone(result),
    }
}

fn gone(result: Result<(), Errno>) -> Result<Step, Errno> {
    match result {
        Ok(()) | Err(Errno::NOENT) => Ok(Step::Removed),
        Err(error) => Err(error),
    }
}

fn unlink(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> Result<(), Errno> {
    match unlinkat(directory, name, flags) {
        // A job that is root can make files immutable; then so can the runner undo it.
        Err(Errno::PERM) if clear_attributes(directory, name) => unlinkat(directory, name, flags),
        result => result,
    }
}

fn clear_attributes(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    let clear = |descriptor: BorrowedFd<'_>| {
        let Ok(flags) = ioctl_getflags(descriptor) else {
            return false;
        };
        let cleared = flags.difference(IFlags::IMMUTABLE | IFlags::APPEND);
        cleared != flags && ioctl_setflags(descriptor, cleared).is_ok()
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let own = openat(directory, name, flags, Mode::empty()).is_ok_and(|file| clear(file.as_fd()));
    clear(directory) || own
}

/// Opens a directory that may be closed to its owner, without following links or entering a mount.
fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let descriptor = match open_beneath(parent, name, OPEN_DIRECTORY) {
        Err(Errno::ACCESS) => {
            let closed = open_beneath(
                parent,
                name,
                OPEN_DIRECTORY.difference(OFlags::RDONLY) | OFlags::PATH,
            )?;
            // Through the descriptor the mode of exactly this directory is changed, whatever the name means by now.
            chmod(format!("/proc/self/fd/{}", closed.as_raw_fd()), Mode::RWXU)?;
            openat(&closed, c".", OPEN_DIRECTORY, Mode::empty())?
        }
        result => result?,
    };
    let mode = Mode::from_raw_mode(fstat(&descriptor)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(&descriptor, mode | Mode::RWXU)?;
    }
    Ok(descriptor)
}

fn open_beneath(parent: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match openat2(parent, name, flags, Mode::empty(), resolve) {
        // Kernels before 5.6 and some sandboxes do not have the call; then only mounts of another device are seen.
        Err(Errno::NOSYS | Errno::PERM) => {
            let descriptor = openat(parent, name, flags, Mode::empty())?;
            if fstat(&descriptor)?.st_dev == fstat(parent)?.st_dev {
                Ok(descriptor)
            } else {
                Err(Errno::XDEV)
            }
        }
        result => result,
    }
}
