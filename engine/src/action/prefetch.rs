//! All remote actions of a job before its first step, the nested ones too.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::error::Error;
use super::reference::Sources;
use super::store::{Fetched, Store};
use super::workflow::{inside, read};
use crate::model::{Action, ActionRef, Runs, Step, StepAction};

/// So many repositories are fetched at the same time.
const PARALLEL: usize = 4;

/// How deep composite actions may name each other, as when they run.
const MAX_DEPTH: usize = 10;

/// So many actions a job may use in all; a chain of composites could name ever more.
const MAX_ACTIONS: usize = 1000;

/// The longest metadata file in bytes.
const METADATA_LIMIT: u64 = 1024 * 1024;

/// An action of another repository, as `uses` names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActionKey {
    /// `owner/repo`, or an absolute URL.
    pub repository: String,
    /// The path in the repository, maybe empty.
    pub path: String,
    /// Branch, tag or commit.
    pub git_ref: String,
}

impl ActionKey {
    /// The key of a remote action; nothing for others.
    pub fn of(uses: &ActionRef) -> Option<Self> {
        match uses {
            ActionRef::Remote {
                repository,
                path,
                git_ref,
            } => Some(Self {
                repository: repository.clone(),
                path: path.clone(),
                git_ref: git_ref.clone(),
            }),
            ActionRef::Local(_) | ActionRef::Docker(_) => None,
        }
    }
}

/// An action that was fetched and whose metadata was read.
#[derive(Debug, Clone)]
pub struct Download {
    /// Its repository.
    pub fetched: Arc<Fetched>,
    /// Its metadata.
    pub metadata: Action,
}

/// What became of each action.
pub type Downloads = HashMap<ActionKey, Result<Download, Error>>;

/// The remote actions that steps name themselves, in order.
pub fn remote_uses<'a>(steps: impl IntoIterator<Item = &'a Arc<Step>>) -> Vec<ActionKey> {
    let uses = steps.into_iter().filter_map(|step| match &step.action {
        StepAction::Uses(uses) => ActionKey::of(&uses.uses.value),
        StepAction::Run(_) => None,
    });
    uses.collect()
}

impl Store {
    /// Fetches actions and all actions that those name, several at a time.
    ///
    /// # Cancel safety
    /// As [`Store::fetch`].
    pub async fn prefetch(&self, sources: &Sources, wanted: Vec<ActionKey>) -> Downloads {
        let mut downloads = Downloads::new();
        let mut waiting: Vec<(ActionKey, usize)> = wanted.into_iter().rev().map(|key| (key, 1)).collect();
        let mut seen: Vec<ActionKey> = Vec::new();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < PARALLEL
                && let Some((key, depth)) = waiting.pop()
            {
                if seen.contains(&key) || seen.len() >= MAX_ACTIONS {
                    continue;
                }
                seen.push(key.clone());
                running.push(async move { (self.download(sources, &key).await, key, depth) });
            }
            let Some((download, key, depth)) = running.next().await else {
                return downloads;
            };
            if let Ok(Download { metadata, .. }) = &download
                && let Runs::Composite(steps) = &metadata.runs
                && depth < MAX_DEPTH
            {
                waiting.extend(remote_uses(steps).into_iter().map(|key| (key, depth + 1)));
            }
            downloads.insert(key, download);
        }
    }

    /// Fetches one action and reads its metadata.
    ///
    /// # Errors
    /// [`Error`]
    ///
    /// # Cancel safety
    /// As [`Store::fetch`].
    pub async fn download(&self, sources: &Sources, key: &ActionKey) -> Result<Download, Error> {
        let path = inside(&key.path)?;
        let fetched = self
            .fetch(&sources.remote(&key.repository)?, &key.git_ref)
            .await?;
        let metadata = metadata(&fetched, &path, key)?;
        Ok(Download { fetched, metadata })
    }
}

fn metadata(fetched: &Fetched, path: &Path, key: &ActionKey) -> Result<Action, Error> {
    let directory = fetched.directory.join(path);
    for name in ["action.yml", "action.yaml"] {
        let file = directory.join(name);
        if let Some(text) = read(&file, METADATA_LIMIT).map_err(Error::store(&file))? {
            return parse(key, &path.join(name), &text);
        }
    }
    for name in ["Dockerfile", "dockerfile"] {
        if directory.join(name).is_file() {
            let text = format!("runs: {{using: docker, image: {name}}}\n");
            return parse(key, &path.join(name), &text);
        }
    }
    let place = if key.path.is_empty() {
        "the root".to_owned()
    } else {
        format!("'{}'", key.path)
    };
    Err(Error::NoMetadata {
        url: fetched.url.clone(),
        commit: fetched.commit.clone(),
        place,
    })
}

fn parse(key: &ActionKey, path: &Path, text: &str) -> Result<Action, Error> {
    let shown = ActionRef::Remote {
        repository: key.repository.clone(),
        path: path.to_string_lossy().into_owned(),
        git_ref: key.git_ref.clone(),
    };
    Action::parse(&shown.to_string(), text).map_err(|diagnostics| Error::Metadata {
        text: diagnostics
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    })
}
