//! One HTTP exchange: where it goes, what goes with it, what comes back.

use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use awc::error::{ConnectError, SendRequestError};
use awc::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use awc::http::{Method, Uri};
use awc::{Client, ClientResponse, Connector};
use rustls::ClientConfig;

use super::address::{Address, Scheme};
use super::options::Options;
use super::proxy::Proxy;
use super::{Error, Request, Response, Verb, body, dial, tls};

/// How often a server may send us on.
const MAX_REDIRECTS: usize = 3;
/// How many connections to one server stand at once.
const MAX_CONNECTIONS: usize = 16;
/// How long an idle connection is kept: less than a reverse proxy does, so that ours is the side that closes.
const KEEP_IDLE: Duration = Duration::from_secs(15);

/// What is wrong with the options themselves.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The trust of TLS connections.
    #[error(transparent)]
    Tls(#[from] tls::Error),
    /// A header's name or value has characters that no header may have. The value is not shown.
    #[error("the extra header {0:?} is not valid")]
    Header(String),
}

/// The connections to one server. It stays on its thread.
pub(super) struct Transport {
    options: Options,
    headers: HeaderMap,
    tls: OnceCell<Arc<ClientConfig>>,
    routes: [OnceCell<Route>; 2],
}

/// The way to the server with one of the schemes.
struct Route {
    client: Client,
    proxy: Option<Arc<Proxy>>,
}

impl Transport {
    /// Reads certificates now if the server is spoken to with TLS, or if the operator has named some.
    pub fn new(options: Options) -> Result<Self, SetUpError> {
        let transport = Self {
            headers: parse_headers(&options)?,
            tls: OnceCell::new(),
            routes: [OnceCell::new(), OnceCell::new()],
            options,
        };
        let named = transport.options.tls.ca_file.is_some() || transport.options.tls.client.is_some();
        if named || transport.options.address.scheme == Scheme::Https {
            transport.tls()?;
        }
        Ok(transport)
    }

    /// Sends a request and reads the whole answer; follows a server to its own TLS port.
    ///
    /// # Cancel safety
    /// Dropping the exchange closes its connection.
    pub async fn exchange(&self, request: Request) -> Result<Response, Error> {
        let base = &self.options.address;
        let mut path = format!("{}/{}", base.path, request.path);
        let mut server = base.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut response = self.send(&server, &path, &request).await?;
            let status = response.status().as_u16();
            if (300..=399).contains(&status) {
                (server, path) = redirected(&server, status, &response)?;
                continue;
            }
            let body = body::read(&mut response, self.options.body_limit).await;
            let body = match body {
                Ok(body) => body,
                // The status says enough; its page is not needed.
                Err(_) if status >= 400 => bytes::Bytes::new(),
                Err(error) => return Err(explain_body(&server, &error)),
            };
            return Ok(Response {
                status,
                headers: response
                    .headers()
                    .iter()
                    .map(|(name, value)| owned(name, value))
                    .collect(),
                body,
            });
        }
        Err(Error::Unreachable {
            host: server.authority(),
            reason: "the server redirects for ever".to_owned(),
        })
    }

    async fn send(&self, server: &Address, path: &str, request: &Request) -> Result<ClientResponse, Error> {
        let route = self.route(server).map_err(|error| Error::Untrusted {
            host: server.authority(),
            reason: error.to_string(),
        })?;
        let malformed = |reason: String| Error::Malformed {
            host: server.authority(),
            code: super::Code::InvalidArgument,
            reason,
        };
        let uri = target(server, path, route.proxy.as_deref())
            .map_err(|error| malformed(format!("the path {path:?} cannot be asked for: {error}")))?;
        let method = match request.verb {
            Verb::Post => Method::POST,
            Verb::Put => Method::PUT,
        };
        let mut http = route.client.request(method, uri);
        let headers = http.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(header::HOST, valid(&server.authority()).map_err(malformed)?);
        if let Some(proxy) = route.proxy.as_deref().filter(|_| server.scheme == Scheme::Http)
            && let Some(authorization) = &proxy.authorization
        {
            headers.insert(
                header::PROXY_AUTHORIZATION,
                valid(authorization).map_err(malformed)?,
            );
        }
        for (name, value) in &request.headers {
            headers.insert(HeaderName::from_static(name), valid(value).map_err(malformed)?);
        }
        let sent = http.send_body(request.body.clone()).await;
        sent.map_err(|error| explain(server, &error))
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, tls::Error> {
        if let Some(config) = self.tls.get() {
            return Ok(config.clone());
        }
        let config = tls::configure(&self.options.tls)?;
        Ok(self.tls.get_or_init(|| config).clone())
    }

    fn route(&self, server: &Address) -> Result<&Route, tls::Error> {
        let secure = server.scheme == Scheme::Https;
        let cell = &self.routes[usize::from(secure)];
        if let Some(route) = cell.get() {
            return Ok(route);
        }
        let tls = secure.then(|| self.tls()).transpose()?;
        let proxy = self.options.proxies.proxy_of(server).cloned().map(Arc::new);
        let dial = dial::Dial {
            server: Arc::new(server.clone()),
            proxy: proxy.clone(),
            tls,
        };
        let connector = Connector::new()
            .connector(dial)
            .timeout(self.options.connect_timeout)
            .limit(MAX_CONNECTIONS)
            .conn_keep_alive(KEEP_IDLE);
        // Deadlines are the caller's and cover everything; redirects are ours.
        let client = Client::builder()
            .connector(connector)
            .disable_timeout()
            .disable_redirects()
            .no_default_headers()
            .finish();
        Ok(cell.get_or_init(|| Route { client, proxy }))
    }
}

