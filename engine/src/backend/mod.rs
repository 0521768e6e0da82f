//! Where a job's processes run: the [`Sandbox`] trait and its implementations.
//!
//! A sandbox owns the directories of one job and every process that the job starts.
//! What a step means (its environment, its script, its commands) is decided above; a sandbox only moves files, starts
//! processes, signals them and cleans up, so that a step means the same in every sandbox.

mod error;
pub mod host;

use std::io;
use std::path::Path;

pub use error::{Error, ReadError, RemoveFailure};
pub use futures::future::BoxFuture;

/// One job's place: its directories and its processes.
///
/// All paths are absolute and as the job sees them.
pub trait Sandbox: Send + Sync {
    /// Returns the directories of the job and the names of its platform.
    fn layout(&self) -> &Layout;

    /// Returns what every process of the job starts from: search path, home, locale, tracking id.
    ///
    /// It is the lowest layer: the workflow's environment and the context variables go on top.
    fn base_environment(&self) -> &[(String, String)];

    /// Starts a process with an empty standard input; both its outputs go into one pipe, so that their order is kept.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`] or [`Error::Start`] when the program cannot be started, for instance because its
    /// working directory does not exist.
    ///
    /// # Cancel safety
    /// A process whose `start` was dropped is killed, at the latest by [`Sandbox::end_orphans`].
    fn start(&self, command: Command) -> BoxFuture<'_, Result<Started, Error>>;

    /// Looks a program up in a search path such as `/usr/bin:/bin`; a name with a slash is only checked.
    fn find_program<'a>(&'a self, name: &'a str, path: &'a str) -> BoxFuture<'a, Option<String>>;

    /// Writes a whole file below the job's directory, readable by its owner only; creates the directories above it.
    ///
    /// # Errors
    /// [`Error::Write`], also when something other than a regular file is in the way, or a link on the way.
    ///
    /// # Cancel safety
    /// A dropped call may leave a file that is written in part.
    fn write_file<'a>(&'a self, path: &'a str, content: &'a [u8]) -> BoxFuture<'a, Result<(), Error>>;

    /// Reads a file that the job may have replaced with anything: `None` when nothing is there.
    ///
    /// # Errors
    /// [`ReadError`] for anything but a regular file of at most `limit` bytes; it never blocks on a FIFO.
    fn read_file<'a>(
        &'a self,
        path: &'a str,
        limit: u64,
    ) -> BoxFuture<'a, Result<Option<Vec<u8>>, ReadError>>;

    /// Copies a tree of the runner's machine to a path where nothing is yet or an empty directory; the job may write to
    /// its copy.
    ///
    /// # Errors
    /// [`Error::Copy`] or [`Error::Create`]
    ///
    /// # Cancel safety
    /// A dropped call goes on in the background and may leave a tree that is copied in part.
    fn put_tree<'a>(&'a self, source: &'a Path, destination: &'a str) -> BoxFuture<'a, Result<(), Error>>;

    /// Removes a file; it is no error when there is none.
    ///
    /// # Errors
    /// [`Error::RemoveFile`]
    fn remove_file<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<(), Error>>;

    /// Says whether there is a directory at the path (links are followed).
    fn is_dir<'a>(&'a self, path: &'a str) -> BoxFuture<'a, bool>;

    /// Computes `hashFiles(patterns)` over the workspace; empty when no file matches.
    ///
    /// # Errors
    /// The reason for the workflow's author: a wrong pattern, an unreadable file, or too much time.
    fn hash_files(&self, patterns: Vec<String>) -> BoxFuture<'_, Result<String, String>>;

    /// Ends what the job's steps left running, and names it.
    ///
    /// A process that changed `RUNNER_TRACKING_ID` is left alone, as on GitHub.
    ///
    /// # Cancel safety
    /// A dropped call may have ended some; call it again.
    fn end_orphans(&self) -> BoxFuture<'_, Vec<Orphan>>;

    /// Removes the job's directories; nothing outside them is touched, whatever links stand in them.
    ///
    /// # Errors
    /// [`Error::Remove`] names the first entry that could not be removed; everything else is gone nevertheless.
    ///
    /// # Cancel safety
    /// A dropped call goes on in the background; calling it again is no error.
    fn remove(&self) -> BoxFuture<'_, Result<(), Error>>;
}

