//! A live tree of workflows, jobs and steps for a person at a terminal.
//!
//! ```text
//! events --> Model --> lines --> fit --> text --> the live picture, at the bottom of the terminal
//!              '--> Expanded --> the log of what failed, above the picture
//! ```

mod frame;
mod model;
mod tail;
#[cfg(test)]
mod tests;

use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

use gantry_actors::engine::clock::Clock;
use gantry_actors::engine::run::ObservedJob;
use gantry_actors::local::Event;

use super::closing::Closing;
use super::diagnostic::printable;
use super::paint::{BOLD, DIM, colour_of, push_coloured, push_row};
use super::screen::Picture;
use super::{Renderer, Screen, Style};
use frame::BEAT;
use model::{Expanded, Model};
use tail::Piece;

/// The size of a terminal that does not tell.
const DEFAULT_SIZE: (usize, usize) = (24, 80);

/// Renders events as a tree that changes in place.
pub struct Tree {
    model: Model,
    closing: Closing,
    screen: Screen,
    /// None once everything is over, and while a person decides about a failed step.
    picture: Option<Picture>,
    style: Style,
    clock: Clock,
    started: SystemTime,
    drawn: SystemTime,
}

impl Tree {
    /// Begins a live picture on stdout, which must be a terminal.
    pub fn new(screen: Screen, style: Style) -> Self {
        let clock = Clock::start();
        let now = clock.now();
        Self {
            model: Model::default(),
            closing: Closing::default(),
            picture: Some(screen.begin()),
            screen,
            style,
            clock,
            started: now,
            drawn: now,
        }
    }

    fn draw(&mut self) {
        let now = self.clock.now();
        let (height, width) = size();
        let beat = now.duration_since(self.started).unwrap_or_default().as_millis() / BEAT.as_millis();
        // The cursor stands below the picture, and a terminal may wrap at its last column.
        let lines = frame::fit(frame::lines(&self.model, now), height.saturating_sub(1));
        let texts = lines.iter().map(|line| {
            let beat = usize::try_from(beat).unwrap_or_default();
            frame::text(line, width.saturating_sub(1), beat, self.style.colour)
        });
        if let Some(picture) = &self.picture {
            picture.show(texts.collect::<Vec<_>>().join("\n"));
        }
        self.drawn = now;
    }

    fn draw_if_due(&mut self) {
        let since = self.clock.now().duration_since(self.drawn).unwrap_or_default();
        if since >= BEAT {
            self.draw();
        }
    }
}

impl Renderer for Tree {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        match event {
            Event::Annotation { job, annotation, .. } => self.closing.annotation(job, annotation),
            Event::Summary { job, summary, .. } => self.closing.summary(job, summary),
            _ => {}
        }
        if let Some(expanded) = self.model.on_event(event) {
            let style = self.style;
            self.screen.aside(|| print_log(expanded, style))?;
        }
        self.draw_if_due();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn pulse(&self) -> Option<Duration> {
        Some(BEAT)
    }

    fn tick(&mut self) -> io::Result<()> {
        self.draw_if_due();
        Ok(())
    }

    fn hold(&mut self, job: &ObservedJob) -> io::Result<()> {
        let expanded = self.model.on_hold(job);
        self.picture = None;
        expanded.map_or(Ok(()), |expanded| print_log(expanded, self.style))
    }

    fn resume(&mut self) -> io::Result<()> {
        self.picture = Some(self.screen.begin());
        self.draw();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.picture = None;
        let now = self.clock.now();
        let (_, width) = size();
        let mut out = Vec::new();
        self.closing.write(&mut out, self.style)?;
        if !out.is_empty() {
            out.push(b'\n');
        }
        for line in frame::lines(&self.model, now) {
            let text = frame::text(&line, width.saturating_sub(1), 0, self.style.colour);
            out.extend_from_slice(text.as_bytes());
            out.push(b'\n');
        }
        writeln!(out, "\n{}", frame::sum_up(&self.model, now))?;
        print(&out)
    }
}

/// Writes the log of what failed as it stands above the tree.
fn write_log(out: &mut impl Write, expanded: Expanded, style: Style) -> io::Result<()> {
    let Expanded { title, outcome, log } = expanded;
    let mut line = Vec::new();
    push_coloured(&mut line, style.colour, colour_of(outcome), frame::sign(outcome));
    line.push(b' ');
    let title = printable(&title).replace('\n', " ");
    push_coloured(&mut line, style.colour, BOLD, &title);
    line.push(b'\n');
    out.write_all(&line)?;
    log.read(&mut |piece| {
        line.clear();
        push_coloured(&mut line, style.colour, DIM, "  │ ");
        match piece {
            Piece::Row(row) => push_row(&mut line, row, style),
            Piece::LeftOut(count) => {
                let text = format!("({count} rows are left out here; --plain shows every row)");
                push_coloured(&mut line, style.colour, DIM, &text);
            }
            Piece::Shown(count) => {
                let text = format!("({count} rows stand above)");
                push_coloured(&mut line, style.colour, DIM, &text);
            }
        }
        line.push(b'\n');
        out.write_all(&line)
    })
}

/// Prints a log as it is read: it may be far longer than what should be in memory.
fn print_log(expanded: Expanded, style: Style) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    write_log(&mut out, expanded, style)?;
    out.flush()
}

fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()
}

/// Rows and columns of the terminal behind stdout.
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row.into(), size.ws_col.into()),
        _ => DEFAULT_SIZE,
    }
}
