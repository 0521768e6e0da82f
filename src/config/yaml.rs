//! The configuration file as a tree in which every node knows its place; the only file here that knows the parser.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

/// Bytes that a file may have.
const MAX_BYTES: usize = 1024 * 1024;
/// Nodes that a file may have once its aliases are expanded.
const MAX_NODES: usize = 20_000;
/// How deep nodes may lie in each other.
const MAX_DEPTH: usize = 50;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file, by line and column from 1.
    File {
        /// The line.
        line: usize,
        /// The column, in characters.
        column: usize,
    },
    /// An environment variable, by its name.
    Variable(String),
    /// A flag, as it was written.
    Flag(String),
    /// Nobody said anything.
    Default,
}

/// A value of the file with its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it stands.
    pub place: Place,
    /// Its bytes in the text; empty for a value that is not written.
    pub span: Range<usize>,
    /// Whether it is more than what its bytes say: it has an anchor or a tag, or is an alias.
    pub is_special: bool,
    /// What it is.
    pub content: Content,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Content {
    /// A text, and whether it stands without quotes.
    Scalar(String, bool),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key.
    pub key: Node,
    /// The value.
    pub value: Node,
}

/// Why a text is no configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Where reading stopped.
    pub place: Place,
    /// Why.
    pub message: String,
}

impl Node {
    /// A value that no file holds.
    pub fn given(place: Place, content: Content) -> Self {
        Self {
            place,
            span: 0..0,
            is_special: false,
            content,
        }
    }

    /// An empty mapping.
    pub fn empty() -> Self {
        Self::given(Place::Default, Content::Map(Vec::new()))
    }

    /// Tells whether the value is as good as not there.
    pub fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(text, true) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The text of a scalar; none for a list, a mapping, or nothing.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(text, _) if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar that stands without quotes.
    pub fn plain(&self) -> Option<&str> {
        self.text()
            .filter(|_| matches!(self.content, Content::Scalar(_, true)))
    }

    /// The entries of a mapping; none for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let found = self.entries().iter().find(|entry| entry.key.text() == Some(name));
        found.map(|entry| &entry.value)
    }

    /// The value at a path.
    pub fn at<'p>(&self, path: impl IntoIterator<Item = &'p str>) -> Option<&Self> {
        path.into_iter().try_fold(self, Self::get)
    }
}

