//! Where in a text a value stands or would stand, and the text with another one there.

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::super::scalar::{inline, text_in};
use super::super::yaml::{Content, Entry, Node};
use super::{Error, read, stuck};

/// Puts a value at a path: over the one that is there, else as a new line in the section.
///
/// # Errors
/// The file is not YAML, or is written in a way in which the value cannot be put there.
pub fn put(text: &str, path: &[String], value: &Json) -> Result<String, Error> {
    let root = read(text)?;
    let spot = descend(text, &root, path).ok_or_else(|| stuck(path))?;
    match spot {
        Spot::Written(range) => Ok(replaced(text, range, &inline(value))),
        Spot::Unwritten(at, name_count) => {
            let value = nested(path.get(name_count..).unwrap_or_default(), value);
            Ok(replaced(text, at..at, &format!(" {}", inline(&value))))
        }
        Spot::InFlow(at, needs_comma, name_count) => {
            let names = path.get(name_count..).unwrap_or_default();
            let pair = nested(names, value);
            let pair = inline(&pair);
            let pair = pair.trim_start_matches('{').strip_suffix('}').unwrap_or(&pair);
            Ok(replaced(
                text,
                at..at,
                &format!("{}{pair}", if needs_comma { ", " } else { "" }),
            ))
        }
        Spot::Line(line, name_count) => {
            let names = path.get(name_count..).unwrap_or_default();
            let lines = lines(names, value, &line.indent, eol(text));
            let gap = if line.is_top && names.len() > 1 {
                eol(text)
            } else {
                ""
            };
            Ok(insert_lines(text, line.at, &format!("{gap}{lines}")))
        }
    }
}

/// Where a value stands or would stand; the numbers say how many names of the path are there already.
enum Spot {
    /// It stands in these bytes.
    Written(Range<usize>),
    /// Its key is there without a value, whose place is here.
    Unwritten(usize, usize),
    /// It becomes a pair within braces, with a comma in front or not.
    InFlow(usize, bool, usize),
    /// It becomes lines.
    Line(Line, usize),
}

/// Where lines are put.
struct Line {
    at: usize,
    indent: String,
    /// Whether they go below a section at the top of the file.
    is_top: bool,
}

fn descend(text: &str, root: &Node, path: &[String]) -> Option<Spot> {
    let mut map = root;
    for (depth, name) in path.iter().enumerate() {
        if map.is_special {
            return None;
        }
        let is_flow = starts_with(text, map, '{');
        let entry = map.entries().iter().find(|entry| entry.key.text() == Some(name));
        let Some(entry) = entry else {
            return if is_flow {
                in_flow(text, map, depth)
            } else {
                new_line(text, map, depth)
            };
        };
        let is_last = depth + 1 == path.len();
        let is_map = matches!(entry.value.content, Content::Map(_));
        if entry.value.is_special || entry.key.is_special {
            return None;
        }
        if is_last || entry.value.is_null() {
            return at_value(text, entry, is_last, is_flow, depth + 1);
        }
        if !is_map {
            return None;
        }
        map = &entry.value;
    }
    None
}

/// The place of an entry's value.
fn at_value(text: &str, entry: &Entry, is_last: bool, is_flow: bool, depth: usize) -> Option<Spot> {
    let colon = colon_after(text, entry)?;
    let is_written = !entry.value.span.is_empty();
    if is_written && is_last {
        let is_block = !matches!(entry.value.content, Content::Scalar(..))
            && !starts_with(text, &entry.value, '[')
            && !starts_with(text, &entry.value, '{');
        return (!is_block).then(|| Spot::Written(written(text, entry, colon)));
    }
    if is_written {
        // `null` in so many words, where a section is needed.
        return None;
    }
    if is_last || is_flow {
        return Some(Spot::Unwritten(colon, depth));
    }
    let indent = indent_of(text, entry.key.span.start)?;
    Some(Spot::Line(
        Line {
            at: line_end(text, colon),
            indent: format!("{indent}  "),
            is_top: false,
        },
        depth,
    ))
}

