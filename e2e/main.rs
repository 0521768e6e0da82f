//! The built binary against a server: what an operator and a workflow's author see.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod actions;
mod bad_input;
mod cli;
mod given;
mod harness;
mod jobs;
mod life;
mod loss;
mod named;
mod operator;
mod reload;
mod rest;
mod scene;
mod server;
