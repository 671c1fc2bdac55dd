//! The reports of the daemon about its driver, for the administrator.
//!
//! Lines of text, made to be read by people and easy to take apart: the words stand in a fixed order, what belongs to
//! a line is indented under it. A part that is not available now is a line `error WHY`.

mod device;

use std::fmt::Write as _;

use ane_uapi::hw::space::IovaRange;

use crate::Driver;
use crate::bus::Bus;

/// The usage that is told of the driver's own pages.
const OWN: &str = "the driver's own";

/// The names of the reports.
pub const ABOUT: &[(&str, &str)] = &[
    ("contexts", "every context in use: its processes, and under it what is mapped where and for what"),
    ("faults", "what was mapped and what the device did at the last fault, and why the last request failed"),
    ("registers", "every register that reading does not change: where it is, and what it holds"),
    ("tables", "every context, where the firmware has the programs' regions, and what the DART's tables map"),
    ("work", "how long the engine was at work for all files together, and how many requests ended"),
];

pub fn report<B: Bus>(driver: &mut Driver<B>, what: &str) -> Result<String, String> {
    match what {
        "contexts" => Ok(contexts(driver)),
        "faults" => Ok(faults(driver)),
        "registers" => Ok(device::registers(driver).unwrap_or_else(error)),
        "tables" => Ok(tables(driver)),
        "work" => Ok(work(driver)),
        _ => {
            let known: Vec<&str> = ABOUT.iter().map(|(name, _)| *name).collect();
            Err(format!("nothing is known about {what:?}; known: {}", known.join(", ")))
        }
    }
}

fn contexts<B: Bus>(driver: &Driver<B>) -> String {
    let mut text = String::new();
    for info in driver.contexts() {
        let processes: Vec<String> = info.processes.iter().map(u32::to_string).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "context {} processes {}", info.context.label(), processes.join(","));
        if let Some((rest, why)) = info.held {
            let _ = writeln!(text, "  waits {:.1} s: {why}", rest.as_secs_f64());
        }
        for mapping in info.mappings {
            let (range, usage, number) = (mapping.range, mapping.usage, mapping.mapping);
            let _ = writeln!(text, "  {}", line(range, &usage.to_string(), number));
        }
        if let Some(own) = info.own {
            let _ = writeln!(text, "  {}", line(own, OWN, 0));
        }
    }
    text
}

fn line(range: IovaRange, usage: &str, mapping: u32) -> String {
    format!("{:#x} bytes {:#x} usage {usage} mapping {mapping}", range.base().0, range.len())
}

fn error(why: String) -> String {
    format!("error {why}\n")
}

fn tables<B: Bus>(driver: &mut Driver<B>) -> String {
    let mut text = contexts(driver);
    for load in driver.loads() {
        let (dva, bytes) = (load.config.dva_base.get(), load.config.region_size.get());
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "region {dva:#x} bytes {bytes:#x} mapped {:#x}", load.config.mapped_base.get());
    }
    let in_use: Vec<_> = driver.contexts().iter().map(|info| info.context).collect();
    text.push_str(&device::tables(driver, &in_use).unwrap_or_else(error));
    text
}

/// In the lines that the driver for Apple's machines has in sysfs.
fn work<B: Bus>(driver: &Driver<B>) -> String {
    let work = driver.scheduler.work(driver.hardware.now());
    format!("busy_ns {}\njobs {}\n", work.busy.as_nanos(), work.jobs)
}

fn faults<B: Bus>(driver: &Driver<B>) -> String {
    let state = if driver.is_latched() { "latched" } else { "clear" };
    let mut text = format!("fault {state}\n");
    for (name, told) in [("dump", driver.last_dump()), ("failure", driver.last_failure())] {
        let Some(told) = told else { continue };
        let _ = writeln!(text, "{name}");
        for line in told.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}
