//! `gantry exec --watch`: runs again whenever a file of the tree changes.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use gantry_actors::runtime;
use tokio::time::{Instant, sleep};

use super::super::exit::{Exit, Result};
use super::super::files;
use super::git;
use crate::render::Screen;
use crate::render::diagnostic::printable;
use crate::signals::Signals;

/// The pause between two looks at the tree, at least.
const PAUSE: Duration = Duration::from_millis(500);

/// A look at a large tree takes time; this much more passes before the next one.
const PAUSE_PER_LOOK: u32 = 20;

/// Of a larger tree only so many files are watched.
const MAX_FILES: usize = 200_000;

/// Runs once, and again after each change, until a signal ends it.
///
/// # Errors
/// A flag is wrong, or signals cannot be listened to. Anything else may be mended by the next change.
pub fn repeat(directory: &Path, screen: &Screen, mut once: impl FnMut() -> Result) -> Result {
    loop {
        let before = Tree::of(directory);
        match once() {
            Ok(Exit::Cancelled) => return Ok(Exit::Cancelled),
            Ok(_) => {}
            Err(error) if error.exit == Exit::Usage => return Err(error),
            Err(error) => eprintln!("gantry: {:#}", error.cause),
        }
        let waited = runtime::block_on(changed(directory, before)).and_then(|waited| waited);
        let Some(path) = waited.context("cannot wait for a change")? else {
            return Ok(Exit::Cancelled);
        };
        let name = printable(&files::shown(&path, directory).to_string_lossy());
        screen.aside(|| eprintln!("\n──── {name} has changed ────\n"));
    }
}

/// Waits until the tree has changed and changes no more; yields a path that has, or nothing if a signal came first.
///
/// # Errors
/// Signals cannot be listened to.
async fn changed(directory: &Path, mut seen: Tree) -> io::Result<Option<PathBuf>> {
    let mut signals = Signals::listen()?;
    let mut changed = None;
    eprintln!("gantry: waiting for a change; Ctrl-C ends");
    loop {
        let started = Instant::now();
        // Whoever saves files saves several: only a tree at rest is worth a run.
        match seen.look_again(directory) {
            Some(path) => changed = Some(changed.unwrap_or(path)),
            None if changed.is_some() => return Ok(changed),
            None => {}
        }
        let pause = (started.elapsed() * PAUSE_PER_LOOK).max(PAUSE);
        tokio::select! {
            () = sleep(pause) => {}
            _ = signals.next() => return Ok(None),
        }
    }
}

/// What tells one state of a file from another; none if it is not there.
type Stamp = Option<(i64, i64, u64, u64)>;

/// The files of a tree that git does not ignore, and the directories that they are in.
struct Tree {
    stamps: BTreeMap<PathBuf, Stamp>,
}

impl Tree {
    /// Looks at all files; those that cannot be listed are not watched.
    fn of(directory: &Path) -> Self {
        let files = git::files(directory)
            .or_else(|| files::all_files(directory).ok())
            .unwrap_or_default();
        let mut stamps = BTreeMap::from([(directory.to_owned(), stamp(directory))]);
        for file in files.into_iter().take(MAX_FILES) {
            let path = directory.join(file);
            for parent in path.ancestors().skip(1).take_while(|parent| *parent != directory) {
                if stamps.contains_key(parent) {
                    break;
                }
                stamps.insert(parent.to_owned(), stamp(parent));
            }
            stamps.insert(path.clone(), stamp(&path));
        }
        Self { stamps }
    }

    /// Takes the state of now; yields a path that differs from before.
    ///
    /// Only a change of a directory makes it list the files again, so that looking is cheap while nothing happens.
    fn look_again(&mut self, directory: &Path) -> Option<PathBuf> {
        let is_different = |(path, before): (&PathBuf, &Stamp)| stamp(path) != *before;
        if !self.stamps.iter().any(is_different) {
            return None;
        }
        let before = std::mem::replace(self, Self::of(directory)).stamps;
        let differs = |path: &&PathBuf| before.get(*path) != self.stamps.get(*path);
        // A directory whose files are the same ones has lost or got something that git ignores.
        let mut files = before.keys().chain(self.stamps.keys()).filter(differs);
        files.find(|path| !path.is_dir()).cloned()
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = path.symlink_metadata().ok()?;
    // An editor that replaces a file may keep its time.
    Some((
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.size(),
        metadata.ino(),
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What a second look finds after something was done in a directory of git's.
    fn after(change: impl FnOnce(&Path)) -> Option<String> {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("src/deep")).expect("a directory");
        fs::create_dir_all(path("out")).expect("a directory");
        for file in ["src/deep/a", "src/b"] {
            fs::write(path(file), "1").expect("a file");
        }
        fs::write(path(".gitignore"), "out\n*.log\n").expect("a file");
        git::init(root.path());
        let mut tree = Tree::of(root.path());
        change(root.path());
        let found = tree.look_again(root.path())?;
        let name = found.strip_prefix(root.path()).expect("below the root");
        Some(name.display().to_string())
    }

    fn write(path: &Path) {
        fs::write(path, "something longer").expect("a file");
    }

    #[test]
    fn changes_are_found_and_ignored_files_are_not() {
        let found = |change: &dyn Fn(&Path)| after(change);
        assert_eq!(found(&|_| ()), None);
        assert_eq!(
            found(&|root| write(&root.join("src/deep/a"))).as_deref(),
            Some("src/deep/a")
        );
        assert_eq!(
            found(&|root| write(&root.join("src/new"))).as_deref(),
            Some("src/new")
        );
        let remove = |root: &Path| fs::remove_file(root.join("src/b")).expect("a file");
        assert_eq!(found(&remove).as_deref(), Some("src/b"));
        assert_eq!(found(&|root| write(&root.join("out/x"))), None);
        assert_eq!(found(&|root| write(&root.join("src/x.log"))), None);
    }

    #[test]
    fn a_tree_without_git_is_watched_too() {
        let root = tempfile::tempdir().expect("a directory");
        write(&root.path().join("a"));
        let mut tree = Tree::of(root.path());
        assert_eq!(tree.look_again(root.path()), None);
        write(&root.path().join("b"));
        assert_eq!(tree.look_again(root.path()), Some(root.path().join("b")));
    }
}
