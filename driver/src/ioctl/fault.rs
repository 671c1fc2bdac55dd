//! Fetching faults, and going on after one.

use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{
    FAILURE_TEXT_MAX, GetFailure, GetFault, RECOVER_RESET, RECOVER_RESUME, Recover,
};
use ane_uapi::ioctl::param::State;
use ane_uapi::ioctl::stats::Counter;

use super::{Context, Result};
use crate::bus::Bus;
use crate::device::Driver;

impl<B: Bus> Driver<B> {
    pub(super) fn get_fault(&mut self, get: &mut GetFault, context: &mut Context<'_>) -> Result<()> {
        let file = self.clients.file_mut(context.file)?;
        file.mark_read();
        let (record, remaining) = file.take_fault(get.sequence)?;
        *get = GetFault {
            sequence: record.sequence,
            fence: record.fence,
            timestamp: record.timestamp,
            flags: record.flags,
            context: record.context.number().into(),
            window: record.window.into(),
            engine_status: record.engine_status.into_bits(),
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
            reserved: 0,
            info: record.info,
        };
        Ok(())
    }

    pub(super) fn get_failure(&mut self, get: &mut GetFailure, context: &mut Context<'_>) -> Result<()> {
        let (fence, text) =
            self.clients.file(context.file)?.failures().reason(get.fence).ok_or(Errno::ENODATA)?;
        let whole = cut(text, FAILURE_TEXT_MAX);
        let fits = cut(whole, get.text_size);
        if !fits.is_empty() {
            context.memory.write(get.text, fits.as_bytes()).map_err(|_| Errno::EFAULT)?;
        }
        get.fence = fence;
        get.text_size = u32::try_from(whole.len()).unwrap_or(FAILURE_TEXT_MAX);
        Ok(())
    }

    pub(super) fn recover(&mut self, recover: &mut Recover, context: &mut Context<'_>) -> Result<()> {
        let state = self.state_of(context.file);
        let is_privileged = self.clients.file(context.file)?.user().is_privileged;
        match recover.flags {
            RECOVER_RESUME => {
                if state == State::Dead {
                    return Err(Errno::EIO);
                }
                let of = self.hardware.contexts().of(context.file);
                let park = of.and_then(|of| Some((of, self.clients.park(of)?)));
                let (of, park) = park.ok_or(Errno::EALREADY)?;
                // In a context that is shared, the fault is the affair of the file whose request it was.
                if park.file.is_some_and(|file| file != context.file) && !is_privileged {
                    return Err(Errno::EPERM);
                }
                self.clients.unpark(of);
                self.clients.count_of(context.file, Counter::Recoveries, 1);
                self.clients.announce();
                recover.state = state as u32;
                recover.cancelled = 0;
            }
            RECOVER_RESET => {
                if !is_privileged {
                    return Err(Errno::EPERM);
                }
                recover.state = state as u32;
                let cancelled = self
                    .scheduler
                    .reset(&mut self.hardware, &mut self.clients, Some(Errno::ECANCELED))
                    .ok_or(Errno::EIO)?;
                recover.cancelled = u32::try_from(cancelled).unwrap_or(u32::MAX);
                self.clients.count_of_file(context.file, Counter::Recoveries, 1);
            }
            _ => return Err(Errno::EINVAL),
        }
        self.scheduler.schedule(&mut self.hardware, &mut self.clients);
        Ok(())
    }
}

/// The beginning of the text that fits into so many bytes and ends with a whole letter.
fn cut(text: &str, bytes: u32) -> &str {
    let end = (0..=bytes as usize).rev().find(|&end| text.is_char_boundary(end.min(text.len())));
    text.get(..end.unwrap_or_default().min(text.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn text_is_cut_between_letters() {
        assert_eq!(["", "a", "a", "aé", "aé"], [0, 1, 2, 3, u32::MAX].map(|bytes| cut("aé", bytes)));
    }
}
