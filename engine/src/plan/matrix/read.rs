//! Reads a strategy's node, which fits the schema; nothing is combined yet.

use std::sync::Arc;

use super::super::values::{key_text, value_of};
use crate::expr::Value;
use crate::model::{Node, NodeKind};

/// A strategy without expressions.
#[derive(Debug)]
pub(super) struct Definition {
    pub fail_fast: bool,
    pub max_parallel: Option<usize>,
}

impl Default for Definition {
    fn default() -> Self {
        Self {
            fail_fast: true,
            max_parallel: None,
        }
    }
}

/// A matrix before the cross product; no vector is empty, and `exclude` names vectors only.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    pub vectors: Vec<Vector>,
    pub exclude: Vec<Entry>,
    pub include: Vec<Entry>,
}

/// One key of a matrix with its values.
#[derive(Debug)]
pub(super) struct Vector {
    pub name: Arc<str>,
    pub values: Vec<Value>,
}

/// One mapping of `include` or `exclude`.
pub(super) type Entry = Vec<(Arc<str>, Value)>;

/// Reads `strategy` but for its matrix.
pub(super) fn definition(strategy: &Node) -> Definition {
    let kind = |name| strategy.get(name).map(|node| &node.kind);
    Definition {
        fail_fast: !matches!(kind("fail-fast"), Some(NodeKind::Bool(false))),
        max_parallel: match kind("max-parallel") {
            Some(NodeKind::Number(limit)) => whole(*limit),
            _ => None,
        },
    }
}

/// Reads `strategy.matrix`.
pub(super) fn matrix(node: &Node) -> Matrix {
    let mut matrix = Matrix::default();
    for (key, value) in node.entries() {
        let name = key_text(key);
        match name.as_ref() {
            "include" => matrix.include = entries(value),
            "exclude" => matrix.exclude = entries(value),
            _ => matrix.vectors.push(Vector {
                name,
                values: value.items().iter().map(value_of).collect(),
            }),
        }
    }
    matrix
}

fn entries(node: &Node) -> Vec<Entry> {
    let entry = |item: &Node| {
        item.entries()
            .iter()
            .map(|(key, value)| (key_text(key), value_of(value)))
            .collect()
    };
    node.items().iter().map(entry).collect()
}

/// A limit as a whole number; 0 and less mean no limit.
fn whole(limit: f64) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "fractions are dropped, and the cast saturates"
    )]
    let limit = limit as i32;
    usize::try_from(limit).ok().filter(|limit| *limit > 0)
}
