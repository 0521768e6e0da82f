//! Copies of the user's tree.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

/// A source tree that a shell script fills, and the sandbox that it is copied into.
struct Source {
    directory: TempDir,
}

impl Source {
    /// Runs the script in the source, with a git that depends on nothing of this machine.
    async fn new(script: &str) -> Self {
        let fixture = fixture().await;
        let source = Self {
            directory: TempDir::new().unwrap(),
        };
        fs::create_dir(source.path()).unwrap();
        let mut command = fixture.command(&format!("set -e; {script}"));
        command.cwd = source.path().to_str().unwrap().into();
        let git = [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
            ("GIT_CONFIG_VALUE_0", "always"),
        ];
        command
            .env
            .extend(git.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut started = fixture.sandbox.start(command).await.unwrap();
        let text = timeout(DEADLINE, read_to_end(&mut *started.output))
            .await
            .unwrap();
        assert_eq!(wait(&mut started).await.code, 0, "{text}");
        source
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("my wörk")
    }

    async fn copy(&self, change: impl FnOnce(&mut HostOptions)) -> Fixture {
        let directory = TempDir::new().unwrap();
        let mut options = options(directory.path());
        options.source = Some(self.path());
        change(&mut options);
        let sandbox = HostSandbox::create(options).await.unwrap();
        Fixture { sandbox, directory }
    }
}

/// All entries below a directory apart from what is in `.git`, as sorted relative paths.
fn listing(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            if path.symlink_metadata().unwrap().is_dir() && !path.ends_with(".git") {
                pending.push(path);
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_plain_tree_is_copied_with_modes_times_and_links() {
    let source = Source::new(
        "mkdir -p 'a b/ü' closed; echo x > 'a b/ü/f'; echo y > run; chmod 750 run; ln -s 'a b' link; ln -s /nowhere gone; \
         mkfifo fifo; touch -d '2001-02-03 04:05:06.7' run 'a b'; touch -hd 2002-01-01 link; echo z > closed/f; \
         chmod 444 closed/f; chmod 555 closed",
    )
    .await;
    let copy = source.copy(|_| {}).await;
    let expected = [
        "a b", "a b/ü", "a b/ü/f", "closed", "closed/f", "gone", "link", "run",
    ];
    assert_eq!(listing(&copy.workspace()), expected);
    for name in expected {
        let (from, to) = (source.path().join(name), copy.workspace().join(name));
        let (from, to) = (from.symlink_metadata().unwrap(), to.symlink_metadata().unwrap());
        assert_eq!(
            (from.mtime(), from.mtime_nsec()),
            (to.mtime(), to.mtime_nsec()),
            "{name}"
        );
        // The owner can always work in the copy of a directory.
        let owner = if from.is_dir() { 0o700 } else { 0 };
        assert_eq!(
            from.permissions().mode() | owner,
            to.permissions().mode(),
            "{name}"
        );
    }
    assert_eq!(
        fs::read_link(copy.workspace().join("gone")).unwrap(),
        Path::new("/nowhere")
    );
    fs::write(copy.workspace().join("run"), "changed").unwrap();
    assert_eq!(fs::read_to_string(source.path().join("run")).unwrap(), "y\n");
}

#[tokio::test]
async fn what_git_ignores_stays_out_unless_it_is_wanted() {
    let source = Source::new(
        "git init -q; printf '*.log\\ntarget/\\n' > .gitignore; mkdir target sub; echo 1 > target/big; echo 2 > a.log; \
         echo 3 > tracked; echo 4 > gone; mkdir swapped; echo 5 > swapped/f; git add .; git commit -qm x; rm gone; \
         rm -r swapped; ln -s target swapped; echo 6 > sub/untracked; touch .git/index.lock",
    )
    .await;
    let before = fs::read(source.path().join(".git/index")).unwrap();
    let copy = source.copy(|_| {}).await;
    let expected = [".git", ".gitignore", "sub", "sub/untracked", "swapped", "tracked"];
    assert_eq!(listing(&copy.workspace()), expected);
    let (text, exit) = copy.run("git status --porcelain && git log --format=%s").await;
    assert_eq!(
        (text.as_str(), exit.code),
        (" D gone\n D swapped/f\n?? sub/\n?? swapped\nx\n", 0)
    );
    assert_eq!(fs::read(source.path().join(".git/index")).unwrap(), before);
    let everything = source.copy(|options| options.copy_ignored = true).await;
    let expected = [
        ".git",
        ".gitignore",
        "a.log",
        "sub",
        "sub/untracked",
        "swapped",
        "target",
        "target/big",
        "tracked",
    ];
    assert_eq!(listing(&everything.workspace()), expected);
}

#[tokio::test]
async fn a_directory_inside_a_work_tree_is_copied_alone() {
    let source = Source::new(
        "git init -q ..; echo '*.log' > ../.gitignore; echo 1 > a; echo 2 > b.log; mkdir c; echo 3 > c/d",
    )
    .await;
    let copy = source.copy(|_| {}).await;
    assert_eq!(listing(&copy.workspace()), ["a", "c", "c/d"]);
}

#[tokio::test]
async fn a_further_work_tree_becomes_a_repository_of_its_own() {
    let source = Source::new(
        "git init -q -b main ../main; cd ../main; echo 1 > f; git add f; git commit -qm first; git branch other; \
         git worktree add -q --force '../my wörk' other; cd '../my wörk'; echo 2 > f; git commit -qam second",
    )
    .await;
    let copy = source.copy(|_| {}).await;
    assert!(copy.workspace().join(".git").is_dir());
    let (text, _) = copy
        .run("git status --porcelain; git branch --show-current; git log --format=%s main other | sort")
        .await;
    assert!(
        text.starts_with("other\n") && text.ends_with("first\nsecond\n"),
        "{text}"
    );
    let (text, _) = copy.run("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m third; git rev-parse --git-common-dir; git log -1 --format=%s").await;
    assert_eq!(text, ".git\nthird\n");
    let refs = fs::read_dir(source.directory.path().join("main/.git/refs/heads"))
        .unwrap()
        .count();
    assert_eq!(refs, 2);
}

#[tokio::test]
async fn submodules_and_repositories_inside_come_along() {
    let source = Source::new(
        "git init -q ../lib; (cd ../lib; echo 1 > l; echo '*.o' > .gitignore; git add .; git commit -qm lib); git init -q; \
         git submodule --quiet add \"$(cd ../lib; pwd)\" mod/lib; git commit -qm x; touch mod/lib/x.o mod/lib/new; \
         git init -q nested; echo 2 > nested/n",
    )
    .await;
    let copy = source.copy(|_| {}).await;
    let expected = [
        ".git",
        ".gitmodules",
        "mod",
        "mod/lib",
        "mod/lib/.git",
        "mod/lib/.gitignore",
        "mod/lib/l",
        "mod/lib/new",
        "nested",
        "nested/.git",
        "nested/n",
    ];
    assert_eq!(listing(&copy.workspace()), expected);
    let (text, _) = copy
        .run("cd mod/lib; git log --format=%s; git rev-parse --show-toplevel; git status --porcelain")
        .await;
    assert_eq!(text, format!("lib\n{}\n?? new\n", copy.path("mod/lib")));

    // The submodule alone: its repository lies outside of it.
    let mut alone = options(copy.directory.path());
    alone.source = Some(source.path().join("mod/lib"));
    let sandbox = HostSandbox::create(alone).await.unwrap();
    let alone = Fixture {
        sandbox,
        directory: TempDir::new().unwrap(),
    };
    let (text, _) = alone
        .run("git log --format=%s; git rev-parse --show-toplevel --git-dir")
        .await;
    assert_eq!(text, format!("lib\n{}\n.git\n", alone.sandbox.layout().workspace));
}

#[tokio::test]
async fn jobs_inside_the_tree_are_not_copied_into_themselves() {
    let source = Source::new("mkdir keep; echo 1 > keep/f").await;
    let root = source.path().join(".gantry");
    let copy = source.copy(|options| options.root.clone_from(&root)).await;
    assert_eq!(listing(&copy.workspace()), ["keep", "keep/f"]);
}

#[tokio::test]
async fn a_copy_that_fails_names_the_path_and_leaves_nothing() {
    let source = Source::new("true").await;
    let directory = TempDir::new().unwrap();
    let mut options = options(directory.path());
    options.source = Some(source.path().join("missing"));
    match HostSandbox::create(options).await {
        Err(Error::Copy { path, .. }) => assert_eq!(path, source.path().join("missing")),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was copied"),
    }
    assert_eq!(fs::read_dir(directory.path().join("jobs")).unwrap().count(), 0);
}
