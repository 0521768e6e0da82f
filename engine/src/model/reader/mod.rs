//! Reads a file's events against the schema: a tree that is checked but not evaluated, and every mistake found.

mod keys;
mod place;
mod template;

pub(super) use keys::{KeyCheck, Verdict, fold};
pub(super) use place::{Place, checked_scalar};

use super::diagnostic::Diagnostics;
use super::schema::Definition;
use super::yaml::{Error, Event, Events, Literal, Scalar};
use super::{Node, NodeKind, Position};

/// How deep sequences and mappings may nest.
const MAX_DEPTH: usize = 50;
/// Where a file begins.
const START: Position = Position { line: 1, column: 1 };
/// Bytes of text that a file's values may hold once its aliases are expanded, counted as GitHub counts.
const MAX_SIZE: usize = 10 * 1024 * 1024;

/// Why reading ended early. `Display` is the text that the author reads, after `FILE: `.
#[derive(Debug, thiserror::Error)]
enum Abort {
    #[error(transparent)]
    Yaml(#[from] Error),
    #[error("Maximum object depth exceeded")]
    Depth,
    #[error("Maximum object size exceeded")]
    Size,
    /// No further mistake would be kept, this one neither.
    #[error("Too many errors")]
    Enough,
    #[error("Expected mapping end")]
    KeyIsNoScalar,
    #[error("Expected a scalar value, a sequence, or a mapping")]
    NoValue,
}

/// Reads `text` by `definition` and records what is wrong with it in `errors`.
///
/// The tree is of use only if no mistake was recorded; it is absent if reading ended early.
pub(super) fn read(text: &str, definition: &'static Definition, errors: &mut Diagnostics) -> Option<Node> {
    let events = match Events::open(text) {
        Ok(events) => events,
        Err(error) => {
            errors.abort_at(error.position().unwrap_or(START), error.to_string());
            return None;
        }
    };
    let mut reader = Reader {
        events,
        errors,
        depth: 0,
        size: 0,
    };
    match reader.document(definition) {
        Ok(node) => Some(node),
        Err(abort) => {
            let place = abort.position().unwrap_or_else(|| reader.events.reached());
            reader.errors.abort_at(place, abort.to_string());
            None
        }
    }
}

struct Reader<'t, 'e> {
    events: Events<'t>,
    errors: &'e mut Diagnostics,
    depth: usize,
    size: usize,
}

impl Abort {
    /// The place that the text names.
    fn position(&self) -> Option<Position> {
        match self {
            Self::Yaml(error) => error.position(),
            _ => None,
        }
    }
}

impl Reader<'_, '_> {
    fn document(&mut self, definition: &'static Definition) -> Result<Node, Abort> {
        let node = self.value(Place::root(definition))?;
        self.events.close()?;
        Ok(node)
    }

    /// Reads the value that comes next. Recursion is bounded by [`MAX_DEPTH`].
    fn value(&mut self, place: Place) -> Result<Node, Abort> {
        if self.errors.is_full() {
            return Err(Abort::Enough);
        }
        match self.events.peek() {
            Event::Scalar(_) => {
                let (scalar, literal) = self.scalar()?;
                let node = self.parse(&scalar, literal, place);
                let raw = || scalar.text.clone();
                let node = checked_scalar(node, place, raw, self.errors);
                self.grow(&node)?;
                Ok(node)
            }
            &Event::SequenceStart(position) => {
                self.enter()?;
                let items = self.sequence(position, place)?;
                self.depth -= 1;
                Ok(Node {
                    position,
                    kind: NodeKind::Sequence(items),
                })
            }
            &Event::MappingStart(position) => {
                self.enter()?;
                let entries = self.mapping(position, place)?;
                self.depth -= 1;
                Ok(Node {
                    position,
                    kind: NodeKind::Mapping(entries),
                })
            }
            Event::SequenceEnd | Event::MappingEnd | Event::End => Err(Abort::NoValue),
        }
    }

