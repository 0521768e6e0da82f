//! The store of actions against repositories that git itself serves.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

#[path = "support/git_server.rs"]
mod git_server;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use gantry_engine::action::{ActionKey, Credential, Error, Fetched, Sources, Store, StoreOptions, Token};
use git_server::GitServer;
use tempfile::TempDir;

const TOKEN: &str = "s3cr3t-token";
/// `x-access-token:s3cr3t-token`
const HEADER: &str = "Basic eC1hY2Nlc3MtdG9rZW46czNjcjN0LXRva2Vu";
const ACTION: &str = "name: x\nruns: {using: node20, main: main.js}\n";

/// A server, and a directory for stores.
struct Bench {
    server: GitServer,
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            server: GitServer::start(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn store(&self) -> Store {
        self.store_with(u64::MAX, false)
    }

    fn store_with(&self, size_cap: u64, offline: bool) -> Store {
        Store::new(StoreOptions {
            root: self.directory.path().join("store"),
            size_cap,
            offline,
        })
    }

    fn sources(&self) -> Sources {
        Sources {
            default_url: self.server.url(),
            ..Sources::default()
        }
    }

    fn sources_with_token(&self) -> Sources {
        let credential = Credential::of_token(&self.server.url(), "secret TOKEN", Token::new(TOKEN));
        Sources {
            credentials: vec![credential],
            ..self.sources()
        }
    }

    async fn fetch(&self, git_ref: &str) -> Result<Arc<Fetched>, Error> {
        fetch(&self.store(), &self.sources(), git_ref).await
    }

    fn commit(&self, content: &str) -> String {
        let files = [("100644", "action.yml", ACTION), ("100644", "main.js", content)];
        self.server.repository("o/r").commit("main", &files)
    }

    /// What is in the store beside whole trees and their locks.
    fn leftovers(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path().join("store/trees")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_left = |name: &String| [".part", ".git"].into_iter().any(|suffix| name.ends_with(suffix));
        names.filter(is_left).collect()
    }

    fn trees(&self) -> usize {
        let entries = fs::read_dir(self.directory.path().join("store/trees")).unwrap();
        entries
            .filter(|entry| entry.as_ref().unwrap().path().is_dir())
            .count()
    }
}

async fn fetch(store: &Store, sources: &Sources, git_ref: &str) -> Result<Arc<Fetched>, Error> {
    store.fetch(&sources.remote("o/r").unwrap(), git_ref).await
}

fn content(fetched: &Fetched) -> String {
    fs::read_to_string(fetched.directory.join("main.js")).unwrap()
}

#[tokio::test]
async fn branches_tags_and_commits_are_fetched() {
    let bench = Bench::new();
    let first = bench.commit("one");
    let second = bench.commit("two");
    let repository = bench.server.repository("o/r");
    repository.tag("v1", &first);
    repository.annotated_tag("v2", &second);
    repository.tag("main", &first);
    repository.tag("a/b", &second);
    let rows = [
        ("v1", &first, "one"),
        ("v2", &second, "two"),
        // A tag wins over a branch of the same name.
        ("main", &first, "one"),
        ("refs/heads/main", &second, "two"),
        ("heads/main", &second, "two"),
        ("a/b", &second, "two"),
        ("HEAD", &second, "two"),
        (&first, &first, "one"),
        (&second.to_uppercase(), &second, "two"),
    ];
    for (git_ref, commit, text) in rows {
        let fetched = bench.fetch(git_ref).await.unwrap();
        assert_eq!(
            (&fetched.commit, content(&fetched).as_str()),
            (commit, text),
            "{git_ref}"
        );
        assert_eq!(fetched.notes, [""; 0]);
    }
    assert_eq!(bench.server.fetches(), 2, "each commit is fetched once");
    assert_eq!(bench.leftovers(), [""; 0]);
}

#[tokio::test]
async fn a_moved_tag_is_followed_and_a_known_commit_is_not_asked_for() {
    let bench = Bench::new();
    let first = bench.commit("one");
    let repository = bench.server.repository("o/r");
    repository.tag("v1", &first);
    assert_eq!(content(&bench.fetch("v1").await.unwrap()), "one");
    let second = bench.commit("two");
    repository.tag("v1", &second);
    assert_eq!(content(&bench.fetch("v1").await.unwrap()), "two");
    let before = bench.server.requests().len();
    assert_eq!(content(&bench.fetch(&first).await.unwrap()), "one");
    assert_eq!(bench.server.requests().len(), before);
}

#[tokio::test]
async fn nobody_can_write_to_a_tree() {
    let bench = Bench::new();
    bench.server.repository("o/r").commit(
        "main",
        &[
            ("100644", "d/plain", "x"),
            ("100755", "d/run", "x"),
            ("120000", "link", "d/run"),
        ],
    );
    let fetched = bench.fetch("main").await.unwrap();
    let mode = |path: &str| {
        let metadata = fs::metadata(fetched.directory.join(path)).unwrap();
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!([mode("d"), mode("d/plain"), mode("link")], [0o555, 0o444, 0o555]);
}

#[tokio::test]
async fn attributes_of_the_tree_have_no_say() {
    let bench = Bench::new();
    let files = [
        (
            "100644",
            ".gitattributes",
            "gone export-ignore\n* export-subst ident eol=crlf filter=x\n",
        ),
        ("100644", "gone", "here\n"),
        ("100644", "main.js", "$Format:%H$ $Id$\n"),
    ];
    bench.server.repository("o/r").commit("main", &files);
    let fetched = bench.fetch("main").await.unwrap();
    assert_eq!(content(&fetched), "$Format:%H$ $Id$\n");
    assert!(fetched.directory.join("gone").is_file());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_that_want_the_same_share_one_fetch() {
    let bench = Bench::new();
    bench.commit("one");
    let (store, sources) = (bench.store(), bench.sources());
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (store, sources) = (store.clone(), sources.clone());
            tokio::spawn(async move { content(&fetch(&store, &sources, "main").await.unwrap()) })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), "one");
    }
    assert_eq!(bench.server.fetches(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_on_one_directory_share_one_fetch() {
    let bench = Bench::new();
    let commit = bench.commit("one");
    let tasks: Vec<_> = (0..6)
        .map(|number| {
            // Each store stands for a process: they have nothing in common but the directory.
            let (store, sources) = (bench.store(), bench.sources());
            let git_ref = if number % 2 == 0 {
                "main".to_owned()
            } else {
                commit.clone()
            };
            tokio::spawn(async move { content(&fetch(&store, &sources, &git_ref).await.unwrap()) })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), "one");
    }
    assert_eq!(bench.server.fetches(), 1);
    assert_eq!(bench.leftovers(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refs_of_one_commit_do_not_wait_for_each_others_jobs() {
    let bench = Bench::new();
    let commit = bench.commit("one");
    bench.server.repository("o/r").tag("v1", &commit);
    // All are held at once, as a job holds its actions until it ends.
    let (branch, tag, full) = tokio::time::timeout(Duration::from_mins(1), async {
        tokio::join!(bench.fetch("main"), bench.fetch("v1"), bench.fetch(&commit))
    })
    .await
    .unwrap();
    for fetched in [branch, tag, full] {
        assert_eq!(fetched.unwrap().commit, commit);
    }
    assert_eq!(bench.leftovers(), [""; 0]);
}

#[tokio::test]
async fn offline_the_last_known_commit_is_used() {
    let bench = Bench::new();
    bench.commit("one");
    let (store, offline) = (bench.store(), bench.store_with(u64::MAX, true));
    let error = fetch(&offline, &bench.sources(), "main").await.unwrap_err();
    let url = bench.server.url();
    assert_eq!(
        error.to_string(),
        format!("`main` of {url}/o/r is not in the store, and nothing is fetched because of --offline")
    );
    let commit = fetch(&store, &bench.sources(), "main")
        .await
        .unwrap()
        .commit
        .clone();
    let before = bench.server.requests().len();
    for git_ref in ["main", &commit] {
        let fetched = fetch(&offline, &bench.sources(), git_ref).await.unwrap();
        assert_eq!(content(&fetched), "one");
    }
    assert_eq!(bench.server.requests().len(), before);
}

#[tokio::test]
async fn a_token_opens_a_private_repository() {
    let bench = Bench::new();
    bench.commit("one");
    bench
        .server
        .rules(|rules| _ = rules.private.insert("o/r".into(), HEADER.into()));
    let error = bench.fetch("main").await.unwrap_err();
    let url = bench.server.url();
    assert_eq!(
        error.to_string(),
        format!(
            "repository not found: {url}/o/r (asked without a credential; a private repository needs one)"
        )
    );
    let fetched = fetch(&bench.store(), &bench.sources_with_token(), "main")
        .await
        .unwrap();
    assert_eq!((content(&fetched).as_str(), fetched.notes.len()), ("one", 0));
}

#[tokio::test]
async fn a_rejected_token_is_left_out_once() {
    let bench = Bench::new();
    bench.commit("one");
    bench
        .server
        .rules(|rules| rules.accepted = vec!["Basic other".into()]);
    let fetched = fetch(&bench.store(), &bench.sources_with_token(), "main")
        .await
        .unwrap();
    let url = bench.server.url();
    assert_eq!(content(&fetched), "one");
    let note =
        format!("{url}/o/r has rejected the credential 'secret TOKEN'; it was asked without one instead");
    assert_eq!(fetched.notes, [note]);
    let refused: Vec<_> = bench
        .server
        .requests()
        .into_iter()
        .filter(|request| request.authorization.is_some())
        .collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
}

#[tokio::test]
async fn a_token_that_does_not_help_is_named() {
    let bench = Bench::new();
    bench.commit("one");
    bench
        .server
        .rules(|rules| _ = rules.private.insert("o/r".into(), "Basic other".into()));
    let error = fetch(&bench.store(), &bench.sources_with_token(), "main")
        .await
        .unwrap_err();
    let url = bench.server.url();
    assert_eq!(
        error.to_string(),
        format!(
            "access denied: {url}/o/r (the credential 'secret TOKEN' was rejected, and so was access without a \
             credential)"
        )
    );
    assert!(!format!("{error} {error:?}").contains(TOKEN));
}

#[tokio::test]
async fn a_token_goes_to_its_own_host_only() {
    let (bench, other) = (Bench::new(), GitServer::start());
    bench.commit("one");
    let files = [("100644", "main.js", "two")];
    other.repository("o/r").commit("main", &files);
    let sources = bench.sources_with_token();
    let elsewhere = sources.remote(&format!("{}/o/r", other.url())).unwrap();
    let fetched = bench.store().fetch(&elsewhere, "main").await.unwrap();
    assert_eq!(content(&fetched), "two");

    // Also when the own host sends us there.
    let moved = format!("{}/o/r", other.url());
    bench
        .server
        .rules(|rules| _ = rules.moved.insert("o/moved".into(), moved));
    let remote = sources.remote("o/moved").unwrap();
    let fetched = bench.store().fetch(&remote, "main").await.unwrap();
    assert_eq!(content(&fetched), "two");
    let url = bench.server.url();
    let note = format!(
        "{url}/o/moved redirects, and the credential 'secret TOKEN' is not shown elsewhere; it was asked without \
         one instead"
    );
    assert_eq!(fetched.notes, [note]);
    let seen: Vec<_> = other
        .requests()
        .into_iter()
        .filter_map(|request| request.authorization)
        .collect();
    assert_eq!(seen, [""; 0]);
}

#[tokio::test]
async fn a_commit_of_another_repository_has_to_be_shown() {
    let bench = Bench::new();
    let commit = bench.commit("one");
    bench
        .server
        .repository("o/other")
        .commit("main", &[("100644", "x", "x")]);
    bench.fetch(&commit).await.unwrap();
    let store = bench.store();
    for (repository, expected) in [
        ("o/other", "no such tag, branch or commit"),
        ("o/none", "repository not found"),
    ] {
        let remote = bench.sources().remote(repository).unwrap();
        let error = store.fetch(&remote, &commit).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let bench = Bench::new();
    let commit = bench.commit("one");
    let url = format!("{}/o/r", bench.server.url());
    let absent = "0123456789".repeat(4);
    let short = commit[..9].to_owned();
    let rows = [
        ("v9".to_owned(), ""),
        (short, "; a commit needs its full id"),
        (absent, ""),
    ];
    for (git_ref, hint) in rows {
        let error = bench.fetch(&git_ref).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("unable to find version `{git_ref}`: {url} has no such tag, branch or commit{hint}")
        );
    }
    let error = bench.fetch("../x").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`../x` is no valid name of a tag, branch or commit"
    );
    let gone = bench.sources().remote("o/gone").unwrap();
    let error = bench.store().fetch(&gone, "v1").await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("repository not found: {}/o/gone", bench.server.url())),
        "{error}"
    );
    assert_eq!(bench.trees(), 0);
}

#[tokio::test]
async fn a_server_that_is_down_is_named_and_a_way_out_is_shown() {
    let bench = Bench::new();
    let commit = bench.commit("one");
    let store = bench.store();
    fetch(&store, &bench.sources(), "main").await.unwrap();
    let url = bench.server.url();
    let sources = bench.sources();
    let Bench {
        server,
        directory: _directory,
    } = bench;
    drop(server);
    let error = fetch(&store, &sources, "main").await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot fetch `main` from {url}/o/r: fatal: ")),
        "{error}"
    );
    assert!(
        error.ends_with(&format!("; with --offline, {commit} of an earlier run is used")),
        "{error}"
    );
    assert_eq!(content(&fetch(&store, &sources, &commit).await.unwrap()), "one");
}

#[tokio::test]
async fn a_server_that_is_busy_is_asked_again() {
    let bench = Bench::new();
    bench.commit("one");
    bench.server.rules(|rules| rules.busy = 1);
    assert_eq!(content(&bench.fetch("main").await.unwrap()), "one");
}

#[tokio::test]
async fn an_old_server_is_asked_by_names() {
    let bench = Bench::new();
    let first = bench.commit("one");
    bench.commit("two");
    bench.server.rules(|rules| rules.old_protocol = true);
    assert_eq!(content(&bench.fetch(&first).await.unwrap()), "one");
    assert_eq!(content(&bench.fetch("main").await.unwrap()), "two");
}

#[tokio::test]
async fn hostile_trees_leave_nothing() {
    let bench = Bench::new();
    let repository = bench.server.repository("o/r");
    let inner = repository.raw_commit("inner", &[("100644", "x", "evil")]);
    let inner = repository.tree_of(&inner);
    let trees: [(&[git_server::File<'_>], &str); 7] = [
        (
            &[("120000", "etc", "/etc")],
            "'etc' is a link that leaves the tree",
        ),
        (
            &[("120000", "up", "../../x")],
            "'up' is a link that leaves the tree",
        ),
        (
            &[("120000", "a", "b/../x"), ("120000", "b", ".")],
            "'a' is a link that leaves the tree",
        ),
        (
            &[("40000", "..", &inner)],
            "'../x' is a path that leaves the tree",
        ),
        (
            &[("100644", "/tmp/x", "x")],
            "'/tmp/x' is a path that leaves the tree",
        ),
        (
            &[("40000", ".git", &inner)],
            "'.git/x' has the name of a repository's own directory",
        ),
        (
            &[("120000", "d", "x"), ("40000", "d", &inner)],
            "'d' is there twice",
        ),
    ];
    for (tree, expected) in trees {
        let commit = repository.raw_commit("main", tree);
        let error = bench.fetch(&commit).await.unwrap_err().to_string();
        let url = bench.server.url();
        assert_eq!(error, format!("{url}/o/r at {commit} is refused: {expected}"));
    }
    assert_eq!((bench.trees(), bench.leftovers()), (0, vec![]));
}

#[tokio::test]
async fn the_trees_that_were_used_longest_ago_go_first() {
    let bench = Bench::new();
    let text = "x".repeat(1000);
    let commits: Vec<_> = (0..4)
        .map(|number| bench.commit(&format!("{number}{text}")))
        .collect();
    let store = bench.store_with(3500, false);
    let sources = bench.sources();
    for commit in &commits[..3] {
        fetch(&store, &sources, commit).await.unwrap();
        age(&bench);
    }
    // The first one is in use, so the second one is the oldest that may go.
    let held = fetch(&store, &sources, &commits[0]).await.unwrap();
    age(&bench);
    fetch(&store, &sources, &commits[3]).await.unwrap();
    let present: Vec<_> = commits
        .iter()
        .map(|commit| bench.directory.path().join("store/trees").join(commit).is_dir())
        .collect();
    assert_eq!(present, [true, false, true, true]);
    assert_eq!(content(&held), format!("0{text}"));
    // What was evicted comes back when it is wanted.
    assert_eq!(
        content(&fetch(&store, &sources, &commits[1]).await.unwrap()),
        format!("1{text}")
    );
}

/// Makes the last use of every tree an hour older.
fn age(bench: &Bench) {
    let trees = bench.directory.path().join("store/trees");
    for entry in fs::read_dir(trees).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            let file = fs::File::options().write(true).open(&path).unwrap();
            let used = file.metadata().unwrap().modified().unwrap();
            file.set_modified(used - std::time::Duration::from_hours(1))
                .unwrap();
        }
    }
}

fn key(path: &str) -> ActionKey {
    ActionKey {
        repository: "o/r".to_owned(),
        path: path.to_owned(),
        git_ref: "main".to_owned(),
    }
}

#[tokio::test]
async fn actions_are_prefetched_with_those_that_they_name() {
    let bench = Bench::new();
    let nested =
        "runs: {using: composite, steps: [{uses: o/inner/sub@main}, {uses: o/none@v1}, {uses: ./local}]}\n";
    let files = [
        ("100644", "a/action.yaml", nested),
        ("100644", "b/Dockerfile", "FROM scratch\n"),
        ("100644", "c/x", ""),
        ("100644", "d/action.yml", "runs: {using: what}\n"),
    ];
    bench.server.repository("o/r").commit("main", &files);
    let inner = [("100644", "sub/action.yml", ACTION)];
    bench.server.repository("o/inner").commit("main", &inner);
    let wanted = ["a", "b", "c", "d", "../x", "a"].map(key).to_vec();
    let downloads = bench.store().prefetch(&bench.sources(), wanted, &|_| true).await;
    let told: Vec<_> = downloads
        .iter()
        .map(|(key, download)| match download {
            Ok(_) => format!("{} {}: fine", key.repository, key.path),
            Err(error) => {
                let text = error.to_string();
                format!(
                    "{} {}: {}",
                    key.repository,
                    key.path,
                    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
                )
            }
        })
        .collect();
    assert_eq!(
        told,
        [
            "o/r a: fine",
            "o/r b: fine",
            "o/r c: can't find 'action.yml',",
            "o/r d: o/r/d/action.yml@main (Line: 1,",
            "o/r ../x: the path '../x'",
            "o/inner sub: fine",
            "o/none : repository not found:",
        ]
    );
    assert_eq!(bench.server.fetches(), 2);
}

#[tokio::test]
async fn a_store_is_for_its_own_user() {
    let bench = Bench::new();
    bench.commit("one");
    bench.fetch("main").await.unwrap();
    for path in ["store", "store/trees", "store/refs"] {
        let metadata = fs::metadata(bench.directory.path().join(path)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o700, "{path}");
    }
}
