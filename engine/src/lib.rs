//! What a workflow means and how a step runs.
//!
//! This crate knows neither actix nor any forge. Its pure modules (`model`, `expr`, `plan`, `commands`, `mask`,
//! `job`) use no runtime, no file system, no process and no clock: time and file contents are arguments.

pub mod action;
pub mod backend;
pub mod chain;
pub mod clock;
pub mod commands;
pub mod expr;
pub mod glob;
pub mod job;
pub mod mask;
pub mod model;
pub mod plan;
pub mod run;
pub mod stamp;
