//! The runner as actors: who owns which state while jobs run, and who tells whom.
//!
//! ```text
//! Claimer --JobClaimed--> Supervisor --RunJob--> Job --RunStep--> Step --> engine::run
//!                                                 |                          | entries, bounded
//!                                                 '--CloseLog--> LogStream <-'
//! ```
//!
//! Commands go down by address, results come up as the reply to one long ask. Every actor is a thin shell around a
//! pure machine in its `state` module, which decides everything and does nothing.

mod backoff;
pub mod claimer;
mod courier;
pub mod job;
pub mod journal;
pub mod local;
pub mod log_stream;
mod mailbox;
pub mod operator;
pub mod runtime;
pub mod service;
pub mod step;
pub mod supervisor;

/// What a workflow means; the binary sees the engine through this crate only.
pub use gantry_engine as engine;
/// The neutral words for forges; the binary sees the protocols through this crate only.
pub use gantry_protocols as protocols;
