//! The handle to a server's connections, which any thread may hold.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tokio::sync::{mpsc, oneshot};

use super::transport::{SetUpError, Transport};
use super::unary::{self, Answer};
use super::{Error, Options};

/// How many requests may wait for the thread that sends them.
const WAITING: usize = 64;

/// How a request changes what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `POST`
    Post,
    /// `PUT`
    Put,
}

/// A request below the server's address. It cannot be printed: its headers hold tokens.
#[derive(Clone)]
pub struct Request {
    /// How.
    pub verb: Verb,
    /// The path below the server's address, without a slash at its start.
    pub path: String,
    /// The headers, by their names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Bytes,
}

/// The answer to a request.
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The headers, by their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, unpacked.
    pub body: Bytes,
}

impl Response {
    /// The value of a header whose name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// A request that waits for its answer.
struct Job {
    request: Request,
    reply: oneshot::Sender<Result<Response, Error>>,
}

/// A handle to the connections to one server; copies are cheap and share them.
///
/// The HTTP client stays on one thread. Requests reach it through a bounded channel, and every call has a deadline
/// that covers all of it: the wait for the thread, the connection, the request and the whole answer.
#[derive(Clone)]
pub struct Client {
    jobs: mpsc::Sender<Job>,
    host: Arc<str>,
    address: Arc<str>,
}

impl Client {
    /// Starts to serve requests on this thread, until every handle is gone. Reads the files of certificates.
    ///
    /// Call it where tasks that stay on their thread can be spawned: in an actix system, or in a `LocalSet`.
    ///
    /// # Errors
    /// The options cannot be used.
    pub fn start(options: Options) -> Result<Self, SetUpError> {
        let host = options.address.authority().into();
        let address = options.address.to_string().into();
        let transport = Transport::new(options)?;
        let (jobs, waiting) = mpsc::channel(WAITING);
        tokio::task::spawn_local(serve(transport, waiting));
        Ok(Self { jobs, host, address })
    }

    /// The server's host, and its port if that is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The server's address, as a person would write it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and reads the whole answer, whatever its status.
    ///
    /// # Errors
    /// There was no answer, not in time, or not one that can be read.
    ///
    /// # Cancel safety
    /// A dropped request closes its connection. The server may have acted on it.
    pub async fn send(&self, request: Request, deadline: Duration) -> Result<Response, Error> {
        let answer = tokio::time::timeout(deadline, self.queue(request)).await;
        answer.unwrap_or_else(|_elapsed| {
            Err(Error::Deadline {
                host: self.host.to_string(),
                after: deadline,
            })
        })
    }

    /// Calls a procedure with the proto codec (Connect: "Unary-Request").
    ///
    /// # Errors
    /// There is no answer, or it is an error.
    ///
    /// # Cancel safety
    /// As [`Client::send`].
    pub async fn call<M: Message + Default>(
        &self,
        path: &str,
        headers: Vec<(&'static str, String)>,
        message: &impl Message,
        deadline: Duration,
    ) -> Result<Answer<M>, Error> {
        let mut request = Request {
            verb: Verb::Post,
            path: path.to_owned(),
            headers,
            body: message.encode_to_vec().into(),
        };
        // At most ten digits are allowed; that is more than a hundred days.
        let milliseconds = deadline.as_millis().min(9_999_999_999);
        request.headers.extend([
            ("content-type", unary::PROTO.to_owned()),
            ("connect-protocol-version", "1".to_owned()),
            ("connect-timeout-ms", milliseconds.to_string()),
        ]);
        let response = self.send(request, deadline).await?;
        unary::interpret(&self.host, response)
    }

    async fn queue(&self, request: Request) -> Result<Response, Error> {
        let (reply, answer) = oneshot::channel();
        let gone = || Error::Unreachable {
            host: self.host.to_string(),
            reason: "the runner's own HTTP client has ended".to_owned(),
        };
        let queued = self.jobs.send(Job { request, reply }).await;
        queued.map_err(|_closed| gone())?;
        answer.await.unwrap_or_else(|_dropped| Err(gone()))
    }
}

/// Sends each request as a task of its own, so that a slow one holds up nobody.
async fn serve(transport: Transport, mut waiting: mpsc::Receiver<Job>) {
    let transport = Rc::new(transport);
    while let Some(Job { request, mut reply }) = waiting.recv().await {
        let transport = transport.clone();
        tokio::task::spawn_local(async move {
            let answer = tokio::select! {
                answer = transport.exchange(request) => answer,
                () = reply.closed() => return,
            };
            if reply.send(answer).is_err() {
                tracing::debug!("an answer came when nobody waited for it any more");
            }
        });
    }
}
