//! The HTTP client against real servers on loopback, which answer by script and fail by script.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use gantry_fakes::http::{Answer, Breach, Framing, HttpServer, Reply};
use gantry_protocols::connect::{Address, Client, Code, Error, Options};
use gantry_protocols::gitea::wire::{PingRequest, PingResponse, path};

const SOON: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(20);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

fn options(server: SocketAddr) -> Options {
    Options::new(Address::parse(&format!("http://{server}/git/")).unwrap(), "1.2.3")
}

async fn ping(client: &Client, deadline: Duration) -> Result<String, Error> {
    let request = PingRequest { data: "x".to_owned() };
    let answer = client
        .call::<PingResponse>(path::PING, Vec::new(), &request, deadline)
        .await;
    answer.map(|answer| answer.message.data)
}

fn hello(data: &str) -> Answer {
    let mut body = vec![0x0a, u8::try_from(data.len()).unwrap()];
    body.extend_from_slice(data.as_bytes());
    Answer::proto(body)
}

/// What one call to a server with this one reply comes to.
fn outcome(reply: impl Into<Reply>, deadline: Duration) -> Result<String, Error> {
    let reply = reply.into();
    block_on(async {
        let server = HttpServer::start([reply]).await;
        let client = Client::start(options(server.address())).unwrap();
        ping(&client, deadline).await
    })
}

#[test]
fn a_request_says_what_connect_wants_to_know() {
    block_on(async {
        let server = HttpServer::start([hello("hi").into()]).await;
        let mut options = options(server.address());
        options.headers = vec![("X-Gate".to_owned(), "open".to_owned())];
        let client = Client::start(options).unwrap();
        assert_eq!(ping(&client, LONG).await.unwrap(), "hi");
        let received = server.received().remove(0);
        assert_eq!(received.line, "POST /git/ping.v1.PingService/Ping HTTP/1.1");
        assert_eq!(received.body, b"\x0a\x01x");
        let table = [
            ("host", server.address().to_string()),
            ("content-type", "application/proto".to_owned()),
            ("content-length", "3".to_owned()),
            ("connect-protocol-version", "1".to_owned()),
            ("connect-timeout-ms", "20000".to_owned()),
            ("accept-encoding", "gzip".to_owned()),
            ("user-agent", "gantry/1.2.3".to_owned()),
            ("x-gate", "open".to_owned()),
            ("transfer-encoding", String::new()),
        ];
        for (name, value) in table {
            assert_eq!(received.header(name), value, "{name}");
        }
    });
}

#[test]
fn one_connection_serves_many_calls() {
    block_on(async {
        let script = ["a", "b", "c"].map(|data| hello(data).into());
        let server = HttpServer::start(script).await;
        let client = Client::start(options(server.address())).unwrap();
        for data in ["a", "b", "c"] {
            assert_eq!(ping(&client, LONG).await.unwrap(), data);
        }
        let connections: Vec<_> = server
            .received()
            .iter()
            .map(|request| request.connection)
            .collect();
        assert_eq!(connections, [0, 0, 0]);
    });
}

#[test]
fn a_handle_works_from_other_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let server = HttpServer::start((0..8).map(|_| hello("hi").into())).await;
        let client = Client::start(options(server.address())).unwrap();
        let calls = (0..8).map(|_| {
            let client = client.clone();
            tokio::spawn(async move { ping(&client, LONG).await })
        });
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "hi");
        }
    });
}

#[test]
fn packed_answers_are_unpacked() {
    let message = hello(&"z".repeat(100));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&message.body).unwrap();
    let packed = Answer::proto(encoder.finish().unwrap()).header("content-encoding", "gzip");
    assert_eq!(outcome(packed.clone(), LONG).unwrap(), "z".repeat(100));
    let garbage = Answer {
        body: b"\x1f\x8bgarbage".to_vec(),
        ..packed
    };
    let error = outcome(garbage, LONG).unwrap_err();
    assert_eq!(error.code(), Code::Internal, "{error}");
    let unknown = hello("hi").header("content-encoding", "br");
    assert!(matches!(outcome(unknown, LONG), Err(Error::Malformed { .. })));
}

#[test]
fn bodies_in_chunks_and_drop_by_drop_are_read() {
    assert_eq!(
        outcome(hello("chunks").framed(Framing::Chunks(3)), LONG).unwrap(),
        "chunks"
    );
    let dripping = hello("drip").breached(Breach::Drip(Duration::from_millis(2)));
    assert_eq!(outcome(dripping, LONG).unwrap(), "drip");
}

#[test]
fn a_body_that_is_cut_off_is_no_answer() {
    // Two fields, so that the first half is a message of its own.
    let mut whole = hello("first");
    whole.body.extend_from_slice(b"\x10\x01");
    let half = Breach::CutAfter(7);
    let chunk = Breach::CutAfter(3 + 7 + 2);
    let table = [
        whole.clone().breached(half),
        whole.clone().framed(Framing::Chunks(7)).breached(chunk),
        whole
            .clone()
            .framed(Framing::Chunks(7))
            .breached(Breach::CutAfter(0)),
    ];
    for answer in table {
        let error = outcome(answer.clone(), LONG).unwrap_err();
        assert!(matches!(error, Error::Unreachable { .. }), "{answer:?}: {error}");
    }
    // Where the length is unknown, a cut cannot be told from the end.
    let error = outcome(whole.framed(Framing::Close), LONG).unwrap_err();
    assert!(
        error.to_string().ends_with("does not say how long it is"),
        "{error}"
    );
}

