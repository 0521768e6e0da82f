//! The `git` program: the one place that starts it for actions.
//!
//! Git talks to servers with the operator's proxies and certificates. It asks nobody, runs no hook, and gets a token
//! only in its environment and only for one URL.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::OnceCell;

use super::credential::Credential;
use super::error::Error;
use super::trust::Trust;
use crate::backend::host::{program, spawn};

/// `GIT_CONFIG_COUNT`, by which a token reaches git without being seen in the list of processes, came with 2.31.
const OLDEST: (u32, u32) = (2, 31);

/// How long git may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// As much of what git says on stderr is kept: its end.
const STDERR_TAIL: usize = 4096;

/// Settings that hold for every call, whatever the operator's configuration says.
const SETTINGS: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.quotePath=false",
    // Helpers would answer with the operator's own passwords, and a stranger's workflow must not borrow them.
    "credential.helper=",
    "protocol.allow=never",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.file.allow=user",
    "protocol.ssh.allow=user",
    "submodule.recurse=false",
    // Trees are checked here, when they are unpacked; git's own check refuses old commits that do no harm.
    "fetch.fsckObjects=false",
    "transfer.bundleURI=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // A server that sends less than a byte a second for a minute is gone.
    "http.lowSpeedLimit=1",
    "http.lowSpeedTime=60",
];

/// What git takes from the runner's environment: where things are, and how the network is reached.
const KEPT: [&str; 24] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "GIT_EXEC_PATH",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_HTTP_PROXY_AUTHMETHOD",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// The program, found once and known to be new enough.
#[derive(Debug, Clone)]
pub(super) struct Git {
    program: PathBuf,
}

/// Why git did not do what it was asked for.
#[derive(Debug)]
pub(super) enum Failure {
    /// It could not be started or read from.
    Io(io::Error),
    /// It ran out of time.
    TimedOut(Duration),
    /// It wrote more than is accepted.
    TooMuch,
    /// It failed and said this.
    Exit(String),
}

impl Failure {
    /// What happened, in words.
    pub fn reason(&self) -> String {
        match self {
            Self::Io(error) => format!("git: {error}"),
            Self::TimedOut(limit) => format!("git has not ended within {} s", limit.as_secs()),
            Self::TooMuch => "git answers with more than is accepted".to_owned(),
            Self::Exit(said) => summary(said),
        }
    }
}

/// A server that git asks.
#[derive(Clone, Copy)]
pub(super) struct Server<'a> {
    /// The URL of the repository there.
    pub url: &'a str,
    /// What is shown to it.
    pub credential: Option<&'a Credential>,
    /// What holds for its certificates.
    pub trust: Option<&'a Trust>,
}

/// What one call of git needs.
pub(super) struct Call<'a> {
    /// The arguments after the settings.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: &'a Path,
    /// The repository; none is looked for around `cwd`.
    pub repository: Option<&'a Path>,
    /// The server that is asked.
    pub server: Option<Server<'a>>,
    /// How long it may take.
    pub limit: Duration,
    /// How much it may answer, in bytes.
    pub output: usize,
}

impl Git {
    /// Finds git; it is looked for only once.
    ///
    /// # Errors
    /// [`Error::Git`]
    pub async fn get() -> Result<Self, Error> {
        /// Where programs are does not change while the process lives.
        static FOUND: OnceCell<Git> = OnceCell::const_new();
        FOUND.get_or_try_init(Self::find).await.cloned()
    }

    async fn find() -> Result<Self, Error> {
        let search = std::env::var("PATH").unwrap_or_default();
        let program = program::find("git", &search, "/").ok_or_else(|| Error::Git {
            reason: "there is none".to_owned(),
        })?;
        let git = Self { program };
        let call = Call {
            args: vec!["version".into()],
            cwd: Path::new("/"),
            repository: None,
            server: None,
            limit: VERSION_LIMIT,
            output: 4096,
        };
        let answer = git.output(call).await.map_err(|failure| Error::Git {
            reason: failure.reason(),
        })?;
        let answer = String::from_utf8_lossy(&answer);
        match version(&answer) {
            Some(found) if found >= OLDEST => Ok(git),
            _ => Err(Error::Git {
                reason: format!("'{}' is {}", git.program.display(), answer.trim()),
            }),
        }
    }