    fn sequence(&mut self, position: Position, place: Place) -> Result<Vec<Node>, Abort> {
        let mut items = Vec::new();
        let Some(item) = place.definition.items() else {
            self.errors.error(position, "A sequence was not expected");
            self.skip_rest()?;
            return Ok(items);
        };
        while !matches!(self.events.peek(), Event::SequenceEnd) {
            items.push(self.value(place.below(item))?);
        }
        self.events.take()?;
        Ok(items)
    }

    fn mapping(&mut self, position: Position, place: Place) -> Result<Vec<(Node, Node)>, Abort> {
        let mut entries = Vec::new();
        let Some(mut keys) = KeyCheck::new(place) else {
            self.errors.error(position, "A mapping was not expected");
            self.skip_rest()?;
            return Ok(entries);
        };
        while matches!(self.events.peek(), Event::Scalar(_)) {
            if let Some(entry) = self.entry(&mut keys, place)? {
                entries.push(entry);
            }
        }
        keys.finish(position, self.errors);
        match self.events.take()? {
            Event::MappingEnd => Ok(entries),
            _ => Err(Abort::KeyIsNoScalar),
        }
    }

    /// Reads one entry of a mapping; nothing if its key is wrong.
    fn entry(&mut self, keys: &mut KeyCheck, place: Place) -> Result<Option<(Node, Node)>, Abort> {
        let (scalar, literal) = self.scalar()?;
        let key = self.parse(&scalar, literal, place);
        match keys.check(key, self.errors) {
            Verdict::Legal(key, value) => {
                self.grow(&key)?;
                Ok(Some((key, self.value(value)?)))
            }
            Verdict::Illegal => {
                self.skip()?;
                Ok(None)
            }
        }
    }

    /// Takes the scalar that comes next. Its tag is looked at first, as GitHub does.
    fn scalar(&mut self) -> Result<(Scalar, Literal), Abort> {
        let literal = match self.events.peek() {
            Event::Scalar(scalar) => scalar.literal()?,
            _ => return Err(Abort::NoValue),
        };
        match self.events.take()? {
            Event::Scalar(scalar) => Ok((scalar, literal)),
            _ => Err(Abort::NoValue),
        }
    }

    /// Turns a scalar into a node: text may hold expressions.
    fn parse(&mut self, scalar: &Scalar, literal: Literal, place: Place) -> Node {
        let kind = match literal {
            Literal::Null => NodeKind::Null,
            Literal::Bool(value) => NodeKind::Bool(value),
            Literal::Number(value) => NodeKind::Number(value),
            Literal::String => template::parse(&scalar.text, place.allowed).unwrap_or_else(|message| {
                self.errors.error(scalar.position, message);
                NodeKind::String(scalar.text.clone())
            }),
        };
        Node {
            position: scalar.position,
            kind,
        }
    }

    /// Passes over the value that comes next.
    fn skip(&mut self) -> Result<(), Abort> {
        match self.events.peek() {
            Event::Scalar(_) => self.scalar().map(drop),
            Event::SequenceStart(_) | Event::MappingStart(_) => {
                self.enter()?;
                self.skip_rest()?;
                self.depth -= 1;
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd | Event::End => Err(Abort::NoValue),
        }
    }

    /// Passes over the rest of the sequence or mapping that was entered.
    fn skip_rest(&mut self) -> Result<(), Abort> {
        while !matches!(self.events.peek(), Event::SequenceEnd | Event::MappingEnd) {
            self.skip()?;
        }
        self.events.take()?;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Abort> {
        if self.depth >= MAX_DEPTH {
            return Err(Abort::Depth);
        }
        self.depth += 1;
        self.events.take()?;
        Ok(())
    }

    fn grow(&mut self, node: &Node) -> Result<(), Abort> {
        self.size += size(node);
        if self.size > MAX_SIZE {
            Err(Abort::Size)
        } else {
            Ok(())
        }
    }
}

/// What GitHub charges for a scalar: an object, and two bytes for each character of its text.
pub(super) fn size(node: &Node) -> usize {
    const OBJECT: usize = 24;
    const TEXT: usize = 26;
    match &node.kind {
        NodeKind::String(text) => OBJECT + TEXT + 2 * text.len(),
        NodeKind::Expression(expression) => OBJECT + TEXT + 2 * expression.source().len(),
        _ => OBJECT,
    }
}
