//! Makes a tree: fetch, unpack, flush, rename.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::lock::{Lock, TreeLock, make_private};
use super::{Inner, LOCK_LIMIT, beside};
use crate::action::error::Error;
use crate::action::git::{Call, Failure, Git, Running};
use crate::action::reference::Remote;
use crate::action::remote::Conversation;
use crate::action::unpack::{self, Batch, Entry, Stop};
use crate::backend::host::blocking;
use crate::backend::host::remove;

/// How long git may take to hand out the files of a commit that it has.
const UNPACK_LIMIT: Duration = Duration::from_mins(10);

/// How many bytes the list of a tree's entries may have.
const LISTING_BYTES: usize = 64 * 1024 * 1024;

/// What the names of unfinished things end in.
pub(super) const PART: &str = ".part";
pub(super) const REPOSITORY: &str = ".git";

impl Inner {
    /// Fetches a commit and makes its tree, unless another process was faster; nothing if the tree was removed again
    /// before it could be locked for reading.
    pub(super) async fn make(
        &self,
        remote: &Remote,
        git_ref: &str,
        commit: &str,
        notes: &mut Vec<String>,
    ) -> Result<Option<TreeLock>, Error> {
        let tree = self.tree(commit);
        let lock = TreeLock::exclusive_or_shared(&tree, commit, LOCK_LIMIT).await?;
        // Another process may have made it, and shown that the repository has the commit.
        let known = self.memory.recall(&remote.url, commit)?.is_some();
        let making = Making {
            inner: self,
            remote,
            git_ref,
            commit,
            tree: &tree,
        };
        let lock = match lock {
            Lock::Exclusive(lock) if known && tree.is_dir() => lock,
            Lock::Exclusive(lock) => {
                if let Err(error) = making.run(&lock, notes).await {
                    if !tree.is_dir() {
                        lock.remove();
                    }
                    return Err(error);
                }
                // Noted before others may look, or they would let the repository show it once more.
                self.memory.note(&remote.url, commit, commit)?;
                lock
            }
            Lock::Shared(lock) => {
                if !known {
                    making.show(notes).await?;
                    self.memory.note(&remote.url, commit, commit)?;
                }
                return Ok(Some(lock));
            }
        };
        lock.touch().map_err(Error::store(&tree))?;
        let lock = lock.share().map_err(Error::store(&tree))?;
        Ok(lock.filter(|_| tree.is_dir()))
    }
}

struct Making<'a> {
    inner: &'a Inner,
    remote: &'a Remote,
    git_ref: &'a str,
    commit: &'a str,
    tree: &'a Path,
}

