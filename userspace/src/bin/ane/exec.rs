//! `ane exec`: a private daemon, the preload library, and a program between them.
//!
//! There are two processes ([`keeper`]). The daemon is a thread of the second, and ends with it. Signals that somebody sends to the
//! first are passed on to the program, and both processes end as the program does.
//!
//! A request that fails gives the program an error number only. When the program has ended, one line says what the driver knows
//! of the last failure. A private daemon's driver is asked when it stops. A shared daemon is asked too, and its last failure is
//! printed if the process that failed was the program, or one that came and went meanwhile, as children of the program do.

mod descendants;
mod folder;
mod keeper;
mod stats;

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ane::decode::printable;
use ane::device::Location;
use ane::doctor::find_shim;
use ane::root::{self, Root};
use ane_device::Options;
use aned_protocol::client::{Client, Settings, found_socket};
use anyhow::{Context, Result};
use clap::Args;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::WaitStatus;
use nix::unistd::{Pid, pipe2};

use self::folder::Folder;
use self::keeper::{Keeper, Side};
use self::stats::Stats;
use crate::device::DeviceArgs;
use crate::failure::{Exit, Failure};
use crate::{daemon, device, files};

/// Run an unmodified program that uses /dev/accel/accel0 on a virtual engine
///
/// Starts a private daemon with an embedded device, unless --device or ANE_DEVICE names a daemon that runs already. Then it
/// starts CMD with the preload library that stands in for the device node. CMD and the programs that it starts see
/// /dev/accel/accel0; nothing else changes for them. The daemon ends with CMD, and the exit code is that of CMD. If this
/// command is killed, CMD and every process that it started end too.
///
/// If a request of CMD fails, CMD gets an error number, as from any device. After CMD has ended, one line on standard error
/// says why: the task, the register, its bits, their value, and what to try.
///
/// The preload library is looked for where ANE_SHIM says, beside this program, and in ../lib/ane.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane exec -- python3 infer.py
  ane exec --quiet -- ./client network.anec
  ane exec --check -- ./client network.anec
  ane exec --root /tmp/m1 -- ./check-tool --root /tmp/m1
  ane exec --device aned -- ./client network.anec

