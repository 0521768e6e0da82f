//! `gantry daemon`: claims jobs from forges and runs them until it is told to stop.
//!
//! ```text
//! configuration --identity--> connections --declare--> Supervisor (one for each) --jobs--> ...
//!                                 ^                        ^
//! SIGHUP --reload-----------------'    SIGINT, SIGTERM --ladder--> RequestStop
//! ```

mod declare;
mod identity;
mod ladder;
mod operator;
mod place;
mod reload;
mod run;
mod runner;
mod settings;
mod signals;

pub use run::run;

/// What the command line says about the daemon.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Take one job, then exit.
    pub once: bool,
    /// Labels that win over those of the configuration and of the runner file.
    pub labels: Vec<String>,
}
