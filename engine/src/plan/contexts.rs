//! The `github` context and what of it processes see in their environment.

use crate::expr::{Object, Value};

/// What is known about the event and the repository of a run; what is absent is left out of the context.
#[derive(Clone, Default)]
pub struct RunFacts {
    /// `event_name`, such as `push`.
    pub event_name: String,
    /// `event`: the payload of the event.
    pub event: Option<Value>,
    /// `event_path`: where the payload lies for processes.
    pub event_path: Option<String>,
    /// `ref`, such as `refs/heads/main`.
    pub git_ref: Option<String>,
    /// `sha`: the commit that the run is for.
    pub sha: Option<String>,
    /// `ref_protected`.
    pub ref_protected: bool,
    /// `base_ref`: the target branch of a pull request.
    pub base_ref: Option<String>,
    /// `head_ref`: the source branch of a pull request.
    pub head_ref: Option<String>,
    /// `repository`, such as `owner/name`; `repository_owner` is the part before the slash.
    pub repository: Option<String>,
    /// `repository_id`.
    pub repository_id: Option<String>,
    /// `repository_owner_id`.
    pub repository_owner_id: Option<String>,
    /// `repositoryUrl`: where the repository can be cloned from.
    pub repository_url: Option<String>,
    /// `actor`: who caused the event.
    pub actor: Option<String>,
    /// `actor_id`.
    pub actor_id: Option<String>,
    /// `triggering_actor`: who started this attempt; the actor if absent.
    pub triggering_actor: Option<String>,
    /// `workflow`: the workflow's name, or the path of its file.
    pub workflow: Option<String>,
    /// `workflow_ref`, such as `owner/name/.github/workflows/ci.yml@refs/heads/main`.
    pub workflow_ref: Option<String>,
    /// `workflow_sha`: the commit of the workflow's file.
    pub workflow_sha: Option<String>,
    /// `run_id`.
    pub run_id: Option<String>,
    /// `run_number`.
    pub run_number: Option<String>,
    /// `run_attempt`.
    pub run_attempt: Option<String>,
    /// `retention_days`.
    pub retention_days: Option<String>,
    /// `server_url`, such as `https://github.com`.
    pub server_url: Option<String>,
    /// `api_url`.
    pub api_url: Option<String>,
    /// `graphql_url`.
    pub graphql_url: Option<String>,
    /// `secret_source`: `None`, `Actions`, `Codespaces` or `Dependabot`.
    pub secret_source: Option<String>,
    /// `token`.
    pub token: Option<String>,
    /// `workspace`: the directory that steps work in.
    pub workspace: Option<String>,
}

/// The properties that processes see as `GITHUB_<NAME>`.
///
/// GitHub: the runner's list of allowed names; `token` and `event` are not on it.
const EXPORTED: [&str; 39] = [
    "action",
    "action_path",
    "action_ref",
    "action_repository",
    "actor",
    "actor_id",
    "api_url",
    "artifacts",
    "artifacts_list",
    "base_ref",
    "env",
    "event_name",
    "event_path",
    "graphql_url",
    "head_ref",
    "job",
    "output",
    "path",
    "ref",
    "ref_name",
    "ref_protected",
    "ref_type",
    "repository",
    "repository_id",
    "repository_owner",
    "repository_owner_id",
    "retention_days",
    "run_attempt",
    "run_id",
    "run_number",
    "server_url",
    "sha",
    "state",
    "step_summary",
    "triggering_actor",
    "workflow",
    "workflow_ref",
    "workflow_sha",
    "workspace",
];

impl RunFacts {
    /// Makes the `github` context.
    ///
    /// `ref_name`, `ref_type`, `repository_owner` and `triggering_actor` follow from the other facts.
    pub fn github(&self) -> Object {
        let mut github = Object::new();
        for (name, value) in self.texts() {
            if let Some(value) = value {
                github.insert(name, value);
            }
        }
        if let Some((name, kind)) = self.git_ref.as_deref().and_then(split_ref) {
            github.insert("ref_name", name);
            github.insert("ref_type", kind);
        }
        github.insert("ref_protected", self.ref_protected);
        github.insert("event_name", self.event_name.as_str());
        github.insert(
            "event",
            self.event.clone().unwrap_or_else(|| Value::object(Object::new())),
        );
        github
    }

