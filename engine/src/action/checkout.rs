//! A work tree with its repository, for the checkout that the runner itself does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::ActionAccess;
use super::error::Error;
use super::git::{Call, Git};
use super::reference::{Remote, check_ref, is_commit};
use super::remote::{Answer, Conversation};
use super::store::{TreeLock, make_private};
use crate::backend::host::{blocking, remove};

/// How long git may take to write the files.
const WRITE_LIMIT: Duration = Duration::from_mins(15);

/// How much git may answer to calls whose answer nobody needs.
const ANSWER_BYTES: usize = 1024 * 1024;

/// What is to be checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// `owner/repo`, or an absolute URL.
    pub repository: String,
    /// Branch, tag or commit; `HEAD` is the default branch.
    pub git_ref: String,
    /// The commit, if it is known already; else the ref is asked for.
    pub commit: Option<String>,
    /// How many commits of the history come along; 0 is all of it, with all branches and tags.
    pub depth: u32,
}

/// A work tree on the runner's machine; it is removed by [`CheckedOut::remove`], or else by a later checkout.
#[derive(Debug)]
pub struct CheckedOut {
    /// The work tree with its `.git`.
    pub directory: PathBuf,
    /// The commit.
    pub commit: String,
    /// The URL of the repository, without a user.
    pub url: String,
    /// Lines for the job's log.
    pub notes: Vec<String>,
    lock: TreeLock,
}

impl CheckedOut {
    /// Removes the work tree, now that it was copied.
    pub async fn remove(self) {
        let Self { directory, lock, .. } = self;
        match blocking(move || remove::remove_tree(&directory)).await {
            Ok(()) => lock.remove(),
            Err(error) => tracing::warn!(%error, "failed to remove a work tree that was copied"),
        }
    }
}

impl ActionAccess {
    /// Makes a work tree of a repository. It holds no credential.
    ///
    /// # Errors
    /// [`Error`]
    ///
    /// # Cancel safety
    /// A dropped call stops git; what is left on disk is removed by a later checkout.
    pub async fn check_out(&self, checkout: &Checkout) -> Result<CheckedOut, Error> {
        check_ref(&checkout.git_ref)?;
        let remote = self.sources.remote(&checkout.repository)?;
        let parent = self.store.root().join("checkouts");
        make_private(&parent).map_err(Error::store(&parent))?;
        let place = parent.clone();
        blocking(move || sweep(&place)).await;
        let directory = free_place(&parent);
        let lock = TreeLock::try_exclusive(&directory).map_err(Error::store(&directory))?;
        let lock = lock.ok_or_else(|| Error::Busy {
            commit: checkout.git_ref.clone(),
            limit: Duration::ZERO,
        })?;
        let git = Git::get().await?;
        let work = Work {
            git: &git,
            remote: &remote,
            checkout,
            parent: &parent,
            directory: &directory,
        };
        let Answer { value: commit, note } = work.run().await?;
        Ok(CheckedOut {
            url: remote.url,
            commit,
            notes: note.into_iter().collect(),
            directory,
            lock,
        })
    }
}

/// A name that no other process and no other checkout of this one has.
fn free_place(parent: &Path) -> PathBuf {
    /// Checkouts of this process so far.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    parent.join(format!("{}-{number}", std::process::id()))
}

/// Removes what processes have left that are dead.
fn sweep(parent: &Path) {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    for directory in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
        match TreeLock::try_exclusive(&directory) {
            Ok(Some(lock)) => match remove::remove_tree(&directory) {
                Ok(()) => lock.remove(),
                Err(error) => tracing::warn!(%error, "failed to remove a work tree that was left behind"),
            },
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "failed to look at a work tree that may be left behind"),
        }
    }
}

struct Work<'a> {
    git: &'a Git,
    remote: &'a Remote,
    checkout: &'a Checkout,
    parent: &'a Path,
    directory: &'a Path,
}

impl Work<'_> {
    async fn run(&self) -> Result<Answer<String>, Error> {
        let answer = self.resolve().await?;
        let (commit, branch) = answer.value;
        self.local(&commit, &["init", "--quiet", "--template="]).await?;
        let url = self.remote.url();
        self.local(&commit, &["config", "remote.origin.url", url]).await?;
        let everything = "+refs/heads/*:refs/remotes/origin/*";
        self.local(&commit, &["config", "remote.origin.fetch", everything])
            .await?;
        let remote = if answer.note.is_some() {
            self.remote.anonymous()
        } else {
            self.remote.clone()
        };
        let fetched = self.conversation(&remote, &self.checkout.git_ref);
        let repository = self.directory.join(".git");
        let second = fetched
            .fetch_history(&commit, self.checkout.depth, &repository)
            .await?;
        let name = branch.as_deref();
        if let Some(name) = name {
            let tracking = format!("refs/remotes/origin/{name}");
            self.local(&commit, &["update-ref", &tracking, &commit]).await?;
        }
        let target = match name {
            Some(name) => vec!["checkout", "--quiet", "--force", "-B", name, &commit],
            None => vec!["checkout", "--quiet", "--force", "--detach", &commit],
        };
        self.local(&commit, &target).await?;
        Ok(Answer {
            value: commit,
            note: answer.note.or(second.note),
        })
    }

    /// The commit, and the branch if the ref is one. A short name is a branch before it is a tag.
    async fn resolve(&self) -> Result<Answer<(String, Option<String>)>, Error> {
        let Checkout { git_ref, commit, .. } = self.checkout;
        let branch = git_ref.strip_prefix("refs/heads/").map(str::to_owned);
        if let Some(commit) = commit {
            return Ok(Answer {
                value: (commit.clone(), branch),
                note: None,
            });
        }
        if is_commit(git_ref) {
            return Ok(Answer {
                value: (git_ref.to_ascii_lowercase(), None),
                note: None,
            });
        }
        let ask = async |name: &str| self.conversation(self.remote, name).resolve().await;
        let (answer, branch) = if git_ref.starts_with("refs/") || git_ref == "HEAD" {
            (ask(git_ref).await?, branch)
        } else {
            match ask(&format!("refs/heads/{git_ref}")).await {
                Err(Error::RefMissing { .. }) => (ask(git_ref).await?, None),
                answer => (answer?, Some(git_ref.clone())),
            }
        };
        Ok(Answer {
            value: (answer.value, branch),
            note: answer.note,
        })
    }

    fn conversation<'c>(&'c self, remote: &'c Remote, git_ref: &'c str) -> Conversation<'c> {
        Conversation {
            git: self.git,
            remote,
            git_ref,
            cwd: self.parent,
        }
    }

    /// A call of git that needs no server. The operator's configuration has no say: a tree could name filters of it.
    async fn local(&self, commit: &str, args: &[&str]) -> Result<(), Error> {
        let repository = self.directory.join(".git");
        make_private(self.directory).map_err(Error::store(self.directory))?;
        let call = Call {
            args: args.iter().map(OsString::from).collect(),
            cwd: self.directory,
            repository: Some(&repository),
            server: None,
            limit: WRITE_LIMIT,
            output: ANSWER_BYTES,
        };
        let done = self.git.output_without_operator(call).await;
        done.map(drop).map_err(|failure| Error::Read {
            url: self.remote.url.clone(),
            commit: commit.to_owned(),
            reason: failure.reason(),
        })
    }
}
