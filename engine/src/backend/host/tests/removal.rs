//! Trees that resist their removal.

use std::fs;

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

use super::*;

#[tokio::test]
async fn remove_takes_everything_of_the_job_and_nothing_else() {
    let fixture = fixture().await;
    let outside = fixture.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "kept").unwrap();
    let script = format!(
        "mkdir -p a/b/c ro/x && touch a/b/c/f ro/x/f && ln -s '{0}' link && ln -s '{0}/precious' a/file-link \
         && ln '{0}/precious' hard && mkfifo fifo && touch $'new\\nline' $'\\377' && chmod 0 a/b/c && chmod 555 ro ro/x",
        outside.display()
    );
    assert_eq!(fixture.run(&script).await.1.code, 0);
    fixture.sandbox.remove().await.unwrap();
    assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "kept");
    let left: Vec<_> = fs::read_dir(fixture.directory.path().join("jobs"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    fixture.sandbox.remove().await.unwrap();
}

#[tokio::test]
async fn depth_costs_neither_stack_nor_descriptors() {
    let fixture = fixture_in_memory().await;
    // Two arms, so that what is moved up meets what was moved up before.
    for arm in ["one", "two"] {
        let mut at = open(fixture.workspace(), OFlags::PATH, Mode::empty()).unwrap();
        for name in std::iter::once(arm).chain(["a", "long name"].into_iter().cycle().take(5000)) {
            mkdirat(&at, name, Mode::RWXU).unwrap();
            at = openat(&at, name, OFlags::PATH, Mode::empty()).unwrap();
        }
        mkdirat(&at, "end", Mode::empty()).unwrap();
    }
    fixture.sandbox.remove().await.unwrap();
    assert!(!fixture.sandbox.root().exists());
}

#[tokio::test]
async fn many_entries_are_removed() {
    let fixture = fixture_in_memory().await;
    assert_eq!(
        fixture
            .run("for i in {1..5}; do mkdir $i; (cd $i; touch {1..2000}); done")
            .await
            .1
            .code,
        0
    );
    fixture.sandbox.remove().await.unwrap();
    assert!(!fixture.sandbox.root().exists());
}

#[tokio::test]
async fn a_tree_that_is_changed_meanwhile_leads_nobody_out() {
    let fixture = fixture().await;
    let outside = fixture.directory.path().join("outside");
    fs::create_dir_all(outside.join("x/y")).unwrap();
    fs::write(outside.join("x/y/precious"), "kept").unwrap();
    // A process that opted out goes on after the job's end and swaps a directory for a link out of the tree.
    let script = format!(
        "echo ready; while mkdir -p swap/x/y && touch swap/x/y/f && mv -T swap away && ln -sfn '{}' swap; do \
         mv -T swap swap2; mv -T away swap; rm -f swap2; done",
        outside.display()
    );
    let mut started = fixture.start(&script).await;
    read_lines(&mut *started.output, 1).await;
    // It may fail or win the race; it must not follow.
    let result = timeout(DEADLINE, fixture.sandbox.remove()).await.unwrap();
    fixture.sandbox.end_orphans().await;
    if result.is_err() {
        fixture.sandbox.remove().await.unwrap();
    }
    assert_eq!(fs::read_to_string(outside.join("x/y/precious")).unwrap(), "kept");
}

#[tokio::test]
async fn a_mount_is_not_entered_and_the_rest_is_gone() {
    let fixture = fixture().await;
    let outside = fixture.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "kept").unwrap();
    let script = format!(
        "mkdir -p a/mounted b && touch b/f && mount --bind '{}' a/mounted",
        outside.display()
    );
    if fixture.run(&script).await.1.code != 0 {
        println!("skipped: only root can mount");
        return;
    }
    let mounted = fixture.path("a/mounted");
    let result = fixture.sandbox.remove().await;
    let mut command = fixture.command(&format!("umount '{mounted}'"));
    command.cwd = "/".into();
    let mut started = fixture.sandbox.start(command).await.unwrap();
    assert_eq!(wait(&mut started).await.code, 0);
    assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "kept");
    assert!(!fixture.workspace().join("b").exists());
    match result {
        Err(Error::Remove(failure)) => assert_eq!((failure.path, failure.others), (mounted.into(), 0)),
        other => panic!("{other:?}"),
    }
    fixture.sandbox.remove().await.unwrap();
}

#[test]
fn what_cannot_be_removed_is_named_and_the_rest_is_gone() {
    // Entries of /proc can be removed by nobody.
    let failure = remove::remove_tree(Path::new("/proc/self/attr")).unwrap_err();
    assert!(failure.path.starts_with("/proc/self/attr"), "{failure}");
}
