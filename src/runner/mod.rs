//! Who this runner is to a forge: its labels, its registration file, the lock on it, and the way to the forge.

pub mod connection;
pub mod file;
pub mod labels;
pub mod lock;
