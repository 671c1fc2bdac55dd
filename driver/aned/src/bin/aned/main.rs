//! The daemon that owns a device and serves many processes.
//!
//! * [`args`]: the command line;
//! * [`device`]: the device that it names;
//!
//! and the server, which is the library's ([`aned::server`]): this program opens the device, takes its place, and
//! hands over until a signal comes.

mod args;
mod device;

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use ane_driver::Driver;
use ane_driver::bus::Bus;
use ane_driver::limits::Limits;
use ane_driver::report::report;
use ane_sandbox::NOT_CONFINED;
use ane_sandbox::descriptors::raise_limit;
use ane_sandbox::unblocked::Unblocked;
use aned::place::{Access, Place};
use aned::server::{Admit, Server, Settings};
use aned::{resources, sandbox};
use aned_protocol::client::default_socket;
use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use env_logger::Target;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Group;

use args::Args;
use device::Device;

fn main() -> ExitCode {
    let args = Args::parse();
    let device: Device = match args.device.parse() {
        Ok(device) => device,
        Err(why) => Args::command().error(ErrorKind::ValueValidation, format!("--device: {why}")).exit(),
    };
    env_logger::Builder::new()
        .filter_level(args.log_level)
        .parse_default_env()
        .target(Target::Pipe(Box::new(Unblocked::of(std::io::stderr()))))
        .init();
    match run(&args, &device) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            log::error!("{why:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args, device: &Device) -> anyhow::Result<()> {
    // The place before everything else: a passed descriptor is found while nothing was opened here, and a second daemon
    // that finds its place taken leaves the first one's device alone.
    let (place, admit) = place(args)?;
    // Before the first thread, so that all of them leave these to the descriptor.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    signals.thread_block().context("blocking signals")?;
    let stop = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .context("watching for signals")?;
    if let Err(why) = raise_limit() {
        log::warn!("limit of descriptors stays: {why}");
    }
    // Memory for a client that is longer than a file may be is refused, where by default the signal would end the daemon.
    SigSet::from_iter([Signal::SIGXFSZ]).thread_block().context("blocking signals")?;
    for limit in resources::limits() {
        log::warn!("{limit}");
    }
    let poll = Duration::from_micros(args.poll_us.into());
    // The path is told to processes that may run in another folder.
    let control = args.control.as_ref().map(std::path::absolute).transpose().context("--control")?;
    let limits = args.limits.limits();
    let asked = Asked { place, admit, poll, limits, control };
    match device {
        Device::VhostUser(path) => serve(device::over_socket(path, poll)?, device, asked, &stop, |socket| {
            confine(args, socket);
        }),
        Device::Vfio(address) => serve(device::function(*address, poll)?, device, asked, &stop, |_| {
            // It opens files while it serves; and what would be shut off is no more than it has by the function.
            log::warn!(
                "not confined: this process may read physical addresses, and the function it holds reaches all memory of \
                 this machine; an attacker who takes it over has the machine, so admit only users who could be root \
                 (docs/threat-model.md)"
            );
        }),
    }
}

/// Shuts off what serving does not need, while there is one thread, and says what is left.
fn confine(args: &Args, socket: Option<&Path>) {
    if args.no_sandbox {
        log::warn!("{NOT_CONFINED}");
        return;
    }
    let confined = sandbox::enter(sandbox::Device::Socket, socket);
    let level = if confined.missing.is_empty() { log::Level::Info } else { log::Level::Warn };
    log::log!(level, "{confined}");
}

struct Asked {
    place: Place,
    admit: Admit,
    poll: Duration,
    limits: Limits,
    /// The device's control socket.
    control: Option<PathBuf>,
}

/// Serves until a signal comes, and gives the device back as it was.
fn serve<B: Bus + 'static>(
    mut driver: Driver<B>,
    device: &Device,
    asked: Asked,
    stop: &SignalFd,
    confine: impl FnOnce(Option<&Path>),
) -> anyhow::Result<()> {
    let Asked { place, admit, poll, limits, control } = asked;
    driver.limit(limits);
    let socket = place.path().map(Path::to_owned);
    let at = socket.as_ref().map(|path| format!(" at {}", path.display())).unwrap_or_default();
    let tell = move |driver: &mut Driver<B>, what: &str| match (what, &control) {
        ("control", Some(path)) => Ok(format!("{}\n", path.display())),
        _ => report(driver, what),
    };
    let settings = Settings { admit, poll, report: Some(Box::new(tell)), ..Settings::default() };
    let server = Server::new(driver, place, settings).context("setting the server up")?;
    confine(socket.as_deref());
    log::info!("{device} is served{at}");
    let driver = server.run(stop.as_fd()).context("serving")?;
    driver.remove();
    Ok(())
}

/// Where to listen, and who is let in there.
fn place(args: &Args) -> anyhow::Result<(Place, Admit)> {
    if let Some(fd) = args.fd {
        #[expect(unsafe_code, reason = "a number becomes a descriptor")]
        // SAFETY: the log has standard error, and nothing else was opened before; the number is asked for here alone.
        let passed = unsafe { ane_sandbox::place::passed(fd) };
        let fd = passed.with_context(|| {
            format!("descriptor {fd} is not one that was passed; have a service manager pass it, or use --socket-path")
        })?;
        return Ok((Place::passed(fd)?, Admit::Anyone));
    }
    let group = match &args.group {
        Some(name) => {
            let found = Group::from_name(name).with_context(|| format!("looking for group {name}"))?;
            Some(found.with_context(|| format!("there is no group {name}"))?.gid.as_raw())
        }
        None => None,
    };
    let mode = args.mode.unwrap_or(if group.is_some() { 0o660 } else { 0o600 });
    let is_open = group.is_some() || args.mode.is_some();
    let path = args.socket_path.clone().unwrap_or_else(default_socket);
    let place = Place::listen(&path, Access { mode, group })?;
    Ok((place, if is_open { Admit::Anyone } else { Admit::Owner }))
}
