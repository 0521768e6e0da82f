//! What a person or a program sees of a local run: a live tree, prefixed lines or JSON, and a summary at the end.

mod closing;
pub mod diagnostic;
mod json;
mod lines;
mod paint;
mod screen;
pub mod table;
mod terminal;
#[cfg(test)]
mod tests;
pub mod time;
mod tree;

pub use json::Json;
pub use lines::Lines;
pub use screen::Screen;
pub use terminal::{Style, can_redraw};
pub use tree::Tree;

use std::io;
use std::time::Duration;

use gantry_actors::engine::run::ObservedJob;
use gantry_actors::local::Event;

/// How many bytes are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// Shows the events of a run in the order in which they come.
pub trait Renderer: Send {
    /// Takes one event; what it writes may stay in a buffer until [`Renderer::flush`].
    ///
    /// # Errors
    /// The output cannot be written to.
    fn event(&mut self, event: &Event) -> io::Result<()>;

    /// Writes what is in the buffer; called when no further event waits.
    ///
    /// # Errors
    /// The output cannot be written to.
    fn flush(&mut self) -> io::Result<()>;

    /// How often [`Renderer::tick`] is wanted; `None`: never, because only events change what is seen.
    fn pulse(&self) -> Option<Duration> {
        None
    }

    /// Shows that time has passed.
    ///
    /// # Errors
    /// The output cannot be written to.
    fn tick(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Leaves the terminal to a person who decides about a failed step of a job, and shows what is known of it.
    ///
    /// # Errors
    /// The output cannot be written to.
    fn hold(&mut self, _job: &ObservedJob) -> io::Result<()> {
        self.flush()
    }

    /// Takes the terminal back after [`Renderer::hold`].
    ///
    /// # Errors
    /// The output cannot be written to.
    fn resume(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Ends the output with what is left to say.
    ///
    /// # Errors
    /// The output cannot be written to.
    fn finish(&mut self) -> io::Result<()>;
}
