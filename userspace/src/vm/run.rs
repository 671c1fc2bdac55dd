//! The two processes of a machine, from start to end.
//!
//! The device has to listen before QEMU connects, and outlives a QEMU that is started again. When it dies the
//! machine goes on without it, so another is started at the same place: the user can plug it in
//! ([`super::hotplug`]) when the guest is ready to let go of the dead one.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use thiserror::Error;

use super::hotplug;
use super::qmp::Monitor;

/// How long a process may take to start listening.
const START: Duration = Duration::from_secs(20);

/// How long the device may take to end when it is asked to.
const END: Duration = Duration::from_secs(5);

/// How often the processes are looked at.
const TICK: Duration = Duration::from_millis(20);

/// Devices that may die one after the other before it is taken for hopeless: each within this time of its start.
const HOPELESS: Duration = Duration::from_secs(2);

#[derive(Debug, Error)]
pub enum RunError {
    #[error("{} does not start: {why}", program.display())]
    Start { program: PathBuf, why: io::Error },
    #[error("{} {what}", program.display())]
    Failed { program: PathBuf, what: String },
    #[error("{what}: {why}")]
    System { what: String, why: io::Error },
}

#[derive(Clone, Debug)]
pub struct Invocation {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Invocation {
    /// Starts it with these signals blocked: it has to hear those that this process reads.
    #[expect(unsafe_code, reason = "the child's signals have to be put right between fork and exec")]
    fn start(&self, mask: SigSet) -> Result<Child, RunError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        // SAFETY: it is one system call, which is safe between fork and exec.
        let started = unsafe { command.pre_exec(move || Ok(mask.thread_set_mask()?)) }.spawn();
        started.map_err(|why| RunError::Start { program: self.program.clone(), why })
    }

    fn failed(&self, what: impl Into<String>) -> RunError {
        RunError::Failed { program: self.program.clone(), what: what.into() }
    }

    fn wait_for(&self, child: &mut Child, socket: &Path) -> Result<(), RunError> {
        let start = Instant::now();
        while !socket.exists() {
            if let Ok(Some(status)) = child.try_wait() {
                return Err(self.failed(format!("ended at once, {status}")));
            }
            if start.elapsed() > START {
                let _ = child.kill();
                let _ = child.wait();
                return Err(self.failed(format!("does not listen at {}", socket.display())));
            }
            std::thread::sleep(TICK);
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Launch {
    pub device: Invocation,
    pub socket: PathBuf,
    pub qemu: Invocation,
    pub monitor: PathBuf,
    /// Another device can take the place of one that died.
    pub can_recover: bool,
}

/// A folder for sockets that only this user can look into.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Nobody named it: it goes with this.
    is_own: bool,
}

impl Folder {
    /// Makes the folder that is wanted, or else one of its own.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn new(wanted: Option<&Path>) -> Result<Self, RunError> {
        let path = match wanted {
            Some(folder) => folder.to_owned(),
            None => {
                let base = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
                // Random, so that one that a killed run has left is not in the way, and nobody knows it before.
                base.join(format!("ane-vm-{:08x}", RandomState::new().build_hasher().finish() as u32))
            }
        };
        let made = DirBuilder::new().mode(0o700).recursive(wanted.is_some()).create(&path);
        made.map_err(|why| RunError::System { what: format!("folder {}", path.display()), why })?;
        Ok(Self { path, is_own: wanted.is_none() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_own {
            // The files in it are of no use any more.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl Launch {
    /// Starts both, and stays until QEMU ends; `tell` hears what there is to say meanwhile.
    ///
    /// # Errors
    ///
    /// If one does not start, or the device dies again and again.
    pub fn run(&self, mut tell: impl FnMut(&str)) -> Result<ExitStatus, RunError> {
        let (signals, before) = signals()?;
        for socket in [&self.socket, &self.monitor] {
            // An earlier machine may have left it; if it cannot be removed, the process that wants to listen
            // there reports that.
            let _ = std::fs::remove_file(socket);
        }
        let mut device = Device::start(self, before)?;
        let mut qemu = Guard(self.qemu.start(before)?);
        self.qemu.wait_for(&mut qemu.0, &self.monitor)?;
        self.look_at_memory(&mut tell);
        tell(&format!("the machine starts; its monitor is {}", self.monitor.display()));
        loop {
            if let Some(status) = qemu.0.try_wait().map_err(|why| system("waiting for QEMU", why))? {
                return Ok(status);
            }
            if let Some(status) = device.ended()? {
                if device.since.elapsed() < HOPELESS {
                    return Err(self.device.failed(format!("{}, at once", ended(status))));
                }
                if !self.can_recover {
                    return Err(self.device.failed(format!("{}, and the machine with it", ended(status))));
                }
                device = Device::start(self, before)?;
                tell(&format!(
                    "the device {}; another is ready: ane vm recover {}",
                    ended(status),
                    self.monitor.display()
                ));
            }
            if let Ok(Some(_)) = signals.read_signal() {
                // QEMU first, and for certain: one that waits for a dead device does not listen.
                qemu.end();
            }
            std::thread::sleep(TICK);
        }
    }

    fn look_at_memory(&self, tell: &mut impl FnMut(&str)) {
        let unshared =
            Monitor::connect(&self.monitor).and_then(|mut monitor| hotplug::unshared(&mut monitor));
        match unshared {
            Ok(names) if names.is_empty() => {}
            Ok(names) => tell(&format!(
                "the machine's memory ({}) is not shared, so the device cannot reach it: it takes -object \
                 memory-backend-memfd,share=on",
                names.join(", ")
            )),
            Err(why) => tell(&format!("whether its memory is shared cannot be told: {why}")),
        }
    }
}

fn system(what: impl Into<String>, why: io::Error) -> RunError {
    RunError::System { what: what.into(), why }
}

/// The signals that end a program, as something to be read: the machine is to end first. Also those that were blocked before.
fn signals() -> Result<(SignalFd, SigSet), RunError> {
    let mut ends = SigSet::empty();
    ends.extend([Signal::SIGTERM, Signal::SIGHUP]);
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    let made = ends
        .thread_swap_mask(SigmaskHow::SIG_BLOCK)
        .and_then(|before| Ok((SignalFd::with_flags(&ends, flags)?, before)));
    made.map_err(|why| system("watching for signals", why.into()))
}

fn ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended, {status}"),
    }
}

/// A process that ends with its parent.
struct Guard(Child);

impl Guard {
    fn end(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
            let start = Instant::now();
            while matches!(self.0.try_wait(), Ok(None)) && start.elapsed() < END {
                std::thread::sleep(TICK);
            }
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}

struct Device {
    process: Guard,
    since: Instant,
}

impl Device {
    fn start(run: &Launch, mask: SigSet) -> Result<Self, RunError> {
        // It removes what another left there, and the path is only there again once it listens.
        let _ = std::fs::remove_file(&run.socket);
        let mut process = Guard(run.device.start(mask)?);
        run.device.wait_for(&mut process.0, &run.socket)?;
        Ok(Self { process, since: Instant::now() })
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, RunError> {
        self.process.0.try_wait().map_err(|why| system("waiting for the device", why))
    }
}
