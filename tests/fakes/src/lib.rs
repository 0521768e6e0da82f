//! Forges for tests, and the servers and proxies around them: they keep their promises, and break them as a script says.
//!
//! [`FakeForge`] is a server with a forge's rules and wire, [`ScriptedForge`] a value without any wire; [`http`] is a
//! server of any kind whose answers are written down beforehand.

mod cutting;
pub mod forge;
pub mod http;
mod scripted;
pub mod tls;
mod tunnel;

pub use cutting::CuttingProxy;
pub use forge::FakeForge;
pub use scripted::{Fault, ScriptedForge};
pub use tunnel::TunnelProxy;
