//! What can go wrong in a sandbox.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A sandbox could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A directory of the job could not be made.
    #[error("create the job directory '{}'", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A path of the job is not UTF-8, which the contexts could not express.
    #[error("use '{}' for jobs: the path is not UTF-8", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// The user's tree, or that of an action, could not be copied.
    #[error("copy '{}' into the job's directory", path.display())]
    Copy {
        /// The entry at which it failed.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The command line is empty or the program is nowhere in the search path.
    #[error("find '{program}' in the search path '{search}'")]
    ProgramMissing {
        /// The program's name.
        program: String,
        /// The value of `PATH`.
        search: String,
    },
    /// The process could not be started.
    #[error("start process '{program}' with working directory '{cwd}'")]
    Start {
        /// The program.
        program: String,
        /// The working directory.
        cwd: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The exit status of a process is not known.
    #[error("wait for process {pid}")]
    Wait {
        /// The process.
        pid: u32,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file could not be written.
    #[error("write '{path}'")]
    Write {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file could not be removed.
    #[error("remove '{path}'")]
    RemoveFile {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Parts of the job's directories are left.
    #[error("remove the job directory: {0}")]
    Remove(RemoveFailure),
}

/// What was left when a tree was removed.
#[derive(Debug)]
pub struct RemoveFailure {
    /// The first entry that could not be removed.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
    /// How many more there are.
    pub others: usize,
}

impl fmt::Display for RemoveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is left ({})", self.path.display(), self.reason)?;
        match self.others {
            0 => Ok(()),
            n => write!(f, " and {n} more"),
        }
    }
}

/// A file of the job could not be read; the text is for the workflow's author.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A step put something else where its file belongs.
    #[error("'{path}' is {found}, not a regular file")]
    NotRegular {
        /// The file.
        path: String,
        /// What it is, with its article: `a symbolic link`.
        found: &'static str,
    },
    /// The file is larger than what is accepted.
    #[error("'{path}' has more than {limit} bytes")]
    TooLarge {
        /// The file.
        path: String,
        /// The largest size that is accepted.
        limit: u64,
    },
    /// The system refused.
    #[error("read '{path}': {reason}")]
    Io {
        /// The file.
        path: String,
        /// Why; it is part of the text, because the author sees nothing else.
        reason: io::Error,
    },
}
