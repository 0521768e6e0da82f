//! `hashFiles`: a digest over the digests of files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::glob::{HashOptions, Patterns};

/// How long a call may take, as on GitHub.
pub(super) const LIMIT: Duration = Duration::from_mins(2);

/// How much of a file is read at once.
const CHUNK: usize = 128 * 1024;

/// Why there is no digest.
enum Failure {
    /// The time is over.
    Late,
    /// A file or directory cannot be read.
    Io(PathBuf, io::Error),
}

/// Computes `hashFiles(arguments)` in the workspace `root`; empty when no file matches.
///
/// The error is for the workflow's author.
pub(super) fn hash_files(root: &str, arguments: &[String], deadline: Instant) -> Result<String, String> {
    let options = HashOptions::parse(arguments)?;
    let patterns = Patterns::parse(&options.patterns, root)?;
    let mut search = Search {
        root: Path::new(root),
        patterns,
        follow: options.follow_symbolic_links,
        deadline,
        files: None,
    };
    let call = || options.patterns.join(", ").replace('\'', "''");
    match search.run() {
        Ok(()) => Ok(search
            .files
            .map_or_else(String::new, |files| format!("{:x}", files.finalize()))),
        Err(Failure::Late) => Err(format!(
            "hashFiles({}) couldn't finish within {} seconds.",
            call(),
            LIMIT.as_secs()
        )),
        Err(Failure::Io(path, error)) => Err(format!(
            "hashFiles({}) failed. Fail to hash files under directory '{root}': '{}': {error}",
            call(),
            path.display()
        )),
    }
}

struct Search<'a> {
    root: &'a Path,
    patterns: Patterns,
    follow: bool,
    deadline: Instant,
    /// The digest over the digests so far; absent before the first file.
    files: Option<Sha256>,
}

/// An entry to visit, and the directories above it that were entered, with links resolved.
struct Item {
    path: PathBuf,
    level: usize,
}

impl Search<'_> {
    /// Goes through the tree depth first, in the order that decides the digest: directories in the order of the bytes
    /// of their entries.
    fn run(&mut self) -> Result<(), Failure> {
        let mut chain: Vec<PathBuf> = Vec::new();
        let paths = self.patterns.search_paths().into_iter().rev();
        let mut stack: Vec<Item> = paths
            .map(|path| Item {
                path: path.into(),
                level: 0,
            })
            .collect();
        while let Some(item) = stack.pop() {
            self.check_time()?;
            let Some(metadata) = self.metadata(&item.path)? else {
                continue;
            };
            if metadata.is_dir() {
                if self.enters(&item, &mut chain)? {
                    let names =
                        sorted_names(&item.path).map_err(|error| Failure::Io(item.path.clone(), error))?;
                    let children = names.iter().rev().map(|name| Item {
                        path: item.path.join(name),
                        level: item.level + 1,
                    });
                    stack.extend(children);
                }
            } else if item.path != self.root
                && item.path.starts_with(self.root)
                && self.patterns.matches(&item.path.to_string_lossy())
            {
                self.add(&item.path)?;
            }
        }
        Ok(())
    }

    /// What the entry is; `None` for a link to nothing and for what vanished.
    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Failure> {
        let result = if self.follow {
            fs::metadata(path)
        } else {
            fs::symlink_metadata(path)
        };
        match result {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if leads_nowhere(&error) => Ok(None),
            Err(error) => Err(Failure::Io(path.to_owned(), error)),
        }
    }

    /// Says whether a directory may hold a match and, if links are followed, is not one of those that led here.
    fn enters(&self, item: &Item, chain: &mut Vec<PathBuf>) -> Result<bool, Failure> {
        let text = item.path.to_string_lossy();
        if !self.patterns.partial_matches(&text) && !self.patterns.matches(&text) {
            return Ok(false);
        }
        if !self.follow {
            return Ok(true);
        }
        let real = item
            .path
            .canonicalize()
            .map_err(|error| Failure::Io(item.path.clone(), error))?;
        chain.truncate(item.level);
        if chain.contains(&real) {
            return Ok(false);
        }
        chain.push(real);
        Ok(true)
    }

    /// Adds the digest of a file, or of the file behind a link; anything else has no content to hash.
    fn add(&mut self, path: &Path) -> Result<(), Failure> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => {}
            Ok(_) => return Ok(()),
            Err(error) if leads_nowhere(&error) => return Ok(()),
            Err(error) => return Err(Failure::Io(path.to_owned(), error)),
        }
        let digest = self.digest(path)?;
        self.files.get_or_insert_default().update(digest);
        Ok(())
    }

    fn digest(&self, path: &Path) -> Result<impl AsRef<[u8]> + use<>, Failure> {
        let failed = |error| Failure::Io(path.to_owned(), error);
        // A FIFO that was put here a moment ago must not block.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut file: File = fs::OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)
            .map_err(failed)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; CHUNK];
        loop {
            self.check_time()?;
            match file.read(&mut buffer).map_err(failed)? {
                0 => return Ok(hash.finalize()),
                count => hash.update(buffer.get(..count).unwrap_or_default()),
            }
        }
    }

    fn check_time(&self) -> Result<(), Failure> {
        if Instant::now() < self.deadline {
            Ok(())
        } else {
            Err(Failure::Late)
        }
    }
}

fn leads_nowhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

fn sorted_names(directory: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect()
}
