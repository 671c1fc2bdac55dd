//! Declarations of mappings. The device is told of the end of a mapping, so that it drops the translations that it keeps. A
//! device that checks is also told what each mapping is for.

use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::sideband::Declaration;

use super::space::Space;
use crate::bus::{Bus, BusError};
use crate::dart::Controller;
use crate::mem::Run;

/// Declarations that pile up before the device is told of them when the next mapping is made (Chosen).
const DECLARATIONS: usize = 256;

impl Space {
    /// Notes that the device has to hear of a mapping, or of its end.
    pub(super) fn declare(&mut self, place: Run, usage: Option<Usage>) {
        if let Some(range) = crate::dart::range(place).filter(|_| self.is_checking) {
            self.declarations.push(Declaration::new(self.mapper.context().stream(), range, usage));
        }
    }

    /// Declares all mappings again, after a reset in which the device forgot them.
    pub(crate) fn declare_again(&mut self) {
        self.declarations.clear();
        if self.is_checking {
            let stream = self.mapper.context().stream();
            let own = self.own_range().map(|range| (range, Usage::Program));
            let all = self.mappings().map(|(.., range, usage)| (range, usage)).chain(own);
            self.declarations =
                all.map(|(range, usage)| Declaration::new(stream, range, Some(usage))).collect();
        }
    }

    /// Tells the device what it has to hear if that is much.
    pub(super) fn tell(&mut self, bus: &mut impl Bus) -> Result<(), BusError> {
        if self.declarations.len() < DECLARATIONS {
            return Ok(());
        }
        self.tell_all(bus)
    }

    fn tell_all(&mut self, bus: &mut impl Bus) -> Result<(), BusError> {
        let told = if self.declarations.is_empty() { Ok(()) } else { bus.declare(&self.declarations) };
        match told {
            // A device with no room for more checks what it knows.
            Ok(()) | Err(BusError::Refused { .. }) => self.declarations.clear(),
            Err(why) => return Err(why),
        }
        Ok(())
    }

    /// Has the translation buffer drop what is mapped no more, if there is anything, and makes the pages free
    /// that waited for it. One invalidation serves every unmap since the last.
    ///
    /// # Errors
    ///
    /// If the device does not answer; it is due as before.
    pub fn flush(&mut self, bus: &mut impl Bus) -> Result<(), BusError> {
        self.tell_all(bus)?;
        if self.mapper.is_stale() {
            Controller::invalidate(bus, self.mapper.context())?;
            self.mapper.invalidated();
            self.counters.invalidations = self.counters.invalidations.saturating_add(1);
        }
        self.stores.settle();
        Ok(())
    }
}
