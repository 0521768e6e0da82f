//! The texts of the workflow files that were read, and the reusable workflows among them.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use gantry_actors::engine::model::{Diagnostic, Workflow, WorkflowRef};
use gantry_actors::engine::plan::graph::{Library, called_workflows};

use super::files;
use crate::render;

/// A caller may reach this many reusable workflows (GitHub: docs, "Reusing workflows").
const MAX_CALLED: usize = 50;

/// The files below one directory, as a person names them, with their texts.
pub struct Sources {
    directory: PathBuf,
    texts: HashMap<String, Arc<str>>,
}

impl Sources {
    /// Nothing is read yet; files are named from within `directory`.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            texts: HashMap::new(),
        }
    }

    /// Reads a file; yields its name and its text.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(&mut self, path: &Path) -> Result<(String, Arc<str>), Diagnostic> {
        let name = files::shown(path, &self.directory).to_string_lossy().into_owned();
        match files::read_text(path) {
            Ok(text) => {
                let text: Arc<str> = text.into();
                self.texts.insert(name.clone(), Arc::clone(&text));
                Ok((name, text))
            }
            Err(error) => Err(Diagnostic {
                file: name.into(),
                position: None,
                reached: None,
                message: format!("{error:#}"),
            }),
        }
    }

    /// Reads a workflow.
    ///
    /// # Errors
    /// All of its mistakes.
    pub fn workflow(&mut self, path: &Path) -> Result<Workflow, Vec<Diagnostic>> {
        let (name, text) = self.read(path).map_err(|mistake| vec![mistake])?;
        Workflow::parse(&name, &text)
    }

    /// Reads the local workflows of the repository at `root` that `workflow` calls, and those that they call.
    ///
    /// What cannot be had is left out: the check of the run names the place of the call.
    ///
    /// # Errors
    /// All mistakes of the workflows that could be found.
    pub fn called(&mut self, root: &Path, workflow: &Workflow) -> Result<Library, Vec<Diagnostic>> {
        let mut library = Library::default();
        let mut mistakes = Vec::new();
        let mut open = called_workflows(workflow, None);
        let mut seen = Vec::new();
        while let Some((reference, _)) = open.pop() {
            if seen.contains(&reference) || seen.len() >= MAX_CALLED {
                continue;
            }
            if let Some(path) = local_file(root, &reference) {
                match self.workflow(&path) {
                    Ok(workflow) => {
                        open.extend(called_workflows(&workflow, Some(&reference)));
                        library.insert(reference.clone(), Arc::new(workflow));
                    }
                    Err(found) => mistakes.extend(found),
                }
            }
            seen.push(reference);
        }
        if mistakes.is_empty() {
            Ok(library)
        } else {
            Err(mistakes)
        }
    }

    /// Writes a mistake with the line that it is in.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn show(&self, out: &mut impl Write, mistake: &Diagnostic) -> io::Result<()> {
        let text = self.texts.get(&*mistake.file).map_or("", |text| text);
        render::diagnostic::write(out, mistake, text)
    }

    /// Names mistakes on stderr.
    ///
    /// # Errors
    /// Stderr cannot be written to.
    pub fn report(&self, mistakes: &[Diagnostic]) -> io::Result<()> {
        let mut stderr = io::stderr().lock();
        mistakes
            .iter()
            .try_for_each(|mistake| self.show(&mut stderr, mistake))
    }
}

/// The file of a local workflow, if there is one and it lies below the root.
fn local_file(root: &Path, reference: &WorkflowRef) -> Option<PathBuf> {
    let WorkflowRef::Local(path) = reference else {
        return None;
    };
    let inside = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let path = root.join(path);
    (inside && path.is_file()).then_some(path)
}
