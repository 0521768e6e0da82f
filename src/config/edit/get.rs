//! What a file says of a key, as a script wants to read it.

use serde_json::Value as Json;

use super::super::shape::Shape;
use super::super::yaml::{Content, Node};
use super::super::{names, root, value};
use super::{Error, read, target, unknown};

/// What the text says of a key or a section: a scalar as it is, a list line by line, a map as `NAME=VALUE` lines, and
/// anything else as YAML; nothing if it does not say anything.
///
/// # Errors
/// There is no such key, or the text is not YAML.
pub fn get(text: &str, key: &str) -> Result<Option<String>, Error> {
    let path = match names::find(root(), key) {
        Some((path, Shape::Key(_) | Shape::Section(_) | Shape::Named(_))) => path,
        None => {
            target::in_map(key)
                .ok_or_else(|| Error::Usage(unknown(key)))?
                .path
        }
    };
    let root = read(text)?;
    let node = root.at(path.iter().map(String::as_str));
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Ok(None);
    };
    Ok(Some(printed(node)?))
}

fn printed(node: &Node) -> Result<String, Error> {
    let lines = match &node.content {
        Content::Scalar(text, _) => Some(vec![text.clone()]),
        Content::List(items) => items.iter().map(scalar).collect(),
        Content::Map(entries) => entries
            .iter()
            .map(|entry| Some(format!("{}={}", entry.key.text()?, scalar(&entry.value)?)))
            .collect(),
    };
    if let Some(lines) = lines {
        return Ok(lines.into_iter().map(|line| line + "\n").collect());
    }
    let json: Json = value::to_json(node);
    serde_yaml::to_string(&json).map_err(|error| Error::File(format!("cannot be printed: {error}")))
}

/// The text of a scalar; one that is not written is an empty text.
fn scalar(node: &Node) -> Option<String> {
    match &node.content {
        Content::Scalar(..) if node.is_null() => Some(String::new()),
        Content::Scalar(text, _) => Some(text.clone()),
        _ => None,
    }
}
