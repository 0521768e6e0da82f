//! Whom the HTTP client trusts, and the way through proxies, against real servers on loopback.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use gantry_fakes::TunnelProxy;
use gantry_fakes::http::{Answer, HttpServer, Reply};
use gantry_fakes::tls::{Authority, Identity};
use gantry_protocols::connect::{
    Address, Client, ClientCertificate, Error, Options, Proxies, SetUpError, Tls, TlsError,
};
use gantry_protocols::gitea::wire::{PingRequest, PingResponse, path};

const LONG: Duration = Duration::from_secs(20);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

fn hello() -> Reply {
    Answer::proto(b"\x0a\x02hi".to_vec()).into()
}

async fn ping(options: Options) -> Result<String, Error> {
    let client = Client::start(options).unwrap_or_else(|error| panic!("{error}"));
    let request = PingRequest::default();
    let answer = client
        .call::<PingResponse>(path::PING, Vec::new(), &request, LONG)
        .await;
    answer.map(|answer| answer.message.data)
}

/// A directory with the files of one test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn client(&self, identity: &Identity) -> ClientCertificate {
        ClientCertificate {
            certificate: self.put("client.pem", &identity.certificate),
            key: self.put("client.key", &identity.key),
        }
    }
}

fn options(server: SocketAddr, tls: Tls) -> Options {
    let address = Address::parse(&format!("https://localhost:{}", server.port())).unwrap();
    Options {
        tls,
        ..Options::new(address, "1")
    }
}

/// What a call to a server that shows `identity` comes to.
fn outcome(identity: &Identity, trust: Option<&Authority>, insecure: bool) -> Result<String, Error> {
    block_on(async {
        let files = Files::new();
        let server = HttpServer::start_tls([hello()], Authority::server(identity, None)).await;
        let tls = Tls {
            ca_file: trust.map(|authority| files.put("ca.pem", &authority.pem())),
            client: None,
            insecure,
        };
        ping(options(server.address(), tls)).await
    })
}

