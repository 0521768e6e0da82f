//! An HTTP server on loopback whose answers are written down beforehand, faults of the network among them.

#![expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// How an answer says where its body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// With `Content-Length`.
    Length,
    /// In chunks of at most so many bytes.
    Chunks(usize),
    /// With the end of the connection.
    Close,
}

/// What goes wrong while an answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// Nothing.
    None,
    /// The connection is closed cleanly after so many bytes of the framed body.
    CutAfter(usize),
    /// One byte at a time, with a pause after each.
    Drip(Duration),
}

/// What happens to one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// It is answered.
    Answer(Answer),
    /// It is read, and nothing happens for ever.
    Never,
    /// It is read, and the connection is closed.
    Close,
    /// It is read, and these bytes come back before the connection is closed.
    Raw(Vec<u8>),
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, without those that tell the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// How the body ends.
    pub framing: Framing,
    /// How long the server thinks.
    pub delay: Duration,
    /// What goes wrong.
    pub breach: Breach,
}

impl Answer {
    /// An answer that comes at once and whole.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.into(),
            framing: Framing::Length,
            delay: Duration::ZERO,
            breach: Breach::None,
        }
    }

    /// An answer with a message in the proto codec.
    pub fn proto(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/proto", body)
    }

    /// A Connect error.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let body = format!("{{\"code\":\"{code}\",\"message\":\"{message}\"}}");
        Self::new(status, "application/json", body)
    }

    /// The same answer with one header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same answer with another end.
    #[must_use]
    pub fn framed(self, framing: Framing) -> Self {
        Self { framing, ..self }
    }

    /// The same answer with a fault.
    #[must_use]
    pub fn breached(self, breach: Breach) -> Self {
        Self { breach, ..self }
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    /// `POST /path HTTP/1.1`
    pub line: String,
    /// The headers, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The number of the connection that it came on, from 0.
    pub connection: usize,
}

impl Received {
    /// The value of a header, or nothing.
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

#[derive(Default)]
struct Kept {
    script: VecDeque<Reply>,
    received: Vec<Received>,
}

/// The server. It ends when it is dropped.
pub struct HttpServer {
    address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
    task: JoinHandle<()>,
}

impl HttpServer {
    /// Answers requests as the script says, one entry for each; a request after the script's end gets status 500.
    pub async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        Self::listen(script, None).await
    }

    /// The same with TLS. A connection whose handshake fails uses up nothing of the script.
    pub async fn start_tls(script: impl IntoIterator<Item = Reply>, tls: Arc<rustls::ServerConfig>) -> Self {
        Self::listen(script, Some(tls.into())).await
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.kept).received.clone()
    }

    async fn listen(script: impl IntoIterator<Item = Reply>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::new(Mutex::new(Kept {
            script: script.into_iter().collect(),
            received: Vec::new(),
        }));
        let task = tokio::spawn(accept(listener, kept.clone(), tls));
        Self { address, kept, task }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, kept: Arc<Mutex<Kept>>, tls: Option<TlsAcceptor>) {
    let mut connections = tokio::task::JoinSet::new();
    for number in 0.. {
        let (tcp, _) = listener.accept().await.unwrap();
        let (kept, tls) = (kept.clone(), tls.clone());
        connections.spawn(async move {
            // A connection that breaks is what some tests want.
            match tls {
                None => drop(serve(tcp, number, &kept).await),
                Some(tls) => {
                    if let Ok(stream) = tls.accept(tcp).await {
                        drop(serve(stream, number, &kept).await);
                    }
                }
            }
        });
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    kept: &Mutex<Kept>,
) -> std::io::Result<()> {
    while let Some(received) = read_request(&mut stream, connection).await? {
        let reply = {
            let mut kept = lock(kept);
            kept.received.push(received);
            let over = Answer::new(500, "text/plain", "the script is over");
            kept.script.pop_front().unwrap_or(Reply::Answer(over))
        };
        let goes_on = match reply {
            Reply::Answer(answer) => send(&mut stream, &answer).await?,
            Reply::Never => std::future::pending().await,
            Reply::Close => false,
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                false
            }
        };
        if !goes_on {
            break;
        }
    }
    stream.shutdown().await
}

/// Reads a request; nothing if the connection ends before one begins.
async fn read_request(
    stream: &mut (impl AsyncRead + Unpin),
    connection: usize,
) -> std::io::Result<Option<Received>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) if head.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut lines = head.trim_end().lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut received = Received {
        line,
        headers,
        body: Vec::new(),
        connection,
    };
    received.body = vec![0; received.header("content-length").parse().unwrap_or(0)];
    stream.read_exact(&mut received.body).await?;
    Ok(Some(received))
}

/// Sends an answer; tells whether the connection can be used again.
async fn send(stream: &mut (impl AsyncWrite + Unpin), answer: &Answer) -> std::io::Result<bool> {
    tokio::time::sleep(answer.delay).await;
    let (length, framed) = match answer.framing {
        Framing::Length => (
            format!("content-length: {}", answer.body.len()),
            answer.body.clone(),
        ),
        Framing::Chunks(size) => (
            "transfer-encoding: chunked".to_owned(),
            in_chunks(&answer.body, size),
        ),
        Framing::Close => ("connection: close".to_owned(), answer.body.clone()),
    };
    let headers = answer
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    let status = format!("HTTP/1.1 {} Scripted", answer.status);
    let lines: Vec<String> = [status, length].into_iter().chain(headers).collect();
    let head = lines.join("\r\n") + "\r\n\r\n";
    stream.write_all(head.as_bytes()).await?;
    match answer.breach {
        Breach::None => stream.write_all(&framed).await?,
        Breach::CutAfter(count) => {
            stream.write_all(&framed[..count.min(framed.len())]).await?;
            stream.flush().await?;
            return Ok(false);
        }
        Breach::Drip(pause) => {
            for byte in &framed {
                stream.write_all(&[*byte]).await?;
                stream.flush().await?;
                tokio::time::sleep(pause).await;
            }
        }
    }
    stream.flush().await?;
    Ok(answer.framing != Framing::Close)
}

fn in_chunks(body: &[u8], size: usize) -> Vec<u8> {
    let mut framed = Vec::new();
    for chunk in body.chunks(size.max(1)) {
        framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        framed.extend_from_slice(chunk);
        framed.extend_from_slice(b"\r\n");
    }
    framed.extend_from_slice(b"0\r\n\r\n");
    framed
}
