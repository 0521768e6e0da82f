//! Runs one step in a sandbox.

pub mod ladder;
