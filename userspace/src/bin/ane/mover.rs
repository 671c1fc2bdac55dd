//! `ane mover`.

use std::path::PathBuf;

use ane::device::Location;
use ane::embedded;
use ane::mover::{self, Failed, Script, Shown};
use ane_driver::bus::vhost_user::{self, VhostUser};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;

use crate::device::DeviceArgs;
use crate::failure::{Advise, Exit, Failure};
use crate::{device, files};

/// Run a transfer script on the mover
///
/// The mover copies and fills in units of 16 bytes between scratch (the on-chip buffer), configuration space and
/// instruction RAM (kernel memory). A script is text with one command in each line; it is checked as a whole before
/// the first command runs. The results of read and show are printed, and so are refusals of the mover.
///
/// Lines: scratch AT = BYTES, iram AT = BYTES, config WORD = VALUES, fill MEMORY AT BYTES VALUE, move SOURCE
/// DESTINATION SIZE DIRECTION, write REGISTER VALUE [CORE], read REGISTER [CORE], xmov THREAD [WORD], stallwait THREAD
/// BLOCK CONDITION, wait, show MEMORY AT BYTES, expect MEMORY AT = BYTES. A # begins a comment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  printf 'scratch 0 = 01 02\\nmove 0 1 1 scratch-to-scratch\\nwait\\nshow scratch 16 4\\n' | ane mover -
  ane mover --mover-profile isa --mover contended transfer.txt")]
pub(crate) struct Mover {
    /// The script; - is standard input
    pub(crate) script: PathBuf,

    /// Print the results as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Memory of a device that is made for a script, which uses none of it.
const MEMORY: usize = 1 << 20;

#[derive(Debug, Serialize)]
struct Transcript<'a> {
    script: &'a str,
    shown: &'a [Shown],
    /// Why it did not come to its end.
    failed: Option<String>,
}

pub(crate) fn run(args: &Mover) -> Result<()> {
    let name = files::name(&args.script);
    let bytes = files::read(&args.script)?;
    let text = std::str::from_utf8(&bytes)
        .with_context(|| name.clone())
        .advise(Exit::Refused, "a script is text; `ane mover --help` lists what its lines may say")?;
    let script = Script::read(text)
        .with_context(|| name.clone())
        .advise(Exit::Refused, "`ane mover --help` lists what a line may say")?;
    let mut shown = Vec::new();
    let location = device::location(&args.device)?;
    device::check_options(&args.device, &location)?;
    let outcome = match &location {
        Location::Embedded => {
            let bus = embedded::open(&args.device.options.options(), MEMORY);
            let mut bus = bus.advise(Exit::NoDevice, "see `ane mover --help` for what a device is told")?;
            mover::run(&script, &mut bus, &mut shown)
        }
        Location::VhostUser(path) => {
            let bus = VhostUser::connect(path, vhost_user::Settings::default());
            let mut bus = bus.advise(
                Exit::NoDevice,
                "start `vhost-device-ane --socket-path` there, or leave --device out",
            )?;
            mover::run(&script, &mut bus, &mut shown)
        }
        other => {
            return Err(anyhow!("a script needs the registers, which {other} does not give"))
                .advise(Exit::CommandLine, "use --device embedded or vhost-user:PATH");
        }
    };
    // The results are printed also if the script did not come to its end.
    if args.json {
        let failed = outcome.as_ref().err().map(ToString::to_string);
        files::print_json(&Transcript { script: &name, shown: &shown, failed })?;
    } else {
        let text: String = shown.iter().map(ToString::to_string).collect();
        files::print(text.as_bytes())?;
    }
    if matches!(outcome, Ok(0)) && script.has_transfers() {
        let advice = "what it printed says why";
        return Err(Failure::new(Exit::NotRun, format!("{name}: every transfer was refused"), advice).into());
    }
    let exit = match &outcome {
        Err(Failed::Differs { .. }) => Exit::Differs,
        Err(Failed::Busy { .. }) => Exit::NotRun,
        _ => Exit::NoDevice,
    };
    outcome.map(drop).with_context(|| name).advise(exit, "what it printed before shows how far it came")
}
