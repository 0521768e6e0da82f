//! The runner's side of a test.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect};
use gantry_protocols::connect::{Address, Client, Options};
use gantry_protocols::forge::{
    Claim, Conclusion, Error, Forge, LogBatch, Progress, Report, RowIndex, StepState, TaskId,
};
use gantry_protocols::gitea::{GiteaForge, Registrar, Registration, Secret, Settings};

/// One job for a runner that has the label `ubuntu`.
pub const ONE: &str = "jobs:\n  a: { runs-on: ubuntu, steps: [{ run: x }, { run: y }] }\n";
/// Two of them.
pub const TWO: &str =
    "jobs:\n  a: { runs-on: ubuntu, steps: [{ run: x }] }\n  b: { runs-on: ubuntu, steps: [{ run: x }] }\n";

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Runs a test against a server of each dialect.
pub fn in_both(test: impl AsyncFn(FakeForge, Dialect)) {
    for dialect in DIALECTS {
        block_on(async { test(FakeForge::start(dialect).await, dialect).await });
    }
}

pub fn client(server: SocketAddr) -> Client {
    let address = Address::parse(&format!("http://{server}/git/")).unwrap();
    Client::start(Options::new(address, "1.2.3")).unwrap()
}

pub fn registration(token: &str) -> Registration {
    Registration {
        name: "r1".to_owned(),
        token: Secret::new(token),
        version: "1.2.3".to_owned(),
        labels: vec!["ubuntu".to_owned()],
        ephemeral: false,
    }
}

/// No test depends on how fast the machine is, so nothing is given up soon.
pub fn patient() -> Settings {
    Settings {
        fetch_timeout: Duration::from_mins(1),
        ..Settings::default()
    }
}

/// A registered runner.
pub async fn runner(server: &FakeForge) -> GiteaForge {
    runner_at(server, server.address(), patient()).await
}

/// A runner for one job.
pub async fn ephemeral(server: &FakeForge) -> GiteaForge {
    runner_at(
        server,
        server.address(),
        Settings {
            ephemeral: true,
            ..patient()
        },
    )
    .await
}

/// A registered runner that reaches its server at another address.
pub async fn runner_at(server: &FakeForge, address: SocketAddr, settings: Settings) -> GiteaForge {
    let mut registration = registration(&server.registration_token());
    registration.ephemeral = settings.ephemeral;
    let registered = Registrar::new(client(server.address()))
        .register(&registration)
        .await
        .unwrap();
    GiteaForge::new(client(address), registered.credentials, settings)
}

/// The one job that there must be.
pub async fn claimed(runner: &GiteaForge) -> Claim {
    let mut claims = runner.claim(1).await.unwrap();
    assert_eq!(claims.len(), 1);
    claims.remove(0)
}

pub fn batch(task: TaskId, first: u64, rows: &[&str]) -> LogBatch {
    let mut batch = LogBatch {
        task,
        first: RowIndex(first),
        time: SystemTime::UNIX_EPOCH + Duration::from_secs(9),
        step: Some(0),
        text: String::new(),
        ends: Vec::new(),
    };
    for row in rows {
        batch.text.push_str(row);
        batch.ends.push(u32::try_from(batch.text.len()).unwrap());
    }
    batch
}

/// Sends rows until the server has them all, as often as it takes.
pub async fn send_all(runner: &GiteaForge, task: TaskId, rows: &[String], size: usize) -> Result<(), Error> {
    let mut next = 0;
    while next < rows.len() {
        let part: Vec<&str> = rows[next..].iter().take(size).map(String::as_str).collect();
        match runner.append_log(vec![batch(task, next as u64, &part)]).await {
            Ok(ack) => next = usize::try_from(ack.next.0).unwrap(),
            Err(Error::Unavailable { .. } | Error::Busy { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub fn step(index: usize, conclusion: Option<Conclusion>) -> StepState {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    StepState {
        index,
        name: "step".to_owned(),
        started: Some(at(10)),
        stopped: conclusion.map(|_| at(20)),
        outcome: conclusion,
        conclusion,
        log_first: RowIndex(1),
        log_length: 2,
    }
}

pub fn progress(task: TaskId, steps: Vec<StepState>) -> Progress {
    Progress {
        steps,
        ..Progress::of(task)
    }
}

pub fn report(task: TaskId, conclusion: Conclusion, rows: u64) -> Report {
    Report {
        task,
        conclusion,
        outputs: BTreeMap::new(),
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(5),
        stopped: SystemTime::UNIX_EPOCH + Duration::from_mins(1),
        steps: Vec::new(),
        rows: RowIndex(rows),
    }
}

/// Tells the end until the server has heard it; returns how often it took.
pub async fn complete(runner: &GiteaForge, report: &Report) -> usize {
    for tries in 1..100 {
        match runner.complete(report.clone()).await {
            Ok(()) => return tries,
            Err(error) => assert_eq!(error.retry(), gantry_protocols::forge::Retry::Later, "{error}"),
        }
    }
    unreachable!("the server never hears the end")
}
