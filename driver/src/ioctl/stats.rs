//! Counters, as clients get them.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::stats::{Counter, GetStats, STATS_DEVICE, STATS_FILE, STATS_MAX};

use super::argument::{put, unless};
use super::{Context, Result};
use crate::bus::Bus;
use crate::clients::add_events;
use crate::device::Driver;
use crate::front::FileId;
use crate::stats::{COUNT, Counters};

impl<B: Bus> Driver<B> {
    pub(super) fn get_stats(&mut self, get: &mut GetStats, context: &mut Context<'_>) -> Result<()> {
        unless(get.count > STATS_MAX, Errno::E2BIG)?;
        let counters = match get.scope {
            STATS_FILE => self.file_counters(context.file)?,
            STATS_DEVICE => {
                self.may_see_all(context.file)?;
                self.device_counters()
            }
            _ => return Err(Errno::EINVAL),
        };
        let wanted = get.count as usize;
        // All of it is there, or nothing is written.
        let bytes = super::argument::bytes_of::<u64>(get.count);
        if wanted != 0 {
            context.memory.read(get.counters, bytes).map_err(|_| Errno::EFAULT)?;
        }
        let values = counters.values().iter().copied().chain(std::iter::repeat(0));
        for (index, value) in values.take(wanted).enumerate() {
            put(context.memory, get.counters, index, &value)?;
        }
        get.count = u32::try_from(COUNT).unwrap_or(u32::MAX);
        Ok(())
    }

    /// The counters of a file. Those of memory are its context's.
    fn file_counters(&self, file: FileId) -> Result<Counters> {
        let mut counters = self.clients.file(file)?.counters();
        if let Some(context) = self.hardware.contexts().of(file) {
            self.add_memory(&mut counters, context);
        }
        Ok(counters)
    }

    /// Counters of the whole device show when another user runs something, so only a privileged user may read them.
    fn may_see_all(&self, file: FileId) -> Result<()> {
        let user = self.clients.file(file)?.user();
        unless(!user.is_privileged, Errno::EPERM)
    }

    /// The counters of all files that were ever open.
    fn device_counters(&self) -> Counters {
        let mut counters = *self.clients.counters();
        for context in ContextId::ALL {
            self.add_memory(&mut counters, context);
        }
        counters
    }

    fn add_memory(&self, counters: &mut Counters, context: ContextId) {
        let Some(space) = self.hardware.contexts().space(context) else { return };
        let of = space.counters();
        counters.add(Counter::Buffers, of.buffers);
        counters.add(Counter::BufferBytes, of.buffer_bytes);
        counters.add(Counter::MappedBytes, of.mapped_bytes);
        add_events(counters, &of);
    }
}
