//! All remote actions of a job before its first step, the nested ones too.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use indexmap::IndexMap;

use super::error::Error;
use super::reference::Sources;
use super::store::{Fetched, Store};
use super::workflow::{inside, read};
use crate::model::{Action, ActionRef, Runs, Step, StepAction, UsesStep};

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
            ActionRef::Builtin(_) | ActionRef::Local(_) | ActionRef::Docker(_) => None,
        }
    }
}

impl fmt::Display for ActionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.path.is_empty() { "" } else { "/" };
        write!(f, "{}{separator}{}@{}", self.repository, self.path, self.git_ref)
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

/// What became of each action, in the order in which they were found.
pub type Downloads = IndexMap<ActionKey, Result<Download, Error>>;

/// The remote actions that steps name themselves and that are wanted, in order.
pub fn remote_uses(steps: &[Arc<Step>], is_wanted: impl Fn(&UsesStep) -> bool) -> Vec<ActionKey> {
    let uses = steps.iter().filter_map(|step| match &step.action {
        StepAction::Uses(uses) if is_wanted(uses) => ActionKey::of(&uses.uses.value),
        StepAction::Uses(_) | StepAction::Run(_) => None,
    });
    uses.collect()
}

impl Store {
    /// Fetches actions and all wanted actions that those name, several at a time.
    ///
    /// # Cancel safety
    /// As [`Store::fetch`].
    pub async fn prefetch(
        &self,
        sources: &Sources,
        actions: Vec<ActionKey>,
        is_wanted: &(dyn Fn(&UsesStep) -> bool + Sync),
    ) -> Downloads {
        let mut done = HashMap::new();
        let mut waiting: VecDeque<(ActionKey, usize)> = actions.into_iter().map(|key| (key, 1)).collect();
        let mut seen: Vec<ActionKey> = Vec::new();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < PARALLEL
                && let Some((key, depth)) = waiting.pop_front()
            {
                if seen.contains(&key) || seen.len() >= MAX_ACTIONS {
                    continue;
                }
                seen.push(key.clone());
                running.push(async move { (self.download(sources, &key).await, key, depth) });
            }
            let Some((download, key, depth)) = running.next().await else {
                let result = |key: ActionKey| Some((key.clone(), done.remove(&key)?));
                return seen.into_iter().filter_map(result).collect();
            };
            if let Ok(Download { metadata, .. }) = &download
                && let Runs::Composite(steps) = &metadata.runs
                && depth < MAX_DEPTH
            {
                let nested = remote_uses(steps, is_wanted);
                waiting.extend(nested.into_iter().map(|key| (key, depth + 1)));
            }
            done.insert(key, download);
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
    let shown = ActionKey {
        path: path.to_string_lossy().into_owned(),
        ..key.clone()
    };
    Action::parse(&shown.to_string(), text).map_err(|diagnostics| Error::Metadata {
        text: diagnostics
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    })
}
