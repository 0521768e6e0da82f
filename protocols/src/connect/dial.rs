//! From a name to a connection: addresses, proxy, TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_service::Service;
use actix_tls::connect::{ConnectError, ConnectInfo, Connection};
use awc::http::Uri;
use futures::future::LocalBoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::{Address, Scheme};
use super::proxy::Proxy;
use super::stream::Stream;
use super::tls;

/// How long one address may be silent before the next one is tried as well (RFC 8305, "Happy Eyeballs").
const NEXT_ADDRESS: Duration = Duration::from_millis(250);
/// How long a proxy's answer to CONNECT may be, in bytes.
const MAX_PROXY_ANSWER: usize = 8 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("failed to resolve the name {name}: {source}")]
    Resolve { name: String, source: io::Error },
    #[error("the name {name} has no address")]
    NoAddress { name: String },
    #[error("failed to connect to {target}: {source}")]
    Connect { target: String, source: io::Error },
    #[error("the proxy {proxy} {reason}")]
    Proxy { proxy: String, reason: String },
    #[error("{0}")]
    Tls(String),
}

/// Connects to one server, whatever address the HTTP client was made to believe.
#[derive(Clone)]
pub(super) struct Dial {
    pub server: Arc<Address>,
    pub proxy: Option<Arc<Proxy>>,
    /// Present if the server is spoken to with TLS.
    pub tls: Option<Arc<ClientConfig>>,
}

impl Service<ConnectInfo<Uri>> for Dial {
    type Response = Connection<Uri, Stream>;
    type Error = ConnectError;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&self, request: ConnectInfo<Uri>) -> Self::Future {
        let dial = self.clone();
        Box::pin(async move {
            let stream = dial.connect().await;
            let stream = stream.map_err(|error| ConnectError::Io(io::Error::other(error)))?;
            Ok(Connection::new(request.request().clone(), stream))
        })
    }
}

impl Dial {
    async fn connect(&self) -> Result<Stream, Error> {
        let tcp = match &self.proxy {
            None => connect_to(self.server.bare_host(), self.server.port).await?,
            Some(proxy) => self.connect_through(proxy).await?,
        };
        let Some(config) = &self.tls else {
            return Ok(Stream::Plain(tcp));
        };
        let name = ServerName::try_from(self.server.bare_host().to_owned())
            .map_err(|_invalid| Error::Tls("the server's name cannot be in a certificate".to_owned()))?;
        let tls = TlsConnector::from(config.clone()).connect(name, tcp).await;
        let tls = tls.map_err(|error| Error::Tls(explain_handshake(&error)))?;
        Ok(Stream::Tls(Box::new(tls)))
    }

    async fn connect_through(&self, proxy: &Proxy) -> Result<TcpStream, Error> {
        let mut tcp = connect_to(proxy.host.trim_matches(['[', ']']), proxy.port).await?;
        // A server without TLS is asked through the proxy with its whole address; there is no tunnel.
        if self.server.scheme == Scheme::Https {
            let tunnel = open_tunnel(&mut tcp, &self.server, proxy).await;
            tunnel.map_err(|reason| Error::Proxy {
                proxy: proxy.authority(),
                reason,
            })?;
        }
        Ok(tcp)
    }
}

fn explain_handshake(error: &io::Error) -> String {
    let cause = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(cause) => tls::explain(cause),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection during the handshake".to_owned()
        }
        None => error.to_string(),
    }
}

/// Resolves the name anew each time: an outage may have been a move.
async fn connect_to(host: &str, port: u16) -> Result<TcpStream, Error> {
    let addresses = tokio::net::lookup_host((host, port)).await;
    let addresses = addresses.map_err(|source| Error::Resolve {
        name: host.to_owned(),
        source,
    })?;
    let addresses = alternate(addresses.collect());
    let (last, source) = match connect_to_any(addresses).await {
        Ok(tcp) => {
            // Requests are small and are answered one at a time. Without this option they are only slower.
            if let Err(error) = tcp.set_nodelay(true) {
                tracing::debug!(%error, "failed to set TCP_NODELAY");
            }
            return Ok(tcp);
        }
        Err(Some(failed)) => failed,
        Err(None) => {
            return Err(Error::NoAddress {
                name: host.to_owned(),
            });
        }
    };
    Err(Error::Connect {
        target: last.to_string(),
        source,
    })
}

