//! Mistakes in a file, with their places.

use std::fmt;
use std::sync::Arc;

/// A place in a file; line and column count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A value with the place where it is written.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub position: Position,
}

/// A mistake in a workflow or action file, or a value that does not fit once it is evaluated.
///
/// `Display` gives `FILE (Line: L, Col: C): MESSAGE`, or `FILE: MESSAGE` where no place is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostic {
    /// The file as the user named it.
    pub file: Arc<str>,
    /// The place of the offending token, which `Display` names.
    pub position: Option<Position>,
    /// Where a reader should look if `position` is absent: GitHub's text has no place for what ended the reading.
    pub reached: Option<Position>,
    /// What is wrong.
    pub message: String,
}

impl Diagnostic {
    /// The best place that is known.
    pub fn place(&self) -> Option<Position> {
        self.position.or(self.reached)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => {
                write!(f, "{} (Line: {line}, Col: {column}): {}", self.file, self.message)
            }
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Mistakes kept of one file; what comes after them is dropped.
const MAX_ERRORS: usize = 10;
/// Characters kept of one mistake's text, with file and place.
const MAX_TEXT: usize = 500;

/// Collects the mistakes of one file in the order in which they are found, bounded in number and length.
#[derive(Debug)]
pub(super) struct Diagnostics {
    file: Arc<str>,
    found: Vec<Diagnostic>,
    /// What was passed over; nothing may be unless the text comes from a forge.
    notes: Option<Vec<Diagnostic>>,
}

impl Diagnostics {
    /// Starts an empty collection for `file`.
    pub(super) fn new(file: Arc<str>) -> Self {
        Self {
            file,
            found: Vec::new(),
            notes: None,
        }
    }

    /// Starts an empty collection for a text that a forge has made of a workflow: what the forge has accepted is passed
    /// over where GitHub would refuse it.
    pub(super) fn lenient(file: Arc<str>) -> Self {
        Self {
            notes: Some(Vec::new()),
            ..Self::new(file)
        }
    }

    /// Tells whether the text comes from a forge that has accepted it.
    pub(super) fn is_lenient(&self) -> bool {
        self.notes.is_some()
    }

    /// Records that something is passed over, if that is allowed here; otherwise it is a mistake.
    pub(super) fn pass_over(&mut self, position: Position, message: String) {
        let file = self.file.clone();
        match &mut self.notes {
            Some(notes) if notes.len() < MAX_ERRORS => notes.push(Diagnostic {
                file,
                position: Some(position),
                reached: None,
                message,
            }),
            Some(_) => {}
            None => self.error(position, message),
        }
    }

    /// Takes what was passed over.
    pub(super) fn take_notes(&mut self) -> Vec<Diagnostic> {
        self.notes.take().unwrap_or_default()
    }

    /// The file whose mistakes are collected.
    pub(super) fn file(&self) -> &Arc<str> {
        &self.file
    }

    /// Records a mistake at `position`.
    pub(super) fn error(&mut self, position: Position, message: impl Into<String>) {
        self.push(Some(position), None, message.into());
    }

    /// Records a mistake that has no place of its own.
    pub(super) fn abort(&mut self, message: impl Into<String>) {
        self.push(None, None, message.into());
    }

    /// Records a mistake that ended reading at `reached`.
    pub(super) fn abort_at(&mut self, reached: Position, message: impl Into<String>) {
        self.push(None, Some(reached), message.into());
    }

    /// Tells whether nothing was recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Tells whether further mistakes would be dropped, so that looking for them is of no use.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() >= MAX_ERRORS
    }

    /// Yields `value` if nothing was recorded.
    pub(super) fn into_result<T>(self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.found.is_empty() {
            Ok(value)
        } else {
            Err(self.found)
        }
    }

    /// The mistakes in the order in which they were found.
    pub(super) fn into_vec(self) -> Vec<Diagnostic> {
        self.found
    }

    fn push(&mut self, position: Option<Position>, reached: Option<Position>, message: String) {
        if self.is_full() {
            return;
        }
        let mut diagnostic = Diagnostic {
            file: self.file.clone(),
            position,
            reached,
            message,
        };
        cut(&mut diagnostic);
        self.found.push(diagnostic);
    }
}

/// GitHub cuts the whole text, prefix included, so the message keeps what the prefix leaves.
fn cut(diagnostic: &mut Diagnostic) {
    if diagnostic.message.len() + diagnostic.file.len() < MAX_TEXT / 2 {
        return;
    }
    let message = diagnostic.message.chars().count();
    let excess = diagnostic.to_string().chars().count().saturating_sub(MAX_TEXT);
    if excess > 0 {
        let kept = message.saturating_sub(excess);
        diagnostic.message = diagnostic
            .message
            .chars()
            .take(kept)
            .chain("[...]".chars())
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_ten_mistakes_and_cuts_long_ones_prefix_included() {
        let mut errors = Diagnostics::new(Arc::from("w.yml"));
        for line in 1..=12 {
            errors.error(Position { line, column: 1 }, "x".repeat(600));
        }
        let found = errors.into_vec();
        assert_eq!(found.len(), 10);
        let text = found[0].to_string();
        assert!(
            text.starts_with("w.yml (Line: 1, Col: 1): xxx") && text.ends_with("x[...]"),
            "{text}"
        );
        assert_eq!(text.chars().count(), 505);
    }
}
