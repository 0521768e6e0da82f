//! The only file that knows `saphyr-parser`: its events with our places, its errors with our texts.

use std::borrow::Cow;
use std::sync::Arc;

use saphyr_parser::{Event as Raw, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::{Error, Event, Scalar};
use crate::model::Position;

/// What the parser found.
pub(super) enum Parsed {
    /// An event, with the number of its anchor if it has one.
    Event(Event, Option<usize>),
    /// An alias: the number and the name of its anchor.
    Alias(usize, String),
}

/// A text that is being parsed.
pub(super) struct Source<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    cursor: Cursor,
    reached: Position,
}

/// A character's number and its byte, so that places that are asked for in order cost one pass over the text.
#[derive(Default)]
struct Cursor {
    index: usize,
    byte: usize,
}

impl<'t> Source<'t> {
    /// Reads up to the start of the first document.
    pub(super) fn open(text: &'t str) -> Result<Self, Error> {
        check_characters(text)?;
        let mut source = Self {
            text,
            parser: Parser::new_from_str(text),
            cursor: Cursor::default(),
            reached: Position { line: 1, column: 1 },
        };
        loop {
            match source.raw()?.0 {
                Raw::StreamStart | Raw::Nothing => {}
                Raw::DocumentStart(_) => return Ok(source),
                _ => return Err(Error::NoDocument),
            }
        }
    }

    /// The next event of the document.
    pub(super) fn next(&mut self) -> Result<Parsed, Error> {
        loop {
            let (raw, span) = self.raw()?;
            let start = position(span.start);
            return Ok(match raw {
                Raw::Nothing => continue,
                Raw::Alias(anchor) => Parsed::Alias(anchor, self.name_at(span.start)),
                Raw::Scalar(text, style, anchor, tag) => {
                    Parsed::Event(self.scalar(text, style, anchor, tag, span), anchored(anchor))
                }
                Raw::SequenceStart(anchor, _) => Parsed::Event(Event::SequenceStart(start), anchored(anchor)),
                Raw::MappingStart(anchor, _) => Parsed::Event(Event::MappingStart(start), anchored(anchor)),
                Raw::SequenceEnd => Parsed::Event(Event::SequenceEnd, None),
                Raw::MappingEnd => Parsed::Event(Event::MappingEnd, None),
                Raw::StreamStart | Raw::StreamEnd | Raw::DocumentStart(_) | Raw::DocumentEnd => {
                    Parsed::Event(Event::End, None)
                }
            });
        }
    }

    /// Checks that the stream ends after the document whose end was the last event.
    pub(super) fn close(&mut self) -> Result<(), Error> {
        match self.raw()?.0 {
            Raw::StreamEnd => Ok(()),
            _ => Err(Error::SecondDocument),
        }
    }

    /// Where the last event, or what stands in its place, was found.
    pub(super) fn reached(&self) -> Position {
        self.reached
    }