impl Making<'_> {
    async fn run(&self, lock: &TreeLock, notes: &mut Vec<String>) -> Result<(), Error> {
        let repository = beside(self.tree, REPOSITORY);
        let part = beside(self.tree, PART);
        for path in [&repository, &part] {
            clear(path.clone()).await?;
        }
        let done = self.fetch_and_unpack(&repository, &part, lock, notes).await;
        for path in [repository, part] {
            if let Err(error) = clear(path).await {
                tracing::warn!(%error, "failed to remove what a fetch has left; the next one will");
            }
        }
        done
    }

    /// Lets the repository show that it has the commit of a tree that others read meanwhile.
    async fn show(&self, notes: &mut Vec<String>) -> Result<(), Error> {
        let repository = beside(self.tree, REPOSITORY);
        // Whoever makes a tree has it alone; those who only ask for its commit keep out of each other's way here.
        let turn = TreeLock::exclusive(&repository, self.commit, LOCK_LIMIT).await?;
        clear(repository.clone()).await?;
        let git = Git::get().await?;
        let conversation = Conversation {
            git: &git,
            remote: self.remote,
            git_ref: self.git_ref,
            cwd: &self.inner.trees,
        };
        let answer = conversation.fetch(self.commit, &repository).await;
        clear(repository).await?;
        turn.remove();
        notes.extend(answer?.note);
        Ok(())
    }

    async fn fetch_and_unpack(
        &self,
        repository: &Path,
        part: &Path,
        lock: &TreeLock,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let git = Git::get().await?;
        let conversation = Conversation {
            git: &git,
            remote: self.remote,
            git_ref: self.git_ref,
            cwd: &self.inner.trees,
        };
        let answer = conversation.fetch(self.commit, repository).await?;
        notes.extend(answer.note);
        if self.tree.is_dir() {
            // Another repository has the same commit, and this one has now shown that it has it, too.
            return Ok(());
        }
        let entries = self.list(&git, repository).await?;
        let bytes = self.unpack(&git, repository, entries, part).await?;
        lock.write_size(bytes).map_err(Error::store(self.tree))?;
        let (from, to) = (part.to_owned(), self.tree.to_owned());
        blocking(move || finish(&from, &to))
            .await
            .map_err(Error::store(self.tree))
    }

    async fn list(&self, git: &Git, repository: &Path) -> Result<Vec<Entry>, Error> {
        let call = self.call(repository, &["ls-tree", "-r", "-z", "--full-tree", self.commit]);
        let listing = git.output(call).await.map_err(|failure| match failure {
            Failure::TooMuch => Error::TooLarge {
                url: self.remote.url.clone(),
                commit: self.commit.to_owned(),
                limit: "64 MiB of names",
            },
            failure => self.unreadable(failure.reason()),
        })?;
        blocking(move || unpack::read_listing(&listing))
            .await
            .map_err(|stop| self.stopped(stop))
    }

    async fn unpack(
        &self,
        git: &Git,
        repository: &Path,
        entries: Vec<Entry>,
        part: &Path,
    ) -> Result<u64, Error> {
        make_private(part).map_err(Error::store(part))?;
        let call = self.call(repository, &["cat-file", "--batch"]);
        let (mut running, input, output) = git
            .converse(&call)
            .map_err(|error| self.unreadable(error.to_string()))?;
        let target = part.to_owned();
        let work = blocking(move || {
            let mut objects = Batch::new(input, output);
            unpack::unpack(&entries, &mut objects, &target)
        });
        let Ok(unpacked) = tokio::time::timeout(UNPACK_LIMIT, work).await else {
            // Git dies with `running`, and with git the pipes and the thread that reads them.
            return Err(self.unreadable(format!("no end within {} s", UNPACK_LIMIT.as_secs())));
        };
        self.reap(&mut running).await;
        unpacked.map_err(|stop| self.stopped(stop))
    }

    /// Git ends when nobody asks it any more.
    async fn reap(&self, running: &mut Running) {
        match tokio::time::timeout(Duration::from_secs(10), running.wait()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "failed to wait for git"),
            Err(_) => tracing::debug!(commit = self.commit, "git does not end; it is killed"),
        }
    }

    fn call<'c>(&'c self, repository: &'c Path, args: &[&str]) -> Call<'c> {
        Call {
            args: args.iter().map(Into::into).collect(),
            cwd: &self.inner.trees,
            repository: Some(repository),
            server: None,
            limit: UNPACK_LIMIT,
            output: LISTING_BYTES,
        }
    }

    fn unreadable(&self, reason: String) -> Error {
        Error::Read {
            url: self.remote.url.clone(),
            commit: self.commit.to_owned(),
            reason,
        }
    }

    fn stopped(&self, stop: Stop) -> Error {
        let (url, commit) = (self.remote.url.clone(), self.commit.to_owned());
        match stop {
            Stop::Refused(entry, refusal) => Error::Refused {
                url,
                commit,
                entry: entry.display().to_string().escape_debug().to_string(),
                refusal,
            },
            Stop::TooLarge(limit) => Error::TooLarge { url, commit, limit },
            Stop::Garbled(reason) => self.unreadable(reason.to_owned()),
            Stop::Copy(error) => self.unreadable(error.to_string()),
            Stop::Disk(path, error) => Error::store(path)(error),
        }
    }
}

/// Removes a leftover, if there is one.
async fn clear(path: PathBuf) -> Result<(), Error> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let subject = path.clone();
    let removed = blocking(move || remove::remove_tree(&path)).await;
    removed.map_err(|failure| Error::store(subject)(io::Error::other(failure.to_string())))
}

/// Gives the tree its name once all of it is on disk: after a power cut it is there as a whole or not at all.
fn finish(part: &Path, tree: &Path) -> io::Result<()> {
    let parent = tree.parent().unwrap_or(Path::new("/"));
    let parent = File::open(parent)?;
    flush(&File::open(part)?)?;
    fs::rename(part, tree)?;
    parent.sync_all()
}

/// Flushes thousands of files at once.
#[cfg(target_os = "linux")]
fn flush(directory: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(directory)?)
}

#[cfg(not(target_os = "linux"))]
fn flush(directory: &File) -> io::Result<()> {
    directory.sync_all()
}
