//! The files through which a step sets variables, outputs, state and paths and writes its summary.
//!
//! Every step, also one inside of a composite action, has fresh files; they are read once its process has ended.

use std::sync::Arc;

use indexmap::IndexMap;

use super::JobRuntime;
use crate::commands::files::{self, FILE_LIMIT};
use crate::job::{JobView, StepIdentity};

/// The kinds of files: the property of `github`, how the file's name starts, and what messages call it.
const KINDS: [(&str, &str, &str); 5] = [
    ("env", "set_env_", "env"),
    ("output", "set_output_", "output"),
    ("state", "save_state_", "state"),
    ("path", "add_path_", "path"),
    ("step_summary", "step_summary_", "summary"),
];

/// The files of one process.
#[derive(Debug)]
pub(super) struct FileCommands {
    paths: Arc<[(&'static str, String)]>,
}

/// Names files that no other step has; nothing is created yet.
pub(super) fn reserve(runtime: &JobRuntime) -> Arc<[(&'static str, String)]> {
    let directory = &runtime.sandbox.layout().file_commands;
    let unique = runtime.unique_name();
    KINDS
        .iter()
        .map(|(name, prefix, _)| (*name, format!("{directory}/{prefix}{unique}")))
        .collect()
}

/// What a step has written to its files.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub outputs: IndexMap<String, String>,
    pub state: IndexMap<String, String>,
    pub summary: Option<String>,
    /// Lines for the log; each starts with its `##[...]` marker.
    pub messages: Vec<String>,
    /// A file could not be understood: the step fails.
    pub failed: bool,
}

impl FileCommands {
    /// Creates the files, empty.
    pub async fn create(
        runtime: &JobRuntime,
        identity: &StepIdentity,
    ) -> Result<Self, crate::backend::Error> {
        let files = Self {
            paths: identity.files.clone(),
        };
        files.empty(runtime).await?;
        Ok(files)
    }

    /// Makes the files empty, whatever was there.
    pub async fn empty(&self, runtime: &JobRuntime) -> Result<(), crate::backend::Error> {
        for (_, path) in self.paths.iter() {
            runtime.sandbox.write_file(path, b"").await?;
        }
        Ok(())
    }

    /// The variables that name the files under Gitea's prefix; those under GitHub's come with the `github` context.
    pub fn variables(&self) -> Vec<(String, String)> {
        self.paths
            .iter()
            .map(|(name, path)| (format!("GITEA_{}", name.to_ascii_uppercase()), path.clone()))
            .collect()
    }

    /// Reads what the step has written, and applies variables and paths to the job.
    ///
    /// A file that cannot be understood fails the step; the other files are still read.
    pub async fn read(&self, runtime: &JobRuntime, view: &mut JobView) -> Written {
        let mut written = Written::default();
        for ((_, _, kind), (_, path)) in KINDS.iter().zip(self.paths.iter()) {
            match runtime.sandbox.read_file(path, FILE_LIMIT).await {
                Ok(None) => {}
                Ok(Some(content)) if content.is_empty() => {}
                Ok(Some(content)) => written.apply(kind, &content, view),
                Err(error) => written.refuse(kind, &error.to_string()),
            }
        }
        written
    }

    /// Removes the files.
    pub async fn remove(&self, runtime: &JobRuntime) {
        for (_, path) in self.paths.iter() {
            if let Err(error) = runtime.sandbox.remove_file(path).await {
                tracing::debug!(%error, path, "a file command file stays until the job is removed");
            }
        }
    }
}

impl Written {
    fn apply(&mut self, kind: &str, content: &[u8], view: &mut JobView) {
        let text = files::decode(content);
        match kind {
            "path" => {
                let added = Arc::make_mut(&mut view.path);
                for path in files::parse_paths(&text) {
                    files::add_path(added, path);
                }
            }
            "summary" => match files::refuse_summary(content.len() as u64) {
                None => self.summary = Some(text.into_owned()),
                Some(message) => self.messages.push(format!("##[error]{message}")),
            },
            _ => self.apply_pairs(kind, &text, view),
        }
    }

    fn apply_pairs(&mut self, kind: &str, text: &str, view: &mut JobView) {
        let (pairs, error) = files::parse_pairs(text);
        match kind {
            "env" => self.set_env(view, pairs),
            "output" => self.outputs.extend(pairs),
            _ => self.state.extend(pairs),
        }
        if let Some(error) = error {
            self.refuse(kind, &error.to_string());
        }
    }

    fn set_env(&mut self, view: &mut JobView, pairs: Vec<files::Pair>) {
        let env = Arc::make_mut(&mut view.env);
        for (name, value) in pairs {
            match files::refuse_env(&name, &value) {
                Some(message) => self.messages.push(format!("##[error]{message}")),
                None => _ = env.insert(name, value),
            }
        }
    }

    fn refuse(&mut self, kind: &str, reason: &str) {
        self.messages
            .push(format!("##[error]{}", files::failure_text(kind)));
        self.messages.push(format!("##[error]{reason}"));
        self.failed = true;
    }
}
