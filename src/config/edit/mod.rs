//! Changes of the configuration file that leave everything else in it as it is, to the byte.
//!
//! A change is made where the parser says that a value stands, and then proved: the new text must say what was
//! wanted, and about everything else what the old text said (docs/adr/006-config-edits.md).

mod get;
mod lists;
mod proof;
mod splice;
mod target;
#[cfg(test)]
mod tests;

use super::load::{Given, parse};
use super::mistake::Rejected;
use super::value::Kind;
use super::yaml;
use super::{names, value};

pub use get::get;

use target::{Target, find};

/// What a new configuration file holds.
pub const MINIMAL: &str = "\
# The configuration of Gantry; without a key its default holds.
# `gantry config generate` prints every key with its default, and `gantry config set KEY VALUE` adds one here.
";

/// What is to be done with a key.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Gives it a value; a list gets all of them.
    Set(&'a [String]),
    /// Adds a value to a list.
    Add(&'a str),
    /// Takes a value out of a list.
    Remove(&'a str),
}

/// Why a file is not changed.
#[derive(Debug)]
pub enum Error {
    /// What was asked for makes no sense.
    Usage(String),
    /// The file cannot be changed in this way.
    File(String),
    /// The file is wrong, or would be wrong afterwards.
    Rejected(Rejected),
}

/// Changes a text.
///
/// # Errors
/// There is no such key, the value does not fit it, the file is not YAML, is written in a way in which it cannot be
/// changed safely, or, unless `is_forced`, could be loaded before and not afterwards.
pub fn apply(
    text: &str,
    key: &str,
    change: Change<'_>,
    given: &Given,
    is_forced: bool,
) -> Result<String, Error> {
    let target = find(key).map_err(Error::Usage)?;
    let changed = match (target.kind, change) {
        (Kind::List, Change::Set(values)) => lists::set(text, &target, values),
        (Kind::List, Change::Add(value)) => lists::add(text, &target, value),
        (Kind::List, Change::Remove(value)) => lists::remove(text, &target, value),
        (_, Change::Add(_) | Change::Remove(_)) => Err(Error::Usage(format!("`{key}` is no list"))),
        (_, Change::Set([value])) => scalar(text, &target, value),
        (_, Change::Set(values)) => Err(Error::Usage(format!(
            "`{key}` takes one value, and there are {}",
            values.len()
        ))),
    }?;
    if is_forced {
        return Ok(changed);
    }
    let loads = |text: &str| parse(text.to_owned(), given.clone());
    match loads(&changed) {
        Err(rejected) if loads(text).is_ok() => Err(Error::Rejected(rejected)),
        _ => Ok(changed),
    }
}

/// Gives a key that is no list its value.
fn scalar(text: &str, target: &Target, given: &str) -> Result<String, Error> {
    let place = yaml::Place::Flag("value".to_owned());
    let node = super::layers::scalar(given, target.kind, &place);
    let wanted = value::normal(target.kind, &node)
        .map_err(|wrong| Error::Usage(format!("`{}`: {}", target.name(), wrong.message)))?;
    let changed = splice::put(text, &target.path, &wanted)?;
    proof::check(text, &changed, target, &wanted)?;
    Ok(changed)
}

/// Reads a text as YAML.
fn read(text: &str) -> Result<yaml::Node, Error> {
    yaml::read(text).map_err(|broken| {
        Error::Rejected(Rejected {
            file: None,
            text: text.to_owned(),
            mistakes: vec![broken.into()],
            is_unread: false,
        })
    })
}

/// A file that is written in a way in which a value cannot be changed.
fn stuck(path: &[String]) -> Error {
    Error::File(format!(
        "`{}` cannot be changed safely in the way in which the file is written; change it by hand",
        path.join(".")
    ))
}

/// Says that there is no such key.
fn unknown(key: &str) -> String {
    format!("unknown key `{key}`{}", names::suggestion(key))
}
