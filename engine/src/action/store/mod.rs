//! The store of actions: trees by commit, shared by all jobs of all processes that use the same directory.
//!
//! ```text
//! trees/<commit>/        the files; complete as soon as the name exists, never changed
//! trees/<commit>.lock    held shared while the tree is read, exclusively while it is made or removed;
//!                        holds the size, and its time is that of the last use
//! trees/<commit>.part    a tree that is being unpacked; a leftover if nobody holds the lock
//! trees/<commit>.git     the repository that lives as long as a fetch
//! refs/<digest>          which commit a ref of a URL was when it was last asked for
//! ```

mod evict;
mod lock;
mod make;
mod memory;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

pub(super) use self::lock::{TreeLock, make_private};
use self::memory::Memory;
use super::error::Error;
use super::git::Git;
use super::reference::{Remote, check_ref, is_commit};
use super::remote::Conversation;

/// As long as this a process waits for another one that makes the same tree.
const LOCK_LIMIT: Duration = Duration::from_mins(20);

/// As often as this a tree may vanish between its making and its use: only another process with a tiny cap does that.
const MAX_ROUNDS: usize = 5;

/// How a store is kept.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The directory, an absolute path.
    pub root: PathBuf,
    /// How many bytes the trees may have together; trees in use do not count against their users.
    pub size_cap: u64,
    /// Fetches nothing.
    pub offline: bool,
}

/// The trees of commits that were fetched. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    options: StoreOptions,
    trees: PathBuf,
    memory: Memory,
    /// What is being fetched right now: whoever wants the same waits for the same.
    running: Mutex<HashMap<RunningKey, WeakShared<Fetching>>>,
}

type Fetching = BoxFuture<'static, Result<Arc<Fetched>, Error>>;

/// URL, ref, and a digest of the credential: one job's access is not another's.
type RunningKey = (String, String, Option<[u8; 32]>);

/// A tree of the store; it is not evicted as long as this value lives.
#[derive(Debug)]
pub struct Fetched {
    /// The commit.
    pub commit: String,
    /// Its files. Nobody may write to them.
    pub directory: PathBuf,
    /// The URL of the repository, without a user.
    pub url: String,
    /// The ref that was asked for.
    pub git_ref: String,
    /// Lines for the job's log: what went otherwise than intended.
    pub notes: Vec<String>,
    /// Holds the tree.
    _lock: TreeLock,
}

impl Store {
    /// A store in a directory, which is made when something is fetched for the first time.
    pub fn new(options: StoreOptions) -> Self {
        let inner = Inner {
            trees: options.root.join("trees"),
            memory: Memory::new(options.root.join("refs")),
            options,
            running: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The store's directory.
    pub(super) fn root(&self) -> &Path {
        &self.inner.options.root
    }

    /// Tells whether nothing is fetched.
    pub fn is_offline(&self) -> bool {
        self.inner.options.offline
    }

    /// Gets the tree of a ref. Branches and tags are asked for each time; a full commit is fetched only once.
    ///
    /// # Errors
    /// [`Error`]
    ///
    /// # Cancel safety
    /// A dropped call stops git, unless another call waits for the same; what is left on disk is removed by the next
    /// one that wants the same commit.
    pub async fn fetch(&self, remote: &Remote, git_ref: &str) -> Result<Arc<Fetched>, Error> {
        check_ref(git_ref)?;
        let git_ref = if is_commit(git_ref) {
            git_ref.to_ascii_lowercase()
        } else {
            git_ref.to_owned()
        };
        self.fetching(remote, git_ref).await
    }

    fn fetching(&self, remote: &Remote, git_ref: String) -> Shared<Fetching> {
        let digest = remote.credential.as_ref().map(super::Credential::digest);
        let key = (remote.url.clone(), git_ref.clone(), digest);
        let mut running = self.inner.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, fetching| fetching.upgrade().is_some());
        if let Some(fetching) = running.get(&key).and_then(WeakShared::upgrade) {
            return fetching;
        }
        let inner = Arc::clone(&self.inner);
        let remote = remote.clone();
        let fetching = async move { inner.fetch(&remote, &git_ref).await.map(Arc::new) };
        let fetching = fetching.boxed().shared();
        if let Some(weak) = fetching.downgrade() {
            running.insert(key, weak);
        }
        fetching
    }
}

impl Inner {
    async fn fetch(&self, remote: &Remote, git_ref: &str) -> Result<Fetched, Error> {
        for path in [&self.options.root, &self.trees] {
            make_private(path).map_err(Error::store(path))?;
        }
        let mut notes = Vec::new();
        let (commit, known) = self.resolve(remote, git_ref, &mut notes).await?;
        // What was rejected once is not shown again.
        let remote = &if notes.is_empty() {
            remote.clone()
        } else {
            remote.anonymous()
        };
        for _ in 0..MAX_ROUNDS {
            if known && let Some(lock) = self.existing(&commit).await? {
                self.memory.note(&remote.url, git_ref, &commit)?;
                return Ok(self.fetched(remote, git_ref, commit, notes, lock));
            }
            if self.options.offline {
                return Err(offline(remote, git_ref));
            }
            let made = self.make(remote, git_ref, &commit, &mut notes).await?;
            self.memory.note(&remote.url, git_ref, &commit)?;
            if let Some(lock) = made {
                self.evict().await;
                return Ok(self.fetched(remote, git_ref, commit, notes, lock));
            }
        }
        Err(Error::Busy {
            commit,
            limit: LOCK_LIMIT,
        })
    }

