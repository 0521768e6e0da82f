//! The server that answers by a script.

#![expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::connection::{self, Answerer};
use super::{Answer, Received, Reply};

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
        Self::listen(script, Some(tls)).await
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.kept).received.clone()
    }

    async fn listen(script: impl IntoIterator<Item = Reply>, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = Arc::new(Mutex::new(Kept {
            script: script.into_iter().collect(),
            received: Vec::new(),
        }));
        let by_script: Answerer = {
            let kept = kept.clone();
            Arc::new(move |received| Box::pin(std::future::ready(lock(&kept).next(received))))
        };
        let task = tokio::spawn(connection::accept(listener, by_script, tls.map(Into::into)));
        Self { address, kept, task }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Kept {
    fn next(&mut self, received: Received) -> Reply {
        self.received.push(received);
        let over = Answer::new(500, "text/plain", "the script is over");
        self.script.pop_front().unwrap_or(Reply::Answer(over))
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
