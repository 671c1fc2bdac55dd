//! The processes that a command has started, and those that they have started, and the end of all of them.
//!
//! A process that reaps orphans (`PR_SET_CHILD_SUBREAPER`) is the parent of each process below it whose own parent has ended. So
//! every process that a command starts is found by the numbers of parents in `/proc`, also one that is in another session.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How long processes are ended that start others all the time (Chosen: a thousand processes end in a few milliseconds).
const LONGEST: Duration = Duration::from_secs(5);

/// The time from one look at `/proc` to the next.
const PERIOD: Duration = Duration::from_millis(1);

/// Ends every process below this one but `spared`, and reaps those whose parent is this process.
///
/// Processes of another user, which a program with the bit for that may have started, are left alone.
pub(super) fn end(spared: Option<Pid>) {
    let start = Instant::now();
    loop {
        // No child is no error.
        let _ = reap(None);
        let mut living = living(nix::unistd::getpid(), spared);
        // One that is stopped starts no other while the rest is ended.
        living.retain(|&process| kill(process, Signal::SIGSTOP).is_ok());
        for &process in &living {
            let _ = kill(process, Signal::SIGKILL);
        }
        if living.is_empty() || start.elapsed() > LONGEST {
            return;
        }
        thread::sleep(PERIOD);
    }
}

/// Reaps the children of this process that have ended. Says how `awaited` ended, if it is among them.
///
/// # Errors
///
/// `ECHILD` if there is no child.
pub(super) fn reap(awaited: Option<Pid>) -> nix::Result<Option<WaitStatus>> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::StillAlive => return Ok(None),
            status if status.pid() == awaited => return Ok(Some(status)),
            _ => {}
        }
    }
}

fn living(root: Pid, spared: Option<Pid>) -> Vec<Pid> {
    let mut children: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for (process, parent, state) in processes() {
        // The children of a zombie are already those of the reaper.
        if !matches!(state, 'Z' | 'X') && Some(process) != spared {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut found, mut open) = (Vec::new(), vec![root]);
    while let Some(parent) = open.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        open.extend(&below);
        found.extend(below);
    }
    found
}

/// Number, number of the parent, and state of every process that this user sees.
fn processes() -> impl Iterator<Item = (Pid, Pid, char)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name before it may hold anything.
        let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
        let state = rest.next()?.chars().next()?;
        let parent = rest.next()?.parse().ok()?;
        Some((Pid::from_raw(process), Pid::from_raw(parent), state))
    })
}
