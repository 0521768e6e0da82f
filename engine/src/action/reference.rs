//! Where a repository lives that `uses` names.

use super::credential::{Credential, Token};
use super::error::Error;
use super::trust::Trust;

/// What `github_mirror` stands in for.
const GITHUB: &str = "https://github.com";

/// Where actions come from, and what opens the doors there.
#[derive(Clone)]
pub struct Sources {
    /// The server of `owner/repo`, such as `https://github.com`.
    pub default_url: String,
    /// Stands in for `https://github.com`.
    pub github_mirror: Option<String>,
    /// Tokens and their places; the first that fits is used.
    pub credentials: Vec<Credential>,
    /// What holds for the certificates of servers; the first that fits is used.
    pub trusts: Vec<Trust>,
}

impl Default for Sources {
    fn default() -> Self {
        Self {
            default_url: GITHUB.to_owned(),
            github_mirror: None,
            credentials: Vec::new(),
            trusts: Vec::new(),
        }
    }
}

impl Sources {
    /// The place of `owner/repo` or of an absolute URL.
    ///
    /// # Errors
    /// [`Error::Repository`]
    pub fn remote(&self, repository: &str) -> Result<Remote, Error> {
        let url = if repository.contains("://") {
            repository.to_owned()
        } else {
            format!("{}/{repository}", self.default_url.trim_end_matches('/'))
        };
        let url = self.mirrored(url);
        let no_repository = || Error::Repository {
            repository: repository.to_owned(),
        };
        let (url, embedded) = take_user(&url);
        let address = Address::parse(&url).ok_or_else(no_repository)?;
        if address.path.iter().any(|part| part == ".." || part == ".") {
            return Err(no_repository());
        }
        let credential = embedded.or_else(|| {
            let mut fitting = self.credentials.iter().filter(|one| one.belongs_to(&address));
            fitting.next().cloned()
        });
        let trust = self.trusts.iter().find(|trust| trust.covers(&address)).cloned();
        Ok(Remote {
            url,
            credential,
            trust,
        })
    }

    fn mirrored(&self, url: String) -> String {
        let Some(mirror) = self.github_mirror.as_deref().filter(|mirror| !mirror.is_empty()) else {
            return url;
        };
        match url.strip_prefix(GITHUB) {
            Some(path) if path.starts_with('/') => format!("{}{path}", mirror.trim_end_matches('/')),
            _ => url,
        }
    }
}

/// A repository that git can ask.
#[derive(Clone)]
pub struct Remote {
    /// The URL without a user.
    pub(super) url: String,
    /// What is shown to the server.
    pub(super) credential: Option<Credential>,
    /// What holds for its certificates.
    pub(super) trust: Option<Trust>,
}

impl Remote {
    /// The URL without a user; it can be shown.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same repository, asked without a credential.
    pub(super) fn anonymous(&self) -> Self {
        Self {
            url: self.url.clone(),
            credential: None,
            trust: self.trust.clone(),
        }
    }
}

/// An absolute URL in parts, as far as they say who is behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    scheme: String,
    host: String,
    path: Vec<String>,
}

impl Address {
    /// Reads `scheme://host[:port]/path`; the port that a scheme has anyway is dropped.
    pub fn parse(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let scheme = scheme.to_ascii_lowercase();
        let host = host.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "https" => ":443",
            "http" => ":80",
            // Only an operator can name a directory: `uses` knows http and https alone.
            "file" if host.is_empty() => "",
            _ => return None,
        };
        if scheme != "file" && host.is_empty() {
            return None;
        }
        if url.chars().any(|c| c.is_control() || c.is_whitespace()) || host.contains(['@', '\\', '?', '#']) {
            return None;
        }
        Some(Self {
            host: host.strip_suffix(usual).unwrap_or(&host).to_owned(),
            scheme,
            path: path
                .split('/')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect(),
        })
    }

    /// Tells whether `other` is the same place or one below it.
    pub fn covers(&self, other: &Self) -> bool {
        let climbs = other.path.iter().any(|part| part == "..");
        self.scheme == other.scheme
            && self.host == other.host
            && other.path.starts_with(&self.path)
            && !climbs
    }
}

