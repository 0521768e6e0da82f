//! Bare repositories behind git's own CGI program, on loopback, with the faults that a test asks for.

#![allow(dead_code, reason = "each test program uses a part of this")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;

/// A server of repositories; it ends with the value.
pub struct GitServer {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    root: TempDir,
    rules: Mutex<Rules>,
    requests: Mutex<Vec<Request>>,
    stopping: AtomicBool,
    commits: AtomicU64,
}

/// What the server does otherwise than to serve.
#[derive(Default, Clone)]
pub struct Rules {
    /// Repositories that only this `Authorization` header opens.
    pub private: BTreeMap<String, String>,
    /// Any `Authorization` header but these is refused, also for public repositories; nothing is checked if empty.
    pub accepted: Vec<String>,
    /// Repositories that have moved: to this URL.
    pub moved: BTreeMap<String, String>,
    /// Speaks the protocol of old servers, which send only what they have named.
    pub old_protocol: bool,
    /// Takes requests and never answers.
    pub mute: bool,
    /// Answers this often with 503 before it serves.
    pub busy: usize,
}

/// A request that has come in.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// The path with its query.
    pub target: String,
    pub authorization: Option<String>,
}

impl Request {
    /// Tells whether objects were asked for, and not only the names of refs.
    pub fn is_fetch(&self, body: &[u8]) -> bool {
        self.method == "POST" && !find(body, b"command=ls-refs")
    }
}

/// A file of a commit: its mode, its path, its content.
pub type File<'a> = (&'a str, &'a str, &'a str);

impl GitServer {
    /// Starts a server without repositories.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            root: tempfile::tempdir().expect("a directory"),
            rules: Mutex::default(),
            requests: Mutex::default(),
            stopping: AtomicBool::new(false),
            commits: AtomicU64::new(0),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || serve(&shared, &stream));
            }
        });
        Self { shared, address }
    }

    /// `http://127.0.0.1:port`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes the rules.
    pub fn rules(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.shared.rules.lock().expect("no panic"));
    }

    /// What has come in so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().expect("no panic").clone()
    }

    /// How often objects were asked for.
    pub fn fetches(&self) -> usize {
        let requests = self.requests();
        requests
            .iter()
            .filter(|request| request.method == "FETCH")
            .count()
    }

    /// Makes an empty repository, or opens it.
    pub fn repository(&self, name: &str) -> Repository {
        let path = self.shared.root.path().join(name);
        let repository = Repository {
            path,
            shared: Arc::clone(&self.shared),
        };
        if !repository.path.is_dir() {
            fs::create_dir_all(&repository.path).expect("a directory");
            repository.git(&["init", "--quiet", "--bare", "-b", "main"], b"");
        }
        repository
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
    }
}

/// A repository of the server.
pub struct Repository {
    path: PathBuf,
    shared: Arc<Shared>,
}

impl Repository {
    /// Adds a commit with exactly these files to a branch.
    pub fn commit(&self, branch: &str, files: &[File<'_>]) -> String {
        let number = self.shared.commits.fetch_add(1, Ordering::SeqCst);
        let message = format!("commit {number}");
        let head = format!("refs/heads/{branch}");
        let exists = self.try_git(&["rev-parse", "--verify", &head], b"").is_some();
        let mut script = vec![
            format!("commit {head}"),
            format!("committer T <t@code.example> {} +0000", 1_700_000_000 + number),
            format!("data {}\n{message}", message.len()),
        ];
        script.extend(exists.then(|| format!("from {head}^0")));
        script.push("deleteall".to_owned());
        for (mode, path, content) in files {
            let length = content.len();
            script.push(format!("M {mode} inline {path}\ndata {length}\n{content}"));
        }
        let script = script.join("\n") + "\n";
        self.git(&["fast-import", "--quiet"], script.as_bytes());
        self.git(&["rev-parse", &format!("refs/heads/{branch}")], b"")
    }

    /// Adds a commit whose tree holds these entries as they are, however wrong they are.
    pub fn raw_commit(&self, branch: &str, entries: &[File<'_>]) -> String {
        let mut tree = Vec::new();
        for (mode, name, content) in entries {
            let object = if *mode == "40000" {
                // The content is the id of a tree.
                (*content).to_owned()
            } else {
                self.git(&["hash-object", "-w", "--stdin"], content.as_bytes())
            };
            tree.extend(format!("{mode} {name}\0").into_bytes());
            tree.extend((0..object.len() / 2).map(|index| {
                let digits = object.get(2 * index..2 * index + 2).expect("two digits");
                u8::from_str_radix(digits, 16).expect("digits")
            }));
        }
        let tree = self.git(
            &["hash-object", "-w", "--literally", "-t", "tree", "--stdin"],
            &tree,
        );
        let commit = self.git(&["commit-tree", "-m", "raw", &tree], b"");
        self.git(&["update-ref", &format!("refs/heads/{branch}"), &commit], b"");
        commit
    }

    /// The id of a commit's tree.
    pub fn tree_of(&self, commit: &str) -> String {
        self.git(&["rev-parse", &format!("{commit}^{{tree}}")], b"")
    }

    /// Sets a tag, also one that exists.
    pub fn tag(&self, name: &str, commit: &str) {
        self.git(&["tag", "-f", name, commit], b"");
    }

    /// Sets a tag that is an object of its own.
    pub fn annotated_tag(&self, name: &str, commit: &str) {
        self.git(&["tag", "-f", "-a", "-m", "release", name, commit], b"");
    }

    fn git(&self, args: &[&str], input: &[u8]) -> String {
        self.try_git(args, input)
            .unwrap_or_else(|| panic!("git {args:?} failed"))
    }

    fn try_git(&self, args: &[&str], input: &[u8]) -> Option<String> {
        let output = run(git(&self.path).args(args), input).expect("git runs");
        let text = String::from_utf8(output.1).expect("UTF-8");
        output.0.then(|| text.trim().to_owned())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server's own git, apart from the program under test"
)]
fn git(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(directory)
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "T")
        .env("GIT_AUTHOR_EMAIL", "t@code.example")
        .env("GIT_COMMITTER_NAME", "T")
        .env("GIT_COMMITTER_EMAIL", "t@code.example");
    command
}

fn run(command: &mut Command, input: &[u8]) -> io::Result<(bool, Vec<u8>)> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    // A program that does not read its input to the end is no fault.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let mut output = Vec::new();
    child.stdout.take().expect("a pipe").read_to_end(&mut output)?;
    writer.join().expect("no panic");
    Ok((child.wait()?.success(), output))
}

