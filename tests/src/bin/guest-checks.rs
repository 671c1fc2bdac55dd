//! Runs in a guest: asks the device at a PCI address what `ane_tests::guest_checks` asks of any, and prints what it
//! says.
//!
//! `guest-checks BDF identity | programs FILE... | fault | round-trip | wait`; and of the daemon that owns it:
//! `guest-checks aned buffers | fault FILE | outlive FILE`

use std::process::ExitCode;
use std::time::Duration;

use ane::device::{Device, Location};
use ane_device::Options;
use ane_driver::bus::vfio::{Settings, Vfio};
use ane_driver::bus::{Bus, BusError};
use ane_tests::guest_checks::{self, client};

/// Requests that are timed.
const REQUESTS: usize = 2000;

/// How long the rings are looked at before sleeping, when polling is measured.
const POLL: Duration = Duration::from_millis(2);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("guest-checks: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [bdf, what, files @ ..] = arguments else {
        return Err("usage: guest-checks BDF identity|programs FILE...|fault|round-trip|wait".to_owned());
    };
    if bdf == "aned" {
        return ask_daemon(what, files);
    }
    let bdf = bdf.parse().map_err(|why| format!("{why}"))?;
    let open = |settings| Vfio::open(bdf, settings).map_err(|why| why.to_string());
    match what.as_str() {
        "identity" => println!("{}", guest_checks::identity(&open(Settings::default())?)),
        "programs" => {
            for file in files {
                let bytes = std::fs::read(file).map_err(|why| format!("{file}: {why}"))?;
                let name = file.rsplit('/').next().unwrap_or(file);
                println!("{}", guest_checks::program(open(Settings::default())?, name, &bytes));
            }
        }
        "fault" => println!("{}", guest_checks::fault(open(Settings::default())?)),
        "round-trip" => {
            for (name, poll) in [("sleeping", Duration::ZERO), ("polling", POLL)] {
                let mut bus = open(Settings { poll, ..Settings::default() })?;
                let times = guest_checks::round_trip(&mut bus, REQUESTS);
                println!("{name}: p50 {:?} p99 {:?}", times.median, times.p99);
            }
        }
        "wait" => {
            let mut bus = open(Settings::default())?;
            println!("waiting");
            loop {
                match bus.event(Duration::from_secs(60)) {
                    Ok(_) => {}
                    Err(BusError::HungUp) => break println!("the device is gone"),
                    Err(why) => return Err(why.to_string()),
                }
            }
        }
        other => return Err(format!("there is no check {other:?}")),
    }
    Ok(())
}

fn ask_daemon(what: &str, files: &[String]) -> Result<(), String> {
    let device = Device::open(&Location::Aned(None), &Options::default()).map_err(|why| why.to_string())?;
    match (what, files) {
        ("buffers", []) => println!("{}", client::buffers(&device)),
        ("fault", [file]) => {
            let bytes = std::fs::read(file).map_err(|why| format!("{file}: {why}"))?;
            println!("{}", client::fault(&device, &bytes));
        }
        ("outlive", [file]) => {
            let bytes = std::fs::read(file).map_err(|why| format!("{file}: {why}"))?;
            client::outlive(&device, &bytes, |what| println!("{what}"));
        }
        _ => return Err(format!("there is no check {what:?} of the daemon")),
    }
    Ok(())
}
