//! Buffers: memory that the client and the engine share.

use std::sync::{Mutex, OnceLock, PoisonError};

use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{self, BoCreate, BoInfo};
use ane_uapi::ioctl::drm::{self, GemClose};
use half::f16;
use zerocopy::{FromZeros, IntoBytes};

use super::Device;
use super::error::Error;
use super::mapping::Mapping;
use crate::tensor::tile::{self, Layout};

/// A buffer of a file. It is zeroed when it is made and goes when it is dropped, once no request uses it.
///
/// The engine changes it at any time, so bytes are copied in and out, and nothing refers to them.
#[derive(Debug)]
pub struct Buffer {
    device: Device,
    handle: u32,
    bytes: u64,
    map_offset: u64,
    mapping: OnceLock<Mapping>,
    /// Held while it is mapped: the driver counts mappings, and only one is given back.
    making: Mutex<()>,
}

impl Buffer {
    /// A buffer of at least `bytes` bytes, for the use that is said.
    pub fn new(device: &Device, bytes: u64, usage: Usage) -> Result<Self, Error> {
        Self::with_flags(device, bytes, usage, 0)
    }

    /// The same with flags of [`ane_uapi::ioctl::buffer`], such as `BO_SCATTERED`.
    pub fn with_flags(device: &Device, bytes: u64, usage: Usage, flags: u32) -> Result<Self, Error> {
        let mut create = BoCreate::new_zeroed();
        (create.size, create.usage, create.flags) = (bytes, usage as u32, flags);
        device.call(&buffer::BO_CREATE, &mut create, &mut [])?;
        Ok(Self {
            device: device.clone(),
            handle: create.handle,
            bytes: create.size,
            map_offset: create.map_offset,
            mapping: OnceLock::new(),
            making: Mutex::new(()),
        })
    }

    /// The handle, for calls that are not wrapped here.
    pub const fn handle(&self) -> u32 {
        self.handle
    }

    /// How many bytes it has: whole pages.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn info(&self) -> Result<BoInfo, Error> {
        let mut info = BoInfo::new_zeroed();
        info.handle = self.handle;
        self.device.call(&buffer::BO_INFO, &mut info, &mut [])?;
        Ok(info)
    }

    pub fn write(&self, at: u64, from: &[u8]) -> Result<(), Error> {
        Ok(self.mapping()?.write(at, from)?)
    }

    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Error> {
        Ok(self.mapping()?.read(at, into)?)
    }

    /// Puts dense values where the engine looks for them.
    pub fn tile(&self, layout: &Layout, from: &[f16]) -> Result<(), Error> {
        Ok(layout.tile(from.as_bytes(), &mut self.mapping()?).map_err(tile::Error::from)?)
    }

    /// Takes dense values from where the engine put them.
    pub fn untile(&self, layout: &Layout, into: &mut [f16]) -> Result<(), Error> {
        Ok(layout.untile(&self.mapping()?, into.as_mut_bytes()).map_err(tile::Error::from)?)
    }

    fn mapping(&self) -> Result<&Mapping, Error> {
        if let Some(mapping) = self.mapping.get() {
            return Ok(mapping);
        }
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if let Some(mapping) = self.mapping.get() {
            return Ok(mapping);
        }
        let mapping = self.device.connection().map(self.map_offset, self.bytes)?;
        Ok(self.mapping.get_or_init(|| mapping))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.mapping.take().is_some() {
            self.device.connection().unmap(self.map_offset, self.bytes);
        }
        let mut close = GemClose { handle: self.handle, padding: 0 };
        // If the device is gone, so is the buffer.
        let _ = self.device.call(&drm::GEM_CLOSE, &mut close, &mut []);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use ane_device::Options;
    use ane_uapi::ioctl::stats::Counter;

    use super::*;
    use crate::device::{Location, Scope};

    #[test]
    fn buffer_that_several_threads_touch_first_goes_with_its_owner() {
        const THREADS: usize = 8;
        let device = Device::open(&Location::Embedded, &Options::default()).unwrap();
        let held = || device.statistics(Scope::Device).unwrap().get(Counter::Buffers);
        let before = held();
        for _ in 0..100 {
            let buffer = Buffer::new(&device, 1 << 14, Usage::Input).unwrap();
            let together = Barrier::new(THREADS);
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    scope.spawn(|| {
                        together.wait();
                        buffer.write(0, &[1]).unwrap();
                    });
                }
            });
        }
        assert_eq!(held(), before);
    }
}
