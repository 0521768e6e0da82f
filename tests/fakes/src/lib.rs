//! Forges for tests: they keep a forge's promises and break them as a script says.

mod scripted;

pub use scripted::{Fault, ScriptedForge};
