//! Signals that never hit a process which only inherited the number.

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};

use super::procfs::{self, Identity};

/// Signals this very process; says whether it was there.
pub(super) fn signal(target: Identity, signal: Signal) -> bool {
    let Some(pid) = pid(target.pid) else { return false };
    // The descriptor holds on to whichever process has the number now; only then is the start time compared, so the
    // number cannot pass to another process in between.
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => is_alive(target) && pidfd_send_signal(&descriptor, signal).is_ok(),
        Err(Errno::NOSYS | Errno::PERM) => is_alive(target) && kill_process(pid, signal).is_ok(),
        Err(_) => false,
    }
}

/// Signals a process group.
///
/// The caller has not reaped the group's leader yet, so that the number still is the group's.
pub(super) fn signal_group(leader: u32, signal: Signal) {
    if let Some(pid) = pid(leader)
        && let Err(error) = kill_process_group(pid, signal)
        && error != Errno::SRCH
    {
        tracing::warn!(group = leader, %error, "failed to signal a process group");
    }
}

/// Says whether this very process still runs.
pub(super) fn is_alive(target: Identity) -> bool {
    procfs::entry(target.pid).is_some_and(|entry| entry.id == target && !entry.zombie)
}

fn pid(number: u32) -> Option<Pid> {
    // 1 is init, and a group of 0 or 1 would mean "my own" or "everybody".
    i32::try_from(number)
        .ok()
        .filter(|number| *number > 1)
        .and_then(Pid::from_raw)
}
