//! A shell for a person, in the environment of a failed step.
//!
//! The shell is the leader of a process group of its own, and the terminal is that group's while it lives. So Ctrl-C
//! and Ctrl-Z act on what runs in the shell and never on the runner.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

use gantry_actors::engine::backend::Command;
use gantry_actors::engine::run::Decision;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::runtime::Handle;
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::oneshot;

use super::terminal::Terminal;

/// How long a shell that must end has for its own clean-up.
const GRACE: Duration = Duration::from_secs(2);

/// The shells that are made for a person, and how they start without files of the machine.
const SHELLS: [(&str, &[&str]); 8] = [
    ("bash", &["--noprofile", "--norc", "-i"]),
    ("zsh", &["-f", "-i"]),
    ("fish", &["--no-config", "-i"]),
    ("pwsh", &["-NoLogo", "-NoProfile"]),
    ("ksh", &["-i"]),
    ("dash", &["-i"]),
    ("ash", &["-i"]),
    ("sh", &["-i"]),
];

/// Lets a person work in a shell until it ends, or until the answer to the question is not wanted any more.
///
/// # Errors
/// The shell cannot be started, or the terminal is gone.
pub fn run(terminal: &Terminal, step: &Command, answer: &oneshot::Sender<Decision>) -> io::Result<()> {
    let mode = terminal.mode()?;
    let handle = Handle::current();
    // Whoever listens only later may miss the end.
    let children = {
        let _runtime = handle.enter();
        unix::signal(SignalKind::child())?
    };
    let shell = start(terminal, step)?;
    let worked = terminal
        .give_to(shell)
        .and_then(|()| Ok(kill_process_group(shell, Signal::CONT)?));
    if worked.is_err() {
        end(shell, Signal::KILL);
    }
    handle.block_on(wait(terminal, shell, children, answer));
    terminal.take_back(&mode)?;
    worked
}

/// Starts the shell in a process group of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "this process belongs to a person and their terminal, and to no step"
)]
fn start(terminal: &Terminal, step: &Command) -> io::Result<Pid> {
    let variable = |name: &str| step.env.iter().rev().find(|(other, _)| other == name);
    let search = variable("PATH").map_or("", |(_, value)| value.as_str());
    let (program, arguments) = choose(step.argv.first().map_or("", String::as_str), search);
    let mut command = std::process::Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(step.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&step.cwd)
        .stdin(terminal.stdio()?)
        .stdout(terminal.stdio()?)
        .stderr(terminal.stdio()?)
        .process_group(0);
    if variable("TERM").is_none()
        && let Some(kind) = std::env::var_os("TERM")
    {
        command.env("TERM", kind);
    }
    if variable("PS1").is_none() {
        command.env("PS1", "step$ ");
    }
    let pid = command.spawn()?.id();
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the process has no id"))
}

/// The shell of the step if it is one for a person, else bash, or sh.
fn choose(program: &str, search: &str) -> (String, &'static [&'static str]) {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    let known = |wanted: &str| SHELLS.into_iter().find(|(name, _)| *name == wanted);
    if let Some((_, arguments)) = name.and_then(known) {
        return (program.to_owned(), arguments);
    }
    let there = |name: &str| {
        let mut paths = std::env::split_paths(search).map(|directory| directory.join(name));
        paths.find(|path| path.is_file())
    };
    let found = ["bash", "sh"]
        .into_iter()
        .find_map(|name| Some((there(name)?.to_string_lossy().into_owned(), known(name)?.1)));
    found.unwrap_or_else(|| ("/bin/sh".to_owned(), &["-i"]))
}

/// Waits for the end of the shell, which comes soon once the answer is not wanted any more.
async fn wait(
    terminal: &Terminal,
    shell: Pid,
    mut children: unix::Signal,
    answer: &oneshot::Sender<Decision>,
) {
    let mut ending = false;
    let mut patience = std::pin::pin!(tokio::time::sleep(GRACE));
    while goes_on(terminal, shell) {
        tokio::select! {
            _ = children.recv() => {}
            () = closed(answer), if !ending => {
                ending = true;
                patience.as_mut().reset(tokio::time::Instant::now() + GRACE);
                end(shell, Signal::HUP);
            }
            () = &mut patience, if ending => {
                end(shell, Signal::KILL);
                patience.as_mut().reset(tokio::time::Instant::now() + GRACE);
            }
        }
    }
}

/// Waits until nobody wants the answer.
async fn closed(answer: &oneshot::Sender<Decision>) {
    while !answer.is_closed() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Tells whether the shell lives. A shell that has stopped is continued: it has stopped because the terminal was not
/// its own yet, and nobody else could continue it.
fn goes_on(terminal: &Terminal, shell: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(shell), options) {
        Ok(None) | Err(rustix::io::Errno::INTR) => true,
        Ok(Some(status)) if status.stopped() => {
            let continued = terminal.give_to(shell);
            end(
                shell,
                if continued.is_ok() {
                    Signal::CONT
                } else {
                    Signal::KILL
                },
            );
            true
        }
        // Whoever reaps orphans may have been faster.
        Ok(Some(_)) | Err(_) => false,
    }
}

/// Sends a signal to the shell's group, and lets a stopped one see it.
fn end(shell: Pid, signal: Signal) {
    for signal in [signal, Signal::CONT] {
        if let Err(error) = kill_process_group(shell, signal) {
            tracing::debug!(%error, "the shell has ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_says_which_shell_it_is() {
        let of = |program: &str| choose(program, "");
        assert_eq!(of("/bin/dash"), ("/bin/dash".to_owned(), &["-i"][..]));
        assert_eq!(of("/opt/bash").0, "/opt/bash");
        assert_eq!(of("/usr/bin/python3"), ("/bin/sh".to_owned(), &["-i"][..]));
    }
}
