//! What a local run says about itself in the `github` context: from the event's payload, else from git, else by
//! convention.

use std::path::Path;

use gantry_actors::engine::expr::Value;
use gantry_actors::engine::model::Workflow;
use gantry_actors::engine::plan::contexts::RunFacts;
use gantry_actors::engine::plan::filters::EventFacts;
use serde_json::{Value as Json, json};

use super::git::Repository;

/// The event that a person runs.
#[derive(Debug)]
pub struct LocalEvent {
    /// Its name, such as `push`.
    pub name: String,
    /// Its payload, an object.
    pub payload: Json,
    /// Whether a person gave the payload; else it only says what git knows.
    pub is_given: bool,
}

/// The commit of a directory without git.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

impl LocalEvent {
    /// An event whose payload, if none is given, says what git knows.
    pub fn new(name: String, payload: Option<Json>, repository: &Repository, directory: &Path) -> Self {
        let is_given = payload.is_some();
        let payload = payload.unwrap_or_else(|| default_payload(&name, repository, directory));
        Self {
            name,
            payload,
            is_given,
        }
    }

    /// What the filters of workflows look at.
    pub fn filter_facts(&self, repository: &Repository) -> EventFacts {
        let base = [
            "/pull_request/base/ref",
            "/merge_group/base_ref",
            "/workflow_run/head_branch",
        ];
        EventFacts {
            name: self.name.clone(),
            action: self.text("/action"),
            git_ref: self.git_ref().unwrap_or_else(|| git_ref(repository).to_owned()),
            base_ref: base.iter().find_map(|path| self.text(path)),
            changed_files: self.changed_files(),
            head_commit_message: self.text("/head_commit/message"),
            workflow: self.text("/workflow_run/name"),
        }
    }

    /// The files that the commits of a push name; `None` if the payload says nothing about them.
    fn changed_files(&self) -> Option<Vec<String>> {
        let commits = self.payload.get("commits")?.as_array()?;
        let lists = commits
            .iter()
            .flat_map(|commit| ["added", "modified", "removed"].map(|key| commit.get(key)));
        let mut files: Vec<String> = Vec::new();
        let mut is_known = false;
        for list in lists.flatten().filter_map(Json::as_array) {
            is_known = true;
            files.extend(list.iter().filter_map(Json::as_str).map(str::to_owned));
        }
        is_known.then_some(files)
    }

    fn text(&self, path: &str) -> Option<String> {
        self.payload.pointer(path)?.as_str().map(str::to_owned)
    }

    /// `ref`: for pull requests the merge ref, as on a forge.
    fn git_ref(&self) -> Option<String> {
        let number = self
            .payload
            .get("number")
            .or_else(|| self.payload.pointer("/pull_request/number"));
        match number.and_then(Json::as_u64) {
            Some(number) if self.name == "pull_request" => Some(format!("refs/pull/{number}/merge")),
            _ => self.text("/ref"),
        }
    }
}

fn default_payload(event: &str, repository: &Repository, directory: &Path) -> Json {
    let name = repository_name(None, repository, directory);
    let (owner, short) = name.split_once('/').unwrap_or(("", &name));
    let about = json!({"name": short, "full_name": name, "owner": {"login": owner}});
    match event {
        "push" => json!({"ref": git_ref(repository), "after": sha(repository), "repository": about}),
        "workflow_dispatch" => json!({"ref": git_ref(repository), "repository": about}),
        _ => json!({"repository": about}),
    }
}

fn git_ref(repository: &Repository) -> &str {
    repository.git_ref.as_deref().unwrap_or("refs/heads/main")
}

fn sha(repository: &Repository) -> &str {
    repository.sha.as_deref().unwrap_or(NO_COMMIT)
}

/// The repository's name: of the payload, else of the remote, else the directory's.
fn repository_name(payload: Option<String>, repository: &Repository, directory: &Path) -> String {
    payload
        .or_else(|| repository.name().map(str::to_owned))
        .unwrap_or_else(|| {
            let name = directory
                .file_name()
                .map_or_else(|| "repository".into(), |name| name.to_string_lossy());
            format!("local/{name}")
        })
}

