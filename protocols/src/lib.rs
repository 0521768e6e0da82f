//! The wires to the forges, and the neutral words in which the rest of the program speaks of them.
//!
//! This crate knows nothing of what a workflow means: a claim's payload is bytes to it.

pub mod connect;
pub mod forge;
pub mod gitea;
