//! From evaluated nodes to values.

use std::sync::Arc;

use crate::expr::{Array, Object, Value};
use crate::model::{Node, NodeKind};

/// Templates are not nested deeper than this: the parser and `fromJSON` stop earlier.
const MAX_DEPTH: usize = 200;

/// The value of a node without expressions; what is nested too deep becomes null.
pub(super) fn value_of(node: &Node) -> Value {
    value_at(node, 0)
}

fn value_at(node: &Node, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    match &node.kind {
        NodeKind::Null | NodeKind::Expression(_) | NodeKind::Insert => Value::Null,
        NodeKind::Bool(value) => Value::Bool(*value),
        NodeKind::Number(value) => Value::Number(*value),
        NodeKind::String(value) => Value::String(Arc::clone(value)),
        NodeKind::Sequence(items) => Value::from(
            items
                .iter()
                .map(|item| value_at(item, depth + 1))
                .collect::<Array>(),
        ),
        NodeKind::Mapping(entries) => {
            let mut object = Object::default();
            for (key, value) in entries {
                object.insert(key_text(key), value_at(value, depth + 1));
            }
            Value::object(object)
        }
    }
}

/// The text of a mapping's key.
pub(super) fn key_text(key: &Node) -> Arc<str> {
    match &key.kind {
        NodeKind::String(text) => Arc::clone(text),
        NodeKind::Bool(value) => Arc::from(if *value { "true" } else { "false" }),
        NodeKind::Number(value) => Arc::from(Value::Number(*value).to_text().as_ref()),
        _ => Arc::from(""),
    }
}