    /// Runs git to its end and returns what it wrote.
    ///
    /// # Errors
    /// [`Failure`]; no credential can be read in it.
    ///
    /// # Cancel safety
    /// Git and what it started are killed when the call is dropped.
    pub async fn output(&self, call: Call<'_>) -> Result<Vec<u8>, Failure> {
        self.finish(self.command(&call), &call).await
    }

    async fn finish(
        &self,
        mut command: tokio::process::Command,
        call: &Call<'_>,
    ) -> Result<Vec<u8>, Failure> {
        let (limit, most) = (call.limit, call.output);
        let credential = call.server.and_then(|server| server.credential);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = Running::start(command).map_err(Failure::Io)?;
        let ended = tokio::time::timeout(limit, running.collect(most)).await;
        let (status, output, said) = ended.map_err(|_| Failure::TimedOut(limit))??;
        if status.success() {
            return Ok(output);
        }
        let said = redact(&String::from_utf8_lossy(&said), credential);
        Err(Failure::Exit(match status.signal() {
            Some(signal) => format!("{said}\ngit was ended by signal {signal}"),
            None => said,
        }))
    }

    /// Runs git to its end without the operator's configuration, which could hold programs that a tree asks for.
    ///
    /// # Errors
    /// As [`Git::output`].
    ///
    /// # Cancel safety
    /// As [`Git::output`].
    pub async fn output_without_operator(&self, call: Call<'_>) -> Result<Vec<u8>, Failure> {
        let mut command = self.command(&call);
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("HOME")
            .env_remove("XDG_CONFIG_HOME");
        self.finish(command, &call).await
    }

    /// Starts git for a conversation over pipes that a blocking thread can use.
    pub fn converse(&self, call: &Call<'_>) -> io::Result<(Running, PipeWriter, PipeReader)> {
        let (their_input, input) = io::pipe()?;
        let (output, their_output) = io::pipe()?;
        let mut command = self.command(call);
        command
            .stdin(their_input)
            .stdout(their_output)
            .stderr(Stdio::null());
        let running = Running::start(command)?;
        Ok((running, input, output))
    }

    fn command(&self, call: &Call<'_>) -> tokio::process::Command {
        let kept = KEPT
            .into_iter()
            .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        let mut environment: Vec<(OsString, OsString)> = kept.collect();
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        set("GIT_TERMINAL_PROMPT", "0".into());
        // Its messages are read by a program.
        set("LC_ALL", "C".into());
        set("GIT_OPTIONAL_LOCKS", "0".into());
        match call.repository {
            Some(repository) => set("GIT_DIR", repository.into()),
            None => set("GIT_CEILING_DIRECTORIES", call.cwd.into()),
        }
        for (name, value) in credential_settings(call.server) {
            set(&name, value.into());
        }
        let mut command = spawn::command(&self.program, environment, call.cwd);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        if let Some(Server {
            credential, trust, ..
        }) = call.server
        {
            // Git would show its headers to wherever it is sent, and trust whoever that is.
            let is_bound = credential.is_some() || trust.is_some();
            let followed = if is_bound { "false" } else { "initial" };
            command.args(["-c", &format!("http.followRedirects={followed}")]);
            for setting in trust.map(Trust::settings).unwrap_or_default() {
                command.args(["-c", &setting]);
            }
        }
        command.args(&call.args);
        command
    }
}

/// The environment that gives git a header for one URL: an empty one first, so that it is the only one.
fn credential_settings(server: Option<Server<'_>>) -> Vec<(String, String)> {
    let Some(Server {
        url,
        credential: Some(credential),
        ..
    }) = server
    else {
        return Vec::new();
    };
    let key = format!("http.{url}.extraHeader");
    let mut settings = vec![("GIT_CONFIG_COUNT".to_owned(), "2".to_owned())];
    for (number, value) in [String::new(), credential.header()].into_iter().enumerate() {
        settings.push((format!("GIT_CONFIG_KEY_{number}"), key.clone()));
        settings.push((format!("GIT_CONFIG_VALUE_{number}"), value));
    }
    settings
}

/// A git that runs; dropping it kills it and what it started.
pub(super) struct Running {
    spawned: spawn::Spawned,
    ended: bool,
}

