//! A caller that sends one message on one connection, and reads what comes.

use std::net::SocketAddr;

use gantry_fakes::FakeForge;
use gantry_protocols::gitea::wire::{self, header, path};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A status that is not 200, and the body with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Failed(pub u16, pub String);

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

/// Sends a request; nothing if the connection ends without a whole answer.
pub async fn send(
    server: SocketAddr,
    verb: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Option<Answer> {
    let mut stream = TcpStream::connect(server).await.ok()?;
    let mut head = format!(
        "{verb} {path} HTTP/1.1\r\nHost: {server}\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head += &[name, ": ", value, "\r\n"].concat();
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body).await.ok()?;
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        text.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(text).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let mut body = vec![0; length.lines().next().unwrap().parse().unwrap()];
    stream.read_exact(&mut body).await.ok()?;
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Some(Answer { status, head, body })
}

/// A runner that does what its test says.
#[derive(Clone)]
pub struct Runner {
    pub server: SocketAddr,
    pub id: i64,
    pub uuid: String,
    pub token: String,
    pub key: Option<String>,
}

/// Calls a procedure; nothing if the answer was lost.
pub async fn call<A: Message + Default>(
    server: SocketAddr,
    procedure: &str,
    headers: &[(&str, &str)],
    request: &impl Message,
) -> Option<Result<A, Failed>> {
    let mut all = vec![("Content-Type", "application/proto")];
    all.extend(headers);
    let path = format!("/api/actions/{procedure}");
    let answer = send(server, "POST", &path, &all, &request.encode_to_vec()).await?;
    Some(if answer.status == 200 {
        Ok(A::decode(answer.body.as_slice()).unwrap())
    } else {
        Err(Failed(answer.status, String::from_utf8(answer.body).unwrap()))
    })
}

/// Registers with a token.
pub async fn register(
    server: SocketAddr,
    token: &str,
    labels: &[&str],
    ephemeral: bool,
) -> Result<wire::Runner, Failed> {
    let request = wire::RegisterRequest {
        name: "r1".to_owned(),
        token: token.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        ephemeral,
        ..wire::RegisterRequest::default()
    };
    let answer: Result<wire::RegisterResponse, Failed> =
        call(server, path::REGISTER, &[], &request).await.unwrap();
    Ok(answer?.runner.unwrap())
}

impl Runner {
    /// A registered runner with these labels.
    pub async fn new(forge: &FakeForge, labels: &[&str]) -> Self {
        Self::registered(forge, labels, false).await
    }

    /// A registered runner for one task.
    pub async fn ephemeral(forge: &FakeForge, labels: &[&str]) -> Self {
        Self::registered(forge, labels, true).await
    }

    async fn registered(forge: &FakeForge, labels: &[&str], ephemeral: bool) -> Self {
        let server = forge.address();
        let runner = register(server, &forge.registration_token(), labels, ephemeral)
            .await
            .unwrap();
        Self {
            server,
            id: runner.id,
            uuid: runner.uuid,
            token: runner.token,
            key: None,
        }
    }

    pub async fn call<A: Message + Default>(
        &self,
        procedure: &str,
        request: &impl Message,
    ) -> Option<Result<A, Failed>> {
        let mut headers = vec![
            (header::RUNNER_UUID, self.uuid.as_str()),
            (header::RUNNER_TOKEN, self.token.as_str()),
        ];
        headers.extend(self.key.as_deref().map(|key| (header::REQUEST_KEY, key)));
        call(self.server, procedure, &headers, request).await
    }

    pub async fn declare(&self, labels: &[&str], capabilities: &[&str]) -> Result<wire::Runner, Failed> {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        let request = wire::DeclareRequest {
            version: "2".to_owned(),
            labels: owned(labels),
            capabilities: owned(capabilities),
        };
        let answer: Result<wire::DeclareResponse, Failed> = self.call(path::DECLARE, &request).await.unwrap();
        Ok(answer?.runner.unwrap())
    }

    pub async fn try_fetch(
        &self,
        tasks_version: i64,
        task_capacity: Option<i64>,
    ) -> Option<Result<wire::FetchTaskResponse, Failed>> {
        let request = wire::FetchTaskRequest {
            tasks_version,
            task_capacity,
        };
        self.call(path::FETCH_TASK, &request).await
    }

    pub async fn fetch(&self, version: i64) -> wire::FetchTaskResponse {
        self.try_fetch(version, None).await.unwrap().ok().unwrap()
    }

    /// A task, which must be there.
    pub async fn task(&self) -> wire::Task {
        self.fetch(0).await.task.unwrap()
    }

    pub async fn try_update(
        &self,
        task: i64,
        result: wire::Result,
        outputs: &[(&str, &str)],
    ) -> Option<Result<wire::UpdateTaskResponse, Failed>> {
        let request = wire::UpdateTaskRequest {
            state: Some(wire::TaskState {
                id: task,
                result: result as i32,
                ..wire::TaskState::default()
            }),
            outputs: outputs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        self.call(path::UPDATE_TASK, &request).await
    }

    /// Tells a state; returns the state that the server holds, and the outputs that it has.
    pub async fn update(
        &self,
        task: i64,
        result: wire::Result,
        outputs: &[(&str, &str)],
    ) -> (wire::Result, Vec<String>) {
        let answer = self
            .try_update(task, result, outputs)
            .await
            .unwrap()
            .ok()
            .unwrap();
        (answer.state.unwrap().result(), answer.sent_outputs)
    }

    pub async fn try_log(
        &self,
        task_id: i64,
        index: i64,
        rows: &[&str],
        no_more: bool,
    ) -> Option<Result<wire::UpdateLogResponse, Failed>> {
        let row = |content: &&str| wire::LogRow {
            time: Some(wire::Timestamp {
                seconds: 1_700_000_000,
                nanos: 123_456_789,
            }),
            content: (*content).to_owned(),
        };
        let rows = rows.iter().map(row).collect();
        let request = wire::UpdateLogRequest {
            task_id,
            index,
            rows,
            no_more,
        };
        self.call(path::UPDATE_LOG, &request).await
    }

    /// Appends rows; returns the acknowledgement.
    pub async fn log(&self, task: i64, index: i64, rows: &[&str], no_more: bool) -> i64 {
        self.try_log(task, index, rows, no_more)
            .await
            .unwrap()
            .ok()
            .unwrap()
            .ack_index
    }
}
