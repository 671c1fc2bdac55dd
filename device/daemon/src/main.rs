//! A virtual Apple Neural Engine behind a vhost-user socket, or a vfio-user one.
//!
//! * [`args`]: the command line;
//! * [`server`]: a socket, and one frontend after the other behind it;
//! * [`frames`]: messages that are whole and harmless before anything is done; [`messages`]: what they do;
//!   [`descriptors`]: what may come with them;
//! * [`backend`]: the device as the threads of a connection see it; [`queues`]: one of them;
//! * [`vfio_user`]: the device as a PCI function, for drivers of the real engine;
//! * [`worker`]: the engine at work, a turn at a time;
//! * [`vring`] and [`ringing`]: a queue whose eventfds make no thread wait;
//! * [`chain`]: the memory that a guest asks with; what it asks for is in `ane_device::wire::request`;
//! * [`control`]: faults made, and the state told, while a guest runs;
//! * [`guard`]: guest memory that is taken away while it is used;
//! * [`journal`]: lines that a peer can bring about without end; [`watchdog`]: a sign of life for the service manager;
//! * [`sandbox`]: what the system lets it do then;
//! * [`trace`]: the timeline on its way to a file, and the last of it; [`poll`]: how long it looks before it sleeps.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

mod args;
mod backend;
mod chain;
mod control;
mod descriptors;
mod frames;
mod guard;
mod hold;
mod journal;
mod lock;
mod messages;
mod poll;
mod queues;
mod ringing;
mod sandbox;
mod server;
mod session;
mod trace;
mod vfio_user;
mod vring;
mod watchdog;
mod worker;

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ane_device::Options;
use ane_device::chip::{Identity, every_instance};
use ane_sandbox::descriptors::raise_limit;
use ane_sandbox::unblocked::Unblocked;
use ane_sandbox::{NOT_CONFINED, place};
use ane_uapi::wire::VIRTIO_ID;
use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use env_logger::Target;
use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::geteuid;

use args::Args;
use backend::Backend;
use hold::Hold;
use watchdog::Watchdog;
use worker::Worker;

/// How long a task may go on after SIGTERM before it is called off, and how long that may take.
const FREEZE_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a dump waits for the end of a turn.
const DUMP_TIMEOUT: Duration = Duration::from_millis(500);

struct Place {
    name: String,
    listener: UnixListener,
    /// To be removed at the end; a passed socket is not ours to remove.
    path: Option<PathBuf>,
    /// Held for as long as the device lives.
    lock: Option<File>,
    options: Options,
}

/// The front that carries accesses to an engine.
enum Front {
    /// Queues of a virtio device.
    VhostUser(Arc<Backend>),
    /// BARs of a PCI function.
    VfioUser(Arc<Hold>),
}

impl Front {
    fn engine(&self) -> &Arc<Hold> {
        match self {
            Self::VhostUser(backend) => backend.engine(),
            Self::VfioUser(engine) => engine,
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if args.print_capabilities {
        // The reader may have closed the pipe, which is no error.
        return match writeln!(std::io::stdout(), "{}", capabilities()) {
            Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => {
                let _ = writeln!(std::io::stderr(), "vhost-device-ane: standard output: {why}");
                ExitCode::FAILURE
            }
            _ => ExitCode::SUCCESS,
        };
    }
    if args.socket_path.is_none() && args.fd.is_none() && args.vfio_user.is_none() {
        let needed = "give --socket-path PATH, --fd N or --vfio-user PATH";
        Args::command().error(ErrorKind::MissingRequiredArgument, needed).exit();
    }
    env_logger::Builder::new()
        // The transport's own lines repeat what is said here, and a guest could fill the log with them.
        .filter_level(args.log_level)
        .filter_module("virtio_queue", log::LevelFilter::Off)
        .parse_default_env()
        .target(Target::Pipe(Box::new(Unblocked::of(std::io::stderr()))))
        .init();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            log::error!("{why:#}");
            ExitCode::FAILURE
        }
    }
}

/// The output of `--print-capabilities`, in the form of QEMU's `docs/interop/vhost-user.json`.
fn capabilities() -> String {
    format!(
        "{{\n  \"type\": \"ane\",\n  \"virtio-id\": {VIRTIO_ID},\n  \"features\": [],\n  \"version\": \"{}\"\n}}",
        env!("CARGO_PKG_VERSION")
    )
}

/// The engines that the arguments ask for, each with a socket that listens.
fn places(args: &Args) -> anyhow::Result<Vec<Place>> {
    let is_platform = args.vfio_user.is_some();
    let options = if is_platform { args.device.platform_options() } else { args.device.options() };
    let node = |options: &Options| Identity::of(options).map(|identity| identity.instance.node.to_owned());
    if let Some(fd) = args.fd {
        #[expect(unsafe_code, reason = "a number becomes a descriptor")]
        // SAFETY: the log has standard error, and nothing else was opened before; the number is asked for here alone.
        let listener = unsafe { server::inherited(fd) }.with_context(|| format!("--fd {fd}"))?;
        return Ok(vec![Place { name: node(&options)?, listener, path: None, lock: None, options }]);
    }
    let path = args.vfio_user.as_ref().or(args.socket_path.as_ref()).cloned().unwrap_or_default();
    let wanted: Vec<(PathBuf, Options)> = if !path.is_dir() {
        vec![(path, options)]
    } else if args.device.instance.is_some() {
        vec![(server::path_in(&path, &node(&options)?), options)]
    } else {
        every_instance(&options)
            .map(|one| node(&one).map(|node| (server::path_in(&path, &node), one)))
            .collect::<Result<_, _>>()?
    };
    wanted
        .into_iter()
        .map(|(path, options)| {
            let name = node(&options)?;
            let (listener, lock) = server::listen(&path)?;
            Ok(Place { name, listener, path: Some(path), lock: Some(lock), options })
        })
        .collect()
}

