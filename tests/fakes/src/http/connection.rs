//! Connections of HTTP/1.1: requests are read, somebody answers them, and answers go out as whole or broken as they say.

#![expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream,
};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::{Answer, Breach, Framing, Received, Reply};

/// Makes the reply to a request.
pub(crate) type Answerer = Arc<dyn Fn(Received) -> BoxFuture<'static, Reply> + Send + Sync>;

/// Serves every connection until the future is dropped, which ends the connections too.
pub(crate) async fn accept(listener: TcpListener, answerer: Answerer, tls: Option<TlsAcceptor>) {
    let mut connections = JoinSet::new();
    for number in 0.. {
        let (tcp, _) = listener.accept().await.unwrap();
        while connections.try_join_next().is_some() {}
        let (answerer, tls) = (answerer.clone(), tls.clone());
        connections.spawn(async move {
            // A connection that breaks is what some tests want.
            match tls {
                None => drop(serve(tcp, number, &answerer).await),
                Some(tls) => {
                    if let Ok(stream) = tls.accept(tcp).await {
                        drop(serve(stream, number, &answerer).await);
                    }
                }
            }
        });
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    answerer: &Answerer,
) -> std::io::Result<()> {
    let mut stream = BufStream::new(stream);
    while let Some(received) = read_request(&mut stream, connection).await? {
        let reply = tokio::select! {
            biased;
            reply = answerer(received) => reply,
            // Whoever is gone needs no answer, and work that waits for nobody ends.
            true = is_over(&mut stream) => return Ok(()),
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

/// Waits until the caller says more; tells whether it is gone instead.
async fn is_over(stream: &mut (impl AsyncBufRead + Unpin)) -> bool {
    stream.fill_buf().await.map_or(true, <[u8]>::is_empty)
}

/// Reads a request; nothing if the connection ends before one begins.
async fn read_request(
    stream: &mut (impl AsyncBufRead + Unpin),
    connection: usize,
) -> std::io::Result<Option<Received>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_until(b'\n', &mut head).await? == 0 {
            return if head.is_empty() {
                Ok(None)
            } else {
                Err(cut_short())
            };
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
    received.body = if received.header("transfer-encoding").contains("chunked") {
        read_chunks(stream).await?
    } else {
        let mut body = vec![0; received.header("content-length").parse().unwrap_or(0)];
        stream.read_exact(&mut body).await?;
        body
    };
    Ok(Some(received))
}

async fn read_chunks(stream: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| cut_short())?;
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..]).await?;
        // Each chunk ends with a line end, and the last one, which is empty, with an empty line.
        stream.read_line(&mut line).await?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn cut_short() -> std::io::Error {
    std::io::ErrorKind::UnexpectedEof.into()
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
        Breach::Twice => {
            for part in [&framed, head.as_bytes(), &framed] {
                stream.write_all(part).await?;
            }
        }
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
