//! What git knows about the directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;

/// The repository that the directory belongs to; what git does not know is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repository {
    /// The commit that is checked out.
    pub sha: Option<String>,
    /// The branch or tag that is checked out, as a full ref.
    pub git_ref: Option<String>,
    /// The URL of the remote `origin` without credentials, and without `.git`.
    pub url: Option<String>,
    /// `user.name`.
    pub user: Option<String>,
    /// The server that a person names, instead of the one in the URL; without a slash at its end.
    pub instance: Option<String>,
}

impl Repository {
    /// Asks git; a directory outside of any repository, or a machine without git, yields nothing.
    pub fn of(directory: &Path) -> Self {
        // Each question is a process of a few milliseconds, so they are few, and asked at the same time.
        thread::scope(|scope| {
            let settings = scope.spawn(|| output(directory, SETTINGS).unwrap_or_default());
            let (sha, git_ref) = head(directory);
            // A thread that died found nothing.
            let settings = settings.join().unwrap_or_default();
            Self {
                sha,
                git_ref,
                url: setting(&settings, "remote.origin.url").and_then(web_url),
                user: setting(&settings, "user.name").map(str::to_owned),
                instance: None,
            }
        })
    }

    /// `owner/name`, from the URL.
    pub fn name(&self) -> Option<&str> {
        let url = self.url.as_deref()?;
        // A server may live below a path of its host.
        let below = self
            .instance
            .as_deref()
            .and_then(|server| url.strip_prefix(server)?.strip_prefix('/'));
        let name = match below {
            Some(name) => name,
            None => url.split_once("://")?.1.split_once('/')?.1,
        };
        (name.split('/').count() == 2).then_some(name)
    }

    /// The server, such as `https://github.com`.
    pub fn server(&self) -> Option<&str> {
        if let Some(instance) = &self.instance {
            return Some(instance);
        }
        let url = self.url.as_deref()?;
        let host = url.find("://")? + 3;
        let end = url[host..].find('/')? + host;
        Some(&url[..end])
    }
}

/// The files below the directory that git does not ignore, as paths within it; nothing outside of a work tree.
pub fn files(directory: &Path) -> Option<Vec<PathBuf>> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let names = output(directory, &args)?;
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// Asks for all values of the settings that count here.
const SETTINGS: &[&str] = &[
    "config",
    "-z",
    "--get-regexp",
    r"^(remote\.origin\.url|user\.name)$",
];

/// The value that counts is the last one.
fn setting<'a>(settings: &'a [u8], wanted: &str) -> Option<&'a str> {
    let value = settings.split(|byte| *byte == 0).rev().find_map(|entry| {
        let rest = entry.strip_prefix(wanted.as_bytes())?;
        if rest.is_empty() {
            Some(rest)
        } else {
            rest.strip_prefix(b"\n")
        }
    })?;
    let value = std::str::from_utf8(value).ok()?.trim();
    (!value.is_empty()).then_some(value)
}

