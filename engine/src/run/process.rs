//! One process of a step, from its start to its end: output, time-outs, cancel.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Session;
use super::ladder::{Ladder, Periods};
use super::observe::{Mark, Phase};
use super::output::{Effects, Pump};
use super::stop::Stop;
use crate::backend::{Command, Error, Exit, Signal, Started};

/// How long the output of a process that has exited may be silent before it is taken to be over, although something
/// in the background still holds it.
const QUIET: Duration = Duration::from_secs(1);
/// How long such output is read at all.
const DRAIN: Duration = Duration::from_secs(5);

/// How a process ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// It exited by itself.
    Exited(i32),
    /// A time-out of the step, or of a composite around it, ended it.
    TimedOut,
    /// The job was cancelled.
    Cancelled,
}

/// Why a process is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    TimedOut,
    Cancelled,
}

/// What happens next to a process.
enum Event {
    Output(std::io::Result<usize>),
    Exited(Result<Exit, Error>),
    Stop(Stop),
    Deadline,
    Rung,
    Drained,
}

impl Session<'_> {
    /// Runs a process and reads its output to the end.
    ///
    /// # Errors
    /// The sandbox could not start it or lost it.
    ///
    /// # Cancel safety
    /// A process whose future was dropped is killed.
    pub(super) async fn process(&mut self, command: Command) -> Result<(Ended, Effects), Error> {
        self.log.flush().await;
        let pump = Pump::new(self.runtime, &command.env);
        let mark = self.runtime.mark();
        let started = self.runtime.sandbox.start(command).await?;
        let mark = self.runtime.phase(Phase::Spawn, mark);
        let run = Running {
            started,
            pump,
            buffer: Vec::with_capacity(64 * 1024),
            exit: None,
            closed: false,
            quiet: None,
            seen: Stop::No,
            ladder: None,
            mark,
        };
        run.until_over(self).await
    }
}

/// A process that runs.
struct Running<'a> {
    started: Started,
    pump: Pump<'a>,
    buffer: Vec<u8>,
    exit: Option<Exit>,
    /// The output has come to its end.
    closed: bool,
    /// Since the process exited: when its silence is long enough, and when reading ends in any case.
    quiet: Option<(Instant, Instant)>,
    seen: Stop,
    ladder: Option<(Ending, Ladder)>,
    /// When the phase began that the process is in: it runs, or it has exited.
    mark: Mark,
}

impl Running<'_> {
    async fn until_over(mut self, session: &mut Session<'_>) -> Result<(Ended, Effects), Error> {
        while !(self.exit.is_some() && self.closed) {
            match self.next(session).await {
                Event::Output(read) => self.on_output(read, session).await,
                Event::Exited(exit) => {
                    self.on_exit(exit?).await;
                    self.mark = session.runtime.phase(Phase::Run, self.mark);
                }
                Event::Stop(stop) => self.on_stop(stop, session).await,
                Event::Deadline => self.climb(Ending::TimedOut).await,
                Event::Rung => self.on_rung().await,
                Event::Drained => self.closed = true,
            }
        }
        let ended = self.ended();
        let effects = self.pump.end(&mut session.view, &mut session.log).await;
        session.log.flush().await;
        session.runtime.phase(Phase::Drain, self.mark);
        Ok((ended, effects))
    }

    async fn next(&mut self, session: &mut Session<'_>) -> Event {
        let deadline = session.deadline().filter(|_| self.ladder.is_none());
        let rung = self.ladder.as_ref().and_then(|(_, ladder)| ladder.due());
        let drained = self.quiet.map(|(quiet, last)| quiet.min(last));
        let exited = self.exit.is_some();
        tokio::select! {
            biased;
            stop = session.stop.above(self.seen), if !exited => Event::Stop(stop),
            () = at(deadline), if !exited => Event::Deadline,
            () = at(rung), if !exited => Event::Rung,
            read = self.started.output.read(&mut self.buffer), if !self.closed => Event::Output(read),
            exit = self.started.process.wait(), if !exited => Event::Exited(exit),
            () = at(drained) => Event::Drained,
        }
    }

    async fn on_output(&mut self, read: std::io::Result<usize>, session: &mut Session<'_>) {
        match read {
            Ok(0) => self.closed = true,
            Ok(_) => {
                self.pump
                    .bytes(&self.buffer, &mut session.view, &mut session.log)
                    .await;
                self.buffer.clear();
                session.log.flush().await;
                if let Some((quiet, _)) = &mut self.quiet {
                    *quiet = Instant::now() + QUIET;
                }
            }
            Err(error) => {
                session
                    .log
                    .error(format_args!("the output of the process broke off: {error}"));
                self.closed = true;
            }
        }
    }

    async fn on_exit(&mut self, exit: Exit) {
        if self.ladder.is_some() {
            // What the step has started may be deaf to the gentler signals: bash makes its background jobs so.
            self.send(Some(Signal::Kill)).await;
        }
        self.exit = Some(exit);
        let now = Instant::now();
        self.quiet = Some((now + QUIET, now + DRAIN));
    }

    async fn on_stop(&mut self, stop: Stop, session: &mut Session<'_>) {
        self.seen = stop;
        match stop {
            Stop::No => {}
            Stop::Cancel if self.ladder.is_some() => {}
            Stop::Cancel => {
                if !session.survives_cancel().await {
                    self.climb(Ending::Cancelled).await;
                }
            }
            Stop::Kill => {
                let (_, ladder) = self
                    .ladder
                    .get_or_insert_with(|| (Ending::Cancelled, Ladder::new(Periods::default())));
                let signal = ladder.on_force(Instant::now());
                self.send(signal).await;
            }
        }
    }

    /// Starts to end the process tree.
    async fn climb(&mut self, ending: Ending) {
        let mut ladder = Ladder::new(Periods::default());
        let signal = ladder.on_start(Instant::now());
        self.ladder = Some((ending, ladder));
        self.send(signal).await;
    }

    async fn on_rung(&mut self) {
        let signal = self
            .ladder
            .as_mut()
            .and_then(|(_, ladder)| ladder.on_due(Instant::now()));
        self.send(signal).await;
    }

    async fn send(&mut self, signal: Option<Signal>) {
        if let Some(signal) = signal {
            self.started.process.signal(signal).await;
        }
    }

    fn ended(&self) -> Ended {
        match (&self.ladder, self.exit) {
            (Some((Ending::TimedOut, _)), _) => Ended::TimedOut,
            (Some((Ending::Cancelled, _)), _) => Ended::Cancelled,
            (None, Some(exit)) => Ended::Exited(exit.code),
            // The loop ends only with an exit.
            (None, None) => Ended::Exited(-1),
        }
    }
}

/// Waits for a moment that may not exist.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
