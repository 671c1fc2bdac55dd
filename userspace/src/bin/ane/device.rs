//! The device that a command uses, and what its errors mean for the command.

use std::time::Duration;

use ane::daemon::EmbeddedDriver;
use ane::device::{self, Device, Location};
use ane::session;
use ane_device::options::args::OptionArgs;
use anyhow::{Context, Result};
use clap::Args;

use crate::failure::{Exit, Failure};

/// A device.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The device")]
pub(crate) struct DeviceArgs {
    /// The device to use: embedded (in this process), aned or aned:PATH (the daemon at its socket), vhost-user:PATH (the
    /// socket of a vhost-device-ane), vfio:BDF, or /dev/accel/accelN [default: the value of ANE_DEVICE, or embedded]. The
    /// options below are for an embedded device
    #[arg(long, value_name = "WHERE")]
    pub(crate) device: Option<Location>,

    /// Options of an embedded device
    #[command(flatten)]
    pub(crate) options: OptionArgs,
}

/// Where the arguments, or the environment, say that the device is.
pub(crate) fn location(args: &DeviceArgs) -> Result<Location> {
    match &args.device {
        Some(location) => Ok(location.clone()),
        None => Location::of_environment().map_err(|why| {
            let what = format!("{}: {why}", device::VARIABLE);
            Failure::new(Exit::CommandLine, what, "unset it, or give --device").into()
        }),
    }
}

pub(crate) fn open(args: &DeviceArgs) -> Result<Device> {
    let location = location(args)?;
    check_options(args, &location)?;
    Device::open(&location, &args.options.options()).map_err(|why| failure(&why, &location))
}

/// Sees to it that a run can be given up in the middle of a long task: an embedded engine computes where it is waited for.
pub(crate) fn prepare_timeout(device: &Device, timeout: Option<f64>) -> Result<Option<Duration>> {
    let beside = |driver: &mut EmbeddedDriver| driver.bus_mut().device_mut().use_engine_thread();
    if timeout.is_some() {
        device.with_embedded(beside).transpose().context("--timeout")?;
    }
    Ok(timeout.map(Duration::from_secs_f64))
}

/// Refuses what a device is told when it is made, if it is there already: nobody would hear of it.
pub(crate) fn check_options(args: &DeviceArgs, location: &Location) -> Result<()> {
    if *location == Location::Embedded || args.options.are_defaults() {
        return Ok(());
    }
    let what = format!(
        "device {location} is there already, and --chip and the options behind it in --help make one"
    );
    let advice = "give them to the program that makes it, or --device embedded";
    Err(Failure::new(Exit::CommandLine, what, advice).into())
}

pub(crate) fn failure(why: &device::Error, location: &Location) -> anyhow::Error {
    let exit = if why.is_device_missing() { Exit::NoDevice } else { Exit::NotRun };
    Failure::new(exit, why, advice(why, location)).into()
}

fn advice(why: &device::Error, location: &Location) -> &'static str {
    match (why, location) {
        (device::Error::Unable { .. }, _) => "use an embedded device, or one behind a daemon",
        (_, Location::Aned(_)) if why.is_device_missing() => {
            "start one with `ane daemon`, have it let you in with `aned --group`, or leave --device out to use an embedded device"
        }
        (_, Location::VhostUser(_)) if why.is_device_missing() => {
            "start one with `vhost-device-ane --socket-path PATH`, name the daemon that has it (--device aned), or leave --device out"
        }
        (_, Location::Node(_) | Location::Vfio(_)) if why.is_device_missing() => {
            "`ane doctor` says what is missing; leave --device out to use an embedded device"
        }
        _ => "`ane doctor` checks each layer",
    }
}

pub(crate) fn session_failure(why: &session::Error, device: &Device) -> anyhow::Error {
    match why {
        session::Error::Device(why) => failure(why, device.location()),
        session::Error::TooLong(_) => Failure::new(
            Exit::NotRun,
            why,
            "give it longer with --timeout, or see with `ane info MODEL` how much it computes",
        )
        .into(),
        session::Error::Failed { .. } => {
            Failure::new(Exit::NotRun, why, "`ane decode --explain MODEL` names what the task says").into()
        }
        _ => Failure::new(Exit::Refused, why, "`ane info MODEL` lists what the program has").into(),
    }
}
