//! The two processes of `ane exec`: the one that somebody has started, and the keeper, its child, which does the work.
//!
//! A process that SIGKILL ends cleans nothing up, and its children become those of another process. So the process that somebody has
//! started only waits and passes signals on. The keeper has the device and the command, and becomes the parent of every
//! process that the command leaves behind. When the first process is gone, the keeper ends all of them, then
//! itself. When the keeper is killed, the first process does the same: it inherits those processes.
//!
//! The keeper is in a process group of its own, because a whole group may be killed at once. Its command is in the
//! group of the first process, as if there were no keeper: a terminal reaches it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::resource::{Resource, getrlimit, rlim_t};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpgrp, pipe2, setpgid};

use super::descendants;
use super::folder::Folder;
use crate::files;

/// Which of the two processes this is.
pub(super) enum Side {
    /// The process that somebody has started; the keeper has ended so.
    First(ExitCode),
    Keeper(Keeper),
}

/// The keeper's knowledge of the first process.
pub(super) struct Keeper {
    /// A pipe that ends with the first process.
    first: OwnedFd,
    /// Its process group.
    pub(super) group: Pid,
    /// The signals that were blocked at its start.
    pub(super) mask: SigSet,
    /// Its limits of descriptors, of which the daemon raises the first.
    pub(super) descriptors: (rlim_t, rlim_t),
}

impl Keeper {
    /// Readable when the first process is gone.
    pub(super) fn first(&self) -> BorrowedFd<'_> {
        self.first.as_fd()
    }

    /// Whether the first process is gone, or ends within so many milliseconds.
    pub(super) fn is_alone(&self, within: u16) -> bool {
        let mut places = [PollFd::new(self.first(), PollFlags::POLLIN)];
        poll(&mut places, PollTimeout::from(within)).is_ok_and(|ready| ready > 0)
    }
}

/// The signals that both processes pass on, and SIGCHLD.
pub(super) fn passed_on() -> SigSet {
    SigSet::from_iter([
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
        Signal::SIGCHLD,
    ])
}

/// Where the signals of [`passed_on`] arrive, which have to be blocked.
pub(super) fn watch() -> Result<SignalFd> {
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    SignalFd::with_flags(&passed_on(), flags).context("watching for signals")
}

/// The signal to pass on; none for SIGCHLD.
pub(super) fn to_pass_on(arrived: &siginfo) -> Option<Signal> {
    let signal = i32::try_from(arrived.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok())?;
    match signal {
        Signal::SIGCHLD => None,
        // A terminal sends it to the whole group, the command included; a process sends it to us alone.
        Signal::SIGINT | Signal::SIGQUIT if arrived.ssi_code > 0 => None,
        signal => Some(signal),
    }
}

/// Divides this process, which must have one thread, in two. Returns in the keeper at once, and in the first process after the
/// keeper's end.
#[expect(unsafe_code, reason = "a process is divided, and a signal has its default again")]
pub(super) fn divide(folder: &Folder) -> Result<Side> {
    let mask = SigSet::thread_get_mask().context("reading the signal mask")?;
    let descriptors = getrlimit(Resource::RLIMIT_NOFILE).context("reading the limit of descriptors")?;
    // Before the first thread, so that they come to the descriptor and nowhere else.
    passed_on().thread_block().context("blocking signals")?;
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: this installs no handler. A process that ignores SIGCHLD never learns how its children end.
    unsafe { sigaction(Signal::SIGCHLD, &default) }.context("SIGCHLD")?;
    // Each of the two may inherit what the command leaves behind. The keeper sets its own below.
    set_child_subreaper(true).context("becoming the parent of orphans")?;
    let (first, alive) = pipe2(OFlag::O_CLOEXEC).context("making a pipe")?;
    let group = getpgrp();
    // SAFETY: this process has one thread, so no lock is held that the child would wait for.
    match unsafe { fork() }.context("starting a process")? {
        ForkResult::Parent { child } => {
            drop(first);
            let code = wait(child, folder)?;
            drop(alive);
            Ok(Side::First(code))
        }
        ForkResult::Child => {
            drop(alive);
            set_child_subreaper(true).context("becoming the parent of orphans")?;
            setpgid(Pid::from_raw(0), Pid::from_raw(0)).context("making a process group")?;
            // A process that is not in the terminal's group may be stopped when it writes a message there.
            SigSet::from(Signal::SIGTTOU).thread_block().context("blocking signals")?;
            Ok(Side::Keeper(Keeper { first, group, mask, descriptors }))
        }
    }
}

/// Passes signals on to the keeper until it ends.
fn wait(keeper: Pid, folder: &Folder) -> Result<ExitCode> {
    let signals = watch()?;
    loop {
        match waitpid(keeper, Some(WaitPidFlag::WNOHANG))
            .context("waiting for the process that has the device")?
        {
            WaitStatus::Exited(_, code) => return Ok(ExitCode::from(u8::try_from(code).unwrap_or(1))),
            WaitStatus::Signaled(_, signal, _) => {
                descendants::end(folder.watcher());
                files::tell(format_args!(
                    "{signal} ended the process that has the device, and its command with it"
                ));
                return Ok(ExitCode::from(u8::try_from(128 + signal as i32).unwrap_or(1)));
            }
            _ => {}
        }
        match poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(why) => return Err(why).context("waiting for a signal"),
        }
        while let Some(arrived) = signals.read_signal().context("waiting for a signal")? {
            // It may have ended just now.
            to_pass_on(&arrived).map(|signal| kill(keeper, signal));
        }
    }
}