/// A program to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments; a program without a slash is looked up in `PATH` of `env`.
    pub argv: Vec<String>,
    /// The whole environment; later entries of the same name win. `RUNNER_TRACKING_ID` is added where absent.
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub cwd: String,
}

/// A process that was started: its output and its life can be awaited at the same time.
pub struct Started {
    /// What it writes.
    pub output: Box<dyn Output>,
    /// The process and everything that it starts.
    pub process: Box<dyn Process>,
}

/// The merged standard output and standard error of a process.
///
/// Dropping it before its end does not disturb a process that still writes: the rest is read and discarded until
/// the job ends.
pub trait Output: Send {
    /// Appends at most about 64 KiB to the buffer and returns how many bytes; 0 at the end, which comes when every
    /// process that holds the pipe has closed it, not when the main process exits.
    ///
    /// # Errors
    /// When the pipe or stream breaks.
    ///
    /// # Cancel safety
    /// Nothing is lost when the call is dropped.
    fn read<'a>(&'a mut self, buffer: &'a mut Vec<u8>) -> BoxFuture<'a, io::Result<usize>>;
}

/// A started process tree.
///
/// Dropping it before [`Process::wait`] has answered kills the process and its group.
pub trait Process: Send + Sync {
    /// Waits for the exit of the main process; what it left in the background lives on.
    ///
    /// # Errors
    /// [`Error::Wait`] when there is no exit status: that is never a success.
    ///
    /// # Cancel safety
    /// Cancel safe; after the exit every call answers the same.
    fn wait(&mut self) -> BoxFuture<'_, Result<Exit, Error>>;

    /// Signals the whole tree: the process group, and all that left it but descends from it or carries its mark.
    ///
    /// A process that already ended is no error.
    ///
    /// # Cancel safety
    /// The signals are sent even if the call is dropped after its first poll.
    fn signal(&self, signal: Signal) -> BoxFuture<'_, ()>;
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The exit code; 128 + n for signal n.
    pub code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// A signal to a process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// SIGINT
    Interrupt,
    /// SIGTERM
    Terminate,
    /// SIGKILL
    Kill,
}

/// A process that the job left behind and that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The process id as the sandbox knows it.
    pub pid: u32,
    /// The name of its program, at most 15 bytes on Linux.
    pub name: String,
}

/// The job's directories as its processes see them, and the names of the platform as GitHub spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// `github.workspace`: `<work>/<repository>/<repository>`
    pub workspace: String,
    /// `runner.workspace`: the parent of the workspace.
    pub runner_workspace: String,
    /// `runner.temp`
    pub temp: String,
    /// `HOME`
    pub home: String,
    /// `runner.tool_cache`
    pub tool_cache: String,
    /// Where downloaded actions are unpacked.
    pub actions: String,
    /// Where the files behind `GITHUB_ENV`, `GITHUB_OUTPUT` and so on stand; below `temp`.
    pub file_commands: String,
    /// Where `event.json` stands; below `temp`.
    pub workflow: String,
    /// `runner.os`: `Linux`, `macOS` or `Windows`.
    pub os: &'static str,
    /// `runner.arch`: `X64`, `ARM64`, `X86` or `ARM`.
    pub arch: &'static str,
}

/// `runner.os` of this machine.
pub fn os_name() -> &'static str {
    match std::env::consts::OS {
        "macos" => "macOS",
        "windows" => "Windows",
        _ => "Linux",
    }
}

/// `runner.arch` of this machine.
pub fn arch_name() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "ARM64",
        "arm" => "ARM",
        "x86" => "X86",
        _ => "X64",
    }
}
