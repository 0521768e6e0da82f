//! What a runner that was killed left behind.

use std::fs;

use super::*;

#[tokio::test]
async fn only_the_directories_of_dead_owners_are_swept() {
    let fixture = fixture().await;
    let root = fixture.directory.path().join("jobs");
    let dead = HostSandbox::create(options(fixture.directory.path()))
        .await
        .unwrap();
    let mut command = fixture.command("setsid sleep 1000 >/dev/null 2>&1 & echo $!");
    command.env = dead.base_environment().to_vec();
    let mut started = dead.start(command).await.unwrap();
    let pid: u32 = read_lines(&mut *started.output, 1).await[0].parse().unwrap();
    wait(&mut started).await;
    wait_for("the program", || procfs::entry(pid).unwrap().name == "sleep").await;
    // The lock goes with the process that held it.
    drop(dead.claim.lock().unwrap().take());
    fs::create_dir(root.join("0123456789abcdef")).unwrap();
    fs::create_dir(root.join("somebody's")).unwrap();
    fs::write(root.join("somebody's/file"), "kept").unwrap();

    let swept = sweep_stale(&root).await;
    assert!(swept.iter().all(|stale| stale.failure.is_none()), "{swept:?}");
    let mut expected = [root.join("0123456789abcdef"), dead.root().to_owned()];
    expected.sort();
    assert_eq!(
        swept.iter().map(|stale| stale.path.clone()).collect::<Vec<_>>(),
        expected
    );
    let ended: Vec<_> = swept.into_iter().flat_map(|stale| stale.ended).collect();
    assert_eq!(
        ended,
        [Orphan {
            pid,
            name: "sleep".into()
        }]
    );
    assert!(!runs(pid) && !dead.root().exists());
    assert!(fixture.sandbox.root().exists() && root.join("somebody's/file").exists());
    assert!(sweep_stale(&root).await.is_empty());
    assert!(sweep_stale(&root.join("nowhere")).await.is_empty());
}

#[tokio::test]
async fn a_lock_file_kills_only_what_a_job_of_ours_can_be() {
    let fixture = fixture().await;
    let root = fixture.directory.path().join("jobs");
    let (text, _) = fixture
        .run("RUNNER_TRACKING_ID=mine setsid sleep 1000 >/dev/null 2>&1 & echo $!")
        .await;
    let pid: u32 = text.trim().parse().unwrap();
    wait_for("the program", || procfs::entry(pid).unwrap().name == "sleep").await;
    fs::write(root.join("0123456789abcdef.lock"), "pid 1\ntracking mine\n").unwrap();
    assert_eq!(sweep_stale(&root).await.len(), 1);
    assert!(runs(pid));
    assert!(kill::signal(
        procfs::entry(pid).unwrap().id,
        rustix::process::Signal::KILL
    ));
}
