//! A device in this process that serves other processes: the work of `ane daemon`.
//!
//! The server is the driver's, the same that `aned` runs before a device elsewhere; here the engine runs on the thread
//! that serves, one task between two rounds of clients. The long parts of a task are computed on another thread, so
//! that this one goes on with other clients, the end of the task's own client, deadlines, and the signal that ends the
//! daemon.

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

/// A server that has opened all that it needs of the system. A program that confines itself does it now.
pub fn ready(
    mut driver: EmbeddedDriver,
    place: Place,
    settings: Settings<EmbeddedDriver>,
) -> Result<Server<EmbeddedDriver>, Error> {
    driver.bus_mut().device_mut().use_engine_thread()?;
    Ok(Server::new(driver, place, settings)?)
}
