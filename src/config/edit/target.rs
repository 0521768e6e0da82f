//! The key that a person names.

use super::super::names;
use super::super::root;
use super::super::shape::{Key, Shape};
use super::super::value::Kind;
use super::unknown;

/// A key that can be changed, or one name of a map.
#[derive(Debug, Clone)]
pub struct Target {
    /// The names that lead to it.
    pub path: Vec<String>,
    /// What its values are.
    pub kind: Kind,
}

impl Target {
    /// Its path as one text.
    pub fn name(&self) -> String {
        self.path.join(".")
    }
}

/// Finds the key that a path names; behind a map, one more name is one of the map's own.
///
/// # Errors
/// There is no such key, or it is a section or a map as a whole; the text says which.
pub fn find(key: &str) -> Result<Target, String> {
    match names::find(root(), key) {
        Some((_, Shape::Section(_) | Shape::Named(_))) => {
            Err(format!("`{key}` is a section; name one of its keys"))
        }
        Some((path, Shape::Key(Key { kind, .. }))) => match kind {
            Kind::Map | Kind::SecretMap => Err(format!(
                "`{key}` is a map; name one of its names, such as `{key}.NAME`"
            )),
            Kind::Object | Kind::Objects => {
                Err(format!("`{key}` is a mapping of anything; change it by hand"))
            }
            kind => Ok(Target { path, kind }),
        },
        None => in_map(key).ok_or_else(|| unknown(key)),
    }
}

/// A name of a map's own, which may have dots in it.
pub fn in_map(key: &str) -> Option<Target> {
    key.match_indices('.').find_map(|(dot, _)| {
        let (map, name) = (key.get(..dot)?, key.get(dot + 1..)?);
        let Some((mut path, Shape::Key(found))) = names::find(root(), map) else {
            return None;
        };
        let kind = match found.kind {
            Kind::Map => Kind::Text,
            Kind::SecretMap => Kind::Secret,
            _ => return None,
        };
        path.push(name.to_owned());
        (!name.is_empty()).then_some(Target { path, kind })
    })
}
