//! The built binary against a server: what an operator and a workflow's author see.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod harness;
mod life;
mod loss;
