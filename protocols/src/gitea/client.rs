//! A runner's connection to one Gitea or Forgejo.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;

use super::CAPABILITIES;
use super::claim::{claim, conclusion_of, timestamp};
use super::fetch::Fetch;
use super::log::{self, LEAST_BYTES, REQUEST_BYTES, signed};
use super::quirks::Seen;
use super::registrar::{Declared, tidy};
use super::service::{Credentials, DECLARE, FETCH_TASK, Failure, Service, UPDATE_LOG, UPDATE_TASK};
use super::summary::{self, Summaries};
use super::task::Task;
use super::wire::{
    DeclareRequest, DeclareResponse, FetchTaskRequest, FetchTaskResponse, LogRow, UpdateLogRequest,
    UpdateLogResponse, UpdateTaskRequest, UpdateTaskResponse, header,
};
use crate::connect::Client;
use crate::forge::{
    Ack, Claim, Directive, Error, Forge, LogBatch, Progress, Report, Retry, RowIndex, TaskId,
};

/// The longest key of an output that the servers keep, in bytes.
const OUTPUT_KEY_BYTES: usize = 255;
/// The longest value of an output that the servers keep, in bytes.
const OUTPUT_BYTES: usize = 1024 * 1024;
/// How often the end of a job is told until the server has all its outputs.
const OUTPUT_TRIES: usize = 3;

/// What an operator may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How long the server may take to say whether there is a job.
    pub fetch_timeout: Duration,
    /// How long it may take for anything else.
    pub call_timeout: Duration,
    /// How long one attempt to tell the end of a job may take.
    pub close_timeout: Duration,
    /// Whether the server removes the runner after its one job.
    pub ephemeral: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fetch_timeout: Duration::from_secs(5),
            call_timeout: Duration::from_mins(1),
            close_timeout: Duration::from_secs(10),
            ephemeral: false,
        }
    }
}

/// A runner's connection to one Gitea or Forgejo.
pub struct GiteaForge {
    service: Service,
    settings: Settings,
    /// Held during a whole request for tasks: two of them with one key at the same time are an error of the server.
    fetch: tokio::sync::Mutex<Fetch>,
    tasks: Mutex<HashMap<TaskId, Task>>,
    capabilities: Mutex<String>,
    /// How large a request for rows may be: less once something before the server has let one not pass.
    request_bytes: AtomicUsize,
}

impl GiteaForge {
    /// The server at the other end of `client`, whose address is that of the instance.
    pub fn new(client: Client, credentials: Credentials, settings: Settings) -> Self {
        Self {
            service: Service::new(client, Some(credentials)),
            settings,
            fetch: tokio::sync::Mutex::default(),
            tasks: Mutex::default(),
            capabilities: Mutex::default(),
            request_bytes: AtomicUsize::new(REQUEST_BYTES),
        }
    }

    /// Says what this runner is today; the names of its labels replace those that the server has.
    ///
    /// # Errors
    /// The server was not reached or has refused. [`Error::Unsupported`] is one that is too old for this call: it goes on
    /// with the labels of the registration.
    ///
    /// # Cancel safety
    /// May be dropped and repeated.
    pub async fn declare(&self, version: &str, labels: &[String]) -> Result<Declared, Error> {
        let request = DeclareRequest {
            version: version.to_owned(),
            labels: tidy(labels),
            capabilities: CAPABILITIES.map(str::to_owned).into(),
        };
        let timeout = self.settings.call_timeout;
        let answer = self
            .service
            .call::<DeclareResponse>(DECLARE, Vec::new(), &request, timeout)
            .await?;
        let offered = answer.http.header(header::CAPABILITIES).unwrap_or_default();
        let capabilities = offered
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect::<Vec<_>>()
            .join(",");
        lock(&self.capabilities).clone_from(&capabilities);
        Ok(Declared {
            labels: answer.message.runner.unwrap_or_default().labels,
            capabilities,
        })
    }

    async fn fetch(&self, capacity: usize) -> Result<Vec<Claim>, Error> {
        if capacity == 0 {
            return Ok(Vec::new());
        }
        let mut fetch = self.fetch.lock().await;
        let (tasks_version, key) = fetch.next();
        let request = FetchTaskRequest {
            tasks_version,
            task_capacity: Some(signed(capacity as u64)),
        };
        let headers = key.map(|key| (header::REQUEST_KEY, key)).into_iter().collect();
        let timeout = self.settings.fetch_timeout;
        let answer = self
            .service
            .call::<FetchTaskResponse>(FETCH_TASK, headers, &request, timeout)
            .await;
        let message = match answer {
            Ok(answer) => answer.message,
            Err(Failure {
                seen: Seen::TimeUp,
                error,
            }) => {
                if fetch.on_time_up() {
                    tracing::warn!(%error, "the forge takes long to look for jobs; raise runner.fetch_timeout if that lasts");
                }
                return Ok(Vec::new());
            }
            Err(failure) => return Err(failure.error),
        };
        let tasks: Vec<_> = message.task.into_iter().chain(message.additional_tasks).collect();
        fetch.on_answer(tasks.len(), message.tasks_version);
        let capabilities = lock(&self.capabilities).clone();
        let claims = tasks.into_iter().map(|task| claim(task, capabilities.clone()));
        Ok(claims.inspect(|claim| self.begin(claim)).collect())
    }