/// The bytes of a value that is written, with the header of a block scalar.
fn written(text: &str, entry: &Entry, colon: usize) -> Range<usize> {
    let span = entry.value.span.clone();
    let rest = text.get(colon..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let start = if rest.trim_start_matches([' ', '\t']).starts_with(['|', '>']) {
        colon + blanks
    } else {
        span.start
    };
    let body = text.get(start..span.end).unwrap_or_default();
    start..start + body.trim_end().len()
}

/// The byte behind the colon of an entry.
pub fn colon_after(text: &str, entry: &Entry) -> Option<usize> {
    let rest = text.get(entry.key.span.end..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let colon = entry.key.span.end + blanks;
    text.get(colon..)?.starts_with(':').then_some(colon + 1)
}

fn in_flow(text: &str, map: &Node, depth: usize) -> Option<Spot> {
    let end = map.span.end.checked_sub(1)?;
    let last = map.entries().last();
    let at = last.map_or(end, |entry| {
        entry
            .value
            .span
            .end
            .max(colon_after(text, entry).unwrap_or_default())
    });
    text.get(end..)?
        .starts_with('}')
        .then_some(Spot::InFlow(at, last.is_some(), depth))
}

/// A line below the last one of a mapping, as far to the right as its first one.
fn new_line(text: &str, map: &Node, depth: usize) -> Option<Spot> {
    let is_top = depth == 0;
    let (Some(first), Some(last)) = (map.entries().first(), map.entries().last()) else {
        let at = text.len();
        return Some(Spot::Line(
            Line {
                at,
                indent: String::new(),
                is_top: false,
            },
            depth,
        ))
        .filter(|_| is_top);
    };
    let end = last.value.span.end.max(colon_after(text, last)?);
    let end = text.get(..end)?.trim_end().len();
    Some(Spot::Line(
        Line {
            at: line_end(text, end),
            indent: indent_of(text, first.key.span.start)?,
            is_top,
        },
        depth,
    ))
}

/// The blanks in front of a place, if nothing else is in front of it on its line.
pub fn indent_of(text: &str, at: usize) -> Option<String> {
    let start = line_start(text, at);
    let indent = text.get(start..at)?.trim_start_matches('\u{feff}');
    indent.chars().all(|c| c == ' ').then(|| indent.to_owned())
}

/// The byte at which the line of a place begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text.get(..at)
        .and_then(|head| head.rfind('\n'))
        .map_or(0, |end| end + 1)
}

/// The byte behind the line of a place, with its end.
pub fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |end| at + end + 1)
}

fn starts_with(text: &str, node: &Node, c: char) -> bool {
    text.get(node.span.start..node.span.end)
        .is_some_and(|rest| rest.starts_with(c))
}

/// How the file ends its lines.
pub fn eol(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A text with other bytes in a range.
pub fn replaced(text: &str, range: Range<usize>, with: &str) -> String {
    let head = text.get(..range.start).unwrap_or_default();
    let tail = text.get(range.end..).unwrap_or_default();
    format!("{head}{with}{tail}")
}

/// A text with more lines at the end of a line.
pub fn insert_lines(text: &str, at: usize, lines: &str) -> String {
    let head = text.get(..at).unwrap_or_default();
    let is_open = !head.is_empty() && !head.ends_with('\n') && head != "\u{feff}";
    if is_open {
        // The last line of the file has no end; what is put there gives it one and has none itself.
        let lines = lines.strip_suffix('\n').unwrap_or(lines);
        let lines = lines.strip_suffix('\r').unwrap_or(lines);
        return replaced(text, at..at, &format!("{}{lines}", eol(text)));
    }
    replaced(text, at..at, lines)
}

/// A value below names that are not there yet.
fn nested(names: &[String], value: &Json) -> Json {
    names.iter().rev().fold(value.clone(), |value, name| {
        let mut map = Map::new();
        map.insert(name.clone(), value);
        Json::Object(map)
    })
}

/// The lines of a value below names that are not there yet.
fn lines(names: &[String], value: &Json, indent: &str, eol: &str) -> String {
    let mut out = String::new();
    let mut indent = indent.to_owned();
    for (index, name) in names.iter().enumerate() {
        let name = text_in(name, true);
        let is_last = index + 1 == names.len();
        match value {
            Json::Array(items) if is_last && !items.is_empty() => {
                out += &[&indent, &name, ":", eol].concat();
                for item in items {
                    out += &[&indent, "  - ", &inline(item), eol].concat();
                }
            }
            _ if is_last => out += &[&indent, &name, ": ", &inline(value), eol].concat(),
            _ => out += &[&indent, &name, ":", eol].concat(),
        }
        indent.push_str("  ");
    }
    out
}
