//! Problem matchers: regular expressions that turn ordinary output into annotations.

mod config;
mod running;
mod translate;

use std::sync::Arc;

pub use config::ConfigError;
use config::Matcher;
pub use running::{Match, Running};

/// The greatest size of a matcher file in bytes.
pub const FILE_LIMIT: u64 = 1024 * 1024;
/// The greatest number of matchers that are active in a job; each one is tried on every line.
pub const ACTIVE_LIMIT: usize = 100;

/// The matchers that are active in a job, the newest first. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Matchers {
    active: Vec<Arc<Matcher>>,
}

impl Matchers {
    /// Adds the matchers of a file; one of the same owner is replaced. Nothing is added if the file has a mistake.
    ///
    /// # Errors
    /// The first mistake of the file.
    pub fn add(&mut self, json: &str) -> Result<(), ConfigError> {
        let added = config::parse(json)?;
        for matcher in added {
            self.remove(&matcher.owner);
            if self.active.len() >= ACTIVE_LIMIT {
                return Err(ConfigError::TooMany);
            }
            self.active.insert(0, Arc::new(matcher));
        }
        Ok(())
    }

    /// Removes the matcher of an owner, compared ignoring case.
    pub fn remove(&mut self, owner: &str) {
        self.active
            .retain(|matcher| !matcher.owner.eq_ignore_ascii_case(owner));
    }

    /// Removes the matchers of all owners that a file names.
    ///
    /// # Errors
    /// The file cannot be read as a matcher file.
    pub fn remove_file(&mut self, json: &str) -> Result<(), ConfigError> {
        for owner in config::owners(json)? {
            self.remove(&owner);
        }
        Ok(())
    }

    /// The owners of the active matchers, the newest first.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.active.iter().map(|matcher| matcher.owner.as_str())
    }

    /// Tells whether no matcher is active.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }
}

#[cfg(test)]
mod tests;