/// Parts a URL from the user and the password that stand in it.
fn take_user(url: &str) -> (String, Option<Credential>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (user, host) = authority.rsplit_once('@')?;
        Some((format!("{scheme}://{host}"), path, user))
    });
    let Some((origin, path, user)) = parts else {
        return (url.to_owned(), None);
    };
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let credential = Credential {
        prefix: origin.clone(),
        name: "user in the URL".to_owned(),
        user: user.to_owned(),
        token: Token::new(password),
    };
    (format!("{origin}{path}"), Some(credential))
}

/// Tells whether a ref is the full id of a commit, of SHA-1 or SHA-256.
pub(super) fn is_commit(git_ref: &str) -> bool {
    matches!(git_ref.len(), 40 | 64) && git_ref.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Tells whether a ref looks like the beginning of a commit's id.
pub(super) fn is_short_commit(git_ref: &str) -> bool {
    (7..40).contains(&git_ref.len()) && git_ref.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Checks what git would accept as the name of a branch or tag (git: git-check-ref-format).
pub(super) fn check_ref(git_ref: &str) -> Result<(), Error> {
    let forbidden = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let wrong = git_ref.is_empty()
        || git_ref.len() > 1024
        || git_ref.starts_with(['-', '/'])
        || git_ref.ends_with(['/', '.'])
        || git_ref == "@"
        || git_ref.contains("..")
        || git_ref.contains("//")
        || git_ref.contains("@{")
        || git_ref.contains(forbidden)
        || git_ref
            .split('/')
            .any(|part| part.starts_with('.') || part.strip_suffix(".lock").is_some());
    if wrong {
        return Err(Error::InvalidRef {
            git_ref: git_ref.to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_have_urls() {
        let mirrored = Sources {
            github_mirror: Some("https://mirror.example/gh/".to_owned()),
            ..Sources::default()
        };
        let own = Sources {
            default_url: "http://127.0.0.1:3000/".to_owned(),
            ..mirrored.clone()
        };
        let rows = [
            (&Sources::default(), "o/r", Some("https://github.com/o/r")),
            (&mirrored, "o/r", Some("https://mirror.example/gh/o/r")),
            (&own, "o/r", Some("http://127.0.0.1:3000/o/r")),
            (
                &own,
                "https://github.com/o/r",
                Some("https://mirror.example/gh/o/r"),
            ),
            (
                &own,
                "https://github.community/o/r",
                Some("https://github.community/o/r"),
            ),
            (
                &own,
                "https://u:p@code.example/o/r",
                Some("https://code.example/o/r"),
            ),
            (&own, "ext::sh -c x/r", None),
            (&own, "ext://x/o/r", None),
            (&own, "https:///o/r", None),
            (&own, "../r", None),
            (&own, "o/r s", None),
        ];
        for (sources, repository, expected) in rows {
            let found = sources.remote(repository).map(|remote| remote.url).ok();
            assert_eq!(found.as_deref(), expected, "{repository}");
        }
    }

    #[test]
    fn the_user_of_a_url_becomes_a_credential() {
        let remote = Sources::default().remote("https://u:p@code.example/o/r").unwrap();
        let credential = remote.credential.unwrap();
        assert_eq!((credential.user.as_str(), credential.token.reveal()), ("u", "p"));
    }

    #[test]
    fn only_names_that_git_accepts_are_refs() {
        for good in ["v1", "feature/x", "refs/pull/1/merge", "1.2.3", "a@b", "HEAD"] {
            assert!(check_ref(good).is_ok(), "{good}");
        }
        for bad in [
            "", "-x", "/x", "x/", "x.", "a..b", "a//b", "a b", "a~1", "a^", "a:b", "*", "a[b", ".a", "a/.b",
            "a.lock", "@", "a@{1}", "a\nb",
        ] {
            assert!(check_ref(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn commits_are_full() {
        assert!(is_commit(&"a1".repeat(20)) && is_commit(&"0".repeat(64)));
        assert!(!is_commit(&"a1".repeat(19)) && !is_commit(&"g0".repeat(20)));
        assert!(is_short_commit("abcdef0") && !is_short_commit("v1.2.34"));
    }
}
