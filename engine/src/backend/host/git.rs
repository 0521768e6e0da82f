//! What git knows of the user's tree: which files belong to it, and where its repository is.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncReadExt;

use super::{program, spawn};

/// How many repositories inside each other and beside each other are asked for their files at most.
const MAX_REPOSITORIES: usize = 1000;

/// The arguments that list what is tracked and what would be offered to `git add`.
///
/// The tree may belong to another user (`safe.directory`), and none of its programs may run (`core.fsmonitor`).
const LIST: &[&str] = &[
    "-c",
    "core.fsmonitor=false",
    "-c",
    "safe.directory=*",
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
];

/// Says whether the directory lies in a work tree.
pub(super) fn is_in_work_tree(directory: &Path) -> bool {
    directory
        .ancestors()
        .any(|ancestor| ancestor.join(".git").symlink_metadata().is_ok())
}

/// Lists the files of a work tree and of the repositories inside it, relative to `directory`, with `.git` of those
/// repositories; `None` when git cannot tell.
pub(super) async fn list_files(directory: &Path) -> Option<Vec<PathBuf>> {
    let search = std::env::var("PATH").ok()?;
    let git = program::find("git", &search, "/")?;
    let mut files = Vec::new();
    let mut repositories = VecDeque::from([PathBuf::new()]);
    for _ in 0..MAX_REPOSITORIES {
        let Some(repository) = repositories.pop_front() else {
            break;
        };
        for path in list_one(&git, &directory.join(&repository)).await? {
            let path = repository.join(path);
            let inner = directory.join(&path).join(".git");
            // A path that is a directory stands for a submodule or for a repository that is not tracked.
            if inner.symlink_metadata().is_ok() {
                files.push(path.join(".git"));
                repositories.push_back(path);
            } else {
                files.push(path);
            }
        }
    }
    Some(files)
}

async fn list_one(git: &Path, directory: &Path) -> Option<Vec<PathBuf>> {
    let kept = ["PATH", "HOME", "XDG_CONFIG_HOME"];
    let kept = kept
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    // Without this git would refresh the index of the user's repository.
    let environment = kept.chain([("GIT_OPTIONAL_LOCKS", OsString::from("0"))]);
    let mut command = spawn::command(git, environment, directory);
    command.args(LIST).stdout(Stdio::piped()).stderr(Stdio::null());
    match read_output(command).await {
        Ok(Some(output)) => Some(split(&output)),
        Ok(None) => None,
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error, "failed to ask git for the files");
            None
        }
    }
}

/// Runs a program and returns what it printed; `None` when it failed.
async fn read_output(command: tokio::process::Command) -> io::Result<Option<Vec<u8>>> {
    let mut spawned = spawn::spawn(command)?;
    let mut output = Vec::new();
    if let Some(mut pipe) = spawned.child.stdout.take() {
        pipe.read_to_end(&mut output).await?;
    }
    Ok(spawned.child.wait().await?.success().then_some(output))
}

fn split(output: &[u8]) -> Vec<PathBuf> {
    let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths
        .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
        .collect()
}

/// Where the parts of a repository are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repository {
    /// What belongs to this work tree: `HEAD`, the index.
    pub own: PathBuf,
    /// What several work trees share: objects, references, configuration. Often the same as `own`.
    pub common: PathBuf,
}

impl Repository {
    /// Follows `.git`, whether it is a directory, a link to one, or a file that names one.
    pub fn resolve(dot_git: &Path) -> io::Result<Self> {
        let own = if dot_git.is_file() {
            let text = fs::read_to_string(dot_git)?;
            let target = text.trim_end_matches(['\n', '\r']).strip_prefix("gitdir: ");
            let target = target.ok_or_else(|| io::Error::other("it names no git directory"))?;
            dot_git
                .parent()
                .unwrap_or(Path::new("/"))
                .join(target)
                .canonicalize()?
        } else {
            dot_git.canonicalize()?
        };
        let common = match fs::read_to_string(own.join("commondir")) {
            Ok(text) => own.join(text.trim_end_matches(['\n', '\r'])).canonicalize()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => own.clone(),
            Err(error) => return Err(error),
        };
        Ok(Self { own, common })
    }
}

/// Removes `core.worktree` from the text of a configuration file: in the copy it would point into the user's tree.
pub(super) fn without_work_tree(config: &str) -> String {
    let mut in_core = false;
    let keeps = |line: &&str| {
        let text = line.trim_start();
        if text.starts_with('[') {
            in_core = text.to_ascii_lowercase().starts_with("[core]");
        }
        let key = text
            .split(['=', ' ', '\t', '\r', '\n'])
            .next()
            .unwrap_or_default();
        !(in_core && key.eq_ignore_ascii_case("worktree"))
    };
    config.split_inclusive('\n').filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_work_tree_of_core_is_removed() {
        for (config, expected) in [
            ("", ""),
            (
                "[core]\n\tbare = false\n\tworktree = ../../x\n",
                "[core]\n\tbare = false\n",
            ),
            (
                "[Core]\n  WorkTree=/x\n[a]\nworktree = 1\n",
                "[Core]\n[a]\nworktree = 1\n",
            ),
            ("[core \"x\"]\nworktree = 1", "[core \"x\"]\nworktree = 1"),
        ] {
            assert_eq!(without_work_tree(config), expected);
        }
    }
}
