//! Event filters: whether an event starts a workflow, and why.
//!
//! The rules are those of GitHub: docs, 'Workflow syntax', `on.<event>` and 'Skipping workflow runs'.

mod pattern;

use std::fmt;

use crate::model::{EventConfig, Triggers};
pub use pattern::{Pattern, PatternError};
use pattern::{last_match, matches_any};

/// Path filters look at so many changed files only.
pub const CHANGED_FILES_LIMIT: usize = 300;

/// Any of these in the message of the head commit skips runs for `push` and `pull_request`.
const SKIP_STRINGS: [&str; 5] = [
    "[skip ci]",
    "[ci skip]",
    "[no ci]",
    "[skip actions]",
    "[actions skip]",
];

/// What filters need to know about an event.
#[derive(Debug, Clone, Default)]
pub struct EventFacts {
    /// The event, such as `push`.
    pub name: String,
    /// The activity type (`action` of the payload), if the event has one.
    pub action: Option<String>,
    /// The full ref that was pushed, such as `refs/heads/main`.
    pub git_ref: String,
    /// The branch that filters of other events look at: the base of a pull request or merge group, the head branch
    /// of a `workflow_run`. A full ref or a short name.
    pub base_ref: Option<String>,
    /// The paths that changed; none if that is unknown or too much, and then path filters let everything through.
    pub changed_files: Option<Vec<String>>,
    /// The message of the head commit.
    pub head_commit_message: Option<String>,
    /// The name of the workflow that a `workflow_run` is about.
    pub workflow: Option<String>,
}

/// Whether an event starts a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// It does.
    pub runs: bool,
    /// Why, for the workflow's author.
    pub reason: String,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            if self.runs { "runs" } else { "does not run" },
            self.reason
        )
    }
}

/// What one filter says: go on, with what spoke for it, or no.
type Verdict = Result<Option<String>, Refused>;

/// Why a filter stops the event.
enum Refused {
    Filter(String),
    Pattern(PatternError),
}

impl From<PatternError> for Refused {
    fn from(error: PatternError) -> Self {
        Self::Pattern(error)
    }
}

/// Decides for a whole workflow.
///
/// # Errors
/// A pattern is not valid.
pub fn decide_workflow(event: &EventFacts, triggers: &Triggers) -> Result<Decision, PatternError> {
    if let Some(config) = triggers.events.get(&event.name) {
        return decide(event, config);
    }
    let runs = match event.name.as_str() {
        "workflow_dispatch" => triggers.dispatch.is_some(),
        "workflow_call" => triggers.call.is_some(),
        _ => false,
    };
    let word = if runs { "lists" } else { "does not list" };
    Ok(Decision {
        runs,
        reason: format!("'on' {word} the event '{}'", event.name),
    })
}

/// Decides by the filters of the event.
///
/// # Errors
/// A pattern is not valid.
pub fn decide(event: &EventFacts, config: &EventConfig) -> Result<Decision, PatternError> {
    let filters = [check_message, check_type, check_workflow, check_ref, check_paths];
    let mut reasons = Vec::new();
    for filter in filters {
        match filter(event, config) {
            Ok(reason) => reasons.extend(reason),
            Err(Refused::Filter(reason)) => return Ok(Decision { runs: false, reason }),
            Err(Refused::Pattern(error)) => return Err(error),
        }
    }
    if reasons.is_empty() {
        reasons.push(format!("the event '{}' has no filters", event.name));
    }
    Ok(Decision {
        runs: true,
        reason: reasons.join(", "),
    })
}

fn check_message(event: &EventFacts, _config: &EventConfig) -> Verdict {
    if !matches!(event.name.as_str(), "push" | "pull_request") {
        return Ok(None);
    }
    let message = event.head_commit_message.as_deref().unwrap_or_default();
    if let Some(skip) = SKIP_STRINGS.iter().find(|skip| message.contains(**skip)) {
        return refuse(format!("the message of the head commit holds '{skip}'"));
    }
    let mut trailers = message
        .lines()
        .rev()
        .map(str::trim)
        .skip_while(|line| line.is_empty());
    let skips = |line: &str| {
        let (key, value) = line.split_once(':').unwrap_or_default();
        key.eq_ignore_ascii_case("skip-checks") && value.trim().eq_ignore_ascii_case("true")
    };
    if trailers.by_ref().take_while(|line| !line.is_empty()).any(skips) {
        return refuse("the message of the head commit ends with 'skip-checks: true'".to_owned());
    }
    Ok(None)
}

