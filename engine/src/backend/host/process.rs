//! A step's process: its output, its exit, and signals to its whole tree.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

use super::blocking;
use super::drain::Drains;
use super::kill;
use super::procfs;
use super::spawn::{self, Spawned};
use super::storm;
use super::tree::{StepTree, Tree};
use crate::backend::{BoxFuture, Error, Exit, Output, Process, Signal};

/// How much output is read at once: what a pipe holds.
const CHUNK: usize = 64 * 1024;

pub(super) struct HostOutput {
    /// Absent after the end.
    pub pipe: Option<Receiver>,
    /// Who reads on when this is dropped.
    pub drains: Arc<Drains>,
}

impl Output for HostOutput {
    fn read<'a>(&'a mut self, buffer: &'a mut Vec<u8>) -> BoxFuture<'a, io::Result<usize>> {
        Box::pin(async move {
            let Some(pipe) = &self.pipe else { return Ok(0) };
            let count = read_some(pipe, buffer).await?;
            if count == 0 {
                self.pipe = None;
            }
            Ok(count)
        })
    }
}

impl Drop for HostOutput {
    fn drop(&mut self) {
        if let Some(pipe) = self.pipe.take() {
            self.drains.add(pipe);
        }
    }
}

/// Waits for output and appends it; 0 at the end.
pub(super) async fn read_some(pipe: &Receiver, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        pipe.readable().await?;
        buffer.reserve(CHUNK);
        match pipe.try_read_buf(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
    }
}

/// A process that was started, and the one pipe that takes both its outputs.
pub(super) struct Piped {
    pub spawned: Spawned,
    pub pipe: Receiver,
    /// The inode number of the pipe.
    pub inode: u64,
}

/// Starts a prepared process whose outputs go into one pipe, so that their order is kept.
pub(super) fn start_piped(mut command: Command) -> io::Result<Piped> {
    let (reader, writer) = io::pipe()?;
    let inode = rustix::fs::fstat(&reader)?.st_ino;
    command.stdout(writer.try_clone()?).stderr(writer);
    let spawned = spawn::spawn(command)?;
    Ok(Piped {
        spawned,
        pipe: Receiver::from_owned_fd(reader.into())?,
        inode,
    })
}

pub(super) struct HostProcess {
    pub spawned: Spawned,
    pub tree: Arc<StepTree>,
    /// The leader was reaped: from then on the number of the group is no longer certain to be ours.
    pub reaped: AtomicBool,
}

impl Process for HostProcess {
    fn wait(&mut self) -> BoxFuture<'_, Result<Exit, Error>> {
        Box::pin(async move {
            let status = self.spawned.child.wait().await;
            self.reaped.store(true, Ordering::Release);
            status.map(exit).map_err(|source| Error::Wait {
                pid: self.spawned.pid,
                source,
            })
        })
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, ()> {
        self.signal_group(signal);
        let tree = Arc::clone(&self.tree);
        let group = self.group();
        // A task of its own, so that the whole tree is signalled also when the caller stops waiting.
        let rest = tokio::spawn(signal_rest(tree, group, signal));
        Box::pin(async move {
            if let Err(error) = rest.await {
                tracing::error!(%error, "failed to signal a step's processes");
            }
        })
    }
}

impl HostProcess {
    /// The process group, as long as its number is certain.
    fn group(&self) -> Option<u32> {
        (!self.reaped.load(Ordering::Acquire)).then_some(self.spawned.pid)
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(leader) = self.group() {
            // One call reaches every member, so that no fork slips through.
            kill::signal_group(leader, number(signal));
        }
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.signal_group(Signal::Kill);
    }
}

/// Signals the members of the tree that the signal to the group did not reach; after a kill they are gone.
async fn signal_rest(tree: Arc<StepTree>, group: Option<u32>, signal: Signal) {
    if signal == Signal::Kill {
        storm::end(tree).await;
    } else {
        // Reading the process table blocks for milliseconds.
        blocking(move || signal_outside(&tree, group, signal)).await;
    }
}

/// Signals the members of the tree that are outside the process group.
fn signal_outside(tree: &StepTree, group: Option<u32>, signal: Signal) {
    let table = procfs::table();
    let outside =
        |pid: u32| group.is_none() || table.get(&pid).is_some_and(|entry| Some(entry.group) != group);
    for member in tree
        .members(&table)
        .into_iter()
        .filter(|member| outside(member.pid))
    {
        kill::signal(member, number(signal));
    }
}

fn number(signal: Signal) -> rustix::process::Signal {
    match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    }
}

fn exit(status: ExitStatus) -> Exit {
    let signal = status.signal();
    // A process that was only stopped is not reported by `wait`, so there is a code or a signal.
    Exit {
        code: status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)),
        signal,
    }
}
