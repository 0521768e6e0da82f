//! What was given for the configuration: a file, environment variables, flags; later ones win.

use super::shape::{Entry, Key, Shape, below};
use super::value::Kind;
use super::yaml::{self, Broken, Content, Node, Place};
use super::{names, root};

/// All that was given.
#[derive(Debug)]
pub struct Layers {
    /// The file.
    pub file: Node,
    /// The environment variables, as the file would say it.
    pub variables: Node,
    /// The flags, as the file would say it.
    pub flags: Node,
}

impl Default for Layers {
    fn default() -> Self {
        Self {
            file: Node::empty(),
            variables: Node::empty(),
            flags: Node::empty(),
        }
    }
}

impl Layers {
    /// The value that counts for a path; nothing if it is at its default.
    pub fn find(&self, path: &[String]) -> Option<&Node> {
        self.all(path).find(|node| !node.is_null())
    }

    /// What each layer says of a path, the strongest first.
    pub fn all(&self, path: &[String]) -> impl Iterator<Item = &Node> {
        let layers = [&self.flags, &self.variables, &self.file];
        let path: Vec<String> = path.to_vec();
        layers
            .into_iter()
            .filter_map(move |layer| layer.at(path.iter().map(String::as_str)))
    }

    /// The names that a mapping has in any layer, in the order of the file.
    pub fn names(&self, path: &[String]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for layer in [&self.file, &self.variables, &self.flags] {
            let entries = layer
                .at(path.iter().map(String::as_str))
                .map_or(&[][..], Node::entries);
            for name in entries.iter().filter_map(|entry| entry.key.text()) {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        names
    }
}

/// Puts a value at a path.
pub fn insert(root: &mut Node, path: &[String], value: Node) {
    let Some((name, rest)) = path.split_first() else {
        *root = value;
        return;
    };
    let Content::Map(entries) = &mut root.content else {
        return;
    };
    let at = entries
        .iter()
        .position(|entry| entry.key.text() == Some(name))
        .unwrap_or_else(|| {
            entries.push(yaml::Entry {
                key: Node::given(value.place.clone(), Content::Scalar(name.clone(), false)),
                value: Node {
                    place: value.place.clone(),
                    ..Node::empty()
                },
            });
            entries.len() - 1
        });
    if let Some(entry) = entries.get_mut(at) {
        insert(&mut entry.value, rest, value);
    }
}

/// A value that was given as one text, for a key of this kind.
///
/// Lists and maps may be written in YAML's flow style, or as `a,b` and `A=1,B=2`.
///
/// # Errors
/// The text begins like YAML and is none.
pub fn given(text: &str, key: &Key, place: &Place) -> Result<Node, Broken> {
    let scalar =
        |text: &str, is_plain| Node::given(place.clone(), Content::Scalar(text.to_owned(), is_plain));
    let trimmed = text.trim();
    let content = match key.kind {
        Kind::Object | Kind::Objects => return flow(text, place),
        Kind::List | Kind::Map | Kind::SecretMap if trimmed.starts_with(['[', '{']) => {
            return flow(text, place);
        }
        Kind::List => Content::List(parts(text).map(|part| scalar(part, false)).collect()),
        Kind::Map | Kind::SecretMap => Content::Map(
            parts(text)
                .map(|part| {
                    let (name, value) = part.split_once('=').unwrap_or((part, ""));
                    yaml::Entry {
                        key: scalar(name.trim(), false),
                        value: scalar(value.trim(), false),
                    }
                })
                .collect(),
        ),
        kind => return Ok(self::scalar(text, kind, place)),
    };
    Ok(Node::given(place.clone(), content))
}

/// A value that was given as one text, for a kind that is no collection.
pub fn scalar(text: &str, kind: Kind, place: &Place) -> Node {
    let is_text = matches!(kind, Kind::Text | Kind::Secret);
    let text = if is_text { text } else { text.trim() };
    Node::given(place.clone(), Content::Scalar(text.to_owned(), !is_text))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn flow(text: &str, place: &Place) -> Result<Node, Broken> {
    let mut node = yaml::read(text).map_err(|broken| Broken {
        place: place.clone(),
        ..broken
    })?;
    relocate(&mut node, place);
    Ok(node)
}

/// A value from outside of the file has one place, that of the whole.
fn relocate(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.content {
        Content::Scalar(..) => {}
        Content::List(items) => items.iter_mut().for_each(|item| relocate(item, place)),
        Content::Map(entries) => entries.iter_mut().for_each(|entry| {
            relocate(&mut entry.key, place);
            relocate(&mut entry.value, place);
        }),
    }
}

/// The key that a variable is for: its path, and its row in the table.
///
/// In a section whose names are the user's own, the name is what stands between the section and the key; `known` are
/// the names that the file has.
pub fn variable(name: &str, known: &dyn Fn(&[String]) -> Vec<String>) -> Option<(Vec<String>, Key)> {
    let rest = name.strip_prefix(names::PREFIX)?;
    named_by(rest, root(), &[], known)
}

fn named_by(
    rest: &str,
    entries: &'static [Entry],
    path: &[String],
    known: &dyn Fn(&[String]) -> Vec<String>,
) -> Option<(Vec<String>, Key)> {
    entries.iter().find_map(|entry| {
        let rest = rest.strip_prefix(&names::upper(entry.name))?;
        let path = below(path, entry.name);
        match entry.shape {
            Shape::Key(key) => rest.is_empty().then_some((path, key)),
            Shape::Section(entries) => named_by(rest.strip_prefix('_')?, entries, &path, known),
            Shape::Named(entries) => {
                let rest = rest.strip_prefix('_')?;
                (1..rest.len()).find_map(|end| {
                    let (own, rest) = (rest.get(..end)?, rest.get(end..)?.strip_prefix('_')?);
                    let same = |name: &String| names::upper(name) == own;
                    let name = known(&path).into_iter().find(same);
                    let name = name.unwrap_or_else(|| own.to_ascii_lowercase());
                    named_by(rest, entries, &below(&path, &name), known)
                })
            }
        }
    })
}
