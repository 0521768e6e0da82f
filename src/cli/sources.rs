//! The texts of the workflow files that were read, and the reusable workflows among them.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use gantry_actors::engine::model::{Diagnostic, Position, Workflow, WorkflowRef};
use gantry_actors::engine::plan::graph::{Library, called_workflows};

use super::files;
use crate::render;

/// A caller may reach this many reusable workflows (GitHub: docs, "Reusing workflows").
const MAX_CALLED: usize = 50;

/// The files below one directory, as a person names them, with their texts.
pub struct Sources {
    directory: PathBuf,
    texts: HashMap<String, Arc<str>>,
    fetch: Option<Box<Fetch>>,
}

/// Gets the text of a workflow of another repository, or the reason why it cannot be had.
pub type Fetch = dyn Fn(&WorkflowRef) -> Result<String, String>;

/// A place where a reusable workflow is called.
struct Call {
    reference: WorkflowRef,
    file: Arc<str>,
    position: Position,
}

fn calls(workflow: &Workflow, origin: Option<&WorkflowRef>) -> Vec<Call> {
    let called = called_workflows(workflow, origin).into_iter();
    let call = |(reference, position)| Call {
        reference,
        file: Arc::clone(&workflow.file),
        position,
    };
    called.map(call).collect()
}

impl Sources {
    /// Nothing is read yet; files are named from within `directory`.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            texts: HashMap::new(),
            fetch: None,
        }
    }

    /// Lets workflows of other repositories be fetched.
    pub fn fetch_with(&mut self, fetch: Box<Fetch>) {
        self.fetch = Some(fetch);
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

    /// Reads the workflows that `workflow` calls, and those that they call: local ones from the repository at `root`,
    /// others if there is a way to fetch them.
    ///
    /// A local one that is not there is left out: the check of the run names the place of the call.
    ///
    /// # Errors
    /// All mistakes of the workflows that could be found, and each that could not be fetched.
    pub fn called(&mut self, root: &Path, workflow: &Workflow) -> Result<Library, Vec<Diagnostic>> {
        let mut library = Library::default();
        let mut mistakes = Vec::new();
        let mut open = calls(workflow, None);
        let mut seen = Vec::new();
        while let Some(call) = open.pop() {
            if seen.contains(&call.reference) || seen.len() >= MAX_CALLED {
                continue;
            }
            match self.callee(root, &call) {
                Some(Ok(workflow)) => {
                    open.extend(calls(&workflow, Some(&call.reference)));
                    library.insert(call.reference.clone(), Arc::new(workflow));
                }
                Some(Err(found)) => mistakes.extend(found),
                None => {}
            }
            seen.push(call.reference);
        }
        if mistakes.is_empty() {
            Ok(library)
        } else {
            Err(mistakes)
        }
    }

    fn callee(&mut self, root: &Path, call: &Call) -> Option<Result<Workflow, Vec<Diagnostic>>> {
        if let Some(path) = local_file(root, &call.reference) {
            return Some(self.workflow(&path));
        }
        if matches!(call.reference, WorkflowRef::Local(_)) {
            return None;
        }
        let text = match self.fetch.as_ref()?(&call.reference) {
            Ok(text) => text,
            Err(reason) => {
                return Some(Err(vec![Diagnostic {
                    file: Arc::clone(&call.file),
                    position: Some(call.position),
                    reached: None,
                    message: format!(
                        "the reusable workflow '{}' cannot be used: {reason}",
                        call.reference
                    ),
                }]));
            }
        };
        let name = call.reference.to_string();
        let workflow = Workflow::parse(&name, &text);
        self.texts.insert(name, text.into());
        Some(workflow)
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
