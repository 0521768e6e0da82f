//! Runs jobs to their end, shows what happens, and passes signals on.

use std::io;
use std::sync::Arc;

use anyhow::Context;
use gantry_actors::engine::plan::Conclusion;
use gantry_actors::local::{self, Event, Options, StopRequest};
use gantry_actors::runtime;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::feed::{Feed, Next};
use super::witness::Witness;
use crate::hold::Holds;
use crate::render::{Renderer, Screen};
use crate::signals::{self, Signals};

/// How many events may wait for the terminal; then the jobs wait.
const WAITING_EVENTS: usize = 64;

/// More requests to stop than this that nobody has taken yet say nothing new.
const WAITING_STOPS: usize = 4;

/// How runs ended.
#[derive(Debug)]
pub struct Ended {
    /// The conclusion of each run.
    pub conclusions: Vec<Conclusion>,
    /// Whether a person asked them to stop.
    pub stopped: bool,
}

/// How runs are shown.
pub struct Show<'a> {
    /// Shows the events.
    pub renderer: Box<dyn Renderer>,
    /// What else writes to the terminal.
    pub screen: &'a Screen,
    /// The questions of failed steps, if a person wants to be asked.
    pub holds: Option<Holds>,
    /// Keeps what was seen.
    pub witness: Arc<Witness>,
}

/// Runs everything to its end.
///
/// # Errors
/// The runtime or the handling of signals cannot be started, or the output is gone; in the latter case the runs were
/// cancelled.
pub fn execute(options: Options, show: Show<'_>) -> anyhow::Result<Ended> {
    runtime::block_on(run(options, show)).context("cannot start the runtime")?
}

async fn run(options: Options, show_with: Show<'_>) -> anyhow::Result<Ended> {
    let Show {
        renderer,
        screen,
        holds,
        witness,
    } = show_with;
    let mut signals = Signals::listen().context("cannot listen to signals")?;
    let (events, waiting) = mpsc::channel(WAITING_EVENTS);
    let (stop, stops) = mpsc::channel(WAITING_STOPS);
    let show_stop = stop.clone();
    // Terminals and pipes may block, and only this thread may suffer from that.
    let display = Display {
        renderer,
        feed: Feed::new(waiting),
        holds,
        witness,
    };
    let shown = tokio::task::spawn_blocking(move || show(display, &show_stop));
    let execute = local::execute(options, events, stops);
    tokio::pin!(execute);
    let mut stopped = false;
    let conclusions = loop {
        tokio::select! {
            conclusions = &mut execute => break conclusions,
            request = signals.next() => {
                stopped = true;
                pass_on(request, &stop, screen);
            }
        }
    };
    shown
        .await
        .context("the display has died")?
        .context("cannot write the output")?;
    Ok(Ended { conclusions, stopped })
}

fn pass_on(request: signals::StopRequest, stop: &mpsc::Sender<StopRequest>, screen: &Screen) {
    let (text, request) = match request {
        signals::StopRequest::Cancel => (
            "cancelling: clean-up steps still run, a second signal kills",
            StopRequest::Cancel,
        ),
        signals::StopRequest::Kill => ("killing all jobs", StopRequest::Kill),
    };
    screen.aside(|| eprintln!("gantry: {text}"));
    if stop.try_send(request).is_err() {
        tracing::debug!("the request to stop was made before");
    }
}

/// Shows events until there are no more; when the output is gone the jobs are cancelled and the rest is dropped.
fn show(mut display: Display, stop: &mpsc::Sender<StopRequest>) -> io::Result<()> {
    let shown = display.show_all();
    if shown.is_err() {
        if stop.try_send(StopRequest::Cancel).is_err() {
            tracing::debug!("the request to stop was made before");
        }
        // Nobody can be asked any more, and jobs that ask are told so.
        display.holds = None;
        while let Some(event) = display.feed.blocking_next() {
            display.witness.event(&event);
        }
    }
    shown
}

/// What is seen of the runs.
struct Display {
    renderer: Box<dyn Renderer>,
    feed: Feed,
    /// The questions of failed steps, if a person wants to be asked.
    holds: Option<Holds>,
    witness: Arc<Witness>,
}

impl Display {
    fn show_all(&mut self) -> io::Result<()> {
        let pulse = self.renderer.pulse();
        loop {
            self.ask()?;
            let next = if let Some(next) = self.feed.ready() {
                next
            } else {
                // Nothing waits, so what was shown so far must be seen now.
                self.renderer.flush()?;
                Handle::current().block_on(self.feed.wait(pulse, self.holds.as_mut()))
            };
            match next {
                Next::Event(event) => self.event(&event)?,
                Next::Pulse => self.renderer.tick()?,
                Next::Question => {}
                Next::End => return self.renderer.finish(),
            }
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.witness.event(event);
        if let Some(holds) = &mut self.holds {
            holds.event(event);
        }
        self.renderer.event(event)
    }

    /// Asks a person if a failed step waits for that; meanwhile nothing is shown.
    fn ask(&mut self) -> io::Result<()> {
        let Some(holds) = &mut self.holds else {
            return Ok(());
        };
        let Some(question) = holds.due() else {
            return Ok(());
        };
        self.renderer.hold(question.job())?;
        let handle = Handle::current();
        let decided = handle.spawn_blocking(holds.asking(question));
        handle.block_on(self.feed.keep_until(decided));
        self.renderer.resume()
    }
}
