//! `strategy.matrix`: mistakes that can be told from the keys alone.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::diagnostic::Diagnostics;
use crate::model::reader::fold;
use crate::model::{Diagnostic, Node};

/// Checks a matrix without expressions: vectors and filters may not be empty and filters must name vectors.
///
/// # Errors
/// Up to ten mistakes in the order in which they were found.
pub fn check_matrix(file: &Arc<str>, matrix: &Node) -> Result<(), Vec<Diagnostic>> {
    let mut errors = Diagnostics::new(file.clone());
    check(matrix, false, &mut errors);
    errors.into_result(())
}

/// Checks `strategy` as it is written; what depends on expressions is checked once it is evaluated.
pub(super) fn check_strategy(strategy: &Node, errors: &mut Diagnostics) {
    if let Some(matrix) = strategy.get("matrix") {
        check(matrix, strategy.has_expression(), errors);
    }
}

/// The filters of a matrix whose vectors are not all known yet are left for later.
fn check(matrix: &Node, is_open: bool, errors: &mut Diagnostics) {
    if matrix.has_expression() && matrix.entries().is_empty() {
        return;
    }
    let mut vectors = HashSet::new();
    let mut has_vector = false;
    let (mut include, mut exclude) = (None, None);
    for (key, value) in matrix.entries() {
        match key.as_str() {
            Some("include") => include = Some(value),
            Some("exclude") => exclude = Some(value),
            Some(name) => {
                has_vector = true;
                if value.items().is_empty() && !value.has_expression() {
                    errors.error(
                        value.position,
                        format!("Matrix vector '{name}' does not contain any values"),
                    );
                } else {
                    vectors.insert(fold(name));
                }
            }
            None => has_vector = true,
        }
    }
    let has_include = include.is_some_and(|node| !node.items().is_empty() || node.has_expression());
    if !has_vector && !has_include {
        errors.error(matrix.position, "Matrix must define at least one vector");
    }
    if !is_open {
        check_filters(include, exclude, &vectors, errors);
    }
}

fn check_filters(
    include: Option<&Node>,
    exclude: Option<&Node>,
    vectors: &HashSet<String>,
    errors: &mut Diagnostics,
) {
    for entry in include.map(Node::items).unwrap_or_default() {
        if entry.entries().is_empty() {
            errors.error(
                entry.position,
                "Matrix include mapping does not contain any values",
            );
        }
    }
    for entry in exclude.map(Node::items).unwrap_or_default() {
        if entry.entries().is_empty() {
            errors.error(entry.position, "Matrix exclude filter must not be empty");
        }
        for (key, _) in entry.entries() {
            let name = key.as_str().unwrap_or_default();
            if !vectors.contains(&fold(name)) {
                errors.error(
                    key.position,
                    format!("Matrix exclude key '{name}' does not match any key within the matrix"),
                );
            }
        }
    }
}
