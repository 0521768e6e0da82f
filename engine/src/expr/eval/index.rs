//! Indexes, keys and wildcards.
//!
//! A wildcard yields a *filtered* list: an index into it applies to each of its items, and items that lack it are
//! dropped.

use std::sync::Arc;

use super::super::ast::{Index, Node};
use super::super::{Array, Object, Value};
use super::{Evaluator, Outcome};

/// What one item of a filtered list costs.
const ITEM_BYTES: usize = 8;

/// An index that is evaluated.
enum Key {
    All,
    At {
        /// The index into a list.
        position: Option<usize>,
        /// The key of a mapping; none if the index is a list or a mapping.
        name: Option<Arc<str>>,
    },
}

impl Evaluator<'_> {
    pub(super) fn index(&mut self, base: &Node, index: &Index, depth: usize) -> Outcome {
        let base = self.node(base, depth + 1)?;
        match (&base, index) {
            // The common case by far.
            (Value::Object(object), Index::Key(name)) => Ok(object.get(name).cloned().unwrap_or_default()),
            (Value::Array(array), _) if array.is_filtered() => {
                let key = self.key(index, depth)?;
                let items = array.iter().flat_map(|item| key.select(item)).cloned().collect();
                self.filtered(items, depth)
            }
            (Value::Array(_) | Value::Object(_), Index::Wildcard) => {
                self.filtered(Key::All.select(&base).cloned().collect(), depth)
            }
            (Value::Array(_) | Value::Object(_), _) => {
                let key = self.key(index, depth)?;
                Ok(key.select(&base).next().cloned().unwrap_or_default())
            }
            (_, Index::Wildcard) => Ok(Value::from(Array::filtered(Vec::new()))),
            // What has no items is not asked for one: the index is not even evaluated.
            _ => Ok(Value::Null),
        }
    }

    fn key(&mut self, index: &Index, depth: usize) -> Result<Key, super::EvalError> {
        Ok(match index {
            Index::Wildcard => Key::All,
            Index::Key(name) => Key::of(&Value::String(Arc::clone(name))),
            Index::Computed(node) => Key::of(&self.node(node, depth + 1)?),
        })
    }

    fn filtered(&mut self, items: Vec<Value>, depth: usize) -> Outcome {
        self.memory.add(depth, ITEM_BYTES * items.len())?;
        Ok(Value::from(Array::filtered(items)))
    }
}

impl Key {
    fn of(index: &Value) -> Self {
        let name = match index {
            Value::String(text) => Some(Arc::clone(text)),
            other if other.is_primitive() => Some(other.to_text().into()),
            _ => None,
        };
        Self::At {
            position: position(index.to_number()),
            name,
        }
    }

    /// The items of `value` that the index stands for.
    fn select<'v>(&self, value: &'v Value) -> Box<dyn Iterator<Item = &'v Value> + 'v> {
        match (self, value) {
            (Self::All, Value::Array(array)) => Box::new(array.iter()),
            (Self::All, Value::Object(object)) => Box::new(object.values()),
            (
                Self::At {
                    position: Some(position),
                    ..
                },
                Value::Array(array),
            ) => Box::new(array.get(*position).into_iter()),
            (Self::At { name: Some(name), .. }, Value::Object(object)) => {
                Box::new(Object::get(object, name).into_iter())
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// The position in a list that a number stands for: rounded down, none if negative or NaN.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range"
)]
fn position(number: f64) -> Option<usize> {
    (number >= 0.0 && number <= f64::from(i32::MAX)).then_some(number as usize)
}

/// The value as it leaves the evaluation: a list like any other.
pub(super) fn unfiltered(value: Value) -> Value {
    match value {
        Value::Array(array) if array.is_filtered() => Value::array(array.items().to_vec()),
        other => other,
    }
}
