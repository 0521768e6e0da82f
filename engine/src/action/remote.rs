//! Conversations with a server: which commit a ref is, and the objects of that commit.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::credential::Credential;
use super::error::{Access, Error};
use super::git::{Call, Failure, Git, Server};
use super::reference::{Remote, is_short_commit};

/// How long a server may take to name its refs.
const LIST_LIMIT: Duration = Duration::from_mins(1);

/// How long a server may take to send a commit.
const FETCH_LIMIT: Duration = Duration::from_mins(15);

/// Names of refs: about a million of them.
const LIST_BYTES: usize = 64 * 1024 * 1024;

/// The pauses before another try when the network or the server is at fault.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// What a failure means, read from git's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// There is no such repository, or the server does not admit it.
    NoRepository,
    /// There is no such ref or commit.
    NoRef,
    /// The server sends a commit only by a name.
    OnlyByName,
    /// The credential, or that there was none, was not accepted.
    Denied,
    /// The server sends us elsewhere.
    Redirected,
    /// Another try may help.
    Passing,
    /// Anything else.
    Other,
}

/// What was found out, and what the author should know about how.
pub(super) struct Answer<T> {
    /// The answer.
    pub value: T,
    /// A line for the job's log: the credential was rejected.
    pub note: Option<String>,
}

/// A server and a ref, and the directory in which git may work.
pub(super) struct Conversation<'a> {
    pub git: &'a Git,
    pub remote: &'a Remote,
    pub git_ref: &'a str,
    pub cwd: &'a Path,
}

