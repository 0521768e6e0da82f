//! A terminal that does not show what is typed.

use std::io;
use std::os::fd::AsFd;

use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The terminal does not echo while this lives.
#[derive(Debug)]
pub struct Quiet<T: AsFd> {
    terminal: T,
    before: Termios,
    typed: Typed,
}

/// What becomes of keys that were typed before the echo is turned off or on again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// They stay for whoever reads next.
    Kept,
    /// They are dropped.
    Dropped,
}

impl Typed {
    fn when(self) -> OptionalActions {
        match self {
            Self::Kept => OptionalActions::Now,
            Self::Dropped => OptionalActions::Flush,
        }
    }
}

impl<T: AsFd> Quiet<T> {
    /// Turns the echo off.
    ///
    /// # Errors
    /// It is no terminal, or not ours: the system would stop a background process that changes its mode.
    pub fn start(terminal: T, typed: Typed) -> io::Result<Self> {
        if tcgetpgrp(&terminal)? != getpgrp() {
            return Err(io::Error::other("this process is in the background"));
        }
        let before = tcgetattr(&terminal)?;
        let mut mode = before.clone();
        mode.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, typed.when(), &mode)?;
        Ok(Self {
            terminal,
            before,
            typed,
        })
    }
}

impl<T: AsFd> Drop for Quiet<T> {
    fn drop(&mut self) {
        if tcsetattr(&self.terminal, self.typed.when(), &self.before).is_err() {
            tracing::warn!("the terminal's echo could not be restored");
        }
    }
}
