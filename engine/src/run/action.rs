//! Finding an action and reading its metadata.

use std::sync::Arc;

use indexmap::IndexMap;

use super::JobRuntime;
use super::checkout::is_surely_local;
use crate::action::ActionKey;
use crate::job::StepIdentity;
use crate::model::{Action, ActionRef, UsesStep};

/// The longest metadata file in bytes.
const METADATA_LIMIT: u64 = 1024 * 1024;

/// An action whose files are there.
#[derive(Debug)]
pub struct LoadedAction {
    /// Its metadata.
    pub metadata: Action,
    /// Its directory as the job sees it.
    pub directory: String,
    /// `owner/repo`, for an action that was fetched.
    pub repository: Option<String>,
    /// The ref that it was fetched by.
    pub git_ref: Option<String>,
}

/// An action together with what one step gives it.
#[derive(Debug, Clone)]
pub struct ActionCall {
    /// The action.
    pub action: Arc<LoadedAction>,
    /// The values of the declared inputs, and of what was given beyond them, by name.
    pub inputs: Arc<IndexMap<String, String>>,
    /// The `env` of the step, evaluated.
    pub env: Arc<Vec<(String, String)>>,
    /// What the action has saved so far with `GITHUB_STATE`.
    pub state: Arc<IndexMap<String, String>>,
    /// What `github.action*` says while the action runs.
    pub identity: StepIdentity,
}

impl ActionCall {
    /// `INPUT_<NAME>`: the name in upper case with blanks as `_`; dashes and dots stay.
    pub fn input_variables(&self) -> Vec<(String, String)> {
        self.inputs
            .iter()
            .map(|(name, value)| {
                (
                    format!("INPUT_{}", name.replace(' ', "_").to_uppercase()),
                    value.clone(),
                )
            })
            .collect()
    }

    /// `STATE_<name>`, spelled as it was saved.
    pub fn state_variables(&self) -> Vec<(String, String)> {
        self.state
            .iter()
            .map(|(name, value)| (format!("STATE_{name}"), value.clone()))
            .collect()
    }
}

/// Finds the action that a step uses, or the text for the workflow's author; with lines for the log.
pub(super) async fn resolve(
    runtime: &JobRuntime,
    uses: &ActionRef,
) -> (Result<Arc<LoadedAction>, String>, Vec<String>) {
    let found = match uses {
        ActionRef::Local(path) => load_local(runtime, path).await,
        ActionRef::Remote { .. } | ActionRef::Builtin(_) => {
            let Some(key) = ActionKey::of(uses) else {
                return (Err(format!("Unable to resolve action `{uses}`")), Vec::new());
            };
            let is_wanted = |uses: &UsesStep| !is_surely_local(runtime, uses);
            return runtime.remote.get(&*runtime.sandbox, key, &is_wanted).await;
        }
        ActionRef::Docker(image) => Err(format!(
            "The action 'docker://{image}' needs a container engine, and this job runs on the host"
        )),
    };
    (found, Vec::new())
}

/// Reads the metadata of an action in the workspace.
///
/// # Errors
/// The text for the workflow's author.
pub(super) async fn load_local(runtime: &JobRuntime, path: &str) -> Result<Arc<LoadedAction>, String> {
    let workspace = &runtime.sandbox.layout().workspace;
    let relative = path.replace('\\', "/");
    let relative = relative.trim_start_matches("./").trim_end_matches('/');
    let directory = if relative.is_empty() || relative == "." {
        workspace.clone()
    } else {
        format!("{workspace}/{relative}")
    };
    let metadata = read_metadata(runtime, &directory, path).await?;
    Ok(Arc::new(LoadedAction {
        metadata,
        directory,
        repository: None,
        git_ref: None,
    }))
}

async fn read_metadata(runtime: &JobRuntime, directory: &str, shown: &str) -> Result<Action, String> {
    for name in ["action.yml", "action.yaml"] {
        let path = format!("{directory}/{name}");
        let content = runtime.sandbox.read_file(&path, METADATA_LIMIT).await;
        let Some(content) = content.map_err(|error| format!("{shown}/{name}: {error}"))? else {
            continue;
        };
        let file = format!("{}/{name}", shown.trim_end_matches('/'));
        return Action::parse(&file, &String::from_utf8_lossy(&content)).map_err(|diagnostics| {
            diagnostics
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        });
    }
    Err(format!(
        "Can't find 'action.yml', 'action.yaml' or 'Dockerfile' under '{directory}'. \
         Did you forget to run actions/checkout before running your local action?"
    ))
}
