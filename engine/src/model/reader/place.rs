//! A place in a file: its definition, and what expressions may use there.

use std::sync::Arc;

use crate::expr::number_text;
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{Allowed, Definition, NOTHING, Shape, Text};
use crate::model::{Node, NodeKind};

/// A place in a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::model) struct Place {
    /// What may stand here.
    pub definition: &'static Definition,
    /// What expressions may use here.
    pub allowed: &'static Allowed,
}

impl Place {
    /// The top of a file or of a field.
    pub(in crate::model) fn root(definition: &'static Definition) -> Self {
        Self {
            definition,
            allowed: definition.allowed.unwrap_or(&NOTHING),
        }
    }

    /// A place further down.
    pub(in crate::model) fn below(self, definition: &'static Definition) -> Self {
        Self {
            definition,
            allowed: definition.allowed.unwrap_or(self.allowed),
        }
    }
}

/// Checks a scalar at its place; what is not text becomes text where only text is legal.
///
/// `raw` is the text as it is written, for the definitions that keep it.
pub(in crate::model) fn checked_scalar(
    node: Node,
    place: Place,
    raw: impl Fn() -> Arc<str>,
    errors: &mut Diagnostics,
) -> Node {
    let Some(text) = scalar_text(&node.kind) else {
        match &node.kind {
            NodeKind::Expression(_) if place.allowed.is_empty() => {
                errors.error(
                    node.position,
                    "A template expression is not allowed in this context",
                );
            }
            NodeKind::Insert => errors.error(node.position, "Unexpected value '${{ insert }}'"),
            _ => {}
        }
        return node;
    };
    let fits = |definition: &Definition| match (&definition.shape, &node.kind) {
        (Shape::Null, NodeKind::Null)
        | (Shape::Bool, NodeKind::Bool(_))
        | (Shape::Number, NodeKind::Number(_)) => true,
        (Shape::Text(legal), NodeKind::String(text)) => legal.admits(text),
        _ => false,
    };
    if place.definition.alternatives().any(fits) {
        return node;
    }
    for definition in place.definition.alternatives() {
        match &definition.shape {
            Shape::Text(Text::Raw) => {
                return Node {
                    position: node.position,
                    kind: NodeKind::String(raw()),
                };
            }
            Shape::Text(legal) if legal.admits(&text) => {
                return Node {
                    position: node.position,
                    kind: NodeKind::String(text),
                };
            }
            _ => {}
        }
    }
    if errors.is_lenient()
        && let Some(kind) = unquoted(place.definition, &text)
    {
        let position = node.position;
        return Node { position, kind };
    }
    errors.error(node.position, format!("Unexpected value '{text}'"));
    node
}

/// The number or boolean that a text stands for where only such a value is legal: a forge that has read a workflow and
/// writes one job of it anew quotes them.
fn unquoted(definition: &'static Definition, text: &str) -> Option<NodeKind> {
    definition
        .alternatives()
        .find_map(|definition| match definition.shape {
            Shape::Bool => text.parse().ok().map(NodeKind::Bool),
            Shape::Number => text.parse().ok().map(NodeKind::Number),
            _ => None,
        })
}

/// The text form of a literal scalar.
pub(super) fn scalar_text(kind: &NodeKind) -> Option<Arc<str>> {
    Some(match kind {
        NodeKind::Null => Arc::from(""),
        NodeKind::Bool(true) => Arc::from("true"),
        NodeKind::Bool(false) => Arc::from("false"),
        NodeKind::Number(number) => Arc::from(number_text(*number)),
        NodeKind::String(text) => text.clone(),
        NodeKind::Expression(_) | NodeKind::Insert | NodeKind::Sequence(_) | NodeKind::Mapping(_) => {
            return None;
        }
    })
}
