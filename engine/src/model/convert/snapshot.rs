//! `snapshot`: checked, then forgotten; this runner makes no images of machines.

use crate::model::Node;
use crate::model::diagnostic::Diagnostics;

/// Checks the version, if it is literal: `N.*`.
pub(super) fn check(node: &Node, errors: &mut Diagnostics) {
    let Some(version) = node.get("version").and_then(Node::as_str) else {
        return;
    };
    let major = version.strip_suffix(".*").unwrap_or_default();
    let is_number = major.parse::<i32>().is_ok() && major.bytes().all(|b| b.is_ascii_digit());
    if !is_number && !node.get("image-name").is_some_and(Node::has_expression) {
        errors.error(
            node.position,
            format!("Expected format '{{major-version}}.*' Actual '{version}'"),
        );
    }
}
