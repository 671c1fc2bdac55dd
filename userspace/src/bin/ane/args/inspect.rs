//! `ane dart`, `regs`, `faults`, `trace` and `explain`: what they have in common, and each.

use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;

/// What is looked into.
#[derive(Debug, Args)]
pub(crate) struct Subject {
    /// Run this program first, on random inputs; an embedded device has nothing to show without one
    pub(crate) model: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// Ask a device itself, at its control socket (vhost-device-ane --control); it does not know what belongs to whom
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Which engine, where several are behind the control socket, such as ane2
    #[arg(long, value_name = "NAME", requires = "control")]
    pub(crate) engine: Option<String>,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

/// Show what each context has mapped where
///
/// For each context: the processes that have it, and what the DART's tables map, pages that follow each other in both
/// spaces together, with what the driver mapped there and what the engine may do. A run that no mapping explains, or a
/// mapping without a run, is a driver's mistake.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane dart examples/add_relu.anec
  ane dart --device aned
  ane dart --control control.sock
  ane dart --json examples/add_relu.anec | jq '.contexts[0].mappings'")]
pub(crate) struct Dart {
    /// What is looked into
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Show every window, also where they agree
    #[arg(long)]
    pub(crate) windows: bool,
}

/// Show the registers and what they hold
///
/// Those that hold another value than after a reset, with their fields. Registers whose reading changes something are
/// left out.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane regs examples/add_relu.anec
  ane regs examples/add_relu.anec --range 'task queues' --all
  ane regs --device aned --json
  ane regs --control control.sock --range dart0")]
pub(crate) struct Regs {
    /// What is looked into
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Show only ranges whose name contains this
    #[arg(long, value_name = "NAME")]
    pub(crate) range: Option<String>,
    /// Show registers that hold their reset value, too
    #[arg(long)]
    pub(crate) all: bool,
}

/// Show the faults of a run, or the last of a device
///
/// With MODEL: runs it, and prints each fault of it with the whole descriptor, what was mapped and what the device did
/// at that moment, and why the request failed. Without: the same of a daemon, or of a device at its control socket, which
/// tells its state as well.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane faults examples/add_relu.anec --inject translation-fault:0x8000
  ane faults --device aned
  ane faults --control control.sock")]
pub(crate) struct Faults {
    /// What is looked into
    #[command(flatten)]
    pub(crate) subject: Subject,
}

/// Show what happened when
///
/// Runs MODEL and prints the engine's timeline: transfers, passes, requests. Without MODEL it prints what happened last on a
/// running device, which keeps that after --on until --off: behind `ane daemon`, behind an aned that was started with
/// --control, or at a control socket. A timeline that `--trace` wrote earlier is printed the same way.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane trace examples/add_relu.anec
  ane trace examples/add_relu.anec --json > t.json    for https://ui.perfetto.dev
  ane trace t.json
  ane trace --on --device aned
  ane trace --device aned")]
pub(crate) struct Trace {
    /// What is looked into
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Keep what happens on a running device from now on
    #[arg(long, conflicts_with = "model")]
    pub(crate) on: bool,
    /// Forget it, and keep nothing any more
    #[arg(long, conflicts_with_all = ["model", "on"])]
    pub(crate) off: bool,
}

/// Say what an address is, in each of the four address spaces
///
/// A number does not say whether it is physical, a device address (A), an offset of the engine's registers (B), or one
/// of the firmware's aperture (C); so each space tells what it has there. With MODEL, or a daemon's device, it tells
/// what is mapped, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane explain 0x1c25000
  ane explain 0x26bc25138
  ane explain 0x8000 examples/add_relu.anec")]
pub(crate) struct Explain {
    /// The address, in hexadecimal with or without 0x
    #[arg(value_parser = address)]
    pub(crate) address: u64,
    /// What is looked into
    #[command(flatten)]
    pub(crate) subject: Subject,
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits: String = digits.chars().filter(|&digit| digit != '_').collect();
    u64::from_str_radix(&digits, 16)
        .map_err(|_| "an address is a hexadecimal number such as 0x1c25000".to_owned())
}
