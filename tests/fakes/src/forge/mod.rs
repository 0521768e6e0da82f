//! A Gitea or Forgejo server for runners: a real HTTP server on loopback with the server's own rules.
//!
//! ```text
//! runner --HTTP--> rpc --------> State        runners, runs, jobs, tasks, rows; time is an argument
//! test ---HTTP--> rest --------->  ^  |
//! test --------> FakeForge --------'  '--> every change wakes who waits for a condition
//! ```
//!
//! Whatever happens to one call stands in `fault`; what happens to connections is for [`crate::CuttingProxy`].

mod calls;
mod claim;
mod context;
mod fault;
mod journal;
mod logs;
mod record;
mod rest;
mod rpc;
mod rules;
mod runners;
mod state;
mod tasks;
mod wait;
mod workflow;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::http::connection::{self, Answerer};
use crate::http::{Answer, Received, Reply};
pub use calls::{Call as WorkflowCall, Secrets};
pub use fault::{Calls, Fault};
pub use journal::{Call, Method, Subject};
pub use record::{Job, Row, Run, Runner, Status, Task, Told, Trigger};
pub use rules::{DIALECTS, Dialect, Feature, Refusal, Rules};
pub use runners::Registration;
pub use state::{Repository, State};
use wait::Shared;

/// The server. It ends when it is dropped.
pub struct FakeForge {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    /// The runtime of a server for callers that have none.
    runtime: Option<tokio::runtime::Runtime>,
}

impl FakeForge {
    /// Starts a server of today.
    pub async fn start(dialect: Dialect) -> Self {
        Self::start_with(dialect.rules()).await
    }

