//! Gitea and Forgejo: the services `ping.v1` and `runner.v1`.
//!
//! ```text
//! Registrar --Register--> Credentials          once
//! GiteaForge --Declare-->                      at each start
//!    claim        FetchTask   <-- fetch (what was seen, under which key), claim (a task in neutral words)
//!    append_log   UpdateLog   <-- log (requests of a bounded size, acknowledgements)
//!    update       UpdateTask  <-- task (all steps of a task, outputs), summary
//!    complete     UpdateLog, UpdateTask
//! ```
//!
//! Whatever goes wrong passes `quirks`, the only place that knows how each server says it.

mod claim;
mod client;
mod fetch;
mod log;
mod quirks;
mod registrar;
mod service;
mod summary;
mod task;
pub mod wire;

pub use client::{GiteaForge, Settings};
pub use registrar::{Declared, Registered, Registrar, Registration};
pub use service::{Credentials, Secret};

/// What this runner says it can do: it cleans up before it reports that a job was cancelled.
pub const CAPABILITIES: [&str; 1] = ["cancelling"];
