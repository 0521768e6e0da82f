//! The proof that a changed text says what was wanted, and nothing else than before.

use serde_json::{Map, Value as Json};

use super::super::value;
use super::super::yaml::Node;
use super::target::Target;
use super::{Error, read, stuck};

/// Checks a changed text against the old one.
///
/// # Errors
/// It does not say what was wanted, or says something else than before about other keys.
pub fn check(old: &str, new: &str, target: &Target, wanted: &Json) -> Result<(), Error> {
    let wrong = || stuck(&target.path);
    let (old, new) = (read(old)?, read(new).map_err(|_| wrong())?);
    let node = new.at(target.path.iter().map(String::as_str)).ok_or_else(wrong)?;
    let found = value::normal(target.kind, node).map_err(|_| wrong())?;
    let mut expected = top(&old);
    put(&mut expected, &target.path, value::to_json(node));
    if found == *wanted && expected == top(&new) {
        Ok(())
    } else {
        Err(wrong())
    }
}

fn top(node: &Node) -> Json {
    match value::to_json(node) {
        Json::Null => Json::Object(Map::new()),
        value => value,
    }
}

/// Puts a value at a path; what is nothing on the way becomes a mapping.
fn put(root: &mut Json, path: &[String], value: Json) {
    let Some((name, rest)) = path.split_first() else {
        *root = value;
        return;
    };
    if root.is_null() {
        *root = Json::Object(Map::new());
    }
    if let Json::Object(map) = root {
        put(map.entry(name.clone()).or_insert(Json::Null), rest, value);
    }
}