impl Conversation<'_> {
    /// Asks which commit the ref is. A tag wins over a branch of the same name, as on GitHub.
    ///
    /// # Errors
    /// [`Error::RefMissing`] and whatever a server can do wrong.
    pub async fn resolve(&self) -> Result<Answer<String>, Error> {
        let args = list_arguments(&self.remote.url, self.git_ref);
        let answer = self.ask(None, &args, LIST_LIMIT, LIST_BYTES).await?;
        let listing = String::from_utf8_lossy(&answer.value);
        let commit = pick(&listing, self.git_ref).ok_or_else(|| self.no_ref())?;
        Ok(Answer {
            value: commit,
            note: answer.note,
        })
    }

    /// Brings the objects of one commit, without its history, into an empty repository.
    ///
    /// # Errors
    /// [`Error::RefMissing`] and whatever a server can do wrong.
    pub async fn fetch(&self, commit: &str, repository: &Path) -> Result<Answer<()>, Error> {
        self.init(commit, repository).await?;
        self.fetch_history(commit, 1, repository).await
    }

    /// Brings the objects of a commit and of so many before it into a repository; 0 means its whole history, and that
    /// of all branches and tags.
    ///
    /// # Errors
    /// [`Error::RefMissing`] and whatever a server can do wrong.
    pub async fn fetch_history(
        &self,
        commit: &str,
        depth: u32,
        repository: &Path,
    ) -> Result<Answer<()>, Error> {
        let option = format!("--depth={depth}");
        let exact = if depth == 0 {
            let names = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
            fetch_arguments(&self.remote.url, &[], &[&names[..], &[commit]].concat())
        } else {
            fetch_arguments(&self.remote.url, &[&option], &[commit])
        };
        let answer = match self.ask_as(Some(repository), &exact).await {
            Err((failure, _)) if meaning(&failure) == Meaning::OnlyByName => {
                let names = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
                let all = fetch_arguments(&self.remote.url, &[], &names);
                self.ask_as(Some(repository), &all).await
            }
            answer => answer,
        };
        let answer = answer.map_err(|(failure, access)| self.explain(&failure, access, FETCH_LIMIT))?;
        Ok(Answer {
            value: (),
            note: answer.note,
        })
    }

    async fn init(&self, commit: &str, repository: &Path) -> Result<(), Error> {
        let format = if commit.len() == 64 { "sha256" } else { "sha1" };
        let args = ["init", "--quiet", "--bare", "--template="].map(OsString::from);
        let mut args = args.to_vec();
        args.push(format!("--object-format={format}").into());
        args.push(repository.into());
        let call = Call {
            args,
            cwd: self.cwd,
            repository: None,
            server: None,
            limit: LIST_LIMIT,
            output: LIST_BYTES,
        };
        let made = self.git.output(call).await;
        made.map(drop).map_err(|failure| Error::Read {
            url: self.remote.url.clone(),
            commit: commit.to_owned(),
            reason: failure.reason(),
        })
    }

    async fn ask_as(
        &self,
        repository: Option<&Path>,
        args: &[OsString],
    ) -> Result<Answer<Vec<u8>>, (Failure, Access)> {
        self.ask_with_fallback(repository, args, FETCH_LIMIT, LIST_BYTES)
            .await
    }

    async fn ask(
        &self,
        repository: Option<&Path>,
        args: &[OsString],
        limit: Duration,
        output: usize,
    ) -> Result<Answer<Vec<u8>>, Error> {
        let answer = self.ask_with_fallback(repository, args, limit, output).await;
        answer.map_err(|(failure, access)| self.explain(&failure, access, limit))
    }

    /// Asks with the credential, if there is one; if that is rejected, once more without it.
    async fn ask_with_fallback(
        &self,
        repository: Option<&Path>,
        args: &[OsString],
        limit: Duration,
        output: usize,
    ) -> Result<Answer<Vec<u8>>, (Failure, Access)> {
        let ask = |credential| self.ask_patiently(repository, args, limit, output, credential);
        let Some(credential) = &self.remote.credential else {
            let answer = ask(None).await.map_err(|failure| (failure, Access::Anonymous))?;
            return Ok(Answer {
                value: answer,
                note: None,
            });
        };
        let failure = match ask(Some(credential)).await {
            Ok(value) => return Ok(Answer { value, note: None }),
            Err(failure) => failure,
        };
        let rejected = meaning(&failure);
        if !matches!(rejected, Meaning::Denied | Meaning::Redirected) {
            return Err((failure, Access::With(credential.name.clone())));
        }
        let url = &self.remote.url;
        let name = &credential.name;
        let note = if rejected == Meaning::Denied {
            format!("{url} has rejected the credential '{name}'; it was asked without one instead")
        } else {
            format!(
                "{url} redirects, and the credential '{name}' is not shown elsewhere; it was asked without one \
                 instead"
            )
        };
        match ask(None).await {
            Ok(value) => Ok(Answer {
                value,
                note: Some(note),
            }),
            Err(failure) => Err((failure, Access::Rejected(name.clone()))),
        }
    }

    /// Asks up to three times if the network or the server fails in passing.
    async fn ask_patiently(
        &self,
        repository: Option<&Path>,
        args: &[OsString],
        limit: Duration,
        output: usize,
        credential: Option<&Credential>,
    ) -> Result<Vec<u8>, Failure> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let call = Call {
                args: args.to_vec(),
                cwd: self.cwd,
                repository,
                server: Some(Server {
                    url: &self.remote.url,
                    credential,
                    trust: self.remote.trust.as_ref(),
                }),
                limit,
                output,
            };
            let failure = match self.git.output(call).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match pauses.next() {
                Some(pause) if meaning(&failure) == Meaning::Passing => tokio::time::sleep(pause).await,
                _ => return Err(failure),
            }
        }
    }

    fn no_ref(&self) -> Error {
        let hint = if is_short_commit(self.git_ref) {
            "; a commit needs its full id"
        } else {
            ""
        };
        Error::RefMissing {
            url: self.remote.url.clone(),
            git_ref: self.git_ref.to_owned(),
            hint,
        }
    }

    fn explain(&self, failure: &Failure, access: Access, limit: Duration) -> Error {
        let url = self.remote.url.clone();
        let git_ref = self.git_ref.to_owned();
        if matches!(failure, Failure::TimedOut(_)) {
            return Error::TimedOut { url, git_ref, limit };
        }
        match meaning(failure) {
            Meaning::NoRepository => Error::RepositoryMissing { url, access },
            Meaning::NoRef => self.no_ref(),
            // Servers ask strangers for a password also if there is no such repository.
            Meaning::Denied if access == Access::Anonymous => Error::RepositoryMissing { url, access },
            Meaning::Denied => Error::Denied { url, access },
            _ => Error::Unreachable {
                url,
                git_ref,
                reason: failure.reason(),
                hint: String::new(),
            },
        }
    }
}

fn list_arguments(url: &str, git_ref: &str) -> Vec<OsString> {
    let mut args = vec!["ls-remote".to_owned(), "--quiet".to_owned()];
    let full = git_ref.starts_with("refs/") || git_ref == "HEAD";
    if !full {
        // A server of protocol 2 then sends nothing else: pull requests are most of the refs of a busy repository.
        args.extend(["--heads", "--tags"].map(str::to_owned));
    }
    args.extend(["--".to_owned(), url.to_owned()]);
    for name in candidates(git_ref) {
        args.push(format!("{name}^{{}}"));
        args.push(name);
    }
    args.into_iter().map(OsString::from).collect()
}

fn fetch_arguments(url: &str, options: &[&str], wanted: &[&str]) -> Vec<OsString> {
    let fixed = [
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
    ];
    let args = [&fixed, options, &["--", url], wanted].concat();
    args.into_iter().map(OsString::from).collect()
}

/// The full names that a ref may stand for, the first one wins.
fn candidates(git_ref: &str) -> Vec<String> {
    if git_ref.starts_with("refs/") || git_ref == "HEAD" {
        return vec![git_ref.to_owned()];
    }
    let mut names = vec![format!("refs/tags/{git_ref}"), format!("refs/heads/{git_ref}")];
    if git_ref.starts_with("heads/") || git_ref.starts_with("tags/") {
        names.push(format!("refs/{git_ref}"));
    }
    names
}