Exit codes: CMD's own; 128 and the signal's number if one ended it; 124 after --timeout; 126 if it cannot be
started, 127 if it is not there; 3 if there is no device or no preload library.")]
pub(crate) struct Exec {
    /// Make the names in the empty folder DIR by which tools look for the driver of a real engine, for as long as
    /// CMD runs: device tree, links of sysfs, node. Only you may write to DIR. Tools that check a machine take the folder with --root
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
    /// End CMD if it has not ended after this long: with SIGTERM, two seconds later with SIGKILL; then end every process that it
    /// started; exit code 124
    #[arg(long, value_name = "SECONDS", value_parser = crate::run::seconds)]
    pub(crate) timeout: Option<f64>,
    /// Do not say why a request of CMD failed
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// How long the private daemon polls for messages before it sleeps: it serves one command only.
const POLL: Duration = Duration::from_micros(100);

/// The node that clients find.
const NODE: &str = "accel0";

pub(crate) fn run(args: &Exec) -> Result<ExitCode> {
    let shim = shim()?;
    let mut folder = Folder::new().context("making a folder for the socket")?;
    let keeper = match keeper::divide(&folder)? {
        Side::First(code) => return Ok(code),
        Side::Keeper(keeper) => keeper,
    };
    let location = device::location(&args.device)?;
    device::check_options(&args.device, &location)?;
    let (socket, private) = match location {
        Location::Embedded => {
            let socket = folder.path().join("aned.sock");
            let private = Private::start(&args.device.options.options(), &socket)?;
            (socket, Some(private))
        }
        Location::Aned(path) => (path.unwrap_or_else(found_socket), None),
        other => {
            let what = format!("device {other} has no daemon for a client to speak with");
            let advice = "start `aned --device` for it, and name that with --device aned:PATH";
            return Err(Failure::new(Exit::CommandLine, what, advice).into());
        }
    };
    let client = Client::connect(&socket, Settings::default()).map_err(|why| {
        let advice =
            "start one with `ane daemon`, have it let you in with `aned --group`, or leave --device out";
        Failure::new(Exit::NoDevice, why, advice)
    })?;
    // A client that lists the folder of nodes is shown this one.
    let nodes = folder.path().join("accel");
    std::fs::create_dir(&nodes).and_then(|()| File::create(nodes.join(NODE))).context("making the node")?;
    let root = args.root.as_deref().map(make_root).transpose()?;
    if let Some(root) = &root {
        // Otherwise this process removes it.
        let _ = folder.include(root);
    }
    let before = private.is_none().then(|| last_failure(&client)).flatten();
    let stats = root.as_ref().and_then(|root| {
        let told = Stats::begin(&client, root);
        told.inspect_err(|why| files::tell(format_args!("--root: ane_stats is left out: {why:#}"))).ok()
    });
    let status = thread::scope(|scope| {
        let (_running, until) = mpsc::channel();
        if let Some(stats) = stats {
            scope.spawn(move || stats.keep(&until));
        }
        start(args, &keeper, &shim, &socket, &nodes)
    });
    if let Some(root) = &root {
        match root.remove() {
            Ok(()) => folder.exclude(),
            // The command's end is what counts.
            Err(why) => {
                files::tell(format_args!("--root: {why}"));
                folder.leave();
            }
        }
    }
    let (status, process) = status?;
    let failure = match private {
        Some(private) => {
            drop(client);
            private.stop()
        }
        None => last_failure(&client).filter(|told| before.as_ref() != Some(told) && is_of(told, process)),
    };
    if let Some(failure) = failure.filter(|_| !args.quiet) {
        files::tell(failure);
    }
    match status {
        Some(code) => Ok(code),
        None => {
            let limit = args.timeout.unwrap_or_default();
            files::tell(format_args!(
                "the command was ended: it ran for longer than {limit} s; give it longer with --timeout"
            ));
            Ok(ExitCode::from(TIMED_OUT))
        }
    }
}

/// Makes the names in the folder of `--root`.
fn make_root(folder: &Path) -> Result<Root> {
    Root::make(folder).map_err(|why| {
        let what = format!("--root {}", folder.display());
        let advice = match why {
            root::Error::NotEmpty => "name an empty folder, or one that is not there yet",
            root::Error::Foreign { .. } | root::Error::Open => {
                "name a folder that only you may write to, or one that is not there yet"
            }
            root::Error::System(why) => return anyhow::Error::new(why).context(what),
        };
        Failure::new(Exit::CommandLine, format!("{what}: {why}"), advice).into()
    })
}

/// The exit code where the command had its time, as `timeout` has it.
const TIMED_OUT: u8 = 124;

/// A daemon's line about the last request that failed.
fn last_failure(client: &Client) -> Option<String> {
    let told = client.report("faults").ok()?;
    let mut lines = told.lines().skip_while(|line| *line != "failure").skip(1);
    lines.next()?.strip_prefix("  ").map(printable)
}

/// True of a line about a request of the process, or of one that has ended: another client that still runs is none of
/// those that the process started and waited for.
fn is_of(told: &str, process: u32) -> bool {
    let number = told.split_once(" of process ").and_then(|(_, rest)| rest.split_once(" on "));
    let Some(number) = number.and_then(|(number, _)| number.parse::<u32>().ok()) else { return false };
    number == process || !Path::new("/proc").join(number.to_string()).exists()
}

/// Runs the command to its end, with signals passed on to it; says how it ended, and which process it was.
fn start(
    args: &Exec,
    keeper: &Keeper,
    shim: &Path,
    socket: &Path,
    nodes: &Path,
) -> Result<(Option<ExitCode>, u32)> {
    let Some((program, arguments)) = args.command.split_first() else {
        let advice = "name one behind --";
        return Err(Failure::new(Exit::CommandLine, "there is no command", advice).into());
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", preload(shim))
        .env("ANE_SHIM_SOCKET", socket)
        .env("ANE_SHIM_NODE", NODE)
        .env("ANE_SHIM_DEV", nodes);
    let child = as_before(&mut command, keeper).spawn().map_err(|why| {
        let missing = why.kind() == ErrorKind::NotFound;
        let what = format!("{}: {why}", Path::new(program).display());
        let exit = if missing { Exit::NoCommand } else { Exit::CannotStart };
        Failure::new(exit, what, "name a program that can be run")
    })?;
    let limit = args.timeout.map(Duration::from_secs_f64);
    let command = Pid::from_raw(i32::try_from(child.id()).context("the command's number")?);
    Ok((wait(command, keeper, limit)?, child.id()))
}

/// The command with the process group, the signals and the limits as if there were no daemon, which ends when the keeper is killed.
///
/// The device is here and its daemon is a thread of this process, so nothing is left for the command to compute with then.
#[expect(unsafe_code, reason = "the child's signals have to be put right between fork and exec")]
fn as_before<'a>(command: &'a mut Command, keeper: &Keeper) -> &'a mut Command {
    let (parent, mask) = (nix::unistd::getpid(), keeper.mask);
    let (soft, hard) = keeper.descriptors;
    command.process_group(keeper.group.as_raw());
    let prepare = move || {
        // The signal comes at the end of the thread that starts the command. That is the first thread, which waits for the
        // command.
        set_pdeathsig(Signal::SIGKILL)?;
        if nix::unistd::getppid() != parent {
            // It was killed before that.
            return Err(Errno::ESRCH.into());
        }
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        Ok(mask.thread_set_mask()?)
    };
    // SAFETY: all of this is system calls, which are safe between fork and exec.
    unsafe { command.pre_exec(prepare) }
}

