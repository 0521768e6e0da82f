//! Reusable workflows of other repositories.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::ActionAccess;
use super::error::Error;

/// The longest workflow file in bytes.
const LIMIT: u64 = 1024 * 1024;

impl ActionAccess {
    /// Gets a reusable workflow of another repository: the commit that it is of, and its text.
    ///
    /// # Errors
    /// [`Error`]
    ///
    /// # Cancel safety
    /// As [`Store::fetch`](super::Store::fetch).
    pub async fn workflow(
        &self,
        repository: &str,
        path: &str,
        git_ref: &str,
    ) -> Result<(String, String), Error> {
        let relative = inside(path)?;
        let remote = self.sources.remote(repository)?;
        let fetched = self.store.fetch(&remote, git_ref).await?;
        let file = fetched.directory.join(relative);
        let text = read(&file, LIMIT).map_err(Error::store(&file))?;
        let text = text.ok_or_else(|| Error::NoWorkflow {
            url: fetched.url.clone(),
            commit: fetched.commit.clone(),
            path: path.to_owned(),
        })?;
        Ok((fetched.commit.clone(), text))
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
