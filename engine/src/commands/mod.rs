//! What a step says to the runner: commands in its output, command files, annotations and problem matchers.
//!
//! Everything here is pure. The shell feeds lines and file contents in and carries out the [`Effect`]s that come
//! back; it masks every text before it leaves the runner.

pub mod annotations;
mod effect;
pub mod files;
mod interpreter;
pub mod matchers;
pub mod stdout;
mod texts;

pub use annotations::{Annotation, Level};
pub use effect::{Customs, Effect, Emit, MatcherRequest, Settings};
pub use interpreter::Interpreter;
pub use matchers::Matchers;
