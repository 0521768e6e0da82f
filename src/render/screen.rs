//! The terminal, on which a live tree may stand while other parts of the program write lines.

use std::io::{self, Stdout, Write};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracing_subscriber::fmt::MakeWriter;

use crate::echo::{Quiet, Typed};

/// How often the terminal takes a new picture, at most.
const HERTZ: u8 = 20;

/// The one thing that every writer to the terminal shares, so that no line lands within the live tree.
#[derive(Debug, Clone)]
pub struct Screen {
    live: MultiProgress,
}

impl Default for Screen {
    /// Nothing live stands on the terminal.
    fn default() -> Self {
        Self {
            live: MultiProgress::with_draw_target(ProgressDrawTarget::hidden()),
        }
    }
}

impl Screen {
    /// Runs what writes to the terminal or asks a person, while the live picture is out of the way.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.live.suspend(write)
    }

    /// Begins a live picture on stdout.
    pub fn begin(&self) -> Picture {
        self.live
            .set_draw_target(ProgressDrawTarget::stdout_with_hz(HERTZ));
        let bar = ProgressBar::no_length().with_style(message_only());
        Picture {
            screen: self.clone(),
            bar: self.live.add(bar),
            // An echo, such as `^C`, would move the cursor, and the next picture would miss the place of this one.
            _quiet: Quiet::start(io::stdout(), Typed::Kept).ok(),
        }
    }
}

/// Lines that change in place; they vanish when this is dropped.
#[derive(Debug)]
pub struct Picture {
    screen: Screen,
    bar: ProgressBar,
    _quiet: Option<Quiet<Stdout>>,
}

impl Picture {
    /// Shows other lines.
    pub fn show(&self, lines: String) {
        self.bar.set_message(lines);
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.screen.live.set_draw_target(ProgressDrawTarget::hidden());
    }
}

fn message_only() -> ProgressStyle {
    // The template is a constant of ours; the default style would show a bar of no meaning.
    ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// Stderr beside the live picture.
#[derive(Debug)]
pub struct Aside(Screen);

impl<'a> MakeWriter<'a> for Screen {
    type Writer = Aside;

    fn make_writer(&'a self) -> Aside {
        Aside(self.clone())
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.aside(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
