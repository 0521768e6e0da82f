//! Reusable workflows of other repositories.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::error::Error;
use super::reference::Sources;
use super::store::Store;
use crate::model::{Diagnostic, Workflow, WorkflowRef};

/// The longest workflow file in bytes.
const LIMIT: u64 = 1024 * 1024;

/// Why a called workflow cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// It could not be fetched, or there is no such file.
    #[error(transparent)]
    Fetch(#[from] Error),
    /// It has mistakes.
    #[error("the called workflow has mistakes")]
    Invalid(Vec<Diagnostic>),
}

impl Store {
    /// Gets a reusable workflow of another repository: its name for messages, and its text.
    ///
    /// # Errors
    /// [`Error`]; also for a local reference, whose file is not in the store.
    ///
    /// # Cancel safety
    /// As [`Store::fetch`].
    pub async fn workflow_text(
        &self,
        sources: &Sources,
        reference: &WorkflowRef,
    ) -> Result<(String, String), Error> {
        let WorkflowRef::Remote {
            repository,
            path,
            git_ref,
        } = reference
        else {
            return Err(Error::Repository {
                repository: reference.to_string(),
            });
        };
        let relative = inside(path)?;
        let fetched = self.fetch(&sources.remote(repository)?, git_ref).await?;
        let file = fetched.directory.join(relative);
        let text = read(&file, LIMIT).map_err(Error::store(&file))?;
        let text = text.ok_or_else(|| Error::NoWorkflow {
            url: fetched.url.clone(),
            commit: fetched.commit.clone(),
            path: path.clone(),
        })?;
        Ok((reference.to_string(), text))
    }

    /// Gets and reads a reusable workflow of another repository.
    ///
    /// # Errors
    /// [`WorkflowError`]
    ///
    /// # Cancel safety
    /// As [`Store::fetch`].
    pub async fn workflow(
        &self,
        sources: &Sources,
        reference: &WorkflowRef,
    ) -> Result<Workflow, WorkflowError> {
        let (name, text) = self.workflow_text(sources, reference).await?;
        Workflow::parse(&name, &text).map_err(WorkflowError::Invalid)
    }
}

/// A path that stays inside of a repository, without a leading `./`.
pub(super) fn inside(path: &str) -> Result<PathBuf, Error> {
    let parts = Path::new(path).components();
    let parts = parts.filter(|part| *part != Component::CurDir);
    parts
        .map(|part| match part {
            Component::Normal(name) => Ok(name),
            _ => Err(Error::Path {
                path: path.to_owned(),
            }),
        })
        .collect()
}

/// Reads a file of a tree, at most `limit` bytes of it; nothing if there is none.
pub(super) fn read(path: &Path, limit: u64) -> io::Result<Option<String>> {
    // The tree holds neither devices nor links that leave it, so this cannot hang.
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::other(format!("more than {limit} bytes")));
    }
    Ok(Some(String::from_utf8_lossy(&content).into_owned()))
}