    fn texts(&self) -> [(&'static str, Option<&str>); 26] {
        let owner = self
            .repository
            .as_deref()
            .and_then(|name| name.split_once('/'))
            .map(|(owner, _)| owner);
        [
            ("event_path", self.event_path.as_deref()),
            ("ref", self.git_ref.as_deref()),
            ("sha", self.sha.as_deref()),
            // Both are empty text outside of pull requests.
            ("base_ref", Some(self.base_ref.as_deref().unwrap_or_default())),
            ("head_ref", Some(self.head_ref.as_deref().unwrap_or_default())),
            ("repository", self.repository.as_deref()),
            ("repository_id", self.repository_id.as_deref()),
            ("repository_owner", owner),
            ("repository_owner_id", self.repository_owner_id.as_deref()),
            ("repositoryUrl", self.repository_url.as_deref()),
            ("actor", self.actor.as_deref()),
            ("actor_id", self.actor_id.as_deref()),
            (
                "triggering_actor",
                self.triggering_actor.as_deref().or(self.actor.as_deref()),
            ),
            ("workflow", self.workflow.as_deref()),
            ("workflow_ref", self.workflow_ref.as_deref()),
            ("workflow_sha", self.workflow_sha.as_deref()),
            ("run_id", self.run_id.as_deref()),
            ("run_number", self.run_number.as_deref()),
            ("run_attempt", self.run_attempt.as_deref()),
            ("retention_days", self.retention_days.as_deref()),
            ("server_url", self.server_url.as_deref()),
            ("api_url", self.api_url.as_deref()),
            ("graphql_url", self.graphql_url.as_deref()),
            ("secret_source", self.secret_source.as_deref()),
            ("token", self.token.as_deref()),
            ("workspace", self.workspace.as_deref()),
        ]
    }
}

/// The short name and the type of a full ref; pull requests count as branches, as on GitHub.
fn split_ref(git_ref: &str) -> Option<(&str, &'static str)> {
    if let Some(name) = git_ref.strip_prefix("refs/heads/") {
        return Some((name, "branch"));
    }
    if let Some(name) = git_ref.strip_prefix("refs/tags/") {
        return Some((name, "tag"));
    }
    git_ref.strip_prefix("refs/pull/").map(|name| (name, "branch"))
}

/// The variables `GITHUB_<NAME>` that processes get of the `github` context, in a fixed order.
///
/// Booleans become `true` or `false`; numbers, objects and what is not set are left out, and neither the token nor
/// the payload of the event is ever exported.
pub fn exported_environment(github: &Object) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for name in EXPORTED {
        let value = match github.get(name) {
            Some(Value::String(text)) => text.to_string(),
            Some(Value::Bool(value)) => value.to_string(),
            _ => continue,
        };
        variables.push((format!("GITHUB_{}", name.to_ascii_uppercase()), value));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(github: &Object, name: &str) -> Option<String> {
        match github.get(name) {
            Some(Value::String(text)) => Some(text.to_string()),
            _ => None,
        }
    }

    #[test]
    fn names_follow_from_refs() {
        for (git_ref, name, kind) in [
            ("refs/heads/feature/x", Some("feature/x"), Some("branch")),
            ("refs/tags/v1.2", Some("v1.2"), Some("tag")),
            ("refs/pull/7/merge", Some("7/merge"), Some("branch")),
            ("main", None, None),
        ] {
            let github = RunFacts {
                git_ref: Some(git_ref.to_owned()),
                ..RunFacts::default()
            }
            .github();
            assert_eq!(text(&github, "ref_name").as_deref(), name, "{git_ref}");
            assert_eq!(text(&github, "ref_type").as_deref(), kind, "{git_ref}");
        }
    }

    #[test]
    fn the_owner_and_the_triggering_actor_follow() {
        let facts = RunFacts {
            repository: Some("octo/hello".to_owned()),
            actor: Some("mona".to_owned()),
            ..RunFacts::default()
        };
        let github = facts.github();
        assert_eq!(text(&github, "repository_owner").as_deref(), Some("octo"));
        assert_eq!(text(&github, "triggering_actor").as_deref(), Some("mona"));
    }

    #[test]
    fn only_scalars_of_the_list_are_exported() {
        let facts = RunFacts {
            event_name: "push".to_owned(),
            token: Some("secret".to_owned()),
            sha: Some("abc".to_owned()),
            secret_source: Some("Actions".to_owned()),
            ..RunFacts::default()
        };
        let mut github = facts.github();
        github.insert("run_number", Value::Number(7.0));
        let variables = exported_environment(&github);
        let names: Vec<&str> = variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "GITHUB_BASE_REF",
                "GITHUB_EVENT_NAME",
                "GITHUB_HEAD_REF",
                "GITHUB_REF_PROTECTED",
                "GITHUB_SHA"
            ]
        );
        assert!(variables.contains(&("GITHUB_REF_PROTECTED".to_owned(), "false".to_owned())));
    }
}
