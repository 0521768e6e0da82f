//! The two services over HTTP: Connect unary with the proto codec, faults included.

use std::io::Write;
use std::sync::Arc;

use gantry_protocols::connect::Code;
use gantry_protocols::gitea::wire::{self, header};
use prost::Message;

use super::Shared;
use super::claim::Question;
use super::fault::Fault;
use super::journal::{Call, Delivery, Method, Subject};
use super::rules::{Dialect, Feature, Refusal, Rules};
use super::state::State;
use crate::http::{Answer, Breach, Received, Reply};

const CODEC: &str = "application/proto";

/// Answers a call of a procedure by its path below `/api/actions`.
pub(super) async fn answer(shared: Arc<Shared>, path: &str, received: Received) -> Reply {
    let method = Method::of_path(path).filter(|method| shared.read(|state| serves(&state.rules, *method)));
    let Some(method) = method else {
        return Answer::new(404, "text/plain", "404 page not found\n").into();
    };
    if let Some(answer) = unacceptable(&received) {
        return answer.into();
    }
    let subject = subject(method, &received);
    let (number, faults, lock) = shared.change(|state, now| {
        let faults = state.faults.take(method, &subject);
        state.calls.push(Call {
            at: now,
            method,
            runner: None,
            connection: received.connection,
            subject,
            status: None,
            done: false,
        });
        (state.calls.len() - 1, faults, state.lock_key(method, &received))
    });
    let lock = lock.map(|key| KeyInUse {
        shared: shared.clone(),
        key,
    });
    let reply = match &lock {
        Err(refusal) => refused(refusal, shared.read(|state| state.rules.dialect)).into(),
        Ok(_) => faulty(&shared, method, &received, number, &faults).await,
    };
    drop(lock);
    shared.change(|state, _| {
        if let Reply::Answer(answer) = &reply {
            state.calls[number].status = Some(answer.status);
        }
    });
    reply
}

/// A request key that is in use until the call has ended, or its caller has gone.
struct KeyInUse {
    shared: Arc<Shared>,
    key: Option<(i64, String)>,
}

impl Drop for KeyInUse {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.change(|state, _| state.locked_keys.remove(&key));
        }
    }
}

async fn faulty(
    shared: &Shared,
    method: Method,
    received: &Received,
    number: usize,
    faults: &[Fault],
) -> Reply {
    for fault in faults {
        if let Fault::Delay(pause) = fault {
            tokio::time::sleep(*pause).await;
        }
    }
    match faults.iter().find(|fault| fault.is_before()) {
        Some(Fault::Close) => return Reply::Close,
        Some(Fault::Hang) => return std::future::pending().await,
        Some(Fault::Answer(answer)) => return answer.clone().into(),
        Some(Fault::Refuse(code, text)) => {
            let refusal = Refusal::new(*code, text);
            return refused(&refusal, shared.read(|state| state.rules.dialect)).into();
        }
        _ => {}
    }
    let answer = shared.change(|state, now| state.serve(method, received, number, faults, now));
    after(answer, faults)
}

/// What becomes of the answer of a server that has done its work.
fn after(mut answer: Answer, faults: &[Fault]) -> Reply {
    for fault in faults {
        match fault {
            Fault::LoseAnswer => return Reply::Close,
            Fault::DelayAnswer(pause) => answer.delay = *pause,
            Fault::CutAfter(count) => return answer.breached(Breach::CutAfter(*count)).into(),
            Fault::AnswerTwice => return answer.breached(Breach::Twice).into(),
            _ => {}
        }
    }
    answer.into()
}

impl State {
    fn serve(
        &mut self,
        method: Method,
        received: &Received,
        number: usize,
        faults: &[Fault],
        now: std::time::SystemTime,
    ) -> Answer {
        let mut outcome = self.dispatch(method, received, number, faults, now);
        if faults.iter().any(|fault| matches!(fault, Fault::DeliverTwice)) {
            outcome = self.dispatch(method, received, number, faults, now);
        }
        match outcome {
            Ok(body) => {
                self.calls[number].done = true;
                self.packed(method, received, body)
            }
            Err(refusal) => refused(&refusal, self.rules.dialect),
        }
    }