/// Shuts off what serving does not need, while there is one thread, and says what is left.
fn confine(args: &Args, sockets: &[PathBuf]) {
    if args.no_sandbox {
        log::warn!("{NOT_CONFINED}");
        return;
    }
    let confined = sandbox::enter(sockets);
    let level = if confined.missing.is_empty() { log::Level::Info } else { log::Level::Warn };
    log::log!(level, "{confined}");
}

fn run(args: &Args) -> anyhow::Result<()> {
    // Before the first thread, so that all of them leave these to the one that waits below.
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGUSR1]);
    signals.thread_block().context("blocking signals")?;
    let mut places = places(args)?;
    if let Err(why) = raise_limit() {
        log::warn!("limit of descriptors stays: {why}");
    }
    let mut locks: Vec<_> = places.iter_mut().map(|place| place.lock.take()).collect();
    let poll = Duration::from_micros(args.poll_us.into());
    let mut engines = control::Engines::new();
    let mut fronts = Vec::new();
    for place in &places {
        let trace = match &args.trace {
            Some(path) if places.len() > 1 => Some(trace::Trace::path_of(path, &place.name)),
            other => other.clone(),
        };
        let trace = trace::Trace::new(trace.as_deref())
            .with_context(|| format!("--trace {}", trace.as_deref().unwrap_or(Path::new("")).display()))?;
        let front = if args.vfio_user.is_some() {
            // The thread that reads messages works as well, so nothing is computed beside.
            Front::VfioUser(Arc::new(Hold::new(Worker::new(&place.options, trace, None)?)))
        } else {
            Front::VhostUser(Arc::new(Backend::new(&place.options, poll, trace)?))
        };
        engines.push((place.name.clone(), Arc::clone(front.engine())));
        fronts.push(front);
    }
    let mut paths: Vec<_> = places.iter().filter_map(|place| place.path.clone()).collect();
    let control = match &args.control {
        Some(path) => {
            let (listener, lock) = server::listen(path).context("--control")?;
            locks.push(Some(lock));
            // The server asks for the credentials of each client. These permissions only spare others the attempt.
            place::admit(path, 0o600, None).context("--control")?;
            paths.push(path.clone());
            Some(listener)
        }
        None => None,
    };
    let watchdog = Watchdog::asked().context("the service manager's socket")?;
    guard::survive().context("the handler of SIGBUS")?;
    // No frontend was served yet, and there is one thread.
    let (own, process) = (geteuid(), std::process::id());
    ringing::set_handlers().context("handlers of signals")?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).context("waiting for signals")?;
    confine(args, &paths);
    ringing::watch(process, ringing::LOOK).context("starting a thread")?;
    if let Some(watchdog) = watchdog {
        watchdog.start(engines.clone()).context("starting a thread")?;
    }
    if let Some(listener) = control {
        let engines = engines.clone();
        thread::Builder::new()
            .name("control-accept".to_owned())
            .spawn(move || control::serve(&listener, own, engines))
            .context("starting a thread")?;
    }
    for (place, front) in places.into_iter().zip(fronts) {
        log::info!(
            "{} of {} is ready{}",
            place.name,
            place.options.chip.name(),
            place.path.as_ref().map(|path| format!(" at {}", path.display())).unwrap_or_default()
        );
        thread::Builder::new()
            .name(format!("{}-accept", place.name))
            .spawn(move || match front {
                Front::VhostUser(backend) => server::serve(&place.name, &place.listener, &backend),
                Front::VfioUser(engine) => vfio_user::serve(&place.name, &place.listener, &engine),
            })
            .context("starting a thread")?;
    }
    loop {
        let told = match signals.read_signal() {
            // The signal that interrupts a thread that is stuck in a call may be sent to this one, and means nothing here.
            Err(Errno::EINTR) => continue,
            told => told.context("waiting for a signal")?,
        };
        let number = told.and_then(|told| i32::try_from(told.ssi_signo).ok());
        match number.and_then(|number| Signal::try_from(number).ok()) {
            Some(Signal::SIGUSR1) => {
                for (name, engine) in &engines {
                    // Signals that end the device are waited for here as well.
                    let dump = engine.within(DUMP_TIMEOUT, |worker| worker.dump());
                    let dump = dump.unwrap_or_else(|| format!("engine is busy for {DUMP_TIMEOUT:?}\n"));
                    let _ = writeln!(Unblocked::of(std::io::stderr()), "--- {name}\n{dump}---");
                }
            }
            Some(signal) => {
                log::info!("{signal} ends the device");
                break;
            }
            None => {}
        }
    }
    for path in paths {
        if let Err(why) = fs::remove_file(&path) {
            log::warn!("{} cannot be removed: {why}", path.display());
        }
    }
    for (_, engine) in &engines {
        engine.freeze(FREEZE_TIMEOUT);
    }
    drop(locks);
    Ok(())
}
