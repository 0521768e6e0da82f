//! A called workflow can keep or lower the permissions that its caller allows.

use crate::model::{Access, Permissions};

/// All scopes, in the order of the documentation.
const SCOPES: [&str; 17] = [
    "actions",
    "artifact-metadata",
    "attestations",
    "checks",
    "contents",
    "deployments",
    "discussions",
    "id-token",
    "issues",
    "models",
    "packages",
    "pages",
    "pull-requests",
    "repository-projects",
    "security-events",
    "statuses",
    "vulnerability-alerts",
];

/// What `requested` asks for beyond `allowed`: the two lists that the message shows, such as `contents: write` and
/// `contents: read`.
pub(super) fn excess(requested: &Permissions, allowed: &Permissions) -> Option<(String, String)> {
    let exceeding = SCOPES
        .iter()
        .filter(|scope| access(requested, scope) > access(allowed, scope));
    let (asked, granted): (Vec<String>, Vec<String>) = exceeding
        .map(|scope| (level(scope, requested), level(scope, allowed)))
        .unzip();
    (!asked.is_empty()).then(|| (asked.join(", "), granted.join(", ")))
}

fn access(permissions: &Permissions, scope: &str) -> Access {
    match permissions {
        Permissions::ReadAll => Access::Read,
        Permissions::WriteAll => Access::Write,
        Permissions::Scopes(scopes) => scopes.get(scope).copied().unwrap_or(Access::None),
    }
}

fn level(scope: &str, permissions: &Permissions) -> String {
    let word = match access(permissions, scope) {
        Access::None => "none",
        Access::Read => "read",
        Access::Write => "write",
    };
    format!("{scope}: {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(entries: &[(&str, Access)]) -> Permissions {
        Permissions::Scopes(
            entries
                .iter()
                .map(|(scope, access)| ((*scope).to_owned(), *access))
                .collect(),
        )
    }

    #[test]
    fn only_what_exceeds_is_listed() {
        let read = scopes(&[("contents", Access::Read), ("issues", Access::Write)]);
        for (requested, allowed, expected) in [
            (
                scopes(&[("contents", Access::Write)]),
                read.clone(),
                Some(("contents: write", "contents: read")),
            ),
            (scopes(&[("contents", Access::Read)]), read.clone(), None),
            (
                scopes(&[("packages", Access::Read), ("contents", Access::Write)]),
                scopes(&[]),
                Some((
                    "contents: write, packages: read",
                    "contents: none, packages: none",
                )),
            ),
            (scopes(&[("pages", Access::Read)]), Permissions::ReadAll, None),
            (read, Permissions::WriteAll, None),
        ] {
            let actual = excess(&requested, &allowed);
            let actual = actual
                .as_ref()
                .map(|(asked, granted)| (asked.as_str(), granted.as_str()));
            assert_eq!(actual, expected, "{requested:?} {allowed:?}");
        }
    }
}