    /// Starts a server with these rules.
    ///
    /// # Panics
    /// There is no free port.
    #[expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]
    pub async fn start_with(rules: Rules) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::new(State::new(rules, format!("http://{address}/"))));
        let answerer: Answerer = {
            let shared = shared.clone();
            Arc::new(move |received| Box::pin(route(shared.clone(), received)))
        };
        let task = tokio::spawn(connection::accept(listener, answerer, None));
        Self {
            address,
            shared,
            task,
            runtime: None,
        }
    }

    /// Starts a server with a thread of its own, for a test that has no runtime.
    ///
    /// # Panics
    /// There is no free port, or no thread.
    #[expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]
    pub fn start_on_thread(rules: Rules) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let mut forge = runtime.block_on(Self::start_with(rules));
        forge.runtime = Some(runtime);
        forge
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's address, as an operator writes it. Any path below it serves as well.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes tasks believe that the server has another address, as one behind a proxy has.
    pub fn set_public_url(&self, url: &str) {
        let url = format!("{}/", url.trim_end_matches('/'));
        self.shared.change(|state, _| state.url = url);
    }

    /// A registration token that can be used often.
    pub fn registration_token(&self) -> String {
        self.token(Registration::Reusable)
    }

    /// A registration token that can be used once.
    pub fn one_time_token(&self) -> String {
        self.token(Registration::Once)
    }

    /// The token of an administrator, for the REST interface.
    pub fn admin_token(&self) -> String {
        self.read(|state| state.admin_token.clone())
    }

    /// Makes every registration token invalid.
    pub fn invalidate_tokens(&self) {
        self.shared.change(|state, _| {
            for registration in state.registrations.values_mut() {
                *registration = Registration::Invalidated;
            }
        });
    }

    /// Starts a run; returns its number.
    ///
    /// # Panics
    /// The workflow makes no jobs.
    #[expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]
    pub fn trigger(&self, trigger: Trigger) -> i64 {
        self.shared
            .change(|state, now| state.add_run(trigger, now))
            .unwrap()
    }

    /// Starts a run of a pushed workflow; returns its number.
    ///
    /// # Panics
    /// The workflow makes no jobs.
    pub fn push(&self, workflow: &str) -> i64 {
        self.trigger(Trigger::push(workflow))
    }

    /// Keeps a secret of a repository.
    pub fn set_secret(&self, repository: &str, name: &str, value: &str) {
        self.repository(repository, |kept| {
            kept.secrets.insert(name.to_uppercase(), value.to_owned());
        });
    }

    /// Keeps a variable of a repository.
    pub fn set_var(&self, repository: &str, name: &str, value: &str) {
        self.repository(repository, |kept| {
            kept.vars.insert(name.to_uppercase(), value.to_owned());
        });
    }

    /// Cancels what is not done of a run, as a person does.
    pub fn cancel(&self, run: i64) {
        self.shared.change(|state, now| state.cancel_run(run, now));
    }

    /// Cancels a task when its log has so many rows.
    pub fn cancel_at_row(&self, count: usize) {
        self.shared
            .change(|state, _| state.faults.cancel_at_row = Some(count));
    }

    /// Removes a runner, as an administrator does.
    pub fn remove_runner(&self, id: i64) {
        self.shared.change(|state, now| state.remove_runner(id, now));
    }

    /// Gives a runner no tasks, or gives it tasks again.
    pub fn disable_runner(&self, id: i64, disabled: bool) {
        self.shared.change(|state, _| {
            if let Ok(runner) = state.runner_mut(id) {
                runner.disabled = disabled;
            }
        });
    }

    /// Lets a method fail.
    pub fn fail(&self, method: Method, calls: Calls, fault: Fault) {
        self.shared
            .change(|state, _| state.faults.add(method, calls, fault));
    }

    /// Lets everything go well from now on.
    pub fn heal(&self) {
        self.shared.change(|state, _| state.faults.clear());
    }

    /// Changes the server's rules.
    pub fn change_rules(&self, change: impl FnOnce(&mut Rules)) {
        self.shared.change(|state, _| change(&mut state.rules));
    }

    /// Moves the server's clock forward, and gives up what has been silent for too long by then.
    pub fn advance(&self, time: Duration) {
        self.shared.advance(time);
    }

    /// Reads what the server knows.
    pub fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        self.shared.read(read)
    }

    /// Waits until the server knows something, and returns it; every change wakes it.
    ///
    /// # Panics
    /// It has not come within a minute.
    pub async fn wait_for<T>(&self, what: &str, condition: impl Fn(&State) -> Option<T>) -> T {
        self.shared.wait_for(what, condition).await
    }

    /// Waits until something is so; every change wakes it.
    ///
    /// # Panics
    /// It is not so within a minute.
    pub async fn wait_until(&self, what: &str, condition: impl Fn(&State) -> bool) {
        self.wait_for(what, |state| condition(state).then_some(())).await;
    }

    /// [`Self::wait_for`] for a test that has no runtime.
    ///
    /// # Panics
    /// It has not come within a minute.
    pub fn wait_for_blocking<T>(&self, what: &str, condition: impl Fn(&State) -> Option<T>) -> T {
        self.shared.wait_for_blocking(what, condition)
    }

    fn token(&self, registration: Registration) -> String {
        let token = random_token();
        let kept = token.clone();
        self.shared
            .change(|state, _| state.registrations.insert(kept, registration));
        token
    }

    fn repository(&self, name: &str, change: impl FnOnce(&mut Repository)) {
        self.shared
            .change(|state, _| change(state.repositories.entry(name.to_owned()).or_default()));
    }
}

impl Drop for FakeForge {
    fn drop(&mut self) {
        self.task.abort();
        // The runtime may be dropped inside of another one, where nothing may wait for it.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A server may live below any path, so only what follows `/api` counts.
async fn route(shared: Arc<Shared>, received: Received) -> Reply {
    let path = received.path().split('?').next().unwrap_or_default().to_owned();
    if let Some((_, procedure)) = path.split_once("/api/actions/") {
        return rpc::answer(shared, procedure, received).await;
    }
    if let Some((_, upload)) = path.split_once("/api/actions_pipeline/") {
        return rest::summary(&shared, upload, &received);
    }
    if let Some((_, rest)) = path.split_once("/api/v1/") {
        return rest::answer(&shared, rest, &received);
    }
    Answer::new(404, "text/plain", "Not found.\n").into()
}

/// A count as the wire has it.
fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Forty hexadecimal digits.
fn random_token() -> String {
    random_bytes::<20>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A UUID of the fourth version.
fn random_uuid() -> String {
    let mut bytes = random_bytes::<16>();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}
