//! A proxy on loopback that opens tunnels: every tunnel leads to one server, whatever name was asked for.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a fake that cannot do its work fails its test"
)]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// The proxy. It ends when it is dropped.
pub struct TunnelProxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl TunnelProxy {
    /// Leads every tunnel to `server`; a status other than 200 is what every request gets instead.
    pub async fn start(server: SocketAddr, status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = heads.clone();
        let task = tokio::spawn(async move {
            let mut tunnels = JoinSet::new();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let kept = kept.clone();
                tunnels.spawn(async move { drop(tunnel(tcp, server, status, &kept).await) });
            }
        });
        Self { address, heads, task }
    }

    /// Where the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The heads of the requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TunnelProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tunnel(
    mut caller: TcpStream,
    server: SocketAddr,
    status: u16,
    heads: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(caller.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    heads.lock().unwrap_or_else(PoisonError::into_inner).push(head);
    caller
        .write_all(format!("HTTP/1.1 {status} Scripted\r\n\r\n").as_bytes())
        .await?;
    if status == 200 {
        let mut server = TcpStream::connect(server).await?;
        tokio::io::copy_bidirectional(&mut caller, &mut server).await?;
    }
    Ok(())
}
