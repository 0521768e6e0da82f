//! Makes the directories of a job.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, open};

use super::claim::{self, Claim};
use super::tree::{JobTree, TRACKING_VARIABLE};
use super::{HostSandbox, Listing, copy, environment, files, remove};
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
    /// Which files of that tree are copied if not all are; jobs that share it get the same ones.
    pub listing: Listing,
    /// Where tools are kept from one job to the next; without it the job has a tool cache of its own.
    pub tool_cache: Option<PathBuf>,
    /// More variables of the runner's environment that the job gets; a name may end in `*`.
    pub allowed_environment: Vec<String>,
}

/// Makes everything; on failure what was made is removed again.
pub(super) fn create(options: &HostOptions) -> Result<HostSandbox, Error> {
    let root = make_root(&options.root)?;
    spread_jobs(&root);
    let tool_cache = options.tool_cache.as_deref().map(make_root).transpose()?;
    let tracking = claim::new_tracking_id().map_err(|source| failed(&root, source))?;
    let (directory, claim) = make_unique(&root, options, &tracking)?;
    match fill(&directory, tool_cache, options) {
        Ok(layout) => Ok(assemble(options, directory, layout, &tracking, claim)),
        Err(error) => {
            match remove::remove_tree(&directory) {
                Ok(()) => claim.release(),
                Err(failure) => {
                    tracing::warn!(%failure, "failed to remove a job directory that was not finished");
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
    let tracking = format!("{TRACKING_VARIABLE}={tracking}").into_bytes();
    HostSandbox {
        layout,
        environment,
        job: Arc::new(JobTree::begin(tracking, root.clone())),
        root,
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

/// Asks the file system to keep jobs apart, where it can: what it puts together must not be related.
///
/// ext4 puts a new inode near its directory, and looks at each one that was freed there in the last seconds before it
/// takes another. Jobs that follow each other in one place would pay for each other's removal with every file.
fn spread_jobs(root: &Path) {
    let spread = || -> rustix::io::Result<()> {
        let directory = open(
            root,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        let flags = ioctl_getflags(&directory)?;
        if flags.contains(IFlags::TOPDIR) {
            return Ok(());
        }
        ioctl_setflags(&directory, flags | IFlags::TOPDIR)
    };
    // Other file systems refuse, and nothing depends on it.
    if let Err(error) = spread() {
        tracing::debug!(root = %root.display(), %error, "jobs are not spread over the file system");
    }
}

fn make_unique(root: &Path, options: &HostOptions, tracking: &str) -> Result<(PathBuf, Claim), Error> {
    loop {
        let path = root.join(claim::new_id().map_err(|source| failed(root, source))?);
        if let Some(claim) =
            Claim::take(&path, &options.key, tracking).map_err(|source| failed(&path, source))?
        {
            make_directory(&path)?;
            return Ok((path, claim));
        }
    }
}

fn fill(root: &Path, shared_tools: Option<PathBuf>, options: &HostOptions) -> Result<Layout, Error> {
    let name = workspace_name(&options.repository);
    let work = root.join("work");
    let runner_workspace = work.join(name);
    let workspace = runner_workspace.join(name);
    let temp = work.join("_temp");
    let (home, actions) = (root.join("home"), work.join("_actions"));
    let own_tools = work.join("_tool");
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
        &own_tools,
    ] {
        make_directory(path)?;
    }
    Ok(Layout {
        workspace: text(workspace)?,
        runner_workspace: text(runner_workspace)?,
        temp: text(temp)?,
        home: text(home)?,
        tool_cache: text(shared_tools.unwrap_or(own_tools))?,
        actions: text(actions)?,
        file_commands: text(file_commands)?,
        workflow: text(workflow)?,
        os: os_name(),
        arch: arch_name(),
    })
}

/// Copies a tree into the job's place, where the job may write to it.
pub(super) fn put_tree(source: &Path, target: &Path) -> Result<(), Error> {
    files::make_directories(target).map_err(|source| failed(target, source))?;
    copy::copy_for_writing(source, target)
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