    /// A repeated claim of a task that is known keeps what is known.
    fn begin(&self, claim: &Claim) {
        let mut tasks = lock(&self.tasks);
        tasks.entry(claim.task).or_default().summaries = Summaries::of(claim);
    }

    async fn append(&self, batches: Vec<LogBatch>) -> Result<Ack, Error> {
        let Some(last) = batches.last() else {
            return Err(Error::Refused {
                operation: UPDATE_LOG.name,
                reason: "there is no batch".to_owned(),
            });
        };
        let (task, end) = (last.task, last.next());
        let mut acked = None;
        let limit = self.request_bytes.load(Ordering::Relaxed);
        for request in log::requests(&batches, limit) {
            let wanted = log::end_of(&request);
            match self.append_rows(task, request).await {
                Ok(Some(next)) => acked = Some(next),
                Ok(None) => return Ok(Ack { next: end }),
                Err(error) => {
                    // What is acknowledged counts; the rest is sent again and fails again.
                    return acked.map(|next| Ack { next }).ok_or(error);
                }
            }
            if acked.is_some_and(|next| next < wanted) {
                break;
            }
        }
        Ok(Ack {
            next: acked.unwrap_or(end),
        })
    }

    /// Sends the rows of one request; no number means that the log is closed and takes no more.
    async fn append_rows(&self, task: TaskId, request: UpdateLogRequest) -> Result<Option<RowIndex>, Error> {
        let (first, end) = (RowIndex(log::unsigned(request.index)), log::end_of(&request));
        let answer = match self.update_log(&request, self.settings.call_timeout).await {
            Ok(answer) => answer,
            Err(failure) if failure.seen == Seen::Archived => {
                tracing::warn!(%task, "the forge has closed the log already; later rows are dropped");
                return Ok(None);
            }
            Err(failure) if failure.seen == Seen::TooLarge && request.rows.len() > 1 => {
                return Err(self.shrink(failure.error));
            }
            Err(failure) => return Err(failure.error),
        };
        let mut tasks = lock(&self.tasks);
        let known = tasks.entry(task).or_default();
        let next = log::acknowledged(task, known.acked, first, end, answer.ack_index)?;
        known.acked = known.acked.max(next);
        Ok(Some(next))
    }

    /// The same rows can be sent at once, in smaller requests.
    fn shrink(&self, error: Error) -> Error {
        let size = self.request_bytes.load(Ordering::Relaxed) / 2;
        if size < LEAST_BYTES {
            return error;
        }
        self.request_bytes.store(size, Ordering::Relaxed);
        Error::Busy {
            operation: UPDATE_LOG.name,
            reason: error.to_string(),
            pause: Duration::ZERO,
        }
    }

    async fn update_log(
        &self,
        request: &UpdateLogRequest,
        timeout: Duration,
    ) -> Result<UpdateLogResponse, Failure> {
        let answer = self.service.call(UPDATE_LOG, Vec::new(), request, timeout);
        Ok(answer.await?.message)
    }

    async fn update_task(
        &self,
        request: &UpdateTaskRequest,
        timeout: Duration,
    ) -> Result<UpdateTaskResponse, Error> {
        let answer = self.service.call(UPDATE_TASK, Vec::new(), request, timeout);
        Ok(answer.await?.message)
    }

    async fn report(&self, progress: Progress) -> Result<Directive, Error> {
        let task = progress.task;
        let request = {
            let mut tasks = lock(&self.tasks);
            let known = tasks.entry(task).or_default();
            known.merge(progress.steps);
            UpdateTaskRequest {
                state: Some(known.state(task)),
                outputs: BTreeMap::new(),
            }
        };
        let directive = match self.update_task(&request, self.settings.call_timeout).await {
            // A result that we have not sent means that somebody has ended the task.
            Ok(answer) => match answer.state.and_then(|state| conclusion_of(state.result)) {
                Some(_) => Directive::Cancel,
                None => Directive::Continue,
            },
            Err(error @ Error::Gone { .. }) => {
                tracing::warn!(%task, %error, "the forge has given the task up");
                Directive::Cancel
            }
            Err(error) => return Err(error),
        };
        if !progress.summaries.is_empty() {
            let uploads = lock(&self.tasks)
                .entry(task)
                .or_default()
                .summaries
                .add(progress.summaries);
            summary::upload(self.service.client(), uploads).await;
        }
        Ok(directive)
    }