#[test]
fn servers_are_trusted_for_a_reason() {
    let authority = Authority::new("authority");
    let good = authority.issue(&["localhost"]);
    assert_eq!(outcome(&good, Some(&authority), false).unwrap(), "hi");
    let other_name = authority.issue(&["forge.test"]);
    let expired = authority.issue_until(&["localhost"], 2020);
    let stranger = Authority::new("stranger");
    let table = [
        (&good, &stranger, "signed by nobody whom this machine trusts"),
        (
            &other_name,
            &authority,
            r#"is not for localhost but for DnsName("forge.test")"#,
        ),
        (
            &expired,
            &authority,
            "expired on Wed, 01 Jan 2020 00:00:00 GMT; the clock of this machine says ",
        ),
    ];
    for (identity, trust, expected) in table {
        let error = outcome(identity, Some(trust), false).unwrap_err();
        assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
        assert!(error.to_string().starts_with("localhost:"), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(
            outcome(identity, None, true).unwrap(),
            "hi",
            "insecure means anybody"
        );
    }
}

#[test]
fn a_server_may_want_to_know_who_we_are() {
    block_on(async {
        let files = Files::new();
        let authority = Authority::new("authority");
        let identity = authority.issue(&["localhost"]);
        let config = Authority::server(&identity, Some(&authority));
        let server = HttpServer::start_tls([hello()], config).await;
        let mut tls = Tls {
            ca_file: Some(files.put("ca.pem", &authority.pem())),
            ..Tls::default()
        };
        let error = ping(options(server.address(), tls.clone())).await.unwrap_err();
        assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
        assert!(error.to_string().contains("CertificateRequired"), "{error}");
        tls.client = Some(files.client(&authority.issue(&["runner"])));
        assert_eq!(ping(options(server.address(), tls)).await.unwrap(), "hi");
    });
}

#[test]
fn a_server_without_tls_is_told_from_one_with_it() {
    block_on(async {
        let server = HttpServer::start([]).await;
        let tls = Tls {
            insecure: true,
            ..Tls::default()
        };
        // A server of plain HTTP waits for the end of a head that never comes; its other kind answers with an error.
        let error = {
            let mut options = options(server.address(), tls);
            options.connect_timeout = Duration::from_millis(300);
            ping(options).await.unwrap_err()
        };
        assert!(error.to_string().contains("connecting took too long"), "{error}");
    });
}

#[test]
fn files_that_are_no_certificates_are_named_at_the_start() {
    block_on(async {
        let files = Files::new();
        let server: SocketAddr = "127.0.0.1:1".parse().unwrap();
        let empty = files.put("empty.pem", "");
        let identity = Authority::new("authority").issue(&["runner"]);
        let start = |tls| match Client::start(options(server, tls)) {
            Err(SetUpError::Tls(error)) => error,
            _ => panic!("it starts"),
        };
        let missing = Tls {
            ca_file: Some(files.0.path().join("missing.pem")),
            ..Tls::default()
        };
        assert!(matches!(start(missing), TlsError::Read { .. }));
        let no_pem = Tls {
            ca_file: Some(empty.clone()),
            ..Tls::default()
        };
        assert!(
            start(no_pem)
                .to_string()
                .ends_with("empty.pem holds no certificate in PEM form")
        );
        let mut client = files.client(&identity);
        client.key = empty;
        let no_key = Tls {
            client: Some(client),
            insecure: true,
            ..Tls::default()
        };
        assert!(
            start(no_key)
                .to_string()
                .ends_with("empty.pem holds no private key in PEM form")
        );
        let mut client = files.client(&identity);
        client.key = files.put("other.key", &Authority::new("authority").issue(&["other"]).key);
        let other_key = Tls {
            client: Some(client),
            insecure: true,
            ..Tls::default()
        };
        assert!(matches!(start(other_key), TlsError::Client(_)));
    });
}

fn proxies(variables: &[(&str, String)]) -> Proxies {
    let found = |name: &str| variables.iter().find(|(known, _)| *known == name);
    Proxies::from_lookup(|name| found(name).map(|(_, value)| value.clone())).unwrap()
}

#[test]
fn a_server_with_tls_is_reached_through_a_tunnel() {
    block_on(async {
        let files = Files::new();
        let authority = Authority::new("authority");
        let config = Authority::server(&authority.issue(&["forge.test"]), None);
        let server = HttpServer::start_tls([hello()], config).await;
        let proxy = TunnelProxy::start(server.address(), 200).await;
        let mut options = Options::new(Address::parse("https://forge.test").unwrap(), "1");
        options.tls.ca_file = Some(files.put("ca.pem", &authority.pem()));
        options.proxies = proxies(&[("HTTPS_PROXY", format!("http://me:hush@{}", proxy.address()))]);
        // Loopback would be reached directly; the name is known to the proxy only.
        assert_eq!(ping(options.clone()).await.unwrap(), "hi");
        let head = proxy.heads().remove(0);
        assert!(
            head.starts_with("CONNECT forge.test:443 HTTP/1.1\r\nHost: forge.test:443\r\n"),
            "{head}"
        );
        assert!(
            head.contains("Proxy-Authorization: Basic bWU6aHVzaA==\r\n"),
            "{head}"
        );
        let received = server.received().remove(0);
        assert_eq!(received.line, "POST /ping.v1.PingService/Ping HTTP/1.1");
        assert_eq!(
            (received.header("host"), received.header("proxy-authorization")),
            ("forge.test", "")
        );

        for (status, expected) in [
            (407, "wants a user and a password"),
            (502, "refused a tunnel to forge.test:443"),
        ] {
            let proxy = TunnelProxy::start(server.address(), status).await;
            options.proxies = proxies(&[("https_proxy", format!("http://me:hush@{}", proxy.address()))]);
            let error = ping(options.clone()).await.unwrap_err().to_string();
            assert!(
                error.contains(expected) && error.contains(&proxy.address().to_string()),
                "{error}"
            );
            assert!(!error.contains("hush"), "{error}");
        }
    });
}

#[test]
fn a_server_without_tls_is_asked_for_by_its_whole_address() {
    block_on(async {
        let proxy = HttpServer::start([hello()]).await;
        let mut options = Options::new(Address::parse("http://forge.test:3000/git").unwrap(), "1");
        options.proxies = proxies(&[("http_proxy", format!("me:hush@{}", proxy.address()))]);
        assert_eq!(ping(options).await.unwrap(), "hi");
        let received = proxy.received().remove(0);
        assert_eq!(
            received.line,
            "POST http://forge.test:3000/git/ping.v1.PingService/Ping HTTP/1.1"
        );
        assert_eq!(received.header("host"), "forge.test:3000");
        assert_eq!(received.header("proxy-authorization"), "Basic bWU6aHVzaA==");
    });
}
