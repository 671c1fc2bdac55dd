//! A device, as client programs use it.
//!
//! A [`Device`] is an open file of a driver, wherever that is ([`Location`]): in this process, behind a daemon's socket,
//! or in the kernel. The calls are the same everywhere, those of [`ane_uapi::ioctl`]; what is here puts types around
//! them. Closing is dropping: a file's buffers, programs and requests end with it.
//!
//! * [`Buffer`]: shared memory, written and read by copies.
//! * [`Fence`]: a request on its way.
//! * [`Fault`] and [`Statistics`]: what went wrong, and what was counted.
//! * [`Session`](crate::session::Session) is a program on a device, and usually all one needs.

mod aned;
mod buffer;
mod connection;
mod error;
mod fault;
mod fence;
mod in_process;
mod location;
mod mapping;
mod node;
mod open;
#[cfg(test)]
mod refusing;
mod statistics;

use std::fmt;
use std::sync::Arc;

use ane_uapi::abi::AbiStruct;
use ane_uapi::ioctl::number::Ioctl;
use ane_uapi::ioctl::param::{self, GetParam, Param};
use zerocopy::FromZeros;

pub use buffer::Buffer;
pub use error::Error;
pub use fault::Fault;
pub use fence::{Fence, Outcome, WaitFor};
pub use location::{BadLocation, Location, VARIABLE};
pub use mapping::Outside;
pub use statistics::{Scope, Statistics};

pub use crate::daemon::EmbeddedDriver;

use connection::{Connection, Failed};
use in_process::Shared;

/// An open file of a device. Clones are the same file; [`Device::again`] opens another.
#[derive(Clone)]
pub struct Device {
    open: Arc<Open>,
}

struct Open {
    location: Location,
    connection: Box<dyn Connection>,
    /// Driver and device, where both are in this process.
    embedded: Option<Arc<Shared<EmbeddedDriver>>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("location", &self.open.location).finish_non_exhaustive()
    }
}

impl Device {
    fn new(location: Location, connection: Box<dyn Connection>) -> Self {
        Self { open: Arc::new(Open { location, connection, embedded: None }) }
    }

    /// Another file of the same device, with a context, buffers and fences of its own.
    pub fn again(&self) -> Result<Self, Error> {
        let open = Open {
            location: self.open.location.clone(),
            connection: self.connection().again()?,
            embedded: self.open.embedded.clone(),
        };
        Ok(Self { open: Arc::new(open) })
    }

    pub fn location(&self) -> &Location {
        &self.open.location
    }

    /// Makes a call. The argument points into the slices of `memory`, by their addresses.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] or [`Error::Gone`]; the argument and the slices hold what the driver wrote also then.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use ane::device::{Device, Location};
    /// use ane_uapi::ioctl::param::{GET_PARAM, GetParam, Param};
    ///
    /// # fn ask(device: &Device) -> Result<(), ane::device::Error> {
    /// let mut argument = GetParam { param: Param::Engines as u32, reserved: 0, value: 0 };
    /// device.call(&GET_PARAM, &mut argument, &mut [])?;
    /// println!("{} neural engines", argument.value);
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<T: AbiStruct>(
        &self,
        call: &'static Ioctl,
        argument: &mut T,
        memory: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        debug_assert_eq!(size_of::<T>(), usize::from(call.decoded().size), "{}", call.c_name);
        let outcome = self.connection().ioctl(call.number, argument.as_mut_bytes(), memory);
        outcome.map_err(|failed| match failed {
            Failed::Code(code) => Error::Refused { call, code },
            Failed::Gone(why) => Error::Gone { why },
        })
    }

    /// Asks for a parameter.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the driver is older than the parameter, or [`Error::Gone`].
    pub fn parameter(&self, param: Param) -> Result<u64, Error> {
        let mut argument = GetParam::new_zeroed();
        argument.param = param as u32;
        self.call(&param::GET_PARAM, &mut argument, &mut [])?;
        Ok(argument.value)
    }

    /// The other side's report about driver and device besides the calls, if it has one of this name.
    ///
    /// # Errors
    ///
    /// [`Error::Forbidden`] if it does not tell this user, [`Error::Failed`], or [`Error::Gone`].
    pub fn report(&self, what: &str) -> Result<Option<String>, Error> {
        self.connection().report(what)
    }

    fn connection(&self) -> &dyn Connection {
        &*self.open.connection
    }
}

/// The address of a slice, for an argument that points to it.
pub(crate) fn address(slice: &[u8]) -> u64 {
    slice.as_ptr().addr() as u64
}
