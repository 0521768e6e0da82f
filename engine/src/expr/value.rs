//! Typed values with GitHub's coercions.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::number::{self, number_text};
use super::{Array, Object, compare, json};

/// A value of the expression language. Cheap to clone: composite values are shared.
///
/// It has no `PartialEq`, because the language's own equality ([`Value::loosely_equals`]) is none: NaN differs from
/// itself, and lists are equal only to themselves.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// `null`
    #[default]
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

/// The kinds of [`Value`]; `Display` gives the names that GitHub's messages use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number.
    Number,
    /// Text.
    String,
    /// A list.
    Array,
    /// A mapping.
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Value {
    /// Makes a text.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// Makes a list.
    pub fn array(items: Vec<Self>) -> Self {
        Self::Array(Arc::new(Array::new(items)))
    }

    /// Makes a mapping.
    pub fn object(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }

    /// What kind of value this is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Boolean,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// Tells whether this is neither a list nor a mapping.
    pub fn is_primitive(&self) -> bool {
        !matches!(self, Self::Array(_) | Self::Object(_))
    }

    /// Tells whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The list, if this is one.
    pub fn as_array(&self) -> Option<&Arc<Array>> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The mapping, if this is one.
    pub fn as_object(&self) -> Option<&Arc<Object>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// Tells whether a condition with this value holds: all but `null`, `false`, 0, NaN and the empty text do.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::String(text) => !text.is_empty(),
            Self::Array(_) | Self::Object(_) => true,
        }
    }

    /// The number that this is taken for where a number is needed; NaN for what is none.
    pub fn to_number(&self) -> f64 {
        match self {
            Self::Null => 0.0,
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Number(number) => *number,
            Self::String(text) => number::parse(text),
            Self::Array(_) | Self::Object(_) => f64::NAN,
        }
    }

    /// The text that this is taken for where text is needed; lists and mappings give the name of their kind.
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Null => Cow::Borrowed(""),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
            Self::Number(number) => Cow::Owned(number_text(*number)),
            Self::String(text) => Cow::Borrowed(text),
            Self::Array(_) => Cow::Borrowed("Array"),
            Self::Object(_) => Cow::Borrowed("Object"),
        }
    }

    /// The operator `==`: values of different kinds are compared as numbers, texts ignoring case, lists and mappings
    /// by identity.
    pub fn loosely_equals(&self, other: &Self) -> bool {
        compare::equal(self, other)
    }

    /// The text that `toJSON` gives: indented by two blanks.
    pub fn to_json(&self) -> String {
        json::write(self)
    }

    /// Reads standard JSON. Keys that differ only by case are one key, and the last one counts.
    ///
    /// # Errors
    /// Returns the first mistake with its line and column.
    pub fn from_json(text: &str) -> Result<Self, json::JsonError> {
        json::read_strict(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::String(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Self::Array(Arc::new(array))
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::array(items)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::object(object)
    }
}

impl From<Arc<Object>> for Value {
    fn from(object: Arc<Object>) -> Self {
        Self::Object(object)
    }
}
