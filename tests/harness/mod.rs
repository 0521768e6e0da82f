//! Runs the built binary in directories of its own.

#![allow(dead_code, reason = "each test program uses a part of this")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

pub mod screen;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// A project in a directory of its own, with a home and a place for jobs beside it.
pub struct Project {
    root: TempDir,
    /// The project's directory.
    pub directory: PathBuf,
    /// The search path of the binary.
    path: OsString,
}

/// What a run of the binary left.
pub struct Outcome {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Project {
    /// An empty project.
    pub fn new() -> Self {
        Self::named("project")
    }

    /// An empty project in a directory of this name.
    pub fn named(name: &str) -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path().join(name);
        for path in [&directory, &root.path().join("home"), &root.path().join("jobs")] {
            fs::create_dir_all(path).expect("a directory");
        }
        let config = format!(
            "host: {{workdir_parent: '{}'}}\n",
            root.path().join("jobs").display()
        );
        fs::write(root.path().join("config.yaml"), config).expect("a file");
        Self {
            root,
            directory,
            path: std::env::var_os("PATH").expect("PATH"),
        }
    }

    /// Lets the binary find nothing but these programs of this machine.
    pub fn with_programs_only(mut self, programs: &[&str]) -> Self {
        let bin = self.root.path().join("bin");
        fs::create_dir_all(&bin).expect("a directory");
        for program in programs {
            let found = std::env::split_paths(&self.path).map(|directory| directory.join(program));
            let found = found.into_iter().find(|path| path.exists()).expect(program);
            std::os::unix::fs::symlink(found, bin.join(program)).expect("a link");
        }
        self.path = bin.into_os_string();
        self
    }

    /// A project with one workflow, `.github/workflows/t.yml`.
    pub fn with_workflow(text: &str) -> Self {
        Self::new().file(".github/workflows/t.yml", text)
    }

    /// Copies a directory tree into the project.
    pub fn copy_of(self, from: &Path) -> Self {
        copy_tree(from, &self.directory);
        self
    }

