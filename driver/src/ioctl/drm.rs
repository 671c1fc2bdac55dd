//! The calls that every DRM device answers.

use ane_uapi::ioctl::drm::{DRIVER_NAME, GemClose, Version};
use ane_uapi::ioctl::errno::Errno;

use super::{Context, Result};
use crate::bus::Bus;
use crate::device::Driver;
use crate::front::Segments;

/// When the ABI was settled.
const DATE: &str = "20261121";

/// The identity of the device.
const DESCRIPTION: &str = "Apple Neural Engine (virtual)";

/// Copies a string to a client, as far as there is room; how long it is. A client without a place for it asks for that alone, whatever
/// room it says there is, as with every DRM driver.
fn copy(memory: &mut Segments, at: u64, room: u64, text: &str) -> Result<u64> {
    let room = usize::try_from(room).unwrap_or(usize::MAX).min(text.len());
    if at != 0 && room != 0 {
        let part = text.as_bytes().get(..room).unwrap_or_default();
        memory.write(at, part).map_err(|_| Errno::EFAULT)?;
    }
    Ok(text.len() as u64)
}

impl<B: Bus> Driver<B> {
    pub(super) fn version(&mut self, version: &mut Version, context: &mut Context<'_>) -> Result<()> {
        let memory = &mut *context.memory;
        let name_len = copy(memory, version.name, version.name_len, DRIVER_NAME)?;
        let date_len = copy(memory, version.date, version.date_len, DATE)?;
        let desc_len = copy(memory, version.desc, version.desc_len, DESCRIPTION)?;
        *version = Version {
            version_major: 1,
            version_minor: 0,
            version_patchlevel: 0,
            name_len,
            date_len,
            desc_len,
            ..*version
        };
        Ok(())
    }

    pub(super) fn gem_close(&mut self, close: &mut GemClose, context: &mut Context<'_>) -> Result<()> {
        self.free_buffer(context.file, close.handle)
    }
}
