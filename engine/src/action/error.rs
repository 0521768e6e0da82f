//! What can go wrong between `uses` and a tree on disk.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A repository could not be had. The text is for the workflow's author; it never holds a token.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// `uses` names no repository.
    #[error("'{repository}' is neither owner/repo nor an absolute http or https URL")]
    Repository {
        /// What stands there.
        repository: String,
    },
    /// The path in the repository would leave it.
    #[error("the path '{path}' is not inside of the repository")]
    Path {
        /// What stands there.
        path: String,
    },
    /// Git would not accept such a ref.
    #[error("`{git_ref}` is no valid name of a tag, branch or commit")]
    InvalidRef {
        /// What stands behind the `@`.
        git_ref: String,
    },
    /// The server says that there is no such repository, or does not say that there is one.
    #[error("repository not found: {url} ({access})")]
    RepositoryMissing {
        /// The repository.
        url: String,
        /// How the server was asked.
        access: Access,
    },
    /// The repository is there, the ref is not.
    #[error("unable to find version `{git_ref}`: {url} has no such tag, branch or commit{hint}")]
    RefMissing {
        /// The repository.
        url: String,
        /// The ref.
        git_ref: String,
        /// What the author may have meant; empty, or a text that begins with `; `.
        hint: &'static str,
    },
    /// The server wants a credential, or a better one.
    #[error("access denied: {url} ({access})")]
    Denied {
        /// The repository.
        url: String,
        /// How the server was asked.
        access: Access,
    },
    /// The server did not answer, or not in git's language.
    #[error("cannot fetch `{git_ref}` from {url}: {reason}{hint}")]
    Unreachable {
        /// The repository.
        url: String,
        /// The ref.
        git_ref: String,
        /// What git said.
        reason: String,
        /// What would help; empty, or a text that begins with `; `.
        hint: String,
    },
    /// The server did not answer in time.
    #[error("cannot fetch `{git_ref}` from {url}: no answer within {} s", limit.as_secs())]
    TimedOut {
        /// The repository.
        url: String,
        /// The ref.
        git_ref: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// Nothing may be fetched, and the store does not have it.
    #[error("`{git_ref}` of {url} is not in the store, and nothing is fetched because of --offline")]
    Offline {
        /// The repository.
        url: String,
        /// The ref.
        git_ref: String,
    },
    /// The tree holds something that no action needs and that could do harm.
    #[error("{url} at {commit} is refused: '{entry}' {refusal}")]
    Refused {
        /// The repository.
        url: String,
        /// The commit.
        commit: String,
        /// The entry of the tree.
        entry: String,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// The tree is beyond all measure.
    #[error("{url} at {commit} is refused: it has more than {limit}")]
    TooLarge {
        /// The repository.
        url: String,
        /// The commit.
        commit: String,
        /// The measure.
        limit: &'static str,
    },
    /// Git itself cannot be used.
    #[error("actions of other repositories need git 2.31 or later in PATH: {reason}")]
    Git {
        /// Why.
        reason: String,
    },
    /// Git failed on the repository that it has just fetched.
    #[error("cannot read {commit} of {url}: {reason}")]
    Read {
        /// The repository.
        url: String,
        /// The commit.
        commit: String,
        /// What git said.
        reason: String,
    },
    /// Somebody else is at it and does not come to an end.
    #[error("another process has been fetching {commit} for {} s", limit.as_secs())]
    Busy {
        /// The commit.
        commit: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The store on disk cannot be used.
    #[error("cannot use '{}' in the store of actions: {source}", path.display())]
    Store {
        /// The file or directory.
        path: PathBuf,
        /// Why; it is part of the text, because the author sees nothing else.
        source: Arc<io::Error>,
    },
    /// There is no metadata file at the path.
    #[error("can't find 'action.yml', 'action.yaml' or 'Dockerfile' in {place} of {url} at {commit}")]
    NoMetadata {
        /// The repository.
        url: String,
        /// The commit.
        commit: String,
        /// The path in words.
        place: String,
    },
    /// The metadata file has mistakes.
    #[error("{text}")]
    Metadata {
        /// Every mistake on a line of its own.
        text: String,
    },
    /// There is no such workflow file.
    #[error("workflow was not found: {url} at {commit} has no file '{path}'")]
    NoWorkflow {
        /// The repository.
        url: String,
        /// The commit.
        commit: String,
        /// The path in the repository.
        path: String,
    },
}

impl Error {
    pub(super) fn store(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Store {
            path,
            source: Arc::new(source),
        }
    }
}

/// How a server was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Without a credential.
    Anonymous,
    /// With the credential of this name, which was accepted.
    With(String),
    /// With the credential of this name, which was rejected, and then without one.
    Rejected(String),
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anonymous => f.write_str("asked without a credential; a private repository needs one"),
            Self::With(name) => write!(f, "asked with the credential '{name}'"),
            Self::Rejected(name) => write!(
                f,
                "the credential '{name}' was rejected, and so was access without a credential"
            ),
        }
    }
}

/// Why an entry of a tree is not unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `..`, `.`, an empty part, or an absolute path.
    #[error("is a path that leaves the tree")]
    Outside,
    /// It would be taken for a repository.
    #[error("has the name of a repository's own directory")]
    Repository,
    /// A link to somewhere else.
    #[error("is a link that leaves the tree")]
    Link,
    /// Neither a file nor a link.
    #[error("is neither a file nor a link (mode {0})")]
    Mode(String),
    /// The same path a second time, maybe in another case.
    #[error("is there twice")]
    Twice,
    /// Paths are bounded.
    #[error("has a path that is too long")]
    TooLong,
}
