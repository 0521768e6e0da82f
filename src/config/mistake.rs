//! What is wrong with a configuration, as a person reads it.

use std::fmt;
use std::path::{Path, PathBuf};

use gantry_actors::engine::model::{Diagnostic, Position};

use super::yaml::{Broken, Place};
use crate::render::diagnostic;

/// One thing that is wrong, or that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
    /// Whether the line of the file holds a secret.
    hides: bool,
}

impl Mistake {
    /// A mistake in the value of a key.
    pub fn new(place: Place, path: &[String], message: impl fmt::Display) -> Self {
        Self {
            place,
            message: format!("`{}`: {message}", path.join(".")),
            hides: false,
        }
    }

    /// A mistake that is in no key's value.
    pub fn about(place: Place, message: String) -> Self {
        Self {
            place,
            message,
            hides: false,
        }
    }

    /// The same for a value that nobody may see.
    pub fn hiding(self) -> Self {
        Self { hides: true, ..self }
    }

    /// Its place in the file, for an order; what is not in the file comes after it.
    pub fn line(&self) -> (usize, usize) {
        match self.place {
            Place::File { line, column } => (line, column),
            _ => (usize::MAX, usize::MAX),
        }
    }

    /// Says where it is, in a file of this name.
    pub fn located(&self, file: Option<&Path>) -> String {
        match &self.place {
            Place::File { .. } => self.diagnostic(file).to_string(),
            Place::Variable(name) => format!("environment variable {name}: {}", self.message),
            Place::Flag(flag) => format!("{flag}: {}", self.message),
            Place::Default => self.message.clone(),
        }
    }

    /// The same with the line of the file, and a caret below the place.
    fn excerpt(&self, file: Option<&Path>, text: &str) -> String {
        if !matches!(self.place, Place::File { .. }) || self.hides {
            return diagnostic::printable(&self.located(file)) + "\n";
        }
        let mut out = Vec::new();
        match diagnostic::write(&mut out, &self.diagnostic(file), text) {
            Ok(()) => String::from_utf8_lossy(&out).into_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn diagnostic(&self, file: Option<&Path>) -> Diagnostic {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let position = match self.place {
            Place::File { line, column } => Some(Position {
                line: count(line),
                column: count(column),
            }),
            _ => None,
        };
        Diagnostic {
            file: file
                .map_or_else(String::new, |file| file.display().to_string())
                .into(),
            position,
            reached: None,
            message: self.message.clone(),
        }
    }
}

impl From<Broken> for Mistake {
    fn from(broken: Broken) -> Self {
        Self {
            place: broken.place,
            message: broken.message,
            hides: false,
        }
    }
}

/// What was found on the way to the effective values.
#[derive(Debug, Default)]
pub struct Findings {
    /// What forbids to go on.
    pub mistakes: Vec<Mistake>,
    /// Names that nobody knows; they are ignored.
    pub unknown: Vec<Mistake>,
    /// What else the author should know.
    pub warnings: Vec<Mistake>,
}

/// A configuration that cannot be used: all of its mistakes.
#[derive(Debug)]
pub struct Rejected {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The file's text.
    pub text: String,
    /// The mistakes, at least one; those of a file in its order.
    pub mistakes: Vec<Mistake>,
    /// Whether the file could not even be read.
    pub is_unread: bool,
}

impl Rejected {
    /// Every mistake with the line of the file that it is in.
    pub fn report(&self) -> String {
        let excerpt = |mistake: &Mistake| mistake.excerpt(self.file.as_deref(), &self.text);
        self.mistakes.iter().map(excerpt).collect()
    }

    /// One line for each mistake, for a log.
    pub fn lines(&self) -> Vec<String> {
        let file = self.file.as_deref();
        self.mistakes
            .iter()
            .map(|mistake| mistake.located(file))
            .collect()
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid configuration\n{}", self.report().trim_end())
    }
}

impl std::error::Error for Rejected {}