/// The headers of every request.
fn parse_headers(options: &Options) -> Result<HeaderMap, SetUpError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    let agent = HeaderValue::from_str(&options.user_agent);
    headers.insert(
        header::USER_AGENT,
        agent.map_err(|_invalid| SetUpError::Header("User-Agent".to_owned()))?,
    );
    for (name, value) in &options.headers {
        let invalid = || SetUpError::Header(name.clone());
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| invalid())?;
        headers.insert(parsed, valid(value).map_err(|_invalid| invalid())?);
    }
    Ok(headers)
}

/// A header's value that no debug output shows.
fn valid(value: &str) -> Result<HeaderValue, String> {
    let parsed = HeaderValue::from_str(value);
    let mut parsed =
        parsed.map_err(|_invalid| "a header has a character that no header may have".to_owned())?;
    parsed.set_sensitive(true);
    Ok(parsed)
}

fn owned(name: &HeaderName, value: &HeaderValue) -> (String, String) {
    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
    (name.as_str().to_owned(), value)
}

/// What the HTTP client is asked for. It thinks that all servers speak plain HTTP: TLS is the dialer's.
///
/// A proxy of plain requests wants the whole address where the path is (RFC 9112, "absolute-form").
fn target(
    server: &Address,
    path: &str,
    proxy: Option<&Proxy>,
) -> Result<Uri, awc::http::uri::InvalidUriParts> {
    let (authority, path) = match proxy.filter(|_| server.scheme == Scheme::Http) {
        Some(proxy) => (proxy.authority(), format!("http://{}{path}", server.authority())),
        None => (format!("{}:{}", server.host, server.port), path.to_owned()),
    };
    let mut parts = awc::http::uri::Parts::default();
    parts.scheme = Some(awc::http::uri::Scheme::HTTP);
    parts.authority = authority.parse().ok();
    parts.path_and_query = path.parse().ok();
    Uri::from_parts(parts)
}

/// Follows a server that sends the same request elsewhere (307, 308) on the same host, and never back from TLS.
///
/// Any other redirect is an error that names the new address: 301 and 302 would lose the body, and another host must
/// not get our token.
fn redirected(server: &Address, status: u16, response: &ClientResponse) -> Result<(Address, String), Error> {
    let location = response.headers().get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let shown = location.split(['?', '#']).next().unwrap_or_default();
    let refused = || Error::Redirected {
        host: server.authority(),
        location: shown.chars().filter(|c| !c.is_control()).take(256).collect(),
    };
    let next = match location.strip_prefix('/') {
        Some(rest) if !rest.starts_with('/') => Address {
            path: location.to_owned(),
            ..server.clone()
        },
        _ => Address::parse(location).map_err(|_invalid| refused())?,
    };
    let same_host = next.host == server.host;
    let downgrade = server.scheme == Scheme::Https && next.scheme == Scheme::Http;
    let same_port = next.port == server.port || next.scheme != server.scheme;
    if !matches!(status, 307 | 308) || !same_host || downgrade || !same_port {
        return Err(refused());
    }
    let path = next.path.clone();
    Ok((next, path))
}

fn explain_body(server: &Address, error: &body::Error) -> Error {
    let host = server.authority();
    match error {
        body::Error::Cut(_) => Error::Unreachable {
            host,
            reason: error.to_string(),
        },
        error => Error::Malformed {
            host,
            code: super::Code::Internal,
            reason: error.to_string(),
        },
    }
}

/// Says what went wrong, in which part of the way.
fn explain(server: &Address, error: &SendRequestError) -> Error {
    let host = server.authority();
    let io_error = match error {
        SendRequestError::Connect(ConnectError::Io(error)) | SendRequestError::Send(error) => Some(error),
        SendRequestError::Response(error) => return explain_response(host, error),
        _ => None,
    };
    let cause = io_error.and_then(io::Error::get_ref);
    if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<dial::Error>()) {
        return match error {
            dial::Error::Tls(reason) => Error::Untrusted {
                host,
                reason: reason.clone(),
            },
            error => Error::Unreachable {
                host,
                reason: error.to_string(),
            },
        };
    }
    let reason = match (error, io_error) {
        (SendRequestError::Connect(ConnectError::Timeout), _) => "connecting took too long".to_owned(),
        (SendRequestError::Connect(ConnectError::Disconnected), _) => CLOSED.to_owned(),
        (_, Some(error)) => return explain_io(host, error),
        (error, _) => error.to_string(),
    };
    Error::Unreachable { host, reason }
}

const CLOSED: &str = "the connection was closed before an answer came";

fn explain_response(host: String, error: &dyn std::error::Error) -> Error {
    match error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>())
    {
        Some(error) => explain_io(host, error),
        None => Error::Malformed {
            host,
            code: super::Code::Internal,
            reason: format!("the answer is not HTTP: {error}"),
        },
    }
}

/// A connection that stood has failed. A server may refuse our certificate as late as that.
fn explain_io(host: String, error: &io::Error) -> Error {
    let cause = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(cause) => Error::Untrusted {
            host,
            reason: tls::explain(cause),
        },
        None if error.kind() == io::ErrorKind::UnexpectedEof => Error::Unreachable {
            host,
            reason: CLOSED.to_owned(),
        },
        None => Error::Unreachable {
            host,
            reason: format!("the connection broke: {error}"),
        },
    }
}
