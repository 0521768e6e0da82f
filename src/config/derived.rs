//! What follows from values: secrets in files, the variables of jobs, the data directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Connection, Journal, Runner, Secret};
use crate::dotenv;

/// The secret that a file holds, without the blanks around it.
pub(super) fn secret_in(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    match text.trim() {
        "" => Err(format!("{shown} is empty")),
        secret => Ok(Secret::from(secret.to_owned())),
    }
}

impl Connection {
    /// The token, from here or from its file.
    ///
    /// # Errors
    /// The file cannot be read or is empty.
    pub fn read_token(&self) -> anyhow::Result<Secret> {
        match self.token_file() {
            Some(path) => secret_in(path).map_err(anyhow::Error::msg),
            None => Ok(self.token.clone()),
        }
    }

    /// The file that `token_url` names: `file:/path`, `file:///path` or `file:path`.
    pub(super) fn token_file(&self) -> Option<&Path> {
        let path = self.token_url.strip_prefix("file:")?;
        let path = path.strip_prefix("//").unwrap_or(path);
        (!path.is_empty()).then_some(Path::new(path))
    }
}

impl Journal {
    /// The data directory: the one that is named, else `.gantry` beside the runner file.
    pub fn directory(&self, runner_file: &Path) -> PathBuf {
        if self.dir.is_empty() {
            runner_file.with_file_name(".gantry")
        } else {
            (&self.dir).into()
        }
    }
}

impl Runner {
    /// The variables for every job: those of `envs`, and over them those of `env_file`, if there is such a file.
    ///
    /// # Errors
    /// The file cannot be read or is not in .env format.
    pub fn job_envs(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let mut envs = self.envs.clone();
        let path = Path::new(&self.env_file);
        if path.is_file() {
            envs.extend(dotenv::read(path)?);
        } else if !self.env_file.is_empty() {
            tracing::warn!(
                "`runner.env_file` is ignored: there is no file {}",
                path.display()
            );
        }
        Ok(envs)
    }
}
