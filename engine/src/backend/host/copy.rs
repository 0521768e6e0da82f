//! Copies the user's tree into a workspace.
//!
//! Nothing is ever written into the source: links are copied as links, files are cloned or copied but never linked, and
//! a `.git` that points elsewhere becomes a repository of its own.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, fchmod, futimens, ioctl_ficlone, open, utimensat,
};

use super::git::{self, Repository};
use crate::backend::Error;

/// What of the source is copied.
#[derive(Debug)]
pub(super) enum Selection {
    /// These files, relative to the source.
    Listed(Arc<[PathBuf]>),
    /// All files.
    Everything,
}

/// Copies `source` into the existing directory `target`; `skipped` and what is below it stays out.
pub(super) fn copy_tree(
    source: &Path,
    target: &Path,
    selection: Selection,
    skipped: &Path,
) -> Result<(), Error> {
    let mut copy = Copy {
        source,
        skipped,
        added_mode: 0,
        directories: BTreeMap::new(),
        clones: true,
    };
    match selection {
        Selection::Everything => copy.walk(source, target, &|_| true)?,
        Selection::Listed(files) => {
            for file in files.iter() {
                copy.listed(source, target, file)?;
            }
            copy.entry(&source.join(".git"), &target.join(".git"))?;
        }
    }
    copy.finish_directories()
}

/// Copies everything in `source` into the existing directory `target`, and lets the owner write to all of it.
pub(super) fn copy_for_writing(source: &Path, target: &Path) -> Result<(), Error> {
    let mut copy = Copy {
        source,
        skipped: Path::new(""),
        added_mode: 0o200,
        directories: BTreeMap::new(),
        clones: true,
    };
    copy.walk(source, target, &|_| true)?;
    copy.finish_directories()
}

struct Copy<'a> {
    source: &'a Path,
    skipped: &'a Path,
    /// What a file's copy allows beyond what the file does.
    added_mode: u32,
    /// Copied directories with what they look like in the source; that is applied when nothing is added any more.
    directories: BTreeMap<PathBuf, Metadata>,
    /// The file systems can share the blocks of files, as far as is known.
    clones: bool,
}