/// Puts addresses of the two families in turns, the first one's family first.
fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let Some(first) = addresses.first().map(SocketAddr::is_ipv6) else {
        return addresses;
    };
    let count = addresses.len();
    let (ours, others): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first);
    let (mut ours, mut others) = (ours.into_iter(), others.into_iter());
    let mut turns = Vec::with_capacity(count);
    while turns.len() < count {
        turns.extend(ours.next());
        turns.extend(others.next());
    }
    turns
}

/// Tries the addresses in order, each while those before it are still silent; tells of the last one that failed.
async fn connect_to_any(addresses: Vec<SocketAddr>) -> Result<TcpStream, Option<(SocketAddr, io::Error)>> {
    let mut waiting = addresses.into_iter();
    let mut trying = FuturesUnordered::new();
    let mut failed = None;
    loop {
        if let Some(address) = waiting.next() {
            trying.push(async move { (address, TcpStream::connect(address).await) });
        } else if trying.is_empty() {
            return Err(failed);
        }
        let next_due = tokio::time::sleep(NEXT_ADDRESS);
        tokio::select! {
            Some((address, result)) = trying.next() => match result {
                Ok(tcp) => return Ok(tcp),
                Err(error) => failed = Some((address, error)),
            },
            () = next_due => {}
        }
    }
}

/// Asks a proxy for a tunnel to the server; the text of an error is what the proxy did wrong.
async fn open_tunnel(tcp: &mut TcpStream, server: &Address, proxy: &Proxy) -> Result<(), String> {
    let target = format!("{}:{}", server.host, server.port);
    let authorization = proxy.authorization.as_ref();
    let authorization = authorization.map(|value| format!("Proxy-Authorization: {value}\r\n"));
    let request = format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{}\r\n",
        authorization.unwrap_or_default()
    );
    let broken = |error: io::Error| format!("broke the connection: {error}");
    tcp.write_all(request.as_bytes()).await.map_err(broken)?;
    // Byte by byte, so that nothing of what the server says is taken: this happens once for each connection.
    let mut answer = Vec::with_capacity(256);
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() == MAX_PROXY_ANSWER {
            return Err("gave an endless answer".to_owned());
        }
        answer.push(tcp.read_u8().await.map_err(broken)?);
    }
    let first_line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
    match status_of(first_line) {
        Some(200..=299) => Ok(()),
        Some(407) => Err("wants a user and a password (status 407)".to_owned()),
        Some(status) => Err(format!("refused a tunnel to {target} (status {status})")),
        None => Err("does not answer as a proxy".to_owned()),
    }
}

fn status_of(line: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(line).ok()?;
    let rest = line.strip_prefix("HTTP/1.")?;
    rest.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns() {
        let parse = |text: &str| text.split(' ').map(|address| address.parse().unwrap()).collect();
        let table = [
            ("[::1]:1 [::2]:1 1.1.1.1:1", "[::1]:1 1.1.1.1:1 [::2]:1"),
            (
                "1.1.1.1:1 2.2.2.2:1 [::1]:1 [::2]:1",
                "1.1.1.1:1 [::1]:1 2.2.2.2:1 [::2]:1",
            ),
            ("1.1.1.1:1", "1.1.1.1:1"),
        ];
        for (given, expected) in table {
            let expected: Vec<SocketAddr> = parse(expected);
            assert_eq!(alternate(parse(given)), expected);
        }
        assert_eq!(alternate(Vec::new()), []);
    }

    #[test]
    fn only_a_status_line_is_an_answer_of_a_proxy() {
        let table: [(&[u8], Option<u16>); 5] = [
            (b"HTTP/1.1 200 Connection established", Some(200)),
            (b"HTTP/1.0 407 x", Some(407)),
            (b"HTTP/1.1 2x0", None),
            (b"SSH-2.0", None),
            (b"\xff", None),
        ];
        for (line, status) in table {
            assert_eq!(status_of(line), status);
        }
    }
}
