//! Makes the directories of a job.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{FlockOperation, flock};
use rustix::rand::{GetRandomFlags, getrandom};

use super::tree::{JobTree, TRACKING_VARIABLE};
use super::{HostSandbox, environment, files, procfs, remove};
use crate::backend::{Error, Layout, arch_name, os_name};

/// What a host sandbox is made of.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Where the directories of jobs are made.
    pub root: PathBuf,
    /// The job's key; it is noted beside the directory for whoever finds it.
    pub key: String,
    /// `owner/name` of the repository; its name becomes the name of the workspace.
    pub repository: String,
    /// A tree that is copied into the workspace.
    pub source: Option<PathBuf>,
    /// Copies what git ignores, too.
    pub copy_ignored: bool,
    /// Where tools are kept from one job to the next.
    pub tool_cache: PathBuf,
    /// More variables of the runner's environment that the job gets; a name may end in `*`.
    pub allowed_environment: Vec<String>,
}

/// The ending of the file that stands beside a job's directory and is locked by its owner.
pub(super) const CLAIM_EXTENSION: &str = "lock";

/// What the line with the job's tracking id starts with.
pub(super) const CLAIM_TRACKING: &str = "tracking ";

/// The lock on a job's directory: the kernel releases it when the runner dies, however it dies.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl Claim {
    /// Makes and locks the file for a new job.
    fn take(path: PathBuf, key: &str, tracking: &str) -> io::Result<Self> {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // A sweep that ran between the two calls above has taken the file for a leftover and removed it.
        if file.metadata()?.nlink() == 0 {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let pid = std::process::id();
        writeln!(
            file,
            "pid {pid}\n{CLAIM_TRACKING}{tracking}\njob {}",
            key.escape_debug()
        )?;
        Ok(Self { path, _file: file })
    }

    /// Locks the file of a job whose owner is dead; `None` when the owner lives.
    pub fn take_over(path: &Path) -> io::Result<Option<Self>> {
        let file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self {
                path: path.to_owned(),
                _file: file,
            })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the file, now that the directory is gone.
    pub fn release(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "failed to remove the lock file of a job");
        }
    }
}

/// Makes everything; on failure what was made is removed again.
pub(super) fn create(options: &HostOptions) -> Result<HostSandbox, Error> {
    let root = make_root(&options.root)?;
    let tool_cache = make_root(&options.tool_cache)?;
    let tracking = format!(
        "github_{}",
        random_hex(16).map_err(|source| failed(&root, source))?
    );
    let (directory, claim) = make_unique(&root, options, &tracking)?;
    match fill(&directory, &tool_cache, options) {
        Ok(layout) => Ok(assemble(options, directory, layout, &tracking, claim)),
        Err(error) => {
            match remove::remove_tree(&directory) {
                Ok(()) => claim.release(),
                Err(failure) => {
                    tracing::warn!(%failure, "failed to remove a job directory that was not finished")
                }
            }
            Err(error)
        }
    }
}

fn assemble(
    options: &HostOptions,
    root: PathBuf,
    layout: Layout,
    tracking: &str,
    claim: Claim,
) -> HostSandbox {
    let own = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let tmp = root.join("tmp").to_string_lossy().into_owned();
    let environment = environment::base(own, &options.allowed_environment, &layout, &tmp, tracking);
    // Nothing that is older than the runner can be the job's.
    let start = procfs::entry(std::process::id()).map_or(0, |entry| entry.id.start);
    let tracking = format!("{TRACKING_VARIABLE}={tracking}").into_bytes();
    HostSandbox {
        layout,
        environment,
        job: Arc::new(JobTree {
            tracking,
            root: root.clone(),
            start,
        }),
        root,
        steps: Mutex::default(),
        drains: Arc::default(),
        claim: Mutex::new(Some(claim)),
    }
}

/// Makes a directory that is shared by jobs, and resolves links in its path: processes see it resolved, too.
fn make_root(path: &Path) -> Result<PathBuf, Error> {
    files::make_directories(path)
        .and_then(|()| path.canonicalize())
        .map_err(|source| failed(path, source))
}

fn make_unique(root: &Path, options: &HostOptions, tracking: &str) -> Result<(PathBuf, Claim), Error> {
    loop {
        let path = root.join(random_hex(8).map_err(|source| failed(root, source))?);
        match Claim::take(path.with_extension(CLAIM_EXTENSION), &options.key, tracking) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(failed(&path, source)),
            Ok(claim) => {
                make_directory(&path)?;
                return Ok((path, claim));
            }
        }
    }
}

fn fill(root: &Path, tool_cache: &Path, options: &HostOptions) -> Result<Layout, Error> {
    let name = workspace_name(&options.repository);
    let work = root.join("work");
    let runner_workspace = work.join(name);
    let workspace = runner_workspace.join(name);
    let temp = work.join("_temp");
    let (home, actions) = (root.join("home"), work.join("_actions"));
    let (file_commands, workflow) = (temp.join("_runner_file_commands"), temp.join("_github_workflow"));
    for path in [
        &work,
        &runner_workspace,
        &workspace,
        &temp,
        &file_commands,
        &workflow,
        &actions,
        &home,
        &root.join("tmp"),
    ] {
        make_directory(path)?;
    }
    Ok(Layout {
        workspace: text(workspace)?,
        runner_workspace: text(runner_workspace)?,
        temp: text(temp)?,
        home: text(home)?,
        tool_cache: text(tool_cache.to_owned())?,
        actions: text(actions)?,
        file_commands: text(file_commands)?,
        workflow: text(workflow)?,
        os: os_name(),
        arch: arch_name(),
    })
}

/// The last part of `owner/name`, if it can be the name of a directory that collides with none of ours.
fn workspace_name(repository: &str) -> &str {
    let name = repository.rsplit('/').next().unwrap_or_default();
    let usable =
        !name.is_empty() && !name.starts_with(['.', '_']) && name.len() <= 255 && !name.contains('\0');
    if usable { name } else { "repository" }
}

fn make_directory(path: &Path) -> Result<(), Error> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(|source| failed(path, source))
}

fn text(path: PathBuf) -> Result<String, Error> {
    path.into_os_string()
        .into_string()
        .map_err(|path| Error::NotUtf8 { path: path.into() })
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Create {
        path: path.to_owned(),
        source,
    }
}

/// Random bytes as hexadecimal digits.
fn random_hex(bytes: usize) -> io::Result<String> {
    use std::fmt::Write as _;
    let mut buffer = vec![0; bytes];
    // Requests of up to 256 bytes are answered as a whole (getrandom(2)).
    getrandom(&mut buffer[..], GetRandomFlags::empty())?;
    Ok(buffer.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    }))
}