impl Copy<'_> {
    fn listed(&mut self, source: &Path, target: &Path, file: &Path) -> Result<(), Error> {
        let mut from = source.to_owned();
        let mut to = target.to_owned();
        let mut parts = file.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Ok(());
            };
            from.push(name);
            to.push(name);
            // A link in the place of a directory means that git's files behind it are gone.
            if parts.peek().is_some() && !self.directory(&from, &to)? {
                return Ok(());
            }
        }
        self.entry(&from, &to)
    }

    /// Copies everything below a directory for which `wanted` answers yes.
    fn walk(&mut self, source: &Path, target: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<(), Error> {
        let mut pending = vec![(source.to_owned(), target.to_owned())];
        while let Some((from, to)) = pending.pop() {
            for name in sorted_names(&from).map_err(|error| failed(&from, error))? {
                let (from, to) = (from.join(&name), to.join(&name));
                if !wanted(&from) {
                    continue;
                }
                if name != *".git" && self.directory(&from, &to)? {
                    pending.push((from, to));
                } else {
                    self.entry(&from, &to)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the copy of a directory if it is one that is wanted, and says whether it is.
    fn directory(&mut self, from: &Path, to: &Path) -> Result<bool, Error> {
        if self.directories.contains_key(to) {
            return Ok(true);
        }
        let Some(metadata) = metadata(from)? else {
            return Ok(false);
        };
        if !metadata.is_dir() || from == self.skipped {
            return Ok(false);
        }
        match fs::create_dir(to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(from, error)),
            _ => {}
        }
        self.directories.insert(to.to_owned(), metadata);
        Ok(true)
    }

    /// Copies anything but the content of a directory; what vanished meanwhile and what is no data is left out.
    fn entry(&mut self, from: &Path, to: &Path) -> Result<(), Error> {
        if from.file_name() == Some(OsStr::new(".git")) {
            return self.repository(from, to);
        }
        let Some(metadata) = metadata(from)? else {
            return Ok(());
        };
        let kind = metadata.file_type();
        if kind.is_symlink() {
            copy_link(from, to, &metadata).map_err(|error| failed(from, error))
        } else if kind.is_dir() {
            self.directory(from, to).map(drop)
        } else if kind.is_fifo() || kind.is_socket() || kind.is_block_device() || kind.is_char_device() {
            Ok(())
        } else {
            self.file(from, to).map_err(|error| failed(from, error))
        }
    }

    fn file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        // Whoever swaps the file for a FIFO or a link now gets an error, not a runner that hangs.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let source: File = match open(from, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            result => result?.into(),
        };
        let metadata = source.metadata()?;
        if !metadata.is_file() {
            return Ok(());
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let target: File = open(to, flags, Mode::RUSR | Mode::WUSR)?.into();
        if metadata.len() > 0 {
            self.content(&source, &target)?;
        }
        fchmod(
            &target,
            Mode::from_raw_mode(metadata.mode() & 0o777 | self.added_mode),
        )?;
        futimens(&target, &times(&metadata))?;
        Ok(())
    }

    fn content(&mut self, mut source: &File, mut target: &File) -> io::Result<()> {
        if self.clones {
            match ioctl_ficlone(target, source) {
                Ok(()) => return Ok(()),
                // Whatever the reason is, it holds for the next file too, and copying always works.
                Err(_) => self.clones = false,
            }
        }
        // On Linux this lets the kernel copy, without a detour through this process.
        io::copy(&mut source, &mut target).map(drop)
    }

    /// Copies the repository behind `.git`, so that the copy works without the source and never writes to it.
    fn repository(&mut self, dot_git: &Path, to: &Path) -> Result<(), Error> {
        let Some(metadata) = metadata(dot_git)? else {
            return Ok(());
        };
        if metadata.is_file() && is_inner_submodule(dot_git, self.source) {
            return self.file(dot_git, to).map_err(|error| failed(dot_git, error));
        }
        let repository = match Repository::resolve(dot_git) {
            Ok(repository) if repository.own.is_dir() => repository,
            // A broken `.git` is of no use for git in the source either.
            Ok(_) => return Ok(()),
            Err(error) => {
                tracing::warn!(path = %dot_git.display(), %error, "failed to find the repository of a work tree");
                return Ok(());
            }
        };
        fs::create_dir_all(to).map_err(|error| failed(dot_git, error))?;
        let common = repository.common.clone();
        self.walk(&common, to, &|path| is_shared(&common, path))?;
        if repository.own != common {
            self.walk(&repository.own, to, &|path| is_own(&repository.own, path))?;
        }
        detach(&to.join("config")).map_err(|error| failed(&common.join("config"), error))
    }

    fn finish_directories(self) -> Result<(), Error> {
        // In reverse order what is inside comes first: a directory that is closed can no longer be entered.
        for (path, metadata) in self.directories.iter().rev() {
            // The job has to be able to work in its copy, whatever the source allows.
            let mode = metadata.mode() & 0o777 | 0o700;
            fs::set_permissions(path, fs::Permissions::from_mode(mode))
                .map_err(|error| failed(path, error))?;
            utimensat(CWD, path, &times(metadata), AtFlags::empty())
                .map_err(|error| failed(path, error.into()))?;
        }
        Ok(())
    }
}

/// What of a repository is left out: locks and unfinished work of programs that run in the source right now, and the
/// list of its other work trees.
fn is_shared(common: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let unfinished = name.ends_with(b".lock") || name.starts_with(b"tmp_") || name == b"gc.pid";
    !unfinished && path != common.join("worktrees")
}

/// The files by which a further work tree and its repository find each other mean nothing in the copy.
fn is_own(own: &Path, path: &Path) -> bool {
    let links = ["commondir", "gitdir", "locked", "modules"];
    is_shared(own, path) && !links.iter().any(|name| path == own.join(name))
}

/// A submodule whose repository lies in `.git/modules` of the tree around it is found in the copy by the same
/// relative path.
fn is_inner_submodule(dot_git: &Path, source: &Path) -> bool {
    let Ok(text) = fs::read_to_string(dot_git) else {
        return false;
    };
    let Some(target) = text.trim_end().strip_prefix("gitdir: ") else {
        return false;
    };
    let up = Path::new(target)
        .components()
        .take_while(|part| *part == Component::ParentDir)
        .count();
    let below: PathBuf = Path::new(target).components().skip(up).collect();
    let around = dot_git.ancestors().nth(1 + up);
    below.starts_with(".git/modules")
        && around.is_some_and(|around| around.starts_with(source) && around.join(".git").is_dir())
}

fn detach(config: &Path) -> io::Result<()> {
    let text = match fs::read_to_string(config) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    };
    let changed = git::without_work_tree(&text);
    if changed == text {
        Ok(())
    } else {
        fs::write(config, changed)
    }
}

fn sorted_names(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names: Vec<_> = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        result => result?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<_>>()?,
    };
    // In a fixed order the first error is always the same one.
    names.sort();
    Ok(names)
}

fn copy_link(from: &Path, to: &Path, metadata: &Metadata) -> io::Result<()> {
    symlink(fs::read_link(from)?, to)?;
    utimensat(CWD, to, &times(metadata), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}

fn metadata(path: &Path) -> Result<Option<Metadata>, Error> {
    match path.symlink_metadata() {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(path, error)),
    }
}

fn times(metadata: &Metadata) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: metadata.atime(),
            tv_nsec: metadata.atime_nsec(),
        },
        last_modification: Timespec {
            tv_sec: metadata.mtime(),
            tv_nsec: metadata.mtime_nsec(),
        },
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Copy {
        path: path.to_owned(),
        source,
    }
}