/// The facts of one workflow's run; `event` is the payload as the `github.event` context holds it.
pub fn facts(
    local: &LocalEvent,
    event: Value,
    repository: &Repository,
    directory: &Path,
    workflow: &Workflow,
) -> RunFacts {
    let name = repository_name(local.text("/repository/full_name"), repository, directory);
    let git_ref = local.git_ref().unwrap_or_else(|| git_ref(repository).to_owned());
    let sha = local.text("/after").unwrap_or_else(|| sha(repository).to_owned());
    let server = repository.server().unwrap_or("https://github.com");
    let actor = local.text("/sender/login").or_else(|| repository.user.clone());
    RunFacts {
        event_name: local.name.clone(),
        event: Some(event),
        base_ref: local.text("/pull_request/base/ref"),
        head_ref: local.text("/pull_request/head/ref"),
        repository_url: repository.url.clone(),
        actor: Some(actor.unwrap_or_else(|| "gantry".to_owned())),
        workflow: Some(workflow.name.clone().unwrap_or_else(|| workflow.file.to_string())),
        workflow_ref: Some(format!("{name}/{}@{git_ref}", workflow.file)),
        workflow_sha: Some(sha.clone()),
        run_id: Some("1".to_owned()),
        run_number: Some("1".to_owned()),
        run_attempt: Some("1".to_owned()),
        retention_days: Some("0".to_owned()),
        server_url: Some(server.to_owned()),
        api_url: Some(api_url(server)),
        graphql_url: Some(graphql_url(server)),
        secret_source: Some("Actions".to_owned()),
        repository: Some(name),
        git_ref: Some(git_ref),
        sha: Some(sha),
        ..RunFacts::default()
    }
}

/// GitHub serves its API at a host of its own, the other forges below `/api/v1`.
fn api_url(server: &str) -> String {
    match server {
        "https://github.com" => "https://api.github.com".to_owned(),
        other => format!("{other}/api/v1"),
    }
}

/// Only GitHub has this API; elsewhere the text is empty.
fn graphql_url(server: &str) -> String {
    match server {
        "https://github.com" => "https://api.github.com/graphql".to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, payload: Option<Json>, repository: &Repository) -> RunFacts {
        let directory = Path::new("/some/where");
        let local = LocalEvent::new(name.to_owned(), payload, repository, directory);
        let text = "on: push\njobs: {a: {runs-on: x, steps: [{run: x}]}}\n";
        let workflow = Workflow::parse(".github/workflows/t.yml", text).expect("valid");
        facts(&local, Value::Null, repository, directory, &workflow)
    }

    #[test]
    fn git_answers_what_the_payload_does_not() {
        let repository = Repository {
            sha: Some("abc".to_owned()),
            git_ref: Some("refs/heads/topic".to_owned()),
            url: Some("https://code.example/octo/hello".to_owned()),
            user: Some("Mona".to_owned()),
            instance: None,
        };
        let facts = of("push", None, &repository);
        assert_eq!(facts.git_ref.as_deref(), Some("refs/heads/topic"));
        assert_eq!(facts.sha.as_deref(), Some("abc"));
        assert_eq!(facts.repository.as_deref(), Some("octo/hello"));
        assert_eq!(facts.actor.as_deref(), Some("Mona"));
        assert_eq!(facts.api_url.as_deref(), Some("https://code.example/api/v1"));
        let reference = "octo/hello/.github/workflows/t.yml@refs/heads/topic";
        assert_eq!(facts.workflow_ref.as_deref(), Some(reference));
    }

    #[test]
    fn the_payload_wins() {
        let payload = json!({
            "number": 7,
            "pull_request": {"head": {"ref": "topic"}, "base": {"ref": "main"}},
            "repository": {"full_name": "a/b"},
            "sender": {"login": "mona"},
        });
        let facts = of("pull_request", Some(payload), &Repository::default());
        assert_eq!(facts.git_ref.as_deref(), Some("refs/pull/7/merge"));
        assert_eq!(
            (facts.head_ref.as_deref(), facts.base_ref.as_deref()),
            (Some("topic"), Some("main"))
        );
        assert_eq!(
            (facts.repository.as_deref(), facts.actor.as_deref()),
            (Some("a/b"), Some("mona"))
        );
    }

    #[test]
    fn filters_look_at_the_payload() {
        let payload = json!({
            "ref": "refs/heads/topic",
            "commits": [{"added": ["a"], "modified": [], "removed": ["b"]}, {"modified": ["c"]}],
            "head_commit": {"message": "one"},
        });
        let repository = Repository::default();
        let local = LocalEvent::new("push".to_owned(), Some(payload), &repository, Path::new("/x"));
        let facts = local.filter_facts(&repository);
        assert_eq!(facts.git_ref, "refs/heads/topic");
        assert_eq!(
            facts.changed_files,
            Some(["a", "b", "c"].map(str::to_owned).to_vec())
        );
        assert_eq!(facts.head_commit_message.as_deref(), Some("one"));
    }

    #[test]
    fn without_git_there_are_conventions() {
        let facts = of("push", None, &Repository::default());
        assert_eq!(facts.repository.as_deref(), Some("local/where"));
        assert_eq!(facts.git_ref.as_deref(), Some("refs/heads/main"));
        assert_eq!(facts.sha.as_deref(), Some(NO_COMMIT));
    }
}
