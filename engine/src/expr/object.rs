//! The composite values: lists, and mappings that keep their order.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};

use super::{Value, casing};

/// A list of values.
#[derive(Debug, Clone, Default)]
pub struct Array {
    items: Vec<Value>,
    filtered: bool,
}

/// A mapping that keeps insertion order; keys are compared ignoring case unless it is made case-sensitive (`env`).
#[derive(Debug, Clone, Default)]
pub struct Object {
    entries: IndexMap<Key, Value>,
    case_sensitive: bool,
}

/// A key of an [`Object`]: hashed ignoring case always, compared as its object demands.
#[derive(Debug, Clone)]
struct Key {
    text: Arc<str>,
    case_sensitive: bool,
}

/// A key that is looked up; borrows its text.
struct Lookup<'a> {
    text: &'a str,
    case_sensitive: bool,
}

impl Array {
    /// Makes a list of `items`.
    pub fn new(items: Vec<Value>) -> Self {
        Self {
            items,
            filtered: false,
        }
    }

    /// Makes the result of a wildcard: an index into it applies to each of its items.
    pub(super) fn filtered(items: Vec<Value>) -> Self {
        Self {
            items,
            filtered: true,
        }
    }

    /// Tells whether an index applies to the items rather than to the list.
    pub(super) fn is_filtered(&self) -> bool {
        self.filtered
    }

    /// The items in order.
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// The items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Value> {
        self.items.iter()
    }

    /// The item at `index`, counted from 0.
    pub fn get(&self, index: usize) -> Option<&Value> {
        self.items.get(index)
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Tells whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Object {
    /// Makes an empty mapping that ignores the case of its keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes an empty mapping whose keys differ by case, as those of `env` do on Linux.
    pub fn case_sensitive() -> Self {
        Self {
            entries: IndexMap::new(),
            case_sensitive: true,
        }
    }

    /// Tells whether keys differ by case.
    pub fn is_case_sensitive(&self) -> bool {
        self.case_sensitive
    }

    /// Sets the value of `key` and returns the former one.
    ///
    /// A key that is there already keeps its place and its spelling.
    pub fn insert(&mut self, key: impl Into<Arc<str>>, value: impl Into<Value>) -> Option<Value> {
        let key = Key {
            text: key.into(),
            case_sensitive: self.case_sensitive,
        };
        self.entries.insert(key, value.into())
    }

    /// Removes `key` and returns its value; the order of the others stays.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.entries.shift_remove(&self.lookup(key))
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(&self.lookup(key))
    }

    /// Tells whether `key` is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.entries.contains_key(&self.lookup(key))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in insertion order, keys in their first spelling.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.text.as_ref(), value))
    }

    /// The keys in insertion order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.entries.keys().map(|key| key.text.as_ref())
    }

    /// The values in insertion order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries.values()
    }

    /// The entry at `index` in insertion order.
    pub(super) fn entry_at(&self, index: usize) -> Option<(&str, &Value)> {
        self.entries
            .get_index(index)
            .map(|(key, value)| (key.text.as_ref(), value))
    }

    fn lookup<'a>(&self, text: &'a str) -> Lookup<'a> {
        Lookup {
            text,
            case_sensitive: self.case_sensitive,
        }
    }
}

impl<K: Into<Arc<str>>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut object = Self::new();
        object.extend(entries);
        object
    }
}

impl<K: Into<Arc<str>>, V: Into<Value>> Extend<(K, V)> for Object {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl Lookup<'_> {
    fn matches(&self, key: &str) -> bool {
        if self.case_sensitive {
            self.text == key
        } else {
            casing::equal(self.text, key)
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        casing::hash(&self.text, state);
    }
}

impl Hash for Lookup<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        casing::hash(self.text, state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Lookup {
            text: &self.text,
            case_sensitive: self.case_sensitive,
        }
        .matches(&other.text)
    }
}

impl Eq for Key {}

impl Equivalent<Key> for Lookup<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.matches(&key.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ignore_case_and_keep_their_first_spelling_and_place() {
        let object: Object = [("Key", 1.0), ("other", 2.0), ("KEY", 3.0)].into_iter().collect();
        assert_eq!(object.keys().collect::<Vec<_>>(), ["Key", "other"]);
        assert_eq!(object.get("kEY").map(Value::to_number), Some(3.0));
        assert!(object.get("ke").is_none());
    }

    #[test]
    fn case_sensitive_keys_differ() {
        let mut env = Object::case_sensitive();
        env.insert("Path", "a");
        env.insert("PATH", "b");
        assert_eq!(env.len(), 2);
        assert_eq!(env.get("PATH").and_then(Value::as_str), Some("b"));
        assert!(env.get("path").is_none());
        assert!(env.remove("Path").is_some());
        assert_eq!(env.keys().collect::<Vec<_>>(), ["PATH"]);
    }
}
