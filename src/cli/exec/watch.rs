//! Runs jobs to their end, shows what happens, and passes signals on.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use gantry_actors::engine::plan::Conclusion;
use gantry_actors::local::{self, Event, Options, StopRequest};
use gantry_actors::runtime;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, error::TryRecvError};

use super::witness::Witness;
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

/// Runs everything to its end.
///
/// # Errors
/// The runtime or the handling of signals cannot be started, or the output is gone; in the latter case the runs were
/// cancelled.
pub fn execute(
    options: Options,
    renderer: Box<dyn Renderer>,
    screen: &Screen,
    witness: &Arc<Witness>,
) -> anyhow::Result<Ended> {
    runtime::block_on(run(options, renderer, screen, witness)).context("cannot start the runtime")?
}

async fn run(
    options: Options,
    renderer: Box<dyn Renderer>,
    screen: &Screen,
    witness: &Arc<Witness>,
) -> anyhow::Result<Ended> {
    let mut signals = Signals::listen().context("cannot listen to signals")?;
    let (events, waiting) = mpsc::channel(WAITING_EVENTS);
    let (stop, stops) = mpsc::channel(WAITING_STOPS);
    let show_stop = stop.clone();
    // Terminals and pipes may block, and only this thread may suffer from that.
    let seen = Arc::clone(witness);
    let shown = tokio::task::spawn_blocking(move || show(renderer, waiting, &show_stop, &seen));
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
fn show(
    mut renderer: Box<dyn Renderer>,
    mut events: mpsc::Receiver<Event>,
    stop: &mpsc::Sender<StopRequest>,
    witness: &Witness,
) -> io::Result<()> {
    let shown = show_all(renderer.as_mut(), &mut events, witness);
    if shown.is_err() {
        if stop.try_send(StopRequest::Cancel).is_err() {
            tracing::debug!("the request to stop was made before");
        }
        while let Some(event) = events.blocking_recv() {
            witness.event(&event);
        }
    }
    shown
}

fn show_all(
    renderer: &mut dyn Renderer,
    events: &mut mpsc::Receiver<Event>,
    witness: &Witness,
) -> io::Result<()> {
    let pulse = renderer.pulse();
    loop {
        let next = match events.try_recv() {
            Ok(event) => Next::Event(event),
            Err(TryRecvError::Disconnected) => Next::End,
            // Nothing waits, so what was shown so far must be seen now.
            Err(TryRecvError::Empty) => {
                renderer.flush()?;
                wait(events, pulse)
            }
        };
        match next {
            Next::Event(event) => {
                witness.event(&event);
                renderer.event(&event)?;
            }
            Next::Pulse => renderer.tick()?,
            Next::End => return renderer.finish(),
        }
    }
}

/// What the display does next.
enum Next {
    Event(Event),
    Pulse,
    End,
}

fn wait(events: &mut mpsc::Receiver<Event>, pulse: Option<Duration>) -> Next {
    let received = match pulse {
        None => Ok(events.blocking_recv()),
        Some(pulse) => Handle::current().block_on(async { tokio::time::timeout(pulse, events.recv()).await }),
    };
    match received {
        Ok(Some(event)) => Next::Event(event),
        Ok(None) => Next::End,
        Err(_) => Next::Pulse,
    }
}
