//! Looking into a driver and its device, wherever they are.
//!
//! Three can be asked, and all of them tell in the same lines of text, so that a command shows the same of each:
//!
//! * a driver in this process, through its [`Device`];
//! * a daemon, `aned` or `ane daemon`, through its [`Device`] as well;
//! * a device itself, through its control socket ([`Control`]). It knows nothing of clients, so what belongs to whom is
//!   not told.
//!
//! [`Source`] asks, and these read what is told:
//!
//! * [`Tables`]: what each context has mapped where, by the driver's books and by the tables in memory;
//! * [`Registers`]: every register with its value;
//! * [`Faults`]: the last fault, and why the last request failed;
//! * [`Timeline`]: what happened last;
//! * [`explain`]: an address, in each of the four spaces.

mod control;
pub mod explain;
mod faults;
mod registers;
mod tables;
mod timeline;

use ane_driver::report as driver_report;
use thiserror::Error;

pub use control::Control;
pub use faults::Faults;
pub use registers::{FieldValue, RegisterValue, Registers};
pub use tables::{ContextTables, MappedRun, Mapping, Region, Tables, Translation};
pub use timeline::Timeline;

use crate::daemon::EmbeddedDriver;
use crate::decode::is_upsetting;
use crate::device::{self, Device};

#[derive(Debug)]
pub enum Source {
    /// The driver behind an open file, and the device as far as the driver sees it.
    Driver(Device),
    Control(Control),
}

#[derive(Debug, Error)]
pub enum ReportError {
    #[error("device {whom} does not tell about its {what}")]
    Unknown { whom: String, what: String },
    /// It cannot be told just now, or not to this user.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Device(#[from] device::Error),
    #[error("control socket {socket}: {why}")]
    Control { socket: String, why: std::io::Error },
    #[error("device's report of {what} has line {line:?}, which is not understood")]
    Nonsense { what: &'static str, line: String },
}

impl Source {
    /// The lines of the report `what`. They come from another process, so nothing in them drives a terminal.
    pub fn report(&self, what: &str) -> Result<String, ReportError> {
        let text = match self {
            Self::Control(control) => control.ask(what)?,
            Self::Driver(device) => device.report(what)?.ok_or_else(|| {
                let (whom, what) = (device.location().to_string(), what.to_owned());
                ReportError::Unknown { whom, what }
            })?,
        };
        let text = text.replace(|c: char| is_upsetting(c) && c != '\n', " ");
        match text.strip_prefix("error ") {
            Some(why) => Err(ReportError::Refused(why.trim_end().to_owned())),
            None => Ok(text),
        }
    }

    /// The source of the timeline: a daemon that stands before a device in another process names that one's
    /// control socket.
    pub fn timekeeper(self) -> Result<Self, ReportError> {
        if matches!(self, Self::Control(_)) {
            return Ok(self);
        }
        match self.report("control") {
            Ok(socket) => Ok(Self::Control(Control::at(socket.trim_end(), None))),
            Err(ReportError::Unknown { .. }) => Ok(self),
            Err(why) => Err(why),
        }
    }
}

/// Tells about `what`, where driver and device are in one process: what a driver tells anywhere, what the device says of
/// a request that failed, and the device's timeline.
pub fn report(driver: &mut EmbeddedDriver, what: &str) -> Result<String, String> {
    let text = match what {
        "trace on" | "trace off" => {
            driver.bus_mut().device_mut().keep_timeline(what == "trace on");
            String::new()
        }
        "timeline" => driver
            .bus_mut()
            .device_mut()
            .timeline()
            .unwrap_or_else(|| "error no timeline is kept; `ane trace --on` begins one\n".to_owned()),
        "faults" => {
            let mut text = driver_report::report(driver, what)?;
            if let Some(reason) = driver.bus_mut().device_mut().ane().task_manager().last_failure() {
                text.push_str(&format!("reason\n  {reason}\n"));
            }
            text
        }
        _ => return driver_report::report(driver, what),
    };
    Ok(text)
}
