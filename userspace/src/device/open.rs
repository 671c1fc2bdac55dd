//! Opening a device where it is.

use std::path::Path;
use std::sync::Arc;

use ane_device::Options;
use ane_driver::Driver;
use ane_driver::bus::Bus;
use ane_driver::bus::vfio::{self, BadBdf, Bdf, Vfio};
use ane_driver::bus::vhost_user::{self, VhostUser};
use ane_driver::front::Files;
use ane_uapi::ioctl::errno::Errno;

use super::aned::Aned;
use super::connection::Connection;
use super::error::Error;
use super::in_process::{InProcess, Shared};
use super::location::Location;
use super::node::DeviceNode;
use super::{Device, Open};
use crate::daemon::{self, EmbeddedDriver};
use crate::inspect;

impl Device {
    /// Opens a file of the device at `location`. The options are those of a device that is made for it; one that is
    /// there already has its own.
    ///
    /// # Examples
    ///
    /// ```
    /// use ane::device::{Device, Location};
    /// use ane_device::Options;
    /// use ane_uapi::ioctl::param::Param;
    ///
    /// let device = Device::open(&Location::Embedded, &Options::default())?;
    /// assert_eq!(device.parameter(Param::PageSize)?, 0x4000);
    /// # Ok::<(), ane::device::Error>(())
    /// ```
    pub fn open(location: &Location, options: &Options) -> Result<Self, Error> {
        let failed = |why| Error::Open { location: location.clone(), why };
        match location {
            Location::Embedded => {
                Self::over_embedded(daemon::driver(options).map_err(|why| failed(why.into()))?)
            }
            Location::Aned(path) => {
                let aned = Aned::connect(path.as_deref()).map_err(|why| failed(why.into()))?;
                Ok(Self::new(location.clone(), Box::new(aned)))
            }
            Location::VhostUser(path) => {
                let bus = VhostUser::connect(path, vhost_user::Settings::default());
                let bus = bus.map_err(|why| failed(why.into()))?;
                Self::over_driver(location, Driver::probe(bus).map_err(|why| failed(why.into()))?)
            }
            Location::Vfio(function) => {
                let bdf: Bdf = function.parse().map_err(|why: BadBdf| failed(why.into()))?;
                let bus = Vfio::open(bdf, vfio::Settings::default()).map_err(|why| failed(why.into()))?;
                Self::over_driver(location, Driver::probe(bus).map_err(|why| failed(why.into()))?)
            }
            Location::Node(path) => Self::node(path),
        }
    }

    /// A file of a driver in this process.
    pub fn over(location: Location, files: impl Files + Send + 'static) -> Result<Self, Error> {
        let opened = file_of(&location, Arc::new(Shared::new(files, None)))?;
        Ok(Self::new(location, opened))
    }

    fn over_driver<B: Bus + Send + 'static>(location: &Location, driver: Driver<B>) -> Result<Self, Error> {
        let shared = Shared::new(driver, Some(ane_driver::report::report));
        Ok(Self::new(location.clone(), file_of(location, Arc::new(shared))?))
    }

    fn over_embedded(driver: EmbeddedDriver) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new(driver, Some(inspect::report)));
        let connection = file_of(&Location::Embedded, Arc::clone(&shared))?;
        let open = Open { location: Location::Embedded, connection, embedded: Some(shared) };
        Ok(Self { open: Arc::new(open) })
    }

    pub fn node(path: &Path) -> Result<Self, Error> {
        let location = Location::Node(path.to_owned());
        match DeviceNode::open(path) {
            Ok(node) => Ok(Self::new(location, Box::new(node))),
            Err(why) => Err(Error::Open { location, why: why.into() }),
        }
    }

    /// Does something with driver and device, if both are in this process: look at registers, arm a fault.
    pub fn with_embedded<R>(&self, action: impl FnOnce(&mut EmbeddedDriver) -> R) -> Option<R> {
        self.open.embedded.as_ref().map(|shared| action(&mut shared.lock()))
    }
}

fn file_of<F: Files + Send + 'static>(
    location: &Location,
    shared: Arc<Shared<F>>,
) -> Result<Box<dyn Connection>, Error> {
    let opened = InProcess::open(shared);
    let failed = |errno: Errno| Error::Open { location: location.clone(), why: errno.to_string().into() };
    Ok(Box::new(opened.map_err(failed)?))
}
