//! The rules of the fake server, seen through its wire: a caller without any of the client's cleverness.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod caller;
mod claims;
mod faults;
mod logs;
mod registration;
mod rest;
mod tasks;
