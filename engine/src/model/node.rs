//! Values as they are written, checked against the schema but not evaluated.

use std::sync::Arc;

use super::Position;
use crate::expr::{Expression, Object, Value};

/// A node of a template: what a key holds, as it is written, checked against the schema but not evaluated.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it stands; inside an alias, the place of the anchored node.
    pub position: Position,
    /// What it is.
    pub kind: NodeKind,
}

/// The kinds of [`Node`].
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A null scalar.
    Null,
    /// A bool scalar.
    Bool(bool),
    /// A number scalar.
    Number(f64),
    /// Literal text; it is never evaluated.
    String(Arc<str>),
    /// An expression; mixed text is one `format(...)` call.
    Expression(Expression),
    /// The directive `${{ insert }}` as the key of a mapping.
    Insert,
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping in the order of the file.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// The text of a string node.
    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a sequence; none for any other node.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            NodeKind::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The entries of a mapping; none for any other node.
    pub fn entries(&self) -> &[(Node, Node)] {
        match &self.kind {
            NodeKind::Mapping(entries) => entries,
            _ => &[],
        }
    }

    /// The value of the literal key `name` of a mapping.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entries()
            .iter()
            .find(|(key, _)| key.as_str() == Some(name))
            .map(|(_, value)| value)
    }

    /// Tells whether evaluation would change the node: it is an expression or has one below.
    pub fn has_expression(&self) -> bool {
        match &self.kind {
            NodeKind::Expression(_) | NodeKind::Insert => true,
            NodeKind::Sequence(items) => items.iter().any(Self::has_expression),
            NodeKind::Mapping(entries) => entries
                .iter()
                .any(|(key, value)| key.has_expression() || value.has_expression()),
            _ => false,
        }
    }

    /// The expressions in the node and below, in the order of the file.
    pub fn expressions(&self) -> Vec<&Expression> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            match &node.kind {
                NodeKind::Expression(expression) => found.push(expression),
                NodeKind::Sequence(items) => open.extend(items.iter().rev()),
                NodeKind::Mapping(entries) => {
                    open.extend(entries.iter().rev().flat_map(|(key, value)| [value, key]));
                }
                _ => {}
            }
        }
        found
    }

    /// A scalar as its author has written it; nothing for sequences and mappings.
    pub fn written(&self) -> Option<String> {
        match &self.kind {
            NodeKind::Expression(expression) => Some(expression.template()),
            NodeKind::Sequence(_) | NodeKind::Mapping(_) | NodeKind::Insert => None,
            _ => Some(self.to_value().to_text().into_owned()),
        }
    }

    /// The data that a node without expressions stands for; expressions, which have no value here, become null.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Null | NodeKind::Expression(_) | NodeKind::Insert => Value::Null,
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Number(value) => Value::Number(*value),
            NodeKind::String(text) => Value::string(text.clone()),
            NodeKind::Sequence(items) => Value::array(items.iter().map(Self::to_value).collect()),
            NodeKind::Mapping(entries) => {
                let mut object = Object::new();
                for (key, value) in entries {
                    object.insert(key.as_str().unwrap_or_default(), value.to_value());
                }
                Value::object(object)
            }
        }
    }
}