/// Finds the commit of a ref in what `ls-remote` prints; an annotated tag is followed to its commit.
fn pick(listing: &str, git_ref: &str) -> Option<String> {
    let find = |wanted: &str| {
        listing.lines().find_map(|line| {
            let (id, name) = line.split_once('\t')?;
            (name == wanted && super::reference::is_commit(id)).then(|| id.to_owned())
        })
    };
    candidates(git_ref)
        .iter()
        .find_map(|name| find(&format!("{name}^{{}}")).or_else(|| find(name)))
}

/// What git says, in lower case, and what that means; the first row that fits counts.
const MEANINGS: [(Meaning, &[&str]); 6] = [
    (
        Meaning::Denied,
        &[
            "authentication failed",
            "returned error: 401",
            "returned error: 403",
            "could not read username",
            "could not read password",
            "unable to get password",
            "access denied",
        ],
    ),
    (
        Meaning::OnlyByName,
        &["unadvertised object", "does not allow request for"],
    ),
    (
        Meaning::NoRef,
        &["not our ref", "couldn't find remote ref", "no such remote ref"],
    ),
    (
        Meaning::NoRepository,
        &[
            "repository not found",
            "returned error: 404",
            "returned error: 410",
            "does not appear to be a git repository",
            "' not found",
        ],
    ),
    (
        Meaning::Redirected,
        &[
            "returned error: 301",
            "returned error: 302",
            "returned error: 303",
            "returned error: 307",
            "returned error: 308",
        ],
    ),
    (
        Meaning::Passing,
        &[
            "could not resolve host",
            "failed to connect",
            "couldn't connect",
            "could not connect",
            "connection refused",
            "connection reset",
            "connection timed out",
            "timed out",
            "early eof",
            "unexpected disconnect",
            "empty reply",
            "rpc failed",
            "returned error: 429",
            "returned error: 5",
        ],
    ),
];

/// Reads git's words; they are English because git is started so.
fn meaning(failure: &Failure) -> Meaning {
    let Failure::Exit(said) = failure else {
        return Meaning::Other;
    };
    let said = said.to_ascii_lowercase();
    MEANINGS
        .iter()
        .find(|(_, words)| words.iter().any(|word| said.contains(word)))
        .map_or(Meaning::Other, |(meaning, _)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn tags_win_and_are_peeled() {
        let rows = [
            (format!("{A}\trefs/heads/v1\n{B}\trefs/tags/v1\n"), "v1", Some(B)),
            (
                format!("{A}\trefs/tags/v1\n{B}\trefs/tags/v1^{{}}\n"),
                "v1",
                Some(B),
            ),
            (format!("{A}\trefs/heads/x/refs/heads/v1\n"), "v1", None),
            (format!("{A}\trefs/heads/main\n"), "heads/main", Some(A)),
            (format!("{A}\trefs/heads/heads/main\n"), "heads/main", Some(A)),
            (format!("{A}\trefs/pull/1/merge\n"), "refs/pull/1/merge", Some(A)),
            (format!("{A}\tHEAD\n"), "HEAD", Some(A)),
            ("nonsense\nx\trefs/tags/v1\n".to_owned(), "v1", None),
        ];
        for (listing, git_ref, expected) in rows {
            assert_eq!(pick(&listing, git_ref).as_deref(), expected, "{listing}");
        }
    }

    #[test]
    fn gits_words_are_understood() {
        let rows = [
            (
                "fatal: Authentication failed for 'https://h/o/r/'",
                Meaning::Denied,
            ),
            (
                "fatal: could not read Username for 'https://h': terminal prompts disabled",
                Meaning::Denied,
            ),
            (
                "fatal: unable to access 'https://h/': The requested URL returned error: 403",
                Meaning::Denied,
            ),
            (
                "fatal: repository 'https://h/o/r/' not found",
                Meaning::NoRepository,
            ),
            (
                "fatal: remote error: upload-pack: not our ref aaaa",
                Meaning::NoRef,
            ),
            (
                "error: Server does not allow request for unadvertised object aaaa",
                Meaning::OnlyByName,
            ),
            (
                "fatal: unable to access 'x': The requested URL returned error: 302",
                Meaning::Redirected,
            ),
            (
                "fatal: unable to access 'x': Could not resolve host: h",
                Meaning::Passing,
            ),
            (
                "fatal: unable to access 'x': The requested URL returned error: 503",
                Meaning::Passing,
            ),
            ("fatal: something else", Meaning::Other),
        ];
        for (said, expected) in rows {
            assert_eq!(meaning(&Failure::Exit(said.to_owned())), expected, "{said}");
        }
    }
}
