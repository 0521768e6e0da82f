//! What `uses` names: an action or a reusable workflow.

use std::fmt;

/// Which action a step uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionRef {
    /// `docker://image`
    Docker(String),
    /// `builtin:name`: the runner itself is the action.
    Builtin(String),
    /// `./path`, as it is written.
    Local(String),
    /// `owner/repo[/path]@ref`, or an absolute URL in place of `owner/repo`.
    Remote {
        /// `owner/repo`, or `https://host/owner/repo`.
        repository: String,
        /// The path inside of the repository, maybe empty.
        path: String,
        /// Branch, tag or commit.
        git_ref: String,
    },
}

/// Which reusable workflow is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowRef {
    /// `./.github/workflows/f.yml`, the path without `./`.
    Local(String),
    /// `owner/repo/.github/workflows/f.yml@ref`.
    Remote {
        /// `owner/repo`
        repository: String,
        /// The path inside of the repository.
        path: String,
        /// Branch, tag or commit.
        git_ref: String,
    },
}

impl ActionRef {
    /// Reads `uses` of a step; nothing if it has none of the known forms.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(image) = text.strip_prefix("docker://") {
            return Some(Self::Docker(image.to_owned()));
        }
        if let Some(name) = text.strip_prefix("builtin:") {
            let is_name = !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            return is_name.then(|| Self::Builtin(name.to_owned()));
        }
        if text.starts_with("./") || text.starts_with(".\\") {
            return Some(Self::Local(text.to_owned()));
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (Some(scheme), rest),
            _ => (None, text),
        };
        let (path, git_ref) = rest.split_once('@')?;
        if git_ref.is_empty() || git_ref.contains('@') {
            return None;
        }
        let mut segments = path.split(['/', '\\']).filter(|segment| !segment.is_empty());
        let host = match scheme {
            Some(scheme) => format!("{scheme}://{}/", segments.next()?),
            None => String::new(),
        };
        let (owner, repository) = (segments.next()?, segments.next()?);
        Some(Self::Remote {
            repository: format!("{host}{owner}/{repository}"),
            path: segments.collect::<Vec<_>>().join("/"),
            git_ref: git_ref.to_owned(),
        })
    }
}

impl fmt::Display for ActionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Docker(image) => write!(f, "docker://{image}"),
            Self::Builtin(name) => write!(f, "builtin:{name}"),
            Self::Local(path) => f.write_str(path),
            Self::Remote {
                repository,
                path,
                git_ref,
            } => remote(f, repository, path, git_ref),
        }
    }
}

impl WorkflowRef {
    /// Reads `uses` of a job.
    ///
    /// # Errors
    /// The reason for the author why it is neither a local nor a remote workflow.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(path) = text.strip_prefix("./") {
            if path.contains('@') {
                return Err("cannot specify version when calling local workflows");
            }
            return Ok(Self::Local(path.to_owned()));
        }
        let Some((place, git_ref)) = text.split_once('@') else {
            return Err("no version specified");
        };
        let segments: Vec<_> = place.splitn(3, '/').collect();
        match segments[..] {
            [owner, repository, path]
                if ![owner, repository, path, git_ref].contains(&"") && !git_ref.contains('@') =>
            {
                Ok(Self::Remote {
                    repository: format!("{owner}/{repository}"),
                    path: path.to_owned(),
                    git_ref: git_ref.to_owned(),
                })
            }
            _ => Err("references to workflows must be prefixed with format 'owner/repository/' or './'"),
        }
    }
}

impl fmt::Display for WorkflowRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => write!(f, "./{path}"),
            Self::Remote {
                repository,
                path,
                git_ref,
            } => remote(f, repository, path, git_ref),
        }
    }
}

fn remote(f: &mut fmt::Formatter<'_>, repository: &str, path: &str, git_ref: &str) -> fmt::Result {
    match path {
        "" => write!(f, "{repository}@{git_ref}"),
        _ => write!(f, "{repository}/{path}@{git_ref}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_actions() {
        let remote = |repository: &str, path: &str, git_ref: &str| {
            Some(ActionRef::Remote {
                repository: repository.into(),
                path: path.into(),
                git_ref: git_ref.into(),
            })
        };
        let rows = [
            ("actions/checkout@v4", remote("actions/checkout", "", "v4")),
            ("a/b/c/d@feature/x", remote("a/b", "c/d", "feature/x")),
            (
                "https://code.example/o/r/sub@v1",
                remote("https://code.example/o/r", "sub", "v1"),
            ),
            ("http://h:3000/o/r@v1", remote("http://h:3000/o/r", "", "v1")),
            ("docker://alpine:3", Some(ActionRef::Docker("alpine:3".into()))),
            ("./x", Some(ActionRef::Local("./x".into()))),
            ("builtin:checkout", Some(ActionRef::Builtin("checkout".into()))),
            ("builtin:", None),
            ("builtin:a/b@c", None),
            ("actions/checkout", None),
            ("a@b", None),
            ("a/b@c@d", None),
            ("a/b@", None),
            ("$/x", None),
            ("https://h/o@v1", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(ActionRef::parse(text), expected, "{text}");
            if let Some(reference) = expected {
                assert_eq!(reference.to_string(), text);
            }
        }
    }

    #[test]
    fn reads_workflows() {
        let rows = [
            ("./.github/workflows/f.yml", Ok("./.github/workflows/f.yml")),
            (
                "o/r/.github/workflows/f.yml@v1",
                Ok("o/r/.github/workflows/f.yml@v1"),
            ),
            (
                "./f.yml@v1",
                Err("cannot specify version when calling local workflows"),
            ),
            ("o/r/f.yml", Err("no version specified")),
            (
                "o/f.yml@v1",
                Err("references to workflows must be prefixed with format 'owner/repository/' or './'"),
            ),
        ];
        for (text, expected) in rows {
            let found = WorkflowRef::parse(text).map(|reference| reference.to_string());
            assert_eq!(found, expected.map(str::to_owned), "{text}");
        }
    }
}
