//! The terminal at which a person is asked.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::process::Stdio;
use std::sync::Arc;

use nix::sys::signal::{SigSet, Signal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr, tcsetpgrp};

/// How often a wait for a key looks whether it is still wanted.
const BEAT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// A longer line is no answer.
const MAX_LINE: usize = 4096;

/// The terminal of this process.
#[derive(Debug, Clone)]
pub struct Terminal {
    device: Arc<File>,
}

/// What came from the keyboard.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line.
    Typed(String),
    /// Nothing more will come: Ctrl-D, or the terminal has hung up.
    End,
    /// Nobody wants to know any more.
    Cancelled,
}

impl Terminal {
    /// Opens the terminal of this process.
    ///
    /// # Errors
    /// There is none, or no person sits at it because stdin comes from somewhere else.
    pub fn open() -> io::Result<Self> {
        if !io::stdin().is_terminal() {
            return Err(io::Error::other("stdin is not a terminal"));
        }
        let device = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Ok(Self {
            device: Arc::new(device),
        })
    }

    /// Writes a text.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn write(&self, text: &str) -> io::Result<()> {
        (&*self.device).write_all(text.as_bytes())
    }

    /// Drops the keys that were typed before there was a question.
    pub fn forget_typed(&self) {
        if let Err(error) = tcflush(&self.device, QueueSelector::IFlush) {
            tracing::debug!(%error, "keys that were typed before stay");
        }
    }

    /// Waits for a line, as long as it is wanted.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn read_line(&self, is_cancelled: &dyn Fn() -> bool) -> io::Result<Line> {
        let mut line = Vec::new();
        let mut buffer = [0; 256];
        loop {
            if is_cancelled() {
                return Ok(Line::Cancelled);
            }
            let mut ready = [PollFd::new(&*self.device, PollFlags::IN)];
            match poll(&mut ready, Some(&BEAT)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            match (&*self.device).read(&mut buffer) {
                Ok(0) => return Ok(Line::End),
                Ok(length) => line.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
                    return Ok(Line::End);
                }
                Err(error) => return Err(error),
            }
            if line.last() == Some(&b'\n') || line.len() > MAX_LINE {
                return Ok(Line::Typed(String::from_utf8_lossy(&line).into_owned()));
            }
        }
    }

    /// The terminal as an input or output of a process.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn stdio(&self) -> io::Result<Stdio> {
        Ok(self.device.try_clone()?.into())
    }

    /// How the terminal works now.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn mode(&self) -> io::Result<Termios> {
        Ok(tcgetattr(&self.device)?)
    }

    /// Gives the terminal to another process group.
    ///
    /// # Errors
    /// The group or the terminal is gone.
    pub fn give_to(&self, group: Pid) -> io::Result<()> {
        // The system stops a background process that does this, unless the thread blocks its signal.
        let mut stop = SigSet::empty();
        stop.add(Signal::SIGTTOU);
        stop.thread_block()?;
        let given = tcsetpgrp(&self.device, group);
        stop.thread_unblock()?;
        Ok(given?)
    }

    /// Takes the terminal back, and lets it work as it did before.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn take_back(&self, mode: &Termios) -> io::Result<()> {
        self.give_to(getpgrp())?;
        Ok(tcsetattr(&self.device, OptionalActions::Drain, mode)?)
    }
}
