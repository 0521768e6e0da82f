//! The host sandbox: a job runs as plain processes of the runner's own user, in directories of its own.
//!
//! It keeps jobs apart from each other and from the runner's environment, and it cleans up; it is no protection against
//! a hostile job, which has the rights of the runner's user.

mod adopt;
mod beneath;
mod claim;
mod copy;
mod create;
mod drain;
mod environment;
mod files;
mod git;
mod hash;
mod kill;
mod listing;
mod orphans;
mod own;
mod process;
mod procfs;
pub(crate) mod program;
pub(crate) mod remove;
pub(crate) mod spawn;
mod stale;
mod storm;
mod tree;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use self::claim::Claim;
use self::copy::Selection;
use self::drain::Drains;
use self::process::{HostOutput, HostProcess, Piped, start_piped};
use self::tree::{JobTree, STEP_VARIABLE, StepTree, TRACKING_VARIABLE};
use super::{BoxFuture, Command, Error, Layout, Orphan, ReadError, Sandbox, Started};

pub use self::adopt::{guard_process, reap_adopted};
pub use self::create::HostOptions;
pub use self::listing::Listing;
pub use self::own::{Finished, OwnProgram, free_bytes};
pub use self::stale::{Stale, sweep_stale, sweep_stale_before};

/// A job's directories and processes on the machine of the runner.
pub struct HostSandbox {
    layout: Layout,
    environment: Vec<(String, String)>,
    root: PathBuf,
    job: Arc<JobTree>,
    drains: Arc<Drains>,
    /// Says to other runners, as long as it is held, that the directory is in use.
    claim: Mutex<Option<Claim>>,
}

impl HostSandbox {
    /// Makes the directories of a job and, if wanted, copies the user's tree into its workspace.
    ///
    /// # Errors
    /// [`Error::Create`], [`Error::NotUtf8`] or [`Error::Copy`]; nothing is left behind then.
    ///
    /// # Cancel safety
    /// A dropped call goes on in the background; what it makes is removed by [`sweep_stale`] after the runner's end.
    pub async fn create(options: HostOptions) -> Result<Self, Error> {
        let source = options.source.clone();
        let listing = (!options.copy_ignored).then(|| options.listing.clone());
        let sandbox = blocking(move || create::create(&options)).await?;
        if let Some(source) = source
            && let Err(error) = sandbox.copy_in(source, listing).await
        {
            if let Err(left) = sandbox.remove().await {
                tracing::warn!(error = %left, "failed to clean up after a copy that failed");
            }
            return Err(error);
        }
        Ok(sandbox)
    }

    /// Copies the user's tree into the workspace, or what of it is listed.
    async fn copy_in(&self, source: PathBuf, listing: Option<Listing>) -> Result<(), Error> {
        let source = source.canonicalize().map_err(|error| Error::Copy {
            path: source,
            source: error,
        })?;
        let selection = match listing {
            Some(listing) => listing.selection(&source).await,
            None => Selection::Everything,
        };
        let target = PathBuf::from(&self.layout.workspace);
        // Jobs may live inside the tree that is copied; their directories are never part of it.
        let skipped = self.root.parent().unwrap_or(&self.root).to_owned();
        blocking(move || copy::copy_tree(&source, &target, selection, &skipped)).await
    }

