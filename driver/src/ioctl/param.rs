//! Parameters: what device and driver say of themselves.

use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::pe_mmu::{self, PE_MMU, Picoseconds};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::TIMESTAMP_HZ;
use ane_uapi::ioctl::context::CONTEXT_ANY;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::param::{
    ABI_VERSION, FEATURE_CHECK, FEATURE_MOVER, FEATURE_PE_MMU, FEATURE_VIRTUAL, GetParam, MOVER_CONTENDED,
    MOVER_ISA, MOVER_WAITS_FOR_CREDIT, MOVER_WORMHOLE, Param, State,
};
use ane_uapi::register::Reg;
use ane_uapi::wire::config;

use super::{Context, Result};
use crate::bus::Bus;
use crate::companion::CompanionError;
use crate::device::Driver;
use crate::front::FileId;

impl<B: Bus> Driver<B> {
    pub(super) fn get_param(&mut self, get: &mut GetParam, context: &mut Context<'_>) -> Result<()> {
        let param = Param::try_from(get.param).map_err(|_| Errno::EINVAL)?;
        let config = self.hardware.bus().config();
        get.value = match param {
            Param::AbiVersion => ABI_VERSION.into(),
            Param::Features => features(config.features.get()),
            Param::Chip => config.chip.get().into(),
            Param::Instance => config.instance.get().into(),
            Param::AneType => config.ane_type.get().into(),
            Param::Engines => config.engine_count.get().into(),
            Param::Queues => config.queue_count.get().into(),
            Param::Contexts => self.hardware.contexts().count().into(),
            Param::ContextsFree => self.hardware.contexts().free().into(),
            Param::PageSize => config.page_size.get().into(),
            Param::ApertureBase => config.aperture_base.get(),
            Param::ApertureSize => config.aperture_size.get(),
            Param::FirstAddress => aperture::PAGE_SIZE.into(),
            Param::FaultPolicy => config.fault_policy.into(),
            Param::State => self.state_of(context.file) as u64,
            Param::ClockNs => self.hardware.now().0,
            Param::TicksPerSecond => TIMESTAMP_HZ.into(),
            Param::Context => self
                .hardware
                .contexts()
                .of(context.file)
                .map_or(CONTEXT_ANY, |context| context.number().into())
                .into(),
            Param::PeMmuPageSize if config.features.get() & config::FEATURE_PE_MMU == 0 => 0,
            Param::PeMmuPageSize => 1 << (config.companions.get() & config::COMPANION_PAGE_BITS),
            Param::PeMmuOverheadPs => self.pe_mmu_time(&pe_mmu::OVERHEAD_PS)?,
            Param::PeMmuFabricPs => self.pe_mmu_time(&pe_mmu::FABRIC_PS)?,
            Param::MoverAttributes => mover(config.companions.get()),
        };
        Ok(())
    }

    /// A time that PE_MMU takes, which only its registers tell; it takes none if config space says so.
    fn pe_mmu_time(&mut self, register: &Reg<Picoseconds>) -> Result<u64> {
        if self.hardware.bus().config().companions.get() & config::COMPANION_PE_MMU_TIMED == 0 {
            return Ok(0);
        }
        self.has(config::FEATURE_PE_MMU)?;
        let read =
            self.hardware.bus_mut().read(EngineOffset(PE_MMU.base.0.saturating_add(register.offset())));
        self.companion(read.map_err(CompanionError::from)).map(u64::from)
    }

    /// The state of a file's work on the device.
    pub(crate) fn state_of(&self, file: FileId) -> State {
        if self.hardware.is_dead() {
            State::Dead
        } else if self.hardware.contexts().of(file).is_some_and(|context| self.clients.is_parked(context)) {
            State::Parked
        } else {
            State::Ready
        }
    }
}

fn mover(wire: u16) -> u64 {
    let known = [
        (config::COMPANION_MOVER_ISA, MOVER_ISA),
        (config::COMPANION_MOVER_WORMHOLE, MOVER_WORMHOLE),
        (config::COMPANION_MOVER_CONTENDED, MOVER_CONTENDED),
        (config::COMPANION_MOVER_WAITS_FOR_CREDIT, MOVER_WAITS_FOR_CREDIT),
    ];
    known.into_iter().filter(|(bit, _)| wire & bit != 0).fold(0, |attributes, (_, is)| attributes | is)
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
