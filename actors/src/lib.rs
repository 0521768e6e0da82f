//! Actors

/// What a workflow means; the binary sees it through this crate only.
pub use gantry_engine as engine;
