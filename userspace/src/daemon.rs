//! A device in this process that serves other processes: what `ane daemon` is.
//!
//! The server is the driver's, the same that `aned` runs before a device elsewhere; here the engine runs on the thread
//! that serves, one task between two rounds of clients. What of a task takes long is computed beside that thread, so that
//! it goes on serving: other clients, the end of the one whose task it is, deadlines, and the signal that ends the daemon.

use std::io;
use std::os::fd::BorrowedFd;

use ane_device::Options;
use ane_driver::{Driver, ProbeError};
use aned::place::Place;
use aned::server::{Server, Settings};
use thiserror::Error;

use crate::embedded;

/// Bytes of the driver's own memory: page tables of eight full contexts have 2 MiB each. Buffers lie elsewhere.
const MEMORY_BYTES: usize = 32 << 20;

pub type EmbeddedDriver = Driver<embedded::InProcess>;

#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Device(#[from] embedded::Error),
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("serving: {0}")]
    System(#[from] io::Error),
}

pub fn driver(options: &Options) -> Result<EmbeddedDriver, Error> {
    Ok(Driver::probe(embedded::open(options, MEMORY_BYTES)?)?)
}

/// Serves a driver at `place` until `stop` is readable, and gives the driver back.
pub fn serve(
    driver: EmbeddedDriver,
    place: Place,
    settings: Settings<EmbeddedDriver>,
    stop: BorrowedFd<'_>,
) -> Result<EmbeddedDriver, Error> {
    Ok(ready(driver, place, settings)?.run(stop)?)
}

/// A server that has all it needs of the system but what serving needs: whoever confines itself does it now.
pub fn ready(
    mut driver: EmbeddedDriver,
    place: Place,
    settings: Settings<EmbeddedDriver>,
) -> Result<Server<EmbeddedDriver>, Error> {
    driver.bus_mut().device_mut().compute_beside()?;
    Ok(Server::new(driver, place, settings)?)
}