    fn raw(&mut self) -> Result<(Raw<'t>, Span), Error> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.reached = position(span.start);
                Ok((event, span))
            }
            Some(Err(error)) => {
                self.reached = position(*error.marker());
                Err(self.syntax(&error))
            }
            None => Ok((Raw::StreamEnd, Span::default())),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<Cow<'t, Tag>>,
        span: Span,
    ) -> Event {
        let style = match style {
            ScalarStyle::Plain => None,
            ScalarStyle::SingleQuoted => Some("SingleQuoted"),
            ScalarStyle::DoubleQuoted => Some("DoubleQuoted"),
            ScalarStyle::Literal => Some("Literal"),
            ScalarStyle::Folded => Some("Folded"),
        };
        let is_bare = anchor == 0 && tag.is_none();
        let position = match style {
            None if is_bare && text.is_empty() => self.absent(span.start),
            Some("Literal" | "Folded") if is_bare => self.header(span.start),
            _ => position(span.start),
        };
        Event::Scalar(Scalar {
            position,
            text: text.into(),
            style,
            tag: tag.map(|tag| Arc::from(format!("{}{}", tag.handle, tag.suffix))),
        })
    }

    /// Where a value that is not written would stand: right after its indicator. The parser reports a colon itself,
    /// for a dash the end of the blanks after it, and the token that follows if there is no indicator.
    fn absent(&mut self, marker: Marker) -> Position {
        let at = position(marker);
        let rest = self.rest_at(marker);
        if rest.starts_with(':') {
            return Position {
                column: at.column.saturating_add(1),
                ..at
            };
        }
        let head = self.text.get(..self.text.len() - rest.len()).unwrap_or_default();
        let dash = head.trim_end_matches([' ', '\t']);
        if dash.ends_with('-') {
            return Position {
                column: at.column.saturating_sub(count(head.len() - dash.len())),
                ..at
            };
        }
        at
    }

    /// Where the indicator of a block scalar stands; the parser reports the start of its content.
    fn header(&mut self, marker: Marker) -> Position {
        let at = position(marker);
        let start = self.text.len() - self.rest_at(marker).len();
        let lines = self.text.get(..start).unwrap_or_default().rsplit('\n');
        for (line, back) in lines.zip(0..) {
            if line.trim().is_empty() {
                continue;
            }
            if let Some(column) = indicator(line) {
                return Position {
                    line: at.line.saturating_sub(back),
                    column,
                };
            }
            break;
        }
        at
    }

    /// The name of the alias at `marker`.
    fn name_at(&mut self, marker: Marker) -> String {
        let rest = self.rest_at(marker).trim_start_matches('*');
        let end = rest
            .find(|c: char| c.is_whitespace() || ",[]{}".contains(c))
            .unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default().to_owned()
    }

    /// The text from `marker` on; markers count characters.
    fn rest_at(&mut self, marker: Marker) -> &'t str {
        if marker.index() < self.cursor.index {
            self.cursor = Cursor::default();
        }
        let rest = self.text.get(self.cursor.byte..).unwrap_or_default();
        let ahead = marker.index() - self.cursor.index;
        let bytes = rest
            .char_indices()
            .nth(ahead)
            .map_or(rest.len(), |(byte, _)| byte);
        self.cursor = Cursor {
            index: marker.index(),
            byte: self.cursor.byte + bytes,
        };
        rest.get(bytes..).unwrap_or_default()
    }

    fn syntax(&mut self, error: &ScanError) -> Error {
        if error.info().ends_with("found unknown anchor") {
            return Error::UnknownAnchor(self.name_at(*error.marker()));
        }
        Error::Syntax {
            message: error.info().to_owned(),
            position: position(*error.marker()),
        }
    }
}

/// The column of the indicator of the block scalar whose content follows `line`: `|` or `>`, with its options, and
/// nothing after it but a comment.
fn indicator(line: &str) -> Option<u32> {
    let is_header = |at: usize| {
        let (before, rest) = line.split_at(at);
        let rest = rest.trim_start_matches(['|', '>']).trim_start_matches(['+', '-']);
        let rest = rest
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .trim_start_matches(['+', '-']);
        let starts_word = before.is_empty() || before.ends_with([' ', '\t']);
        starts_word
            && (rest.trim_start().is_empty()
                || (rest.starts_with([' ', '\t']) && rest.trim_start().starts_with('#')))
    };
    let at = line
        .match_indices(['|', '>'])
        .map(|(at, _)| at)
        .find(|at| is_header(*at))?;
    line.get(..at).map(|before| count(before.chars().count() + 1))
}

/// Refuses what no YAML file may contain, before the parser sees it.
fn check_characters(text: &str) -> Result<(), Error> {
    let legal = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let Some((at, found)) = text.char_indices().find(|(_, c)| !legal(*c)) else {
        return Ok(());
    };
    let head = text.get(..at).unwrap_or_default();
    let line = head.rsplit('\n').next().unwrap_or_default();
    Err(Error::Syntax {
        message: format!(
            "found the character U+{:04X}, which is not allowed in YAML",
            u32::from(found)
        ),
        position: Position {
            line: count(head.matches('\n').count() + 1),
            column: count(line.chars().count() + 1),
        },
    })
}

fn anchored(anchor: usize) -> Option<usize> {
    (anchor > 0).then_some(anchor)
}

fn position(marker: Marker) -> Position {
    Position {
        line: count(marker.line()),
        column: count(marker.col() + 1),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
