//! `ane dart`, `regs`, `faults`, `trace` and `explain`: looking into a device.
//!
//! Either one in this process, on which a program was run just before, or a daemon's.

mod dart;
mod explain;
mod faults;
mod regs;
mod trace;

use std::path::Path;
use std::path::PathBuf;

use ane::device::{Device, Error as DeviceError, Location};
use ane::inspect::{Control, ReportError, Source};
use ane::session::{self, Session};
use anyhow::{Context, Result};
use clap::Args;
pub(crate) use dart::{Dart, run as dart};
pub(crate) use explain::{Explain, run as explain};
pub(crate) use faults::{Faults, run as faults};
pub(crate) use regs::{Regs, run as regs};
pub(crate) use trace::{Trace, run as trace};

use crate::device::DeviceArgs;
use crate::failure::{Exit, Failure};
use crate::{device, files, run};

/// The device to inspect.
#[derive(Clone, Debug, Args)]
pub(crate) struct Subject {
    /// Run this program first, on random inputs; an embedded device shows nothing without it
    pub(crate) model: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask a device at its control socket (vhost-device-ane --control); it does not know which process has which context.
    /// Without MODEL, --device and its options do not go with it
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Engine, such as ane2, if several are behind the control socket
    #[arg(long, value_name = "NAME", requires = "control")]
    pub(crate) engine: Option<String>,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// A device to look into, and what was run on it.
pub(crate) struct Seen {
    pub(crate) source: Source,
    /// The file on which the program was run; nothing is opened at a control socket.
    pub(crate) device: Option<Device>,
    /// Keeps what is mapped.
    _session: Option<Session>,
    pub(crate) failure: Option<session::Error>,
}

impl Seen {
    /// The device of the arguments, after a run of their program.
    pub(crate) fn of(subject: &Subject) -> Result<Self> {
        let (device, source) = opened(subject)?;
        let Some((model, device)) = subject.model.as_deref().zip(device.as_ref()) else {
            return Ok(Self { source, device, _session: None, failure: None });
        };
        let (session, outcome) = run_on(device, model)?;
        let device = Some(device.clone());
        Ok(Self { source, device, _session: Some(session), failure: outcome.err() })
    }
}

/// The device of the arguments, and whom to ask about it.
fn opened(subject: &Subject) -> Result<(Option<Device>, Source)> {
    let is_embedded = device::location(&subject.device)? == Location::Embedded;
    let control = subject.control.as_ref().map(|path| Control::at(path, subject.engine.as_deref()));
    let missing = |what, advice: &'static str| Failure::new(Exit::CommandLine, what, advice).into();
    match (control, &subject.model) {
        (Some(control), None) => {
            check_unopened(&subject.device)?;
            Ok((None, Source::Control(control)))
        }
        (Some(_), Some(_)) if is_embedded => {
            let what = "a control socket is of a device in another process, and MODEL would run in this one";
            Err(missing(what, "give the --device that the socket belongs to, or leave MODEL out"))
        }
        (None, None) if is_embedded => {
            let what = "an embedded device has nothing to show before a program ran on it";
            Err(missing(what, "name a MODEL to run, a --device, or the --control socket of one"))
        }
        (control, _) => {
            let device = device::open(&subject.device)?;
            let source = control.map_or_else(|| Source::Driver(device.clone()), Source::Control);
            Ok((Some(device), source))
        }
    }
}

/// Refuses what a device is named by and told where none is opened: a control socket belongs to one.
fn check_unopened(args: &DeviceArgs) -> Result<()> {
    if args.device.is_none() && args.options.are_defaults() {
        return Ok(());
    }
    let what = "--control asks the device at the socket, and --device, --chip and the options behind it in --help name or \
                make another";
    Err(Failure::new(Exit::CommandLine, what, "leave them out, or name a MODEL to run on --device").into())
}

/// The error of a command whose source gave no report.
pub(crate) fn no_report(why: ReportError) -> anyhow::Error {
    let advice = match &why {
        ReportError::Device(DeviceError::Forbidden { .. }) => "only root and the daemon's own user are told",
        ReportError::Device(why) if why.is_device_missing() => {
            "`ane doctor` says what is missing; leave --device out and name a MODEL"
        }
        ReportError::Device(_) => "`ane doctor` checks each layer",
        ReportError::Unknown { .. } => {
            "ask the device with --control SOCKET, start aned with its --control, or leave --device out and name a MODEL"
        }
        ReportError::Refused(_) => {
            "a timeline begins with `ane trace --on`, and --engine names one of several engines; ask again when it is there"
        }
        ReportError::Control { .. } => {
            "start a device with `vhost-device-ane --control SOCKET`, as the same user"
        }
        ReportError::Nonsense { .. } => "who answers may be of another version; start it again",
    };
    Failure::new(Exit::NoDevice, why, advice).into()
}

/// Runs a program on random inputs; how it ended is for the caller to tell.
pub(crate) fn run_on(device: &Device, model: &Path) -> Result<(Session, Result<(), session::Error>)> {
    run_bytes_on(device, model, &files::read(model)?)
}

/// The same with the program's bytes, out of the file of that name.
pub(crate) fn run_bytes_on(
    device: &Device,
    model: &Path,
    bytes: &[u8],
) -> Result<(Session, Result<(), session::Error>)> {
    let loaded = run::loaded(model, bytes)?;
    let mut session = Session::load(device, &loaded)
        .map_err(|why| device::session_failure(&why, device))
        .with_context(|| files::name(model))?;
    run::inputs::set_random(&mut session, device)?;
    let outcome = session.run();
    Ok((session, outcome))
}
