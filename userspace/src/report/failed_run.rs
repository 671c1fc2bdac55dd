//! A run of a program that did not reach its end, mostly by a transfer that faulted.
//!
//! Registers do not show it: a fault depends on the memory that is mapped when the program runs. The run has an embedded
//! device to itself, and inputs of zeros. Refusals and hangs are not told here; the page has them without a run.

use ane_device::engine::EngineError;
use ane_device::options::Hang;
use ane_device::tm::error::RequestError;
use ane_uapi::hw::chip::Soc;
use serde::Serialize;

use crate::container::Program;
use crate::device::{Device, Location};
use crate::model::Model;
use crate::session::{Error, Session};

/// The task that ended a run, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    pub task: u32,
    pub why: String,
}

/// Runs a program once; `None` if nothing ends it but its last task, or a refusal.
///
/// # Errors
///
/// [`Error`] of a program that is not loaded, or that fails without a task to blame.
pub fn ended(program: &Program<'_>, soc: Soc) -> Result<Option<Ended>, Error> {
    let options = ane_device::Options { chip: soc, hang: Hang::Report, ..ane_device::Options::default() };
    let device = Device::open(&Location::Embedded, &options)?;
    let mut session = Session::load(&device, &Model::of(program))?;
    let Err(error) = session.run() else { return Ok(None) };
    let failure = device
        .with_embedded(|driver| driver.bus_mut().device_mut().ane().task_manager().last_failure().copied())
        .flatten();
    let (Error::Failed { .. }, Some(failure)) = (&error, failure) else { return Err(error) };
    Ok(match failure.error {
        RequestError::Descriptor(_) | RequestError::Engine(EngineError::Refused(_)) => None,
        why => Some(Ended { task: failure.task.into(), why: why.to_string() }),
    })
}
