//! What a runner looks after between two questions for a job: real scripts and directories on this machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod operator;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use gantry_actors::claimer::{Slots, Upkeep};
use gantry_actors::engine::backend::Sandbox as _;
use gantry_actors::engine::backend::host::{HostOptions, HostSandbox};
use gantry_actors::engine::clock::Clock;
use gantry_actors::operator::{Caretaker, CleanUp, Health};
use operator::{script_path, wait_until};

const DAY: Duration = Duration::from_hours(24);
const INTERVAL: Duration = Duration::from_mins(10);

fn health(here: &Path, script: Option<&str>) -> Health {
    let variable = |name: &str, value: PathBuf| (name.to_owned(), value.to_str().unwrap().to_owned());
    let mut env: Vec<(String, String)> = vec![
        variable("OUT", here.join("out")),
        variable("STATE", here.join("state")),
    ];
    env.push(("OWN".to_owned(), "own".to_owned()));
    Health {
        directory: here.join("jobs"),
        min_free: 1,
        script: script.map(script_path),
        env,
        interval: INTERVAL,
        timeout: Duration::from_mins(5),
    }
}

fn caretaker(slots: &Slots, health: Health) -> Caretaker {
    Caretaker::new(slots.clone(), Clock::start(), Some(health), None)
}

/// Lets time pass at once.
async fn after(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_full_disk_makes_a_runner_unready_before_the_script_is_asked() {
    let here = tempfile::tempdir().unwrap();
    let slots = Slots::new(1);
    let full = Health {
        min_free: u64::MAX,
        ..health(here.path(), Some("health.sh"))
    };
    let reason = caretaker(&slots, full).unready().await.unwrap();
    let want = format!(
        " MiB are free for {}, and {} MiB must be",
        here.path().join("jobs").display(),
        u64::MAX >> 20
    );
    assert!(reason.ends_with(&want), "{reason}");
    assert!(!here.path().join("out").exists());
    assert_eq!(caretaker(&slots, health(here.path(), None)).unready().await, None);
    let idle = Caretaker::new(slots, Clock::start(), None, None);
    assert_eq!(idle.unready().await, None);
}

#[tokio::test]
async fn the_answer_of_the_script_counts_for_its_interval_and_while_jobs_run() {
    let here = tempfile::tempdir().unwrap();
    let state = |code: &str| fs::write(here.path().join("state"), code).unwrap();
    let asked = || {
        fs::read_to_string(here.path().join("out"))
            .unwrap()
            .lines()
            .count()
    };
    let slots = Slots::new(1);
    let caretaker = caretaker(&slots, health(here.path(), Some("health.sh")));
    state("4");
    let script = script_path("health.sh");
    let ill = format!(
        "the health check script {} has ended with code 4: the state is 4",
        script.display()
    );
    assert_eq!(caretaker.unready().await.as_ref(), Some(&ill));
    state("0");
    assert_eq!(
        caretaker.unready().await.as_ref(),
        Some(&ill),
        "it is not asked again so soon"
    );
    assert_eq!(asked(), 1);
    after(INTERVAL).await;
    let job = slots.reserve().await.unwrap().into_slots(1);
    assert_eq!(
        caretaker.unready().await,
        Some(ill),
        "nothing is asked while a job runs"
    );
    assert_eq!(asked(), 1);
    drop(job);
    let reserved = slots.reserve().await.unwrap();
    assert_eq!(
        caretaker.unready().await,
        None,
        "a place that is only reserved is no job"
    );
    drop(reserved);
    let told = fs::read_to_string(here.path().join("out")).unwrap();
    assert_eq!(told, "true 0 own\ntrue 0 own\n");
}

#[tokio::test]
async fn a_script_that_hangs_or_is_missing_makes_a_runner_unready() {
    let here = tempfile::tempdir().unwrap();
    let slots = Slots::new(1);
    let hanging = Health {
        timeout: Duration::from_millis(200),
        ..health(here.path(), Some("deaf.sh"))
    };
    let reason = caretaker(&slots, hanging).unready().await.unwrap();
    assert!(reason.ends_with("deaf.sh has not ended within 200ms"), "{reason}");
    let reason = caretaker(&slots, health(here.path(), Some("missing.sh")))
        .unready()
        .await
        .unwrap();
    assert!(
        reason.contains("missing.sh") && reason.ends_with("No such file or directory (os error 2)"),
        "{reason}"
    );
}

/// Makes a directory that was last changed so long ago.
fn aged(root: &Path, name: &str, age: Duration) -> PathBuf {
    let path = root.join(name);
    fs::create_dir_all(path.join("work")).unwrap();
    age_by(&path, age);
    path
}

fn age_by(path: &Path, age: Duration) {
    #[expect(clippy::disallowed_methods, reason = "files have the time of the machine")]
    let time = SystemTime::now() - age;
    File::open(path).unwrap().set_modified(time).unwrap();
}

#[tokio::test]
async fn an_idle_runner_removes_what_dead_ones_have_left() {
    let here = tempfile::tempdir().unwrap();
    let root = here.path();
    let slots = Slots::new(1);
    let live = HostSandbox::create(HostOptions {
        root: root.to_owned(),
        repository: "o/r".to_owned(),
        ..HostOptions::default()
    })
    .await
    .unwrap();
    age_by(live.root(), DAY * 3);
    let mut lock = live.root().as_os_str().to_owned();
    lock.push(".lock");
    age_by(Path::new(&lock), DAY * 3);
    let kept = [
        aged(root, "0123456789abcde0", DAY / 2),
        aged(root, "somebody-else", DAY * 3),
        live.root().to_owned(),
    ];
    let old = || aged(root, "0123456789abcdef", DAY * 2);
    let caretaker = Caretaker::new(
        slots.clone(),
        Clock::start(),
        None,
        CleanUp::new(root.to_owned(), DAY, INTERVAL),
    );

    let job = slots.reserve().await.unwrap().into_slots(1);
    let path = old();
    caretaker.idle().await;
    assert!(path.exists(), "nothing is removed while a job runs");
    drop(job);
    caretaker.idle().await;
    wait_until(|| !path.exists()).await;
    for path in &kept {
        assert!(path.exists(), "{}", path.display());
    }

    old();
    caretaker.idle().await;
    assert!(path.exists(), "it is looked for them once in a while only");
    after(INTERVAL).await;
    while path.exists() {
        // The last one may not be over yet.
        caretaker.idle().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    live.remove().await.unwrap();
}

#[test]
fn a_duration_of_zero_switches_the_clean_up_off() {
    let of = |age, interval| CleanUp::new(PathBuf::from("/x"), age, interval).is_some();
    assert!(of(DAY, INTERVAL));
    assert!(!of(Duration::ZERO, INTERVAL));
    assert!(!of(DAY, Duration::ZERO));
}
