//! The configuration: one table of keys, what was given for them, and the values that count.
//!
//! ```text
//! file --yaml--> Node --.
//! GANTRY_* variables ---+--> Layers --Reader, by the table--> Config + Findings --check--> Loaded
//! flags ----------------'
//! ```
//!
//! The table is made of the structs in `sections`: what is a field there is read, checked, documented and shown.

mod check;
mod derived;
mod document;
mod duration;
pub mod edit;
mod layers;
mod load;
mod mistake;
mod names;
mod reader;
mod redact;
mod reload;
mod scalar;
mod secret;
mod sections;
mod shape;
mod size;
#[cfg(test)]
mod tests;
mod unknown;
mod value;
mod yaml;

pub use document::{example, schema};
pub use duration::GoDuration;
pub use load::{Flag, Given, Loaded, load};
pub use reload::{Change, changes};
pub use secret::Secret;
#[allow(
    unused_imports,
    reason = "each section is named where its part of the program is"
)]
pub use sections::{
    Actions, Cache, Config, Connection, Container, HealthCheck, Hooks, Host, JobLog, Journal, Kubernetes,
    Log, Metrics, NetworkCreateOptions, Runner, S3, Server, Tls,
};
pub use size::Size;
pub use yaml::Place;

/// `log.level`, from the quietest to the most talkative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// Only what needs a person.
    Error,
    /// Also what a person should look at one day.
    Warn,
    /// Also the milestones.
    #[default]
    Info,
    /// Also each decision.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The word in the configuration file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// `runner.tool_cache_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolCacheMode {
    /// Each job has its own.
    #[default]
    None,
    /// All jobs share one.
    Shared,
}

/// A number of things, of which there is at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Count(u32);

impl Count {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// The table's top: the sections.
fn root() -> &'static [shape::Entry] {
    match <Config as shape::Part>::SHAPE {
        shape::Shape::Section(entries) | shape::Shape::Named(entries) => entries,
        shape::Shape::Key(_) => &[],
    }
}