    fn dispatch(
        &mut self,
        method: Method,
        received: &Received,
        number: usize,
        faults: &[Fault],
        now: std::time::SystemTime,
    ) -> Result<Vec<u8>, Refusal> {
        let body = received.body.as_slice();
        match method {
            Method::Ping => {
                let request: wire::PingRequest = read(body)?;
                let data = format!("Hello, {}!", request.data);
                return Ok(wire::PingResponse { data }.encode_to_vec());
            }
            Method::Register => return Ok(self.register(read(body)?, now)?.encode_to_vec()),
            _ => {}
        }
        let (uuid, token) = (
            received.header(header::RUNNER_UUID),
            received.header(header::RUNNER_TOKEN),
        );
        let runner = self.authenticate(uuid, token, method, now)?;
        self.calls[number].runner = Some(runner);
        Ok(match method {
            Method::Ping | Method::Register => Vec::new(),
            Method::Declare => self.declare(runner, read(body)?)?.encode_to_vec(),
            Method::FetchTask | Method::FetchSingleTask => {
                return self.fetch(runner, method, received, faults, now);
            }
            Method::UpdateTask => {
                let stale = faults.iter().any(|fault| matches!(fault, Fault::StaleAnswer));
                let answer = self.update_task(runner, read(body)?, now)?;
                let answer = if stale {
                    wire::UpdateTaskResponse::default()
                } else {
                    answer
                };
                answer.encode_to_vec()
            }
            Method::UpdateLog => self.append(runner, read(body)?, faults, now)?.encode_to_vec(),
        })
    }

    fn fetch(
        &mut self,
        runner: i64,
        method: Method,
        received: &Received,
        faults: &[Fault],
        now: std::time::SystemTime,
    ) -> Result<Vec<u8>, Refusal> {
        let single = method == Method::FetchSingleTask;
        let mut question = Question {
            key: request_key(received),
            capacity: 1,
            ..Question::default()
        };
        if single {
            let request: wire::FetchSingleTaskRequest = read(&received.body)?;
            question.version = request.tasks_version;
            question.handle = request.handle.filter(|handle| !handle.is_empty());
        } else {
            let request: wire::FetchTaskRequest = read(&received.body)?;
            question.version = request.tasks_version;
            question.capacity = usize::try_from(request.task_capacity.unwrap_or(1)).unwrap_or(1);
        }
        let mut picked = self.pick(runner, &question, now)?;
        for fault in faults {
            self.spoil(runner, &mut picked.tasks, fault);
        }
        let mut tasks = picked.tasks.into_iter();
        let (task, tasks_version) = (tasks.next(), picked.version);
        Ok(if single {
            if tasks.next().is_some() {
                return Err(Refusal::new(
                    Code::Internal,
                    "more than one task recovered for request key",
                ));
            }
            wire::FetchSingleTaskResponse { tasks_version, task }.encode_to_vec()
        } else {
            let additional_tasks = tasks.collect();
            wire::FetchTaskResponse {
                task,
                tasks_version,
                additional_tasks,
            }
            .encode_to_vec()
        })
    }

    fn spoil(&mut self, runner: i64, tasks: &mut Vec<wire::Task>, fault: &Fault) {
        match fault {
            Fault::DuplicateTask => {
                let newest = self.tasks.values().rev().find(|task| task.runner == runner);
                let again = newest.and_then(|task| self.message(task.id));
                tasks.extend(again.filter(|_| tasks.is_empty()));
            }
            Fault::Payload(payload) => {
                for task in tasks {
                    task.workflow_payload = Some(payload.clone());
                }
            }
            Fault::WithoutContext => {
                for task in tasks {
                    task.context = None;
                }
            }
            _ => {}
        }
    }

    fn append(
        &mut self,
        runner: i64,
        request: wire::UpdateLogRequest,
        faults: &[Fault],
        now: std::time::SystemTime,
    ) -> Result<wire::UpdateLogResponse, Refusal> {
        let id = request.task_id;
        let before = self.tasks.get(&id).map_or(0, |task| task.rows.len());
        let mut answer = self.update_log(runner, request, now)?;
        let after = self.tasks.get(&id).map_or(0, |task| task.rows.len());
        if self
            .faults
            .cancel_at_row
            .is_some_and(|row| before < row && row <= after)
        {
            self.cancel_task(id, now);
        }
        for fault in faults {
            match fault {
                Fault::StaleAnswer => answer.ack_index = super::number(before),
                Fault::Acknowledge(index) => answer.ack_index = *index,
                _ => {}
            }
        }
        Ok(answer)
    }