#[test]
fn silence_ends_with_the_deadline() {
    let slow = Answer {
        delay: LONG,
        ..hello("late")
    };
    let table: [Reply; 3] = [
        Reply::Never,
        slow.into(),
        hello("drip").breached(Breach::Drip(LONG)).into(),
    ];
    for reply in table {
        let error = outcome(reply, SOON).unwrap_err();
        assert_eq!(error.code(), Code::DeadlineExceeded);
        assert!(error.to_string().ends_with("no answer within 300ms"), "{error}");
    }
}

#[test]
fn connections_that_close_or_speak_nonsense_are_errors_with_the_host() {
    let table: [(Reply, Code); 4] = [
        (Reply::Close, Code::Unavailable),
        (Reply::Raw(b"SSH-2.0-x\r\n\r\n".to_vec()), Code::Internal),
        (Reply::Raw(b"HTTP/1.1 2".to_vec()), Code::Unavailable),
        (Reply::Raw(vec![0; 300_000]), Code::Internal),
    ];
    for (reply, code) in table {
        let error = outcome(reply, LONG).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().starts_with("127.0.0.1:"), "{error}");
    }
}

#[test]
fn a_connection_that_closed_while_it_was_idle_is_not_used_again() {
    block_on(async {
        let server = HttpServer::start([Reply::Close, hello("b").into()]).await;
        let client = Client::start(options(server.address())).unwrap();
        assert!(ping(&client, LONG).await.is_err());
        assert_eq!(ping(&client, LONG).await.unwrap(), "b");
    });
}

#[test]
fn answers_have_a_bound() {
    let large = || hello("x").header("x", "y");
    let body = vec![0x7a; 2000];
    let table = [
        Answer {
            body: body.clone(),
            ..large()
        },
        Answer { body, ..large() }.framed(Framing::Chunks(100)),
    ];
    for answer in table {
        let error = block_on(async {
            let server = HttpServer::start([answer.into()]).await;
            let mut options = options(server.address());
            options.body_limit = 1000;
            ping(&Client::start(options).unwrap(), LONG).await.unwrap_err()
        });
        assert!(error.to_string().ends_with("larger than 1000 bytes"), "{error}");
    }
}

#[test]
fn an_error_page_of_any_size_is_told_by_its_status() {
    let page = Answer::new(502, "text/html", vec![b'x'; 40_000_000]);
    assert!(matches!(
        outcome(page, LONG),
        Err(Error::Http { status: 502, .. })
    ));
    let cut = Answer::new(503, "text/html", "page").breached(Breach::CutAfter(1));
    assert!(matches!(outcome(cut, LONG), Err(Error::Http { status: 503, .. })));
}

#[test]
fn nobody_at_the_address_is_an_error_that_names_it() {
    block_on(async {
        let server = HttpServer::start([]).await;
        let address = server.address();
        drop(server);
        let client = Client::start(options(address)).unwrap();
        // The listener may take a moment to go.
        let error = loop {
            match ping(&client, LONG).await {
                Err(error @ Error::Unreachable { .. }) if error.to_string().contains("connect") => {
                    break error;
                }
                _ => tokio::task::yield_now().await,
            }
        };
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        let unknown = Address::parse("http://no-such-host.invalid").unwrap();
        let client = Client::start(Options::new(unknown, "1")).unwrap();
        let error = ping(&client, LONG).await.unwrap_err();
        assert!(error.to_string().starts_with("no-such-host.invalid: "), "{error}");
    });
}

#[test]
fn redirects_keep_the_request_on_its_host() {
    block_on(async {
        let moved =
            |status, to: &str| Reply::from(Answer::new(status, "text/html", "").header("location", to));
        let server = HttpServer::start([
            moved(307, "/elsewhere/Ping"),
            hello("found").into(),
            moved(301, "/elsewhere/Ping"),
            moved(308, "https://other.test/Ping?token=hush"),
            moved(307, ""),
        ])
        .await;
        let client = Client::start(options(server.address())).unwrap();
        assert_eq!(ping(&client, LONG).await.unwrap(), "found");
        let followed = server.received().remove(1);
        assert_eq!(followed.line, "POST /elsewhere/Ping HTTP/1.1");
        assert_eq!(followed.body, b"\x0a\x01x");
        for location in ["/elsewhere/Ping", "https://other.test/Ping", ""] {
            match ping(&client, LONG).await {
                Err(Error::Redirected { location: shown, .. }) => assert_eq!(shown, location),
                other => panic!("{other:?}"),
            }
        }
        let endless = HttpServer::start((0..9).map(|_| moved(307, "/again"))).await;
        let client = Client::start(options(endless.address())).unwrap();
        assert!(ping(&client, LONG).await.is_err());
        assert_eq!(endless.received().len(), 4);
    });
}

#[test]
fn a_call_that_nobody_waits_for_ends() {
    block_on(async {
        let server = HttpServer::start([Reply::Never, hello("b").into()]).await;
        let client = Client::start(options(server.address())).unwrap();
        assert!(ping(&client, SOON).await.is_err());
        assert_eq!(ping(&client, LONG).await.unwrap(), "b");
    });
}

#[test]
fn headers_that_cannot_be_are_refused_before_the_first_call() {
    block_on(async {
        for (name, value) in [("a b", "v"), ("", "v"), ("a", "v\r\nx: y")] {
            let mut options = options("127.0.0.1:1".parse().unwrap());
            options.headers = vec![(name.to_owned(), value.to_owned())];
            assert!(Client::start(options).is_err(), "{name:?} {value:?}");
        }
    });
}
