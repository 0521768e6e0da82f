//! The exit codes of the program: one table for all commands.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All was well.
    Success,
    /// A job failed, a file is wrong, or we could not do our work.
    Failure,
    /// A flag or its value is wrong.
    Usage,
    /// The configuration file is wrong.
    Configuration,
    /// A signal cancelled the run.
    Cancelled,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Configuration => 64,
            // 128 + SIGINT, as shells report it.
            Self::Cancelled => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// An error together with the exit code to which it leads.
#[derive(Debug)]
pub struct Error {
    /// How the program ends.
    pub exit: Exit,
    /// What went wrong, with its causes.
    pub cause: anyhow::Error,
}

/// What a command yields.
pub type Result<T = Exit> = std::result::Result<T, Error>;

/// A mistake on the command line.
pub fn usage(cause: impl Into<anyhow::Error>) -> Error {
    Error {
        exit: Exit::Usage,
        cause: cause.into(),
    }
}

/// A mistake in the configuration file.
pub fn configuration(cause: impl Into<anyhow::Error>) -> Error {
    Error {
        exit: Exit::Configuration,
        cause: cause.into(),
    }
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Self {
        Self {
            exit: Exit::Failure,
            cause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_lists_every_exit_code() {
        let readme = include_str!("../../README.md");
        for exit in [
            Exit::Success,
            Exit::Failure,
            Exit::Usage,
            Exit::Configuration,
            Exit::Cancelled,
        ] {
            let row = format!("| {} | ", exit.code());
            assert!(
                readme.contains(&row),
                "README.md has no row for exit code {}",
                exit.code()
            );
        }
    }
}