/// Reads a text; an empty one is an empty mapping.
///
/// # Errors
/// The text is not YAML, is too large, or has a second document.
pub fn read(text: &str) -> Result<Node, Broken> {
    if text.len() > MAX_BYTES {
        return Err(Broken {
            place: Place::File { line: 1, column: 1 },
            message: format!("the file is larger than {MAX_BYTES} bytes"),
        });
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    Builder::new(text, body).document()
}

/// Builds the tree from the parser's events.
struct Builder<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// The byte of each character of the text, and the end.
    bytes: Vec<usize>,
    text: &'t str,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str, body: &'t str) -> Self {
        let skipped = text.len() - body.len();
        let starts = body.char_indices().map(|(byte, _)| byte + skipped);
        Self {
            parser: Parser::new_from_str(body),
            bytes: starts.chain([text.len()]).collect(),
            text,
            anchors: HashMap::new(),
            nodes: 0,
        }
    }

    fn document(mut self) -> Result<Node, Broken> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root.unwrap_or_else(Node::empty)),
                Event::DocumentStart(_) if root.is_some() => {
                    return Err(broken(span.start, "the file has a second document"));
                }
                Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
                event => root = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), Broken> {
        match self.parser.next_event() {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(broken(*error.marker(), error.info())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, Broken> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH {
            return Err(broken(span.start, "the file has too many values in it"));
        }
        let start = self.byte(span.start);
        let (content, end, anchor, tagged) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                let content = Content::Scalar(text.into_owned(), matches!(style, ScalarStyle::Plain));
                let end = self
                    .quoted_end(start, style)
                    .unwrap_or_else(|| self.byte(span.end));
                (content, end, anchor, tag.is_some())
            }
            Event::SequenceStart(anchor, tag) => {
                let (items, end) = self.items(depth)?;
                (Content::List(items), end, anchor, tag.is_some())
            }
            Event::MappingStart(anchor, tag) => {
                let (entries, end) = self.entries(depth)?;
                (Content::Map(entries), end, anchor, tag.is_some())
            }
            _ => return Err(broken(span.start, "expected a value")),
        };
        let node = Node {
            place: place(span.start),
            span: start..self.end_of(&content, start, end),
            is_special: anchor > 0 || tagged,
            content,
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize) -> Result<(Vec<Node>, usize), Broken> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => return Ok((items, self.byte(span.start) + 1)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn entries(&mut self, depth: usize) -> Result<(Vec<Entry>, usize), Broken> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                merge(&mut entries, &merged);
                return Ok((entries, self.byte(span.start) + 1));
            }
            let key = self.node(event, span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if key.plain() == Some("<<") {
                merged.push(value);
                continue;
            }
            if let Some(name) = key.text()
                && let Some(Place::File { line, .. }) = first(&entries, name)
            {
                let message = format!("the key '{name}' is there twice; it is on line {line} already");
                return Err(Broken {
                    place: key.place,
                    message,
                });
            }
            entries.push(Entry { key, value });
        }
    }

    /// An alias stands for a copy, which counts as many nodes as it has.
    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Broken> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(broken(span.start, "the alias stands for nothing"));
        };
        self.nodes += count(node);
        if self.nodes > MAX_NODES {
            return Err(broken(span.start, "the file has too many values in it"));
        }
        Ok(Node {
            place: place(span.start),
            span: self.byte(span.start)..self.byte(span.end),
            is_special: true,
            content: node.content.clone(),
        })
    }

    fn byte(&self, marker: Marker) -> usize {
        self.bytes.get(marker.index()).copied().unwrap_or(self.text.len())
    }

    /// The parser ends a text in quotes behind the comment that follows it; we end it with its quote.
    fn quoted_end(&self, start: usize, style: ScalarStyle) -> Option<usize> {
        let rest = self.text.get(start..)?;
        let mut bytes = rest.bytes().enumerate().skip(1);
        match style {
            ScalarStyle::DoubleQuoted => loop {
                match bytes.next()? {
                    (_, b'\\') => bytes.next().map(|_| ())?,
                    (at, b'"') => return Some(start + at + 1),
                    _ => {}
                }
            },
            ScalarStyle::SingleQuoted => loop {
                let (at, byte) = bytes.next()?;
                if byte != b'\'' {
                    continue;
                }
                if rest.as_bytes().get(at + 1) != Some(&b'\'') {
                    return Some(start + at + 1);
                }
                bytes.next()?;
            },
            _ => None,
        }
    }

    /// The parser ends a collection in block style where the next thing begins; we end it with its last value.
    fn end_of(&self, content: &Content, start: usize, end: usize) -> usize {
        let last = match content {
            Content::Scalar(..) => None,
            Content::List(items) => items.last().map(|item| item.span.end),
            Content::Map(entries) => entries
                .last()
                .map(|entry| entry.value.span.end.max(entry.key.span.end)),
        };
        let is_flow = self
            .text
            .get(start..)
            .is_some_and(|rest| rest.starts_with(['{', '[']));
        last.filter(|_| !is_flow).unwrap_or(end).max(start)
    }
}

fn count(node: &Node) -> usize {
    match &node.content {
        Content::Scalar(..) => 1,
        Content::List(items) => 1 + items.iter().map(count).sum::<usize>(),
        Content::Map(entries) => 1 + entries.iter().map(|entry| 1 + count(&entry.value)).sum::<usize>(),
    }
}

fn first<'n>(entries: &'n [Entry], name: &str) -> Option<&'n Place> {
    let found = entries.iter().find(|entry| entry.key.text() == Some(name));
    found.map(|entry| &entry.key.place)
}

/// `<<` adds the entries of other mappings; what stands in the mapping itself wins.
fn merge(entries: &mut Vec<Entry>, merged: &[Node]) {
    for node in merged {
        let nodes = match &node.content {
            Content::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for entry in nodes.iter().flat_map(Node::entries) {
            let is_new = entry
                .key
                .text()
                .is_some_and(|name| first(entries, name).is_none());
            if is_new {
                let mut entry = entry.clone();
                entry.value.is_special = true;
                entries.push(entry);
            }
        }
    }
}

fn place(marker: Marker) -> Place {
    Place::File {
        line: marker.line(),
        column: marker.col() + 1,
    }
}

fn broken(marker: Marker, message: &str) -> Broken {
    Broken {
        place: place(marker),
        message: message.to_owned(),
    }
}