    fn packed(&self, method: Method, received: &Received, body: Vec<u8>) -> Answer {
        let packs =
            body.len() >= self.rules.packs_from && received.header("accept-encoding").contains("gzip");
        let answer = match gzip(&body).filter(|_| packs) {
            Some(small) => Answer::proto(small).header("content-encoding", "gzip"),
            None => Answer::proto(body),
        };
        match self
            .rules
            .capabilities
            .as_ref()
            .filter(|_| method == Method::Declare)
        {
            Some(list) => answer.header(header::CAPABILITIES, list),
            None => answer,
        }
    }

    /// Two calls with one key at once would get the same tasks with different tokens.
    fn lock_key(&mut self, method: Method, received: &Received) -> Result<Option<(i64, String)>, Refusal> {
        let fetches = matches!(method, Method::FetchTask | Method::FetchSingleTask);
        let uuid = received.header(header::RUNNER_UUID);
        let runner = self.runners.iter().find(|runner| runner.uuid == uuid);
        let key = request_key(received).filter(|_| fetches && self.rules.has(Feature::RequestKeys));
        let (Some(runner), Some(key)) = (runner, key) else {
            return Ok(None);
        };
        let key = (runner.id, key);
        if !self.locked_keys.insert(key.clone()) {
            return Err(Refusal::new(
                Code::Internal,
                "request key is currently locked; retry soon",
            ));
        }
        Ok(Some(key))
    }
}

fn serves(rules: &Rules, method: Method) -> bool {
    match method {
        Method::Declare => rules.has(Feature::Declare),
        Method::FetchSingleTask => rules.has(Feature::FetchSingleTask),
        _ => true,
    }
}

/// What Connect says of a request that is none.
fn unacceptable(received: &Received) -> Option<Answer> {
    if received.method() != "POST" {
        return Some(Answer::new(405, "text/plain", "").header("allow", "POST"));
    }
    if received.header("content-type") != CODEC {
        return Some(Answer::new(415, "text/plain", "").header("accept-post", CODEC));
    }
    let version = received.header("connect-protocol-version");
    if !["", "1"].contains(&version) {
        let refusal = Refusal::new(Code::InvalidArgument, "connect-protocol-version must be \"1\"");
        return Some(refused(&refusal, Dialect::Forgejo));
    }
    None
}

fn refused(refusal: &Refusal, dialect: Dialect) -> Answer {
    let (status, body) = refusal.answer(dialect);
    Answer::new(status, "application/json", body)
}

fn read<M: Message + Default>(body: &[u8]) -> Result<M, Refusal> {
    M::decode(body)
        .map_err(|error| Refusal::new(Code::InvalidArgument, format!("unmarshal message: {error}")))
}

fn request_key(received: &Received) -> Option<String> {
    Some(received.header(header::REQUEST_KEY).to_owned()).filter(|key| !key.is_empty())
}

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

fn subject(method: Method, received: &Received) -> Subject {
    let body = received.body.as_slice();
    match method {
        Method::FetchTask => {
            wire::FetchTaskRequest::decode(body).map_or(Subject::Other, |request| Subject::Fetch {
                version: request.tasks_version,
                capacity: request.task_capacity,
                key: request_key(received),
            })
        }
        Method::UpdateTask => wire::UpdateTaskRequest::decode(body).map_or(Subject::Other, |request| {
            let state = request.state.unwrap_or_default();
            Subject::State {
                task: state.id,
                result: state.result(),
            }
        }),
        Method::UpdateLog => Delivery::decode(body).map_or(Subject::Other, |delivery| Subject::Rows {
            task: delivery.task_id,
            first: delivery.index,
            count: delivery.rows.len(),
            no_more: delivery.no_more,
        }),
        _ => Subject::Other,
    }
}
