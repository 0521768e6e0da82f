//! Typed values with GitHub's coercions.

use std::sync::Arc;

use indexmap::IndexMap;

/// A value of the expression language. Cheap to clone: composite values are shared.
#[derive(Debug, Clone)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The only kind of number there is.
    Number(f64),
    /// Text.
    String(Arc<str>),
    /// A list; equal to another only if it is the same list.
    Array(Arc<Array>),
    /// A mapping in insertion order; equal to another only if it is the same mapping.
    Object(Arc<Object>),
}

/// A list of values.
#[derive(Debug, Clone, Default)]
pub struct Array {
    items: Vec<Value>,
}

/// A mapping that keeps insertion order; keys are compared ignoring case unless it is made case-sensitive (`env`).
#[derive(Debug, Clone, Default)]
pub struct Object {
    entries: IndexMap<Arc<str>, Value>,
    case_sensitive: bool,
}

impl Array {
    /// The items in order.
    pub fn items(&self) -> &[Value] {
        &self.items
    }
}

impl Object {
    /// Tells whether keys differ by case.
    pub fn is_case_sensitive(&self) -> bool {
        self.case_sensitive
    }

    /// The entries in insertion order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_ref(), value))
    }
}
