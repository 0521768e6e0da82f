//! Forges for tests, and the servers and proxies around them: they keep their promises, and break them as a script says.

pub mod http;
mod scripted;
pub mod tls;
mod tunnel;

pub use scripted::{Fault, ScriptedForge};
pub use tunnel::TunnelProxy;
