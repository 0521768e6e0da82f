//! Makes typed values of checked trees, and finds the mistakes that no schema can find.

mod action;
pub(super) mod concurrency;
mod condition;
pub(super) mod container;
mod graph;
mod ids;
mod inputs;
mod job;
mod matrix;
mod permissions;
pub(super) mod runs_on;
mod snapshot;
mod steps;
mod triggers;
mod workflow;

use std::sync::Arc;

pub use matrix::check_matrix;
pub use workflow::ClaimedWorkflow;

use super::diagnostic::Diagnostics;
use super::schema::{ANY, Definition};
use super::{Field, Node, NodeKind, Position};

/// An entry of a mapping with a literal key.
struct Entry {
    name: Arc<str>,
    /// Where the key stands.
    key: Position,
    value: Node,
    definition: &'static Definition,
}

impl Entry {
    /// The value as a field.
    fn field<T>(self, errors: &Diagnostics) -> Field<T> {
        Field::checked(errors.file().clone(), self.value, self.definition)
    }

    /// The value as text.
    fn text(&self) -> Option<String> {
        self.value.as_str().map(str::to_owned)
    }
}

/// The entries of a mapping that was read by `definition`; keys that are expressions are left out.
fn entries(node: Node, definition: &'static Definition) -> impl Iterator<Item = Entry> {
    let entries = match node.kind {
        NodeKind::Mapping(entries) => entries,
        _ => Vec::new(),
    };
    entries.into_iter().filter_map(move |(key, value)| {
        let NodeKind::String(name) = key.kind else {
            return None;
        };
        let known = definition
            .mappings()
            .find_map(|mapping| mapping.key(&name))
            .map(|known| known.value);
        let other = || {
            definition
                .mappings()
                .find_map(|mapping| mapping.others)
                .map(|(_, value)| value)
        };
        let definition = known.or_else(other).unwrap_or(&ANY);
        Some(Entry {
            name,
            key: key.position,
            value,
            definition,
        })
    })
}

/// The texts of one string or several.
fn texts(node: &Node) -> Vec<String> {
    let one = node.as_str().into_iter();
    one.chain(node.items().iter().filter_map(Node::as_str))
        .map(str::to_owned)
        .collect()
}
