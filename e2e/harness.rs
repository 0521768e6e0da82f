//! The built binary as a runner of a server, in directories of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long anything may take before a test fails.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A directory in which a runner is registered and run.
pub struct Place {
    directory: TempDir,
}

/// What a command that has ended said.
#[derive(Debug)]
pub struct Said {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to stdout and stderr.
    pub text: String,
}

impl Place {
    /// A directory with a configuration that keeps everything in it and polls quickly.
    pub fn new() -> Self {
        let place = Self {
            directory: tempfile::tempdir().expect("a directory"),
        };
        for name in ["home", "jobs"] {
            fs::create_dir_all(place.path(name)).expect("a directory");
        }
        place.configure("");
        place
    }

    /// Writes the configuration anew; `runner` are more lines of the section `runner`.
    pub fn configure(&self, runner: &str) {
        let config = format!(
            "host: {{workdir_parent: '{}'}}\nrunner:\n  fetch_interval: 50ms\n  fetch_interval_max: 100ms\n{runner}",
            self.path("jobs").display()
        );
        fs::write(self.path("config.yaml"), config).expect("the configuration");
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The binary with its configuration and an environment of its own.
    #[expect(clippy::disallowed_methods, reason = "it starts the program under test")]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gantry"));
        command
            .arg("-c")
            .arg(self.path("config.yaml"))
            .args(args)
            .current_dir(self.directory.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("PATH"))
            .env("HOME", self.path("home"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, args: &[&str]) -> Said {
        let output = self.command(args).output().expect("the binary runs");
        let text = [output.stdout, output.stderr].concat();
        Said {
            code: output.status.code(),
            text: String::from_utf8_lossy(&text).into_owned(),
        }
    }

    /// Registers the runner, which has to go well.
    pub fn register(&self, url: &str, token: &str, labels: &str) {
        self.register_as(url, token, ("e2e", labels), &[]);
    }

    /// The same with a name and more flags.
    pub fn register_as(&self, url: &str, token: &str, (name, labels): (&str, &str), flags: &[&str]) {
        let own = [
            "register",
            "--no-interactive",
            "--instance",
            url,
            "--token",
            token,
            "--name",
            name,
            "--labels",
            labels,
        ];
        let said = self.run(&[&own, flags].concat());
        assert_eq!(said.code, Some(0), "{}", said.text);
        assert!(
            said.text.contains("Runner registered successfully"),
            "{}",
            said.text
        );
    }

    /// Starts the daemon.
    pub fn daemon(&self, args: &[&str]) -> Daemon {
        Daemon::start(self.command(&[&["daemon"], args].concat()))
    }

    /// Starts the daemon, and waits until the server knows of it.
    pub fn declared(&self, args: &[&str]) -> Daemon {
        let mut daemon = self.daemon(args);
        daemon.wait_for("declare successfully");
        daemon
    }

    /// What lies in the directory of jobs and of the data directory's tasks: nothing, once all is done.
    pub fn left(&self) -> Vec<PathBuf> {
        let entries = |path: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(path).into_iter().flatten();
            entries.map(|entry| entry.expect("an entry").path()).collect()
        };
        let mut left = entries(&self.path("jobs"));
        for connection in entries(&self.path(".gantry/tasks")) {
            left.extend(entries(&connection));
        }
        left
    }
}

/// A daemon that runs; it is killed when this is dropped.
pub struct Daemon {
    child: Child,
    lines: Receiver<String>,
    said: String,
}

impl Daemon {
    /// Starts a daemon by a command that becomes it.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the daemon starts");
        let stderr = child.stderr.take().expect("a pipe");
        let (sender, lines) = sync_channel(4096);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            said: String::new(),
        }
    }

    /// Waits until the daemon has said something that contains this text.
    pub fn wait_for(&mut self, text: &str) {
        while !self.said.contains(text) {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.extend([line.as_str(), "\n"]),
                Err(RecvTimeoutError::Timeout) => panic!("the daemon never said {text:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("the daemon ended without {text:?}"),
            }
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the daemon is there");
    }

    /// Waits for its end.
    pub fn end(mut self) -> Said {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.said.extend([line.as_str(), "\n"]),
                // The pipe is closed when the daemon has ended: it gives it to no job.
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the daemon does not end"),
            }
        }
        let status = self.child.wait().expect("the daemon can be waited for");
        Said {
            code: status.code(),
            text: std::mem::take(&mut self.said),
        }
    }

    /// Stops it with SIGTERM, which has to go well.
    pub fn stop(self) -> Said {
        self.signal(Signal::TERM);
        let said = self.end();
        assert_eq!(said.code, Some(0), "{}", said.text);
        said
    }

    /// Kills it as an operator would who has lost patience.
    pub fn kill(mut self) {
        self.child.kill().expect("the daemon is there");
        self.child.wait().expect("the daemon can be waited for");
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
        if std::thread::panicking() {
            while let Ok(line) = self.lines.try_recv() {
                self.said.extend([line.as_str(), "\n"]);
            }
            eprintln!("the daemon said:\n{}", self.said);
        }
    }
}
