//! A run of a program that did not reach its end, mostly by a transfer that faulted.
//!
//! Registers do not show it: a fault depends on the memory that is mapped when the program runs. The run has an embedded
//! device to itself, and inputs of zeros. Refusals and hangs are not told here; the page has them without a run.

use ane_device::options::Hang;
use ane_uapi::hw::chip::Soc;
use serde::Serialize;

use crate::container::Program;
use crate::device::{Device, Location};
use crate::model::Model;
use crate::refusals::Refusal;
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
    let Error::Failed { failure: Some(failure), .. } = error else { return Err(error) };
    Ok(match Refusal::of(&failure) {
        Some(_) => None,
        None => Some(Ended { task: failure.task.into(), why: failure.error.to_string() }),
    })
}