fn check_type(event: &EventFacts, config: &EventConfig) -> Verdict {
    let Some(action) = &event.action else {
        return Ok(None);
    };
    let defaults: &[&str] = match event.name.as_str() {
        "pull_request" | "pull_request_target" => &["opened", "synchronize", "reopened"],
        _ => &[],
    };
    let (listed, whose) = match &config.types {
        Some(types) => (types.iter().any(|known| known == action), "'types'"),
        None if defaults.is_empty() => return Ok(None),
        None => (defaults.contains(&action.as_str()), "the default types"),
    };
    if listed {
        Ok(Some(format!("the type '{action}' is one of {whose}")))
    } else {
        refuse(format!("the type '{action}' is none of {whose}"))
    }
}

fn check_workflow(event: &EventFacts, config: &EventConfig) -> Verdict {
    let (Some(listed), Some(workflow)) = (&config.workflows, &event.workflow) else {
        return Ok(None);
    };
    check_list(
        &format!("the workflow '{workflow}'"),
        workflow,
        "workflows",
        Some(listed),
        None,
    )
}

/// A push of a branch looks at the branch filters, a push of a tag at the tag filters; with filters of the other
/// kind only, it does not run.
fn check_ref(event: &EventFacts, config: &EventConfig) -> Verdict {
    let has_branches = config.branches.is_some() || config.branches_ignore.is_some();
    let has_tags = config.tags.is_some() || config.tags_ignore.is_some();
    let branches = |name: &str| {
        let (only, ignore) = (config.branches.as_ref(), config.branches_ignore.as_ref());
        check_list(&format!("the branch '{name}'"), name, "branches", only, ignore)
    };
    if event.name != "push" {
        let Some(base) = event.base_ref.as_deref().filter(|_| has_branches) else {
            return Ok(None);
        };
        return branches(base.strip_prefix("refs/heads/").unwrap_or(base));
    }
    if let Some(name) = event.git_ref.strip_prefix("refs/tags/") {
        if has_branches && !has_tags {
            return refuse(format!(
                "'{name}' is a tag, and there are filters for branches only"
            ));
        }
        let (only, ignore) = (config.tags.as_ref(), config.tags_ignore.as_ref());
        return check_list(&format!("the tag '{name}'"), name, "tags", only, ignore);
    }
    let name = event
        .git_ref
        .strip_prefix("refs/heads/")
        .unwrap_or(&event.git_ref);
    if has_tags && !has_branches {
        return refuse(format!(
            "'{name}' is a branch, and there are filters for tags only"
        ));
    }
    branches(name)
}

/// Checks a name by a filter or by its `-ignore` twin.
fn check_list(
    subject: &str,
    name: &str,
    filter: &str,
    only: Option<&Vec<String>>,
    ignore: Option<&Vec<String>>,
) -> Verdict {
    if let Some(patterns) = only {
        return match last_match(patterns, name)? {
            Some((pattern, true)) => Ok(Some(format!("{subject} matches '{pattern}' of '{filter}'"))),
            Some((pattern, false)) => refuse(format!("{subject} is excluded by '{pattern}' of '{filter}'")),
            None => refuse(format!("{subject} matches no pattern of '{filter}'")),
        };
    }
    let Some(patterns) = ignore else { return Ok(None) };
    match last_match(patterns, name)? {
        Some((pattern, true)) => refuse(format!("{subject} matches '{pattern}' of '{filter}-ignore'")),
        _ => Ok(Some(format!("{subject} matches no pattern of '{filter}-ignore'"))),
    }
}

fn check_paths(event: &EventFacts, config: &EventConfig) -> Verdict {
    let is_tag = event.name == "push" && event.git_ref.starts_with("refs/tags/");
    let (patterns, ignore) = match (&config.paths, &config.paths_ignore) {
        (Some(patterns), _) => (patterns, false),
        (None, Some(patterns)) => (patterns, true),
        (None, None) => return Ok(None),
    };
    if is_tag {
        return Ok(Some("path filters do not apply to tags".to_owned()));
    }
    let Some(files) = &event.changed_files else {
        return Ok(Some(
            "the changed files are not known, so path filters do not apply".to_owned(),
        ));
    };
    let files = files.iter().take(CHANGED_FILES_LIMIT).map(String::as_str);
    let filter = if ignore { "paths-ignore" } else { "paths" };
    match (matches_any(patterns, files, !ignore)?, ignore) {
        (Some(file), false) => Ok(Some(format!("the changed file '{file}' matches '{filter}'"))),
        (Some(file), true) => Ok(Some(format!(
            "the changed file '{file}' does not match '{filter}'"
        ))),
        (None, false) => refuse(format!("no changed file matches '{filter}'")),
        (None, true) => refuse(format!("every changed file matches '{filter}'")),
    }
}

fn refuse(reason: String) -> Verdict {
    Err(Refused::Filter(reason))
}

#[cfg(test)]
mod tests;
