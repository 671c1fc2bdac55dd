//! Fetching faults, and going on after one.

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{GetFault, RECOVER_RESET, RECOVER_RESUME, Recover};
use ane_uapi::ioctl::param::State;
use ane_uapi::ioctl::stats::Counter;

use super::Context;
use crate::bus::Bus;
use crate::device::Driver;

impl<B: Bus> Driver<B> {
    pub(super) fn get_fault(&mut self, get: &mut GetFault, context: &mut Context<'_>) -> Result<(), Errno> {
        let file = self.files.get_mut(&context.file).ok_or(Errno::ENODEV)?;
        file.is_readable = false;
        let at = match get.sequence {
            0 => 0,
            wanted => {
                file.faults.iter().position(|record| record.sequence == wanted).ok_or(Errno::ENODATA)?
            }
        };
        let record = file.faults.remove(at).ok_or(Errno::ENODATA)?;
        *get = GetFault {
            sequence: record.sequence,
            fence: record.fence,
            timestamp: record.timestamp,
            flags: record.flags,
            context: record.context.number().into(),
            window: record.window.into(),
            engine_status: record.engine_status.into_bits(),
            remaining: u32::try_from(file.faults.len()).unwrap_or(u32::MAX),
            reserved: 0,
            info: record.info,
        };
        Ok(())
    }

    pub(super) fn recover(&mut self, recover: &mut Recover, context: &mut Context<'_>) -> Result<(), Errno> {
        let state = self.state_of(context.file);
        let is_privileged = self.files.get(&context.file).ok_or(Errno::ENODEV)?.who.user.is_privileged;
        match recover.flags {
            RECOVER_RESUME => {
                if state == State::Dead {
                    return Err(Errno::EIO);
                }
                let of = self.contexts.of(context.file);
                let park = of.and_then(|of| Some((of, self.faults.park(of)?)));
                let (of, park) = park.ok_or(Errno::EALREADY)?;
                // In a context that is shared, the fault is the affair of the file whose request it was.
                if park.file.is_some_and(|file| file != context.file) && !is_privileged {
                    return Err(Errno::EPERM);
                }
                self.faults.unpark(of);
                self.recovered(context);
                recover.state = state as u32;
                recover.cancelled = 0;
            }
            RECOVER_RESET => {
                if !is_privileged {
                    return Err(Errno::EPERM);
                }
                recover.state = state as u32;
                let cancelled = self.reset_for(Some(Errno::ECANCELED)).ok_or(Errno::EIO)?;
                recover.cancelled = u32::try_from(cancelled).unwrap_or(u32::MAX);
                if let Some(file) = self.files.get_mut(&context.file) {
                    file.counters.add(Counter::Recoveries, 1);
                }
            }
            _ => return Err(Errno::EINVAL),
        }
        self.schedule();
        Ok(())
    }

    fn recovered(&mut self, context: &Context<'_>) {
        if let Some(file) = self.files.get_mut(&context.file) {
            file.counters.add(Counter::Recoveries, 1);
        }
        self.counters.add(Counter::Recoveries, 1);
        self.news = self.news.wrapping_add(1);
    }
}
