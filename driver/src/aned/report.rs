//! What the daemon tells about its driver, to whoever looks after it.
//!
//! Lines of text, made to be read by people and easy to take apart: the words stand in a fixed order, what belongs to
//! a line is indented under it.

use std::fmt::Write as _;

use crate::Driver;
use crate::bus::Bus;

/// What can be asked about.
pub const ABOUT: &[(&str, &str)] = &[
    ("contexts", "every context in use: its processes, and under it what is mapped where and for what"),
    ("faults", "what was mapped and what the device did at the last fault, and why the last request failed"),
];

/// Tells about `what`.
///
/// # Errors
///
/// What is known, if that is not.
pub fn report<B: Bus>(driver: &mut Driver<B>, what: &str) -> Result<String, String> {
    match what {
        "contexts" => Ok(contexts(driver)),
        "faults" => Ok(faults(driver)),
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
        for mapping in info.mappings {
            let range = mapping.range;
            let _ = writeln!(
                text,
                "  {:#x} bytes {:#x} usage {} mapping {}",
                range.base().0,
                range.len(),
                mapping.usage,
                mapping.mapping
            );
        }
    }
    text
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