    /// Adds a file.
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.directory.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
        self
    }

    /// Where the directories of jobs are made.
    pub fn jobs(&self) -> PathBuf {
        self.root.path().join("jobs")
    }

    /// Starts the binary in the project's directory, with the project's configuration unless the arguments name one.
    pub fn start(&self, args: &[&str]) -> Running {
        let child = self
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        Running::watch(child)
    }

    /// The binary as [`Project::start`] starts it, with stdout and stderr of the caller's choice.
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    pub fn command(&self, args: &[&str]) -> Command {
        let config = self.root.path().join("config.yaml");
        let default: &[&OsStr] = if args.contains(&"-c") {
            &[]
        } else {
            &["--config".as_ref(), config.as_os_str()]
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_gantry"));
        command
            .args(default)
            .args(args)
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.root.path().join("home"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end, which must come within `limit`.
    pub fn run_within(&self, limit: Duration, args: &[&str]) -> Outcome {
        self.start(args).finish(limit)
    }

    /// Runs the binary to its end, which must come within a minute.
    pub fn run(&self, args: &[&str]) -> Outcome {
        self.run_within(Duration::from_mins(1), args)
    }

    /// Runs `gantry exec -i host` with more arguments.
    pub fn exec(&self, args: &[&str]) -> Outcome {
        self.run(&[&["exec", "-i", "host"], args].concat())
    }

    /// Asserts that no directory and no process of a job is left.
    pub fn assert_nothing_left(&self) {
        let left: Vec<_> = fs::read_dir(self.jobs()).expect("readable").flatten().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        let processes = processes_that_mention(&self.jobs());
        assert!(processes.is_empty(), "still running: {processes:?}");
    }
}

impl Outcome {
    /// Asserts the exit code, and shows all output if it is another.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        let Self { stdout, stderr, .. } = self;
        assert_eq!(
            self.code,
            Some(code),
            "\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }

    /// Asserts that a text stands in stdout or stderr.
    #[track_caller]
    pub fn assert_contains(&self, text: &str) -> &Self {
        let Self { stdout, stderr, .. } = self;
        let found = stdout.contains(text) || stderr.contains(text);
        assert!(
            found,
            "{text:?} is missing\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }

    /// Asserts that a text stands neither in stdout nor in stderr.
    #[track_caller]
    pub fn assert_absent(&self, text: &str) -> &Self {
        let Self { stdout, stderr, .. } = self;
        let found = stdout.contains(text) || stderr.contains(text);
        assert!(
            !found,
            "{text:?} is there\n--- stdout\n{stdout}\n--- stderr\n{stderr}"
        );
        self
    }
}

/// A running binary whose output is read as it comes.
pub struct Running {
    child: Child,
    chunks: Receiver<Chunk>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

enum Chunk {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
}

impl Running {
    fn watch(mut child: Child) -> Self {
        let (sender, chunks) = sync_channel(1024);
        forward(
            child.stdout.take().expect("a pipe"),
            sender.clone(),
            Chunk::Stdout,
        );
        forward(child.stderr.take().expect("a pipe"), sender, Chunk::Stderr);
        Self {
            child,
            chunks,
            stdout: Vec::new(),
            stderr: Vec::new(),
        }
    }

    /// Waits until stdout or stderr holds `text`.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str, limit: Duration) {
        let holds = |output: &[u8]| String::from_utf8_lossy(output).contains(text);
        while !holds(&self.stdout) && !holds(&self.stderr) {
            let chunk = self.chunks.recv_timeout(limit).unwrap_or_else(|_| {
                self.kill();
                let shown = String::from_utf8_lossy(&self.stdout).into_owned();
                panic!(
                    "{text:?} did not come:\n{shown}\n{}",
                    String::from_utf8_lossy(&self.stderr)
                )
            });
            self.keep(chunk);
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is there");
    }

    /// Waits for the end, which must come within `limit` of the last output.
    #[track_caller]
    pub fn finish(mut self, limit: Duration) -> Outcome {
        loop {
            match self.chunks.recv_timeout(limit) {
                Ok(chunk) => self.keep(chunk),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.kill();
                    let shown = String::from_utf8_lossy(&self.stdout);
                    panic!(
                        "no end after {limit:?}:\n{shown}\n{}",
                        String::from_utf8_lossy(&self.stderr)
                    );
                }
            }
        }
        let status = self.child.wait().expect("the process ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Outcome {
            code: status.code(),
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
        }
    }

    /// Waits for the end as [`Running::finish`] does; counts a byte in stdout and keeps only the end of it.
    #[track_caller]
    pub fn finish_counting(mut self, byte: u8, limit: Duration) -> (usize, Outcome) {
        const KEPT: usize = 64 << 10;
        let mut count = 0;
        while let Ok(chunk) = self.chunks.recv_timeout(limit) {
            if let Chunk::Stdout(bytes) = &chunk {
                count += bytes.split(|other| *other == byte).count() - 1;
            }
            self.keep(chunk);
            self.stdout.drain(..self.stdout.len().saturating_sub(KEPT));
        }
        (count, self.finish(limit))
    }

    fn keep(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Stdout(bytes) => self.stdout.extend(bytes),
            Chunk::Stderr(bytes) => self.stderr.extend(bytes),
        }
    }

    fn kill(&mut self) {
        self.child.kill().expect("the process is ours");
    }
}

fn forward(mut from: impl Read + Send + 'static, to: SyncSender<Chunk>, kind: fn(Vec<u8>) -> Chunk) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if to.send(kind(buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
}

/// The processes whose environment or command line names a path, or that stand below it.
fn processes_that_mention(path: &Path) -> Vec<String> {
    let needle = path.as_os_str().as_encoded_bytes();
    let mentions = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let named = |process: &Path| {
        let files = ["environ", "cmdline"].map(|file| fs::read(process.join(file)).unwrap_or_default());
        let directory = fs::read_link(process.join("cwd")).unwrap_or_default();
        files.iter().any(|bytes| mentions(bytes)) || mentions(directory.as_os_str().as_encoded_bytes())
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|process| named(process))
        .map(|process| fs::read_to_string(process.join("cmdline")).unwrap_or_default())
        .collect()
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Says that a test did not run; the test command counts such lines.
pub fn skipped(why: &str) {
    writeln!(std::io::stdout(), "skipped: {why}").expect("stdout is there");
}