    async fn end(&self, report: &Report) -> Result<(), Error> {
        let ended = match self.try_end(report).await {
            Err(error @ Error::Unregistered { .. }) if self.was_removed(report.task) => {
                tracing::debug!(task = %report.task, %error, "the forge knows the conclusion already");
                Ok(())
            }
            ended => ended,
        };
        let again = matches!(&ended, Err(error) if matches!(error.retry(), Retry::Later | Retry::After(_)));
        if !again {
            lock(&self.tasks).remove(&report.task);
        }
        ended
    }

    /// Closes the log, then tells the end: a server removes a runner for one job with the latter, and its rows with it.
    async fn try_end(&self, report: &Report) -> Result<(), Error> {
        if !self.with(report.task, |task| task.log_closed) {
            match self.close_log(report).await {
                Err(error) if error.retry() == Retry::Never => {
                    tracing::warn!(task = %report.task, %error, "failed to close the log");
                }
                closed => closed?,
            }
            self.with(report.task, |task| task.log_closed = true);
        }
        self.conclude(report).await
    }

    /// A runner for one job that the server does not know any more was removed because it knows how the job ended.
    fn was_removed(&self, task: TaskId) -> bool {
        self.settings.ephemeral && self.with(task, |task| task.conclusion_sent)
    }

    /// Says that no more rows will come, with an empty row: old servers ignore that word if there is no row with it.
    async fn close_log(&self, report: &Report) -> Result<(), Error> {
        let mut index = report.rows;
        for _ in 0..2 {
            let request = UpdateLogRequest {
                task_id: report.task.0,
                index: signed(index.0),
                rows: vec![LogRow {
                    time: Some(timestamp(report.stopped)),
                    content: String::new(),
                }],
                no_more: true,
            };
            let answer = match self.update_log(&request, self.settings.close_timeout).await {
                Ok(answer) => answer,
                Err(failure) if failure.seen == Seen::Archived => return Ok(()),
                Err(failure) => return Err(failure.error),
            };
            let ack = RowIndex(log::unsigned(answer.ack_index));
            if ack > index {
                return Ok(());
            }
            if ack < index {
                let (kept, acknowledged) = (ack.0, index.0);
                tracing::warn!(task = %report.task, kept, acknowledged, "the forge has lost log rows");
            }
            // The server closes only a log whose last row is new to it.
            index = ack;
        }
        tracing::warn!(task = %report.task, "the forge does not close the log");
        Ok(())
    }

    /// Tells how the job ended, until the server has said that it has the outputs.
    async fn conclude(&self, report: &Report) -> Result<(), Error> {
        let mut request = UpdateTaskRequest {
            state: Some(self.with(report.task, |task| task.final_state(report))),
            outputs: report.outputs.clone(),
        };
        for _ in 0..OUTPUT_TRIES {
            let answer = self.update_task(&request, self.settings.close_timeout).await;
            let heard = !matches!(&answer, Err(error) if error.retry() == Retry::Unregistered);
            self.with(report.task, |task| task.conclusion_sent |= heard);
            for key in answer?.sent_outputs {
                request.outputs.remove(&key);
            }
            if request.outputs.is_empty() {
                return Ok(());
            }
        }
        let keys: Vec<_> = request.outputs.keys().collect();
        tracing::warn!(task = %report.task, ?keys, "the forge does not keep these outputs");
        Ok(())
    }

    fn with<T>(&self, task: TaskId, act: impl FnOnce(&mut Task) -> T) -> T {
        act(lock(&self.tasks).entry(task).or_default())
    }
}

impl Forge for GiteaForge {
    fn claim(&self, capacity: usize) -> BoxFuture<'_, Result<Vec<Claim>, Error>> {
        Box::pin(self.fetch(capacity))
    }

    fn append_log(&self, batches: Vec<LogBatch>) -> BoxFuture<'_, Result<Ack, Error>> {
        Box::pin(self.append(batches))
    }

    fn update(&self, progress: Progress) -> BoxFuture<'_, Result<Directive, Error>> {
        Box::pin(self.report(progress))
    }

    fn refuse_output(&self, key: &str, value: &str) -> Option<String> {
        if key.len() > OUTPUT_KEY_BYTES {
            let shown: String = key.chars().take(40).collect();
            return Some(format!(
                "the output {shown:?}... is not kept: its name is longer than {OUTPUT_KEY_BYTES} bytes"
            ));
        }
        (value.len() > OUTPUT_BYTES).then(|| {
            format!(
                "the output {key:?} is not kept: its value is longer than 1 MiB ({} bytes)",
                value.len()
            )
        })
    }

    fn complete(&self, report: Report) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.end(&report).await })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
