//! `permissions` of workflows and jobs.

use crate::model::{Access, Node, Permissions};

/// Converts `permissions`; the schema has checked its words.
pub(super) fn convert(node: &Node) -> Permissions {
    match node.as_str() {
        Some("read-all") => return Permissions::ReadAll,
        Some("write-all") => return Permissions::WriteAll,
        _ => {}
    }
    let access = |word: &str| match word {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => Access::None,
    };
    let scopes = node.entries().iter().filter_map(|(key, value)| {
        let (scope, level) = (key.as_str()?, value.as_str()?);
        Some((scope.to_owned(), access(level)))
    });
    Permissions::Scopes(scopes.collect())
}
