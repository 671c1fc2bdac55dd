//! `ane daemon`, and the private one of `ane exec`.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use ane::daemon::{self, EmbeddedDriver};
use ane::inspect;
use ane_device::Options;
use ane_uapi::ioctl::stats::Counter;
use aned::place::{Access, Place};
use aned::sandbox;
use aned::server::Settings;
use aned_protocol::client::default_socket;
use anyhow::{Context, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::args;
use crate::failure::{Advise, Exit};
use crate::files;
use crate::run::engine;

pub(crate) fn run(args: &args::Daemon) -> Result<()> {
    // Before the first thread, so that all of them leave these to the descriptor.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    signals.thread_block().context("blocking signals")?;
    let stop = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .context("watching for signals")?;
    let path = args.socket_path.clone().unwrap_or_else(default_socket);
    let (mut driver, place) = (driver(&args.options.options())?, listen(&path)?);
    driver.limit(args.limits.limits());
    files::tell(format_args!("{} is served at {}", args.options.chip.name(), files::name(&path)));
    raise_limit();
    let at = place.path().map(Path::to_owned);
    let confine = || confine(args, at.as_deref());
    serve(driver, place, Duration::from_micros(args.poll_us.into()), stop.as_fd(), confine).map(drop)
}

/// Shuts off what serving does not need, while there is one thread, and says what is left.
fn confine(args: &args::Daemon, socket: Option<&Path>) {
    if args.no_sandbox {
        files::tell(
            "warning: not confined: --no-sandbox leaves files, network and every system call open to whatever goes wrong here",
        );
        return;
    }
    let confined = sandbox::enter(sandbox::Device::Here, socket);
    let warning = if confined.missing.is_empty() { "" } else { "warning: " };
    files::tell(format_args!("{warning}confined: {confined}"));
}

/// Takes the place where a daemon listens; clients may connect from then on.
pub(crate) fn listen(path: &Path) -> Result<Place> {
    Place::listen(path, Access::default())
        .advise(Exit::NoDevice, "use the daemon that is there, or give another --socket-path")
}

/// A device and its driver.
pub(crate) fn driver(options: &Options) -> Result<EmbeddedDriver> {
    daemon::driver(options).advise(Exit::NoDevice, "see `ane help daemon` for the chips and their engines")
}

/// Serves a driver at `place`, confined, until `stop` is readable, or hangs up; then says why the last request failed, if one did.
pub(crate) fn serve(
    driver: EmbeddedDriver,
    place: Place,
    poll: Duration,
    stop: BorrowedFd<'_>,
    confine: impl FnOnce(),
) -> Result<Option<String>> {
    let report = Box::new(|driver: &mut EmbeddedDriver, what: &str| inspect::report(driver, what));
    let settings = Settings { poll, report: Some(report), ..Settings::default() };
    let server = daemon::ready(driver, place, settings).advise(Exit::NoDevice, "start it again")?;
    confine();
    let mut driver = server.run(stop).advise(Exit::NoDevice, "start it again")?;
    if driver.bus_mut().device_mut().is_checking() {
        for finding in engine::findings(driver.bus_mut().device_mut()) {
            files::tell(format_args!("check: {finding}"));
        }
    }
    let failed = driver.counted(Counter::Failed).saturating_add(driver.counted(Counter::TimedOut));
    let failure = driver.last_failure().map(|last| match failed {
        0 | 1 => last.to_owned(),
        _ => format!("{last} (the last of {failed} requests that failed)"),
    });
    driver.remove();
    Ok(failure)
}

/// Clients pass descriptors, and the usual limit of 1024 is soon reached. Where it cannot be raised it is enough for few.
pub(crate) fn raise_limit() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
