//! The actions of other repositories: fetched, copied into the job's place, and kept until the job ends.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::sync::Mutex;

use super::action::LoadedAction;
use crate::action::{ActionAccess, ActionKey, Download, Downloads, Error};
use crate::backend::Sandbox;
use crate::chain::failed_to;
use crate::model::{ActionRef, Runs, Step, StepAction, UsesStep};

/// What a job has of other repositories.
#[derive(Debug, Default)]
pub(super) struct RemoteActions {
    access: Option<ActionAccess>,
    ready: Mutex<Ready>,
}

#[derive(Debug, Default)]
struct Ready {
    actions: HashMap<ActionKey, Result<Arc<LoadedAction>, String>>,
    /// Where each repository at each ref was copied to; what names none is absent.
    places: HashMap<(String, String), String>,
}

/// What became of actions, and lines for the job's log.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// Each action that is not ready, with the text for the author.
    pub failed: Vec<(ActionKey, String)>,
    /// What was fetched, and what went otherwise than intended.
    pub lines: Vec<String>,
}

impl RemoteActions {
    /// A job that gets its actions this way, or none.
    pub fn new(access: Option<ActionAccess>) -> Self {
        Self {
            access,
            ready: Mutex::default(),
        }
    }

    /// Makes actions ready, and all wanted actions that those name.
    ///
    /// # Cancel safety
    /// A dropped call may leave copies in the job's place; they are not used.
    pub async fn prepare(
        &self,
        sandbox: &dyn Sandbox,
        actions: Vec<ActionKey>,
        is_wanted: &(dyn Fn(&UsesStep) -> bool + Sync),
    ) -> Prepared {
        let mut prepared = Prepared::default();
        let mut ready = self.ready.lock().await;
        let missing: Vec<_> = actions
            .into_iter()
            .filter(|key| !ready.actions.contains_key(key))
            .collect();
        let Some(access) = &self.access else {
            for key in missing {
                let text = format!("Unable to resolve action `{key}`, this runner fetches no actions");
                ready.actions.insert(key.clone(), Err(text.clone()));
                prepared.failed.push((key, text));
            }
            return prepared;
        };
        let downloads: Downloads = access.prefetch(missing, is_wanted).await;
        for (key, download) in downloads {
            if ready.actions.contains_key(&key) {
                continue;
            }
            let loaded = match download {
                Ok(download) => ready.place(sandbox, &key, download, &mut prepared.lines).await,
                Err(error) => Err(told(&key, &error)),
            };
            if let Err(text) = &loaded {
                prepared.failed.push((key.clone(), text.clone()));
            }
            ready.actions.insert(key, loaded);
        }
        prepared
    }

    /// An action, which is fetched now if it was not before.
    ///
    /// # Errors
    /// The text for the workflow's author.
    ///
    /// # Cancel safety
    /// As [`Self::prepare`].
    pub async fn get(
        &self,
        sandbox: &dyn Sandbox,
        key: ActionKey,
        is_wanted: &(dyn Fn(&UsesStep) -> bool + Sync),
    ) -> (Result<Arc<LoadedAction>, String>, Vec<String>) {
        let lines = self.prepare(sandbox, vec![key.clone()], is_wanted).await.lines;
        let found = self.ready.lock().await.actions.get(&key).cloned();
        let found = found.unwrap_or_else(|| Err(format!("Unable to resolve action `{key}`")));
        (found, lines)
    }
}

impl RemoteActions {
    /// An action that is ready.
    pub async fn ready(&self, uses: &ActionRef) -> Option<Arc<LoadedAction>> {
        let ready = self.ready.lock().await;
        ready.get(&ActionKey::of(uses)?).cloned()
    }

    /// The places of the steps whose actions, or actions in them, have something to do before all steps.
    pub async fn pres(&self, steps: &[Arc<Step>]) -> Vec<usize> {
        let ready = self.ready.lock().await;
        let has_pre = |(index, step): (usize, &Arc<Step>)| ready.has_pre(step).then_some(index);
        steps.iter().enumerate().filter_map(has_pre).collect()
    }

    /// Tells whether the action of a step, or an action in it, has something to do before all steps.
    pub async fn has_pre(&self, step: &Step) -> bool {
        self.ready.lock().await.has_pre(step)
    }
}

