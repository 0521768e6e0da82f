//! A runner's calls against a server with a server's rules, in both dialects: what both sides know in the end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claims;
mod logs;
mod registration;
mod side;
mod tasks;
