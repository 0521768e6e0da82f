//! `runs-on`: the name of a runner group.

use crate::model::Node;
use crate::model::diagnostic::Diagnostics;

/// Checks the group's name, if it is literal: at most one prefix, and only those that GitHub knows.
pub(in crate::model) fn check(node: &Node, errors: &mut Diagnostics) {
    let Some(group) = node.get("group") else { return };
    let Some(name) = group.as_str() else { return };
    let parts: Vec<_> = name.split('/').collect();
    match parts[..] {
        [_] | ["org" | "organization" | "ent" | "enterprise", _] if !name.ends_with('/') => {}
        [_, ""] => errors.error(group.position, format!("Invalid runs-on group name '{name}'.")),
        _ => errors.error(
            group.position,
            format!(
                "Invalid runs-on group name '{name}'. Please use 'organization/' or 'enterprise/' prefix to target a \
                 single runner group."
            ),
        ),
    }
}