impl Ready {
    fn get(&self, key: &ActionKey) -> Option<&Arc<LoadedAction>> {
        self.actions.get(key)?.as_ref().ok()
    }

    fn has_pre(&self, step: &Step) -> bool {
        let mut open: Vec<ActionKey> = key_of(step).into_iter().collect();
        let mut seen = HashSet::new();
        while let Some(key) = open.pop() {
            match self.get(&key).map(|action| &action.metadata.runs) {
                Some(Runs::Node(node)) if node.pre.is_some() => return true,
                Some(Runs::Composite(steps)) if seen.insert(key) => {
                    open.extend(steps.iter().filter_map(|step| key_of(step)));
                }
                _ => {}
            }
        }
        false
    }

    /// Copies the tree of an action into the job's place, once for all actions in it.
    async fn place(
        &mut self,
        sandbox: &dyn Sandbox,
        key: &ActionKey,
        download: Download,
        lines: &mut Vec<String>,
    ) -> Result<Arc<LoadedAction>, String> {
        let Download { fetched, metadata } = download;
        let (repository, git_ref) = (key.repository.clone(), key.git_ref.clone());
        let known = self.places.get(&(repository.clone(), git_ref.clone())).cloned();
        let place = if let Some(place) = known {
            place
        } else {
            lines.extend(fetched.notes.iter().map(|note| format!("##[warning]{note}")));
            lines.push(format!(
                "Download action repository '{repository}@{git_ref}' (SHA:{})",
                fetched.commit
            ));
            let place = self.free_place(&sandbox.layout().actions, key);
            let copied = sandbox.put_tree(&fetched.directory, &place).await;
            copied.map_err(|error| failed_to(&error))?;
            self.places
                .insert((repository.clone(), git_ref.clone()), place.clone());
            place
        };
        let separator = if key.path.is_empty() { "" } else { "/" };
        Ok(Arc::new(LoadedAction {
            metadata,
            directory: format!("{place}{separator}{}", key.path),
            repository: Some(repository),
            git_ref: Some(git_ref),
        }))
    }

    /// `<actions>/<owner>/<repository>/<ref>`, as on GitHub, but never inside of another one's place.
    fn free_place(&self, actions: &str, key: &ActionKey) -> String {
        let repository = key.repository.rsplit_once("://");
        let repository = repository.map_or(key.repository.as_str(), |(_, place)| place);
        let repository = repository.replace(':', "_");
        let place = format!("{actions}/{repository}/{}", key.git_ref.replace('/', "_"));
        let taken = |place: &str| {
            let below = |outer: &str, inner: &str| {
                inner
                    .strip_prefix(outer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            self.places
                .values()
                .any(|other| below(other, place) || below(place, other))
        };
        let mut free = place.clone();
        let mut number = 2;
        while taken(&free) {
            free = format!("{place}_{number}");
            number += 1;
        }
        free
    }
}

fn key_of(step: &Step) -> Option<ActionKey> {
    match &step.action {
        StepAction::Uses(uses) => ActionKey::of(&uses.uses.value),
        StepAction::Run(_) => None,
    }
}

fn told(key: &ActionKey, error: &Error) -> String {
    match error {
        // Each mistake names its file.
        Error::Metadata { text } => text.clone(),
        error => format!("Unable to resolve action `{key}`, {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(repository: &str, git_ref: &str) -> ActionKey {
        ActionKey {
            repository: repository.to_owned(),
            path: String::new(),
            git_ref: git_ref.to_owned(),
        }
    }

    #[test]
    fn places_are_apart() {
        let mut ready = Ready::default();
        let rows = [
            (key("o/r", "v1"), "/a/o/r/v1"),
            (key("o/r", "a/b"), "/a/o/r/a_b"),
            (key("o/r", "a_b"), "/a/o/r/a_b_2"),
            (key("http://h:1/o/r", "v1"), "/a/h_1/o/r/v1"),
            (key("h_1/o", "r"), "/a/h_1/o/r_2"),
        ];
        for (key, expected) in rows {
            let place = ready.free_place("/a", &key);
            assert_eq!(place, expected);
            ready.places.insert((key.repository, key.git_ref), place);
        }
    }
}
