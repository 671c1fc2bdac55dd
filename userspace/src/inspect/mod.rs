//! Looking into a driver and its device, where both are in one process.
//!
//! What is seen is told as values that serialise, so that a daemon can tell another process the same that a command sees
//! in its own.
//!
//! * [`Tables`]: what each context has mapped where, by the driver's books and by the tables in memory;
//! * [`Registers`]: every register with its value;
//! * [`Faults`]: the last fault, and why the last request failed;
//! * [`explain`]: an address, in each of the four spaces.

pub mod explain;
mod registers;
mod tables;

use ane_driver::aned;
use serde::{Deserialize, Serialize};

pub use registers::{FieldValue, RegisterValue, Registers};
pub use tables::{ContextTables, MappedRun, Mapping, Region, Tables, Translation};

use crate::daemon::EmbeddedDriver;

/// What there is to tell about faults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// A context waits for recovery.
    pub is_latched: bool,
    /// What was mapped and what the device did at the last fault.
    pub dump: Option<String>,
    /// Why the last request failed.
    pub failure: Option<String>,
    /// The device's state in words.
    pub device: String,
}

impl Faults {
    /// What there is to tell now.
    pub fn of(driver: &mut EmbeddedDriver) -> Self {
        let failure = {
            let ane = driver.bus_mut().device_mut().ane();
            ane.task_manager().last_failure().map(ToString::to_string)
        };
        Self {
            is_latched: driver.is_latched(),
            dump: driver.last_dump().map(str::to_owned),
            failure,
            device: driver.bus_mut().device_mut().ane().dump(),
        }
    }
}

/// What can be asked about, as JSON, besides what [`ane_driver::aned::report`] tells.
pub const ABOUT: &[(&str, &str)] = &[
    ("tables", "what each context has mapped, by the driver's books and by the tables in memory"),
    ("registers", "every register with its value"),
    ("faulted", "the last fault, why the last request failed, and the device's state"),
];

/// Tells about `what`: what a daemon answers to `ane dart` and its kin.
///
/// # Errors
///
/// What is known, if that is not.
pub fn report(driver: &mut EmbeddedDriver, what: &str) -> Result<String, String> {
    let json = match what {
        "tables" => serde_json::to_string(&Tables::of(driver)),
        "registers" => serde_json::to_string(&Registers::of(driver)),
        "faulted" => serde_json::to_string(&Faults::of(driver)),
        _ => return aned::report::report(driver, what),
    };
    json.map_err(|why| why.to_string())
}
