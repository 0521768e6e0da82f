//! YAML as a stream of events: one document, strict tags, aliases replayed, everything bounded.
//!
//! The grammar is `saphyr-parser`'s; what scalars mean, which tags exist and how far aliases may expand is decided
//! here, because the errors that a workflow's author sees depend on it.

mod parser;
mod replay;
mod scalar;

use std::sync::Arc;

pub(super) use scalar::Literal;

use super::Position;
use parser::Source;
use replay::Replay;

/// Characters that a file may have.
const MAX_CHARS: usize = 1_048_576;
/// Events that a file may have once its aliases are expanded; this is what stops a YAML bomb.
const MAX_NODES: usize = 50_000;

/// One event of a document.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// A scalar.
    Scalar(Scalar),
    /// A sequence begins.
    SequenceStart(Position),
    /// A sequence ends.
    SequenceEnd,
    /// A mapping begins; keys and values follow in turn.
    MappingStart(Position),
    /// A mapping ends.
    MappingEnd,
    /// The document ends.
    End,
}

/// A scalar with its place: that of its tag or anchor if it has one.
#[derive(Debug, Clone)]
pub(super) struct Scalar {
    /// Where it stands.
    pub position: Position,
    /// The text as it reads without quotes.
    pub text: Arc<str>,
    style: Option<&'static str>,
    tag: Option<Arc<str>>,
}

impl Scalar {
    /// Finds what the scalar is.
    pub(super) fn literal(&self) -> Result<Literal, Error> {
        scalar::resolve(&self.text, self.style, self.tag.as_deref(), self.position)
    }
}

/// Why a file cannot be read any further. `Display` is the text that the author reads, after `FILE: `.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The file is too large to be looked at.
    #[error("The maximum file size of {MAX_CHARS} characters has been exceeded")]
    TooLarge,
    /// There is no document: the file is empty or holds only comments.
    #[error("Expected document start parse event")]
    NoDocument,
    /// There is a second document.
    #[error("Expected stream end parse event")]
    SecondDocument,
    /// An alias names an anchor that is not defined before it.
    #[error("Unknown anchor '{0}'")]
    UnknownAnchor(String),
    /// A tag that has no meaning here.
    #[error("Unexpected tag '{0}'")]
    UnexpectedTag(String),
    /// A scalar whose text is not of the type that its tag or its form names.
    #[error(
        "The value '{value}' on line {line} and column {column} is invalid for the type '{tag}'",
        line = position.line,
        column = position.column
    )]
    InvalidValue {
        /// The scalar's text.
        value: String,
        /// Where it stands.
        position: Position,
        /// The type's tag.
        tag: String,
    },
    /// A quoted or block scalar with a tag other than `!!str`.
    #[error(
        "The scalar style '{style}' on line {line} and column {column} is not valid with the tag '{tag}'",
        line = position.line,
        column = position.column
    )]
    TaggedStyle {
        /// The style's name.
        style: &'static str,
        /// Where it stands.
        position: Position,
        /// The tag.
        tag: String,
    },
    /// The aliases expand to too much.
    #[error("Maximum YAML nodes exceeded")]
    TooManyNodes,
    /// The text is not YAML.
    #[error("{message}, line {line}, column {column}", line = position.line, column = position.column)]
    Syntax {
        /// What is wrong.
        message: String,
        /// Where.
        position: Position,
    },
}

impl Error {
    /// The place that the text names.
    pub(super) fn position(&self) -> Option<Position> {
        match self {
            Self::InvalidValue { position, .. }
            | Self::TaggedStyle { position, .. }
            | Self::Syntax { position, .. } => Some(*position),
            _ => None,
        }
    }
}

/// The events of the one document of a file.
///
/// The stream is always one event ahead of the reader, as GitHub's is: a syntax error right after a scalar hides
/// what the reader would have said about that scalar.
pub(super) struct Events<'t> {
    source: Source<'t>,
    replay: Replay,
    current: Event,
    nodes: usize,
}

impl<'t> Events<'t> {
    /// Opens a file's text and finds its document.
    pub(super) fn open(text: &'t str) -> Result<Self, Error> {
        // A text of at most so many bytes cannot have more characters; counting them is left to the rest.
        if text.len() > MAX_CHARS && text.chars().nth(MAX_CHARS).is_some() {
            return Err(Error::TooLarge);
        }
        let source = Source::open(text)?;
        // GitHub counts the starts of the stream and of the document.
        let mut events = Self {
            source,
            replay: Replay::default(),
            current: Event::End,
            nodes: 2,
        };
        events.advance()?;
        Ok(events)
    }

    /// Where reading has arrived.
    pub(super) fn reached(&self) -> Position {
        match &self.current {
            Event::Scalar(scalar) => scalar.position,
            Event::SequenceStart(position) | Event::MappingStart(position) => *position,
            Event::SequenceEnd | Event::MappingEnd | Event::End => self.source.reached(),
        }
    }

    /// Looks at the current event.
    pub(super) fn peek(&self) -> &Event {
        &self.current
    }

    /// Takes the current event and moves to the next.
    pub(super) fn take(&mut self) -> Result<Event, Error> {
        let taken = std::mem::replace(&mut self.current, Event::End);
        self.advance()?;
        Ok(taken)
    }

    /// Checks that nothing follows the document.
    pub(super) fn close(&mut self) -> Result<(), Error> {
        self.source.close()
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.current = if let Some(event) = self.replay.next() {
            event
        } else {
            let parsed = self.source.next()?;
            self.replay.record(parsed)?
        };
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(Error::TooManyNodes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
