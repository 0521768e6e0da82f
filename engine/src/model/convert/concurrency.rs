//! `concurrency` of workflows and jobs: the name of a group.

use crate::model::Node;
use crate::model::diagnostic::Diagnostics;

/// UTF-16 units that a group's name may have.
const MAX_LENGTH: usize = 400;

/// Checks the length of the group's name, if it is literal.
pub(in crate::model) fn check(node: &Node, errors: &mut Diagnostics) {
    let group = node.as_str().or_else(|| node.get("group").and_then(Node::as_str));
    if group.is_some_and(|group| group.encode_utf16().count() > MAX_LENGTH) {
        errors.error(
            node.position,
            "Concurrency group name must be less than 400 characters",
        );
    }
}
