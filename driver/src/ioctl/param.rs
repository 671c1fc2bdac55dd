//! Parameters: what device and driver say of themselves.

use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::tm::TIMESTAMP_HZ;
use ane_uapi::ioctl::context::CONTEXT_ANY;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::{
    ABI_VERSION, FEATURE_CHECK, FEATURE_MOVER, FEATURE_PE_MMU, FEATURE_VIRTUAL, GetParam, Param, State,
};
use ane_uapi::wire::config;

use super::Context;
use crate::bus::Bus;
use crate::device::Driver;
use crate::front::FileId;

impl<B: Bus> Driver<B> {
    pub(super) fn get_param(&mut self, get: &mut GetParam, context: &mut Context<'_>) -> Result<(), Errno> {
        let param = Param::try_from(get.param).map_err(|_| Errno::EINVAL)?;
        let config = self.bus.config();
        get.value = match param {
            Param::AbiVersion => ABI_VERSION.into(),
            Param::Features => features(config.features.get()),
            Param::Chip => config.chip.get().into(),
            Param::Instance => config.instance.get().into(),
            Param::AneType => config.ane_type.get().into(),
            Param::Engines => config.engine_count.get().into(),
            Param::Queues => config.queue_count.get().into(),
            Param::Contexts => self.contexts.count().into(),
            Param::ContextsFree => self.contexts.free().into(),
            Param::PageSize => config.page_size.get().into(),
            Param::ApertureBase => config.aperture_base.get(),
            Param::ApertureSize => config.aperture_size.get(),
            Param::FirstAddress => aperture::PAGE_SIZE.into(),
            Param::FaultPolicy => config.fault_policy.into(),
            Param::State => self.state_of(context.file) as u64,
            Param::ClockNs => self.clock.now().0,
            Param::TicksPerSecond => TIMESTAMP_HZ.into(),
            Param::Context => {
                self.contexts.of(context.file).map_or(CONTEXT_ANY, |context| context.number().into()).into()
            }
        };
        Ok(())
    }

    /// What the device is doing about a file's work.
    pub(crate) fn state_of(&self, file: FileId) -> State {
        if self.is_dead() {
            State::Dead
        } else if self.contexts.of(file).is_some_and(|context| self.faults.is_parked(context)) {
            State::Parked
        } else {
            State::Ready
        }
    }
}

/// The device's features, and that it is one of its kind.
fn features(wire: u32) -> u64 {
    let known = [
        (config::FEATURE_PE_MMU, FEATURE_PE_MMU),
        (config::FEATURE_MOVER, FEATURE_MOVER),
        (config::FEATURE_CHECK, FEATURE_CHECK),
    ];
    known
        .into_iter()
        .filter(|(bit, _)| wire & bit != 0)
        .fold(FEATURE_VIRTUAL, |features, (_, feature)| features | feature)
}