    /// Returns the directory that holds everything of this job.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn spawn(&self, command: &Command) -> Result<Started, Error> {
        let failed = |source| Error::Start {
            program: command.argv.first().cloned().unwrap_or_default(),
            cwd: command.cwd.clone(),
            source,
        };
        let program = Self::resolve(command)?;
        let mut prepared = spawn::command(&program, self.environment_of(command), Path::new(&command.cwd));
        prepared.args(command.argv.iter().skip(1));
        let Piped { spawned, pipe, inode } = start_piped(prepared).map_err(failed)?;
        if let Err(error) = procfs::offer_to_oom_killer(spawned.pid) {
            tracing::debug!(pid = spawned.pid, %error, "failed to adjust the memory killer");
        }
        let tree = Arc::new(self.step_tree(command, spawned.pid, inode));
        self.remember(&tree);
        let process = HostProcess {
            spawned,
            tree,
            reaped: AtomicBool::new(false),
        };
        let output = HostOutput {
            pipe: Some(pipe),
            drains: Arc::clone(&self.drains),
        };
        Ok(Started {
            output: Box::new(output),
            process: Box::new(process),
        })
    }

    fn resolve(command: &Command) -> Result<PathBuf, Error> {
        let search = command
            .env
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map_or("", |(_, value)| value);
        let name = command.argv.first().map_or("", String::as_str);
        program::find(name, search, &command.cwd).ok_or_else(|| Error::ProgramMissing {
            program: name.to_owned(),
            search: search.to_owned(),
        })
    }

    fn environment_of<'a>(&'a self, command: &'a Command) -> impl Iterator<Item = (&'a str, &'a str)> {
        let tracking = self
            .environment
            .iter()
            .filter(|(name, _)| name == TRACKING_VARIABLE);
        tracking
            .chain(&command.env)
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn step_tree(&self, command: &Command, pid: u32, pipe: u64) -> StepTree {
        let mark = command.env.iter().rev().find(|(name, _)| name == STEP_VARIABLE);
        // The process is not reaped yet, so there is an entry; without one the job's start is the safe bound.
        let start = procfs::entry(pid).map_or(self.job.start, |entry| entry.id.start);
        StepTree {
            leader: procfs::Identity { pid, start },
            mark: mark.map(|(name, value)| format!("{name}={value}").into_bytes()),
            pipe,
            tracking: self.job.tracking.clone(),
            seen: Mutex::default(),
        }
    }

    fn remember(&self, tree: &Arc<StepTree>) {
        self.job
            .steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(tree));
    }
}

impl Sandbox for HostSandbox {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn base_environment(&self) -> &[(String, String)] {
        &self.environment
    }

    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, Error>> {
        Box::pin(async move { self.spawn(&command) })
    }

    fn find_program<'a>(&'a self, name: &'a str, path: &'a str) -> BoxFuture<'a, Option<String>> {
        let found = program::find(name, path, &self.layout.workspace);
        Box::pin(async move { found?.into_os_string().into_string().ok() })
    }

    fn write_file<'a>(&'a self, path: &'a str, content: &'a [u8]) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let result = if content.len() as u64 <= files::SMALL {
                files::write(&self.root, path, content)
            } else {
                let (root, path, content) = (self.root.clone(), path.to_owned(), content.to_owned());
                blocking(move || files::write(&root, &path, &content)).await
            };
            result.map_err(|source| Error::Write {
                path: path.to_owned(),
                source,
            })
        })
    }

    fn read_file<'a>(
        &'a self,
        path: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>> {
        Box::pin(async move {
            let Some((file, size)) = files::open_regular(path, limit)? else {
                return Ok(None);
            };
            if size <= files::SMALL {
                return files::read_all(file, size, path, limit).map(Some);
            }
            let path = path.to_owned();
            blocking(move || files::read_all(file, size, &path, limit))
                .await
                .map(Some)
        })
    }

    fn put_tree<'a>(&'a self, source: &'a Path, destination: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        let (source, target) = (source.to_owned(), PathBuf::from(destination));
        Box::pin(blocking(move || create::put_tree(&source, &target)))
    }

    fn remove_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            files::remove(&self.root, path).map_err(|source| Error::RemoveFile {
                path: path.to_owned(),
                source,
            })
        })
    }

    fn is_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, bool> {
        let answer = Path::new(path).is_dir();
        Box::pin(async move { answer })
    }

    fn hash_files(&self, patterns: Vec<String>) -> BoxFuture<'_, Result<String, String>> {
        let root = self.layout.workspace.clone();
        let deadline = Instant::now() + hash::LIMIT;
        Box::pin(blocking(move || hash::hash_files(&root, &patterns, deadline)))
    }

    fn end_orphans(&self) -> BoxFuture<'_, Vec<Orphan>> {
        Box::pin(async move {
            // Mostly a job has left nothing: one look at the runner's own children then takes the place of several at
            // the whole process table.
            let ended = if adopt::has_adopted_nothing() {
                Vec::new()
            } else {
                orphans::end(Arc::clone(&self.job)).await
            };
            self.drains.stop();
            ended
        })
    }

    fn remove(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.drains.stop();
            let root = self.root.clone();
            blocking(move || remove::remove_tree(&root))
                .await
                .map_err(Error::Remove)?;
            // Only an empty place is given up: what is left is for the next start to try again.
            if let Some(claim) = self.claim.lock().unwrap_or_else(PoisonError::into_inner).take() {
                claim.release();
            }
            Ok(())
        })
    }
}

/// Runs work that blocks on a thread for such work; it goes on when the caller is dropped.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, so nobody awaits this any more.
            Err(_) => std::future::pending().await,
        },
    }
}