    /// The commit of a ref, and whether this very repository is known to have it.
    ///
    /// That matters for a full commit: its tree may be here because of another repository, and then this one has yet
    /// to show that it has the commit, too.
    async fn resolve(
        &self,
        remote: &Remote,
        git_ref: &str,
        notes: &mut Vec<String>,
    ) -> Result<(String, bool), Error> {
        let remembered = self.memory.recall(&remote.url, git_ref)?;
        if is_commit(git_ref) {
            return Ok((git_ref.to_owned(), remembered.is_some()));
        }
        if self.options.offline {
            let commit = remembered.ok_or_else(|| offline(remote, git_ref))?;
            return Ok((commit, true));
        }
        let git = Git::get().await?;
        let conversation = Conversation {
            git: &git,
            remote,
            git_ref,
            cwd: &self.trees,
        };
        match conversation.resolve().await {
            Ok(answer) => {
                notes.extend(answer.note);
                Ok((answer.value, true))
            }
            Err(error) => Err(self.with_hint(error, remembered)),
        }
    }

    /// The lock on a tree that is there.
    async fn existing(&self, commit: &str) -> Result<Option<TreeLock>, Error> {
        let tree = self.tree(commit);
        if !tree.is_dir() {
            return Ok(None);
        }
        let lock = TreeLock::shared(&tree, commit, LOCK_LIMIT).await?;
        // It may have been removed while the lock was waited for.
        if !tree.is_dir() {
            return Ok(None);
        }
        lock.touch().map_err(Error::store(&tree))?;
        Ok(Some(lock))
    }

    fn fetched(
        &self,
        remote: &Remote,
        git_ref: &str,
        commit: String,
        notes: Vec<String>,
        lock: TreeLock,
    ) -> Fetched {
        Fetched {
            directory: self.tree(&commit),
            commit,
            url: remote.url.clone(),
            git_ref: git_ref.to_owned(),
            notes,
            _lock: lock,
        }
    }

    fn tree(&self, commit: &str) -> PathBuf {
        self.trees.join(commit)
    }

    /// Says that there is something to run with, if the network alone is missing.
    fn with_hint(&self, mut error: Error, remembered: Option<String>) -> Error {
        if let Error::Unreachable { hint, .. } = &mut error
            && let Some(commit) = remembered.filter(|commit| self.tree(commit).is_dir())
        {
            *hint = format!("; with --offline, {commit} of an earlier run is used");
        }
        error
    }
}

fn offline(remote: &Remote, git_ref: &str) -> Error {
    Error::Offline {
        url: remote.url.clone(),
        git_ref: git_ref.to_owned(),
    }
}

/// A path beside a tree: `<commit><suffix>`.
fn beside(tree: &Path, suffix: &str) -> PathBuf {
    let mut path = tree.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}