/// How long a command that was told to end has for that.
const GRACE: Duration = Duration::from_secs(2);

/// How long after a killed command the first process may end, if the same kill is for both (Chosen: a thousand times what
/// the system takes, since others may have the processors).
const SHORTLY_MILLISECONDS: u16 = 1000;

/// The signals for a command whose time is over, one after the other.
const ENDINGS: [Signal; 2] = [Signal::SIGTERM, Signal::SIGKILL];

/// Waits for the command's end, and passes signals on to it. A command that takes longer than `limit` is ended, and has no exit code
/// then.
///
/// Processes that a command leaves behind stay. They are ended if the command took too long, or if the first process is
/// gone: then nobody knows of them.
fn wait(command: Pid, keeper: &Keeper, limit: Option<Duration>) -> Result<Option<ExitCode>> {
    let watched = keeper::watch()?;
    let mut end = limit.and_then(|limit| Instant::now().checked_add(limit));
    let mut endings = ENDINGS.into_iter();
    loop {
        if let Some(status) = descendants::reap(Some(command)).context("waiting for the command")? {
            let had_its_time = endings.len() < ENDINGS.len();
            // A group of processes is killed one after the other: the first process may be next.
            let is_killed = matches!(status, WaitStatus::Signaled(_, Signal::SIGKILL, _));
            if had_its_time || keeper.is_alone(if is_killed { SHORTLY_MILLISECONDS } else { 0 }) {
                descendants::end(None);
            }
            return Ok((!had_its_time).then(|| code(status)));
        }
        let rest = end.map(|end| end.saturating_duration_since(Instant::now()));
        if rest.is_some_and(|rest| rest.is_zero()) {
            // It may have ended just now.
            endings.next().map(|signal| kill(command, signal));
            end = (endings.len() > 0).then(|| Instant::now() + GRACE);
            continue;
        }
        // A millisecond more: what is left of the last one would be no time at all.
        let rest = rest.map_or(PollTimeout::NONE, |rest| {
            PollTimeout::try_from(rest.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX)
        });
        let mut places =
            [PollFd::new(watched.as_fd(), PollFlags::POLLIN), PollFd::new(keeper.first(), PollFlags::POLLIN)];
        match poll(&mut places, rest) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(why) => return Err(why).context("waiting for a signal"),
        }
        if places[1].any().unwrap_or_default() {
            descendants::end(None);
            return Ok(Some(ExitCode::FAILURE));
        }
        let Some(arrived) = watched.read_signal().context("waiting for a signal")? else { continue };
        // It may have ended just now.
        keeper::to_pass_on(&arrived).map(|signal| kill(command, signal));
    }
}

/// As a shell tells it.
fn code(status: WaitStatus) -> ExitCode {
    let code = match status {
        WaitStatus::Exited(_, code) => code,
        WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
        _ => 1,
    };
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The preload library, before what else is preloaded.
fn preload(shim: &Path) -> OsString {
    let mut list = shim.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        list.push(":");
        list.push(others);
    }
    list
}

fn shim() -> Result<PathBuf> {
    match find_shim() {
        Ok(path) => Ok(std::path::absolute(path)?),
        Err(why) => Err(Failure::new(Exit::NoDevice, &why, why.advice()).into()),
    }
}

/// A daemon for one command: a thread of this process, so that it ends with it whatever happens.
struct Private {
    thread: Option<JoinHandle<Result<Option<String>>>>,
    /// The daemon ends when this end of the pipe is closed.
    alive: Option<OwnedFd>,
}

impl Private {
    /// Serves a device at `socket`, where clients can connect as soon as this returns.
    fn start(options: &Options, socket: &Path) -> Result<Self> {
        let (stop, alive) = pipe2(OFlag::O_CLOEXEC).context("making a pipe")?;
        let (driver, place) = (daemon::driver(options)?, daemon::listen(socket)?);
        daemon::raise_limit();
        // The command is a child of this process and would be confined with it.
        let serve = move || daemon::serve(driver, place, POLL, stop.as_fd(), || {});
        let thread = thread::Builder::new().name("daemon".to_owned()).spawn(serve);
        Ok(Self { thread: Some(thread.context("starting a thread")?), alive: Some(alive) })
    }

    /// Ends it, and gives what it knows of the last request that failed.
    fn stop(mut self) -> Option<String> {
        self.end()
    }

    fn end(&mut self) -> Option<String> {
        drop(self.alive.take());
        // How it ended is of no interest to anybody any more.
        self.thread.take()?.join().ok()?.ok()?
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.end();
    }
}