/// The commit that is checked out, and its branch or tag.
fn head(directory: &Path) -> (Option<String>, Option<String>) {
    // Before the first commit this fails as a whole, and without a branch the second line is no ref.
    let both = ask(directory, &["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
    let mut lines = both.as_deref().unwrap_or_default().lines().map(str::to_owned);
    let sha = lines.next();
    let branch = lines.next().filter(|name| name.starts_with("refs/"));
    (sha, branch.or_else(|| git_ref(directory)))
}

/// The branch that is checked out, or a tag of the commit that is.
fn git_ref(directory: &Path) -> Option<String> {
    let tag = || ask(directory, &["describe", "--tags", "--exact-match", "HEAD"]);
    ask(directory, &["symbolic-ref", "--quiet", "HEAD"]).or_else(|| Some(format!("refs/tags/{}", tag()?)))
}

fn ask(directory: &Path, args: &[&str]) -> Option<String> {
    let text = String::from_utf8(output(directory, args)?)
        .ok()?
        .trim()
        .to_owned();
    (!text.is_empty()).then_some(text)
}

#[expect(
    clippy::disallowed_methods,
    reason = "git answers at once and starts nothing that could outlive it"
)]
fn output(directory: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(args)
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

/// Makes a directory a work tree, for tests.
#[cfg(test)]
pub fn init(directory: &Path) {
    assert!(output(directory, &["init", "-q"]).is_some(), "git init failed");
}

/// The address of a repository in a browser: `git@host:owner/name.git` and `ssh://` become `https://`.
fn web_url(remote: &str) -> Option<String> {
    let (scheme, rest) = match remote.split_once("://") {
        Some(("http", rest)) => ("http", rest),
        Some(("https" | "ssh" | "git", rest)) => ("https", rest),
        Some(_) => return None,
        None => ("https", remote),
    };
    let is_short = !remote.contains("://");
    let (host, path) = rest.split_once(if is_short { ':' } else { '/' })?;
    // A user, and maybe a password, before the host is nobody's business.
    let host = host.rsplit('@').next().unwrap_or(host);
    let path = path.trim_matches('/').trim_end_matches(".git");
    (!host.is_empty() && !path.is_empty()).then(|| format!("{scheme}://{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_name_server_and_repository() {
        let cases = [
            (
                "git@github.com:octo/hello.git",
                Some("https://github.com"),
                Some("octo/hello"),
            ),
            (
                "ssh://git@code.example:2222/octo/hello",
                Some("https://code.example:2222"),
                Some("octo/hello"),
            ),
            (
                "https://user:pass@code.example/octo/hello.git/",
                Some("https://code.example"),
                Some("octo/hello"),
            ),
            (
                "http://localhost:3000/octo/hello",
                Some("http://localhost:3000"),
                Some("octo/hello"),
            ),
            (
                "https://code.example/group/sub/hello",
                Some("https://code.example"),
                None,
            ),
            ("/srv/hello.git", None, None),
            ("file:///srv/hello.git", None, None),
        ];
        for (remote, server, name) in cases {
            let repository = Repository {
                url: web_url(remote),
                ..Repository::default()
            };
            assert_eq!(
                (repository.server(), repository.name()),
                (server, name),
                "{remote}"
            );
        }
    }

    #[test]
    fn a_directory_without_git_yields_nothing() {
        let root = tempfile::tempdir().expect("a directory");
        let Repository {
            sha, git_ref, url, ..
        } = Repository::of(root.path());
        assert_eq!((sha, git_ref, url), (None, None, None));
    }

    #[test]
    fn a_detached_commit_goes_by_its_tag() {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path();
        init(directory);
        let run = |args: &[&str]| assert!(output(directory, args).is_some(), "git {args:?} failed");
        run(&["config", "user.name", "someone"]);
        run(&["config", "user.email", "someone@example.org"]);
        run(&["config", "remote.origin.url", "git@code.example:octo/hello.git"]);
        run(&["config", "commit.gpgsign", "false"]);
        run(&["config", "tag.gpgsign", "false"]);
        run(&["commit", "-q", "--allow-empty", "-m", "first"]);
        run(&["tag", "v1"]);
        run(&["checkout", "-q", "--detach"]);
        let repository = Repository::of(directory);
        assert_eq!(repository.git_ref.as_deref(), Some("refs/tags/v1"));
        assert_eq!(repository.sha.map(|sha| sha.len()), Some(40));
        assert_eq!(repository.url.as_deref(), Some("https://code.example/octo/hello"));
        assert_eq!(repository.user.as_deref(), Some("someone"));
    }

    #[test]
    fn before_the_first_commit_there_is_only_a_branch() {
        let root = tempfile::tempdir().expect("a directory");
        init(root.path());
        let name = output(root.path(), &["symbolic-ref", "HEAD", "refs/heads/topic"]);
        assert!(name.is_some(), "git symbolic-ref failed");
        let unborn = Repository::of(root.path());
        assert_eq!(
            (unborn.sha, unborn.git_ref.as_deref()),
            (None, Some("refs/heads/topic"))
        );
    }

    #[test]
    fn the_last_value_of_a_setting_counts() {
        let settings = b"user.name\nfirst\0remote.origin.url\na\nb\0user.name\n second \0user.named\nno\0";
        assert_eq!(setting(settings, "user.name"), Some("second"));
        assert_eq!(setting(settings, "remote.origin.url"), Some("a\nb"));
        assert_eq!(setting(b"user.name\nfirst\0user.name\0", "user.name"), None);
        assert_eq!(setting(b"", "user.name"), None);
    }
}
