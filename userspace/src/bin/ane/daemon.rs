//! `ane daemon`, and the private one of `ane exec`.

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use ane::daemon::{self, EmbeddedDriver};
use ane::inspect;
use ane_device::Options;
use ane_device::options::args::OptionArgs;
use ane_uapi::ioctl::stats::Counter;
use aned::limits::LimitArgs;
use aned::place::{Access, Place};
use aned::sandbox::NOT_CONFINED;
use aned::server::Settings;
use aned::{resources, sandbox};
use aned_protocol::client::default_socket;
use anyhow::{Context, Result};
use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::failure::{Advise, Exit};
use crate::files;
use crate::run::engine;

/// Serve an embedded device to other processes
///
/// Runs the driver and a device in one process, behind a socket. It serves several clients at once, and each has its own
/// context. It stays in the foreground until SIGTERM, SIGINT or SIGHUP. `aned` is the same server for a device in another
/// process.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane daemon &
  sleep 1
  ane run network.hwx --device aned
  ane daemon --socket-path /tmp/ane.sock --check &
  sleep 1
  ANE_DEVICE=aned:/tmp/ane.sock ane demo")]
pub(crate) struct Daemon {
    /// Where to listen [default: $XDG_RUNTIME_DIR/ane/aned.sock, as root /run/ane/aned.sock]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) socket_path: Option<PathBuf>,
    /// After a message, poll this long for the next one before sleeping: answers come faster, and the processor is busy
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=10_000))]
    pub(crate) poll_us: u32,
    /// Limits of a request and of a user
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Do not confine the daemon. By default, before it serves a client, it gives up all files but its socket, and all system
    /// calls that serving does not need; such a call then ends it
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Options of the device
    #[command(flatten)]
    pub(crate) options: OptionArgs,
}

pub(crate) fn run(args: &Daemon) -> Result<()> {
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
    for limit in resources::limits() {
        files::tell(format_args!("warning: {limit}"));
    }
    let at = place.path().map(Path::to_owned);
    let confine = || confine(args, at.as_deref());
    serve(driver, place, Duration::from_micros(args.poll_us.into()), stop.as_fd(), confine).map(drop)
}

/// Shuts off what serving does not need, while there is one thread, and says what is left.
fn confine(args: &Daemon, socket: Option<&Path>) {
    if args.no_sandbox {
        files::tell(format_args!("warning: {NOT_CONFINED}"));
        return;
    }
    let confined = sandbox::enter(sandbox::Device::Here, socket);
    let warning = if confined.missing.is_empty() { "" } else { "warning: " };
    files::tell(format_args!("{warning}{confined}"));
}

/// Takes the place where a daemon listens; clients may connect from then on.
pub(crate) fn listen(path: &Path) -> Result<Place> {
    Place::listen(path, Access::default())
        .advise(Exit::NoDevice, "use the daemon that is there, or give another --socket-path")
}

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

/// Lets this process have as many descriptors as it may.
pub(crate) fn raise_limit() {
    if let Err(why) = resources::raise_limit() {
        files::tell(format_args!("warning: limit of descriptors stays: {why}"));
    }
}
