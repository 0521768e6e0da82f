//! What a person or a program sees of a local run: prefixed lines or JSON, and a summary at the end.

mod closing;
pub mod diagnostic;
mod json;
mod lines;
pub mod table;
mod terminal;
#[cfg(test)]
mod tests;
mod time;

pub use json::Json;
pub use lines::Lines;
pub use terminal::Style;

use std::io;

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

    /// Ends the output with what is left to say.
    ///
    /// # Errors
    /// The output cannot be written to.
    fn finish(&mut self) -> io::Result<()>;
}