impl Running {
    fn start(command: tokio::process::Command) -> io::Result<Self> {
        Ok(Self {
            spawned: spawn::spawn(command)?,
            ended: false,
        })
    }

    /// Waits for the end.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.spawned.child.wait().await?;
        self.ended = true;
        Ok(status)
    }

    async fn collect(&mut self, most: usize) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), Failure> {
        let (output, said) = (self.spawned.child.stdout.take(), self.spawned.child.stderr.take());
        let (output, said) = tokio::join!(read_all(output, most), read_tail(said));
        let output = output?;
        let said = said.map_err(Failure::Io)?;
        let status = self.wait().await.map_err(Failure::Io)?;
        Ok((status, output, said))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let group = i32::try_from(self.spawned.pid).ok().and_then(Pid::from_raw);
        if let Some(group) = group
            && let Err(error) = kill_process_group(group, Signal::KILL)
        {
            tracing::debug!(pid = self.spawned.pid, %error, "failed to kill git");
        }
    }
}

async fn read_all(pipe: Option<impl AsyncRead + Unpin>, most: usize) -> Result<Vec<u8>, Failure> {
    let mut output = Vec::new();
    let Some(pipe) = pipe else { return Ok(output) };
    let limit = most as u64 + 1;
    pipe.take(limit)
        .read_to_end(&mut output)
        .await
        .map_err(Failure::Io)?;
    if output.len() > most {
        return Err(Failure::TooMuch);
    }
    Ok(output)
}

async fn read_tail(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    let Some(mut pipe) = pipe else { return Ok(tail) };
    while pipe.read_buf(&mut tail).await? > 0 {
        if tail.len() > 2 * STDERR_TAIL {
            tail.drain(..tail.len() - STDERR_TAIL);
        }
    }
    Ok(tail)
}

/// Removes what is secret, and control characters, with which a server could paint the log.
fn redact(said: &str, credential: Option<&Credential>) -> String {
    let said = credential.map_or_else(|| said.to_owned(), |credential| credential.redact(said));
    said.chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .collect::<String>()
        .trim()
        .to_owned()
}

/// The lines that say why, on one line and without git's own words around them.
fn summary(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling: Vec<&str> = lines
        .clone()
        .filter(|line| {
            line.starts_with("fatal:") || line.starts_with("error:") || line.starts_with("remote:")
        })
        .collect();
    let chosen = if telling.is_empty() {
        lines.collect()
    } else {
        telling
    };
    let start = chosen.len().saturating_sub(3);
    let text = chosen.get(start..).unwrap_or_default().join("; ");
    if text.is_empty() {
        "git has failed and does not say why".to_owned()
    } else {
        text
    }
}

/// The version in `git version 2.47.3 (more)`.
fn version(answer: &str) -> Option<(u32, u32)> {
    let mut numbers = answer.trim().strip_prefix("git version ")?.split(['.', ' ']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::credential::Token;
    use super::*;

    #[test]
    fn versions_are_read() {
        let rows = [
            ("git version 2.47.3\n", Some((2, 47))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39))),
            ("git version 2.31", Some((2, 31))),
            ("gut 1", None),
        ];
        for (answer, expected) in rows {
            assert_eq!(version(answer), expected, "{answer}");
        }
    }

    #[test]
    fn what_git_says_is_short_and_holds_no_token() {
        let credential = Credential::of_token("https://h", "t", Token::new("hunter2"));
        let said = "Cloning\nremote: hello\u{1b}[31m\nfatal: no hunter2\n";
        assert_eq!(
            summary(&redact(said, Some(&credential))),
            "remote: hello[31m; fatal: no ***"
        );
        assert_eq!(summary(""), "git has failed and does not say why");
    }

    #[test]
    fn a_token_is_set_for_one_url_only() {
        let credential = Credential::of_token("https://h", "t", Token::new("x"));
        let server = |credential| {
            Some(Server {
                url: "https://h/o/r",
                credential,
                trust: None,
            })
        };
        let settings = credential_settings(server(Some(&credential)));
        let keys: Vec<_> = settings
            .iter()
            .filter(|(name, _)| name.starts_with("GIT_CONFIG_KEY"))
            .map(|(_, value)| value.as_str())
            .collect();
        assert_eq!(keys, ["http.https://h/o/r.extraHeader"; 2]);
        assert!(credential_settings(server(None)).is_empty());
    }
}
