//! What changes when the configuration is read again.

use std::collections::BTreeMap;
use std::fmt;

use super::Config;
use super::shape::Leaf;

/// A key whose value is another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The key's path.
    pub key: String,
    /// The old value, if the key was there; secrets are hidden.
    pub old: Option<String>,
    /// The new value, if the key is still there; secrets are hidden.
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        write!(f, "{}: {} -> {}", self.key, shown(&self.old), shown(&self.new))
    }
}

/// Lists what is different, in the order of the table.
pub fn changes(old: &Config, new: &Config) -> Vec<Change> {
    let (old, new) = (old.leaves(), new.leaves());
    let index = |leaves: &[Leaf]| -> BTreeMap<Vec<String>, Leaf> {
        leaves
            .iter()
            .map(|leaf| (leaf.path.clone(), leaf.clone()))
            .collect()
    };
    let (before, after) = (index(&old), index(&new));
    let gone = old.iter().filter(|leaf| !after.contains_key(&leaf.path));
    let paths = new.iter().chain(gone).map(|leaf| &leaf.path);
    let change = |path: &Vec<String>| {
        let (old, new) = (before.get(path), after.get(path));
        (old != new).then(|| Change {
            key: path.join("."),
            old: old.map(Leaf::shown),
            new: new.map(Leaf::shown),
        })
    };
    paths.filter_map(change).collect()
}