struct Incoming {
    request: Request,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

fn serve(shared: &Shared, mut stream: &TcpStream) {
    let Ok(incoming) = read(stream) else { return };
    let mut record = incoming.request.clone();
    if record.is_fetch(&incoming.body) {
        "FETCH".clone_into(&mut record.method);
    }
    shared.requests.lock().expect("no panic").push(record);
    while shared.rules.lock().expect("no panic").mute && !shared.stopping.load(Ordering::SeqCst) {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let response = answer(shared, &incoming);
    // A client that has gone away is no fault of the server's.
    drop(stream.write_all(&response));
}

fn read(stream: &TcpStream) -> io::Result<Incoming> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Incoming {
        request: Request {
            method,
            target,
            authorization: headers.get("authorization").cloned(),
        },
        headers,
        body,
    })
}

fn answer(shared: &Shared, incoming: &Incoming) -> Vec<u8> {
    let rules = {
        let mut rules = shared.rules.lock().expect("no panic");
        let now = rules.clone();
        rules.busy = rules.busy.saturating_sub(1);
        now
    };
    let target = &incoming.request.target;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let given = incoming.request.authorization.as_ref();
    let concerns = |name: &str| {
        path.strip_prefix('/')
            .is_some_and(|path| path.starts_with(&format!("{name}/")))
    };
    if rules.busy > 0 {
        return status("503 Service Unavailable", "");
    }
    for (name, url) in &rules.moved {
        if concerns(name) {
            let rest = &target[1 + name.len()..];
            return status("301 Moved Permanently", &format!("Location: {url}{rest}\r\n"));
        }
    }
    let stranger = given.is_some_and(|given| !rules.accepted.is_empty() && !rules.accepted.contains(given));
    let closed = rules
        .private
        .iter()
        .any(|(name, wanted)| concerns(name) && given != Some(wanted));
    if stranger || closed {
        return status("401 Unauthorized", "WWW-Authenticate: Basic realm=\"git\"\r\n");
    }
    backend(shared, incoming, path, query, rules.old_protocol)
}

fn status(line: &str, headers: &str) -> Vec<u8> {
    format!("HTTP/1.1 {line}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n").into_bytes()
}

fn backend(shared: &Shared, incoming: &Incoming, path: &str, query: &str, old_protocol: bool) -> Vec<u8> {
    let header = |name: &str| incoming.headers.get(name).map_or("", String::as_str);
    let mut command = git(shared.root.path());
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", shared.root.path())
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &incoming.request.method)
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", incoming.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("REMOTE_ADDR", "127.0.0.1");
    if !old_protocol {
        command.env("GIT_PROTOCOL", header("git-protocol"));
    }
    let output = run(&mut command, &incoming.body)
        .map(|(_, output)| output)
        .unwrap_or_default();
    let Some(end) = (0..output.len()).find(|&at| output[at..].starts_with(b"\r\n\r\n")) else {
        return status("500 Internal Server Error", "");
    };
    let (head, body) = output.split_at(end + 4);
    let head = String::from_utf8_lossy(head);
    let code = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .unwrap_or("200 OK");
    let headers: String = head
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("Status: "))
        .map(|line| format!("{line}\r\n"))
        .collect();
    let mut response = format!(
        "HTTP/1.1 {code}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )
    .into_bytes();
    response.extend_from_slice(body);
    response
}

fn find(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
