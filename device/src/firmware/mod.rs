//! The firmware's share, for drivers that leave it to the device.
//!
//! [`ane_uapi::hw::firmware`] describes it; its arithmetic is in [`ane_uapi::hw::rebase`]. An order is carried
//! out at once and answered with a code: it rebases a buffer after holding it against the mapped region, asserts that its
//! device address has no high half, and binds it to a BAR. A narrow BAR's register gets 32 bits; what is wider goes to a
//! table in software, out of which a request's base addresses are taken when its tasks run. There a rebased address is
//! led back to the device address that the engine's DMA uses (Chosen: real firmware has its own aperture mapped for
//! the engine, and this device has not).
//!
//! * this file: orders, the table of wide BARs;
//! * `pool`: buffers that go round, and the count of requests.

mod pool;

use ane_uapi::hw::bar::{BarIndex, BarTable};
use ane_uapi::hw::firmware::{Answer, Order, OrderWord, RegisterId};
use ane_uapi::hw::program::ApertureConfig;
use ane_uapi::hw::rebase::{
    BarTarget, BarWidth, ClampedBuffer, RebaseError, bind, clamp, rebase_range, undo,
};
use ane_uapi::hw::space::{ApertureAddr, EngineOffset, IovaRange};
use ane_uapi::hw::tq::QueueId;
use ane_uapi::register::Word;

use self::pool::Pools;
use crate::halves::halves;

/// A register write that follows from an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarWrite {
    pub at: EngineOffset,
    pub value: u32,
}

#[derive(Debug, Default)]
pub struct Firmware {
    config: ApertureConfig,
    address: u64,
    size: u64,
    pool: u32,
    id: u32,
    value: u64,
    answer: Option<Answer>,
    /// Addresses of wide BARs, by queue and BAR.
    wide: [[Option<ApertureAddr>; BarIndex::COUNT as usize]; QueueId::COUNT as usize],
    has_wide: bool,
    pools: Pools,
}

/// A number with one of its halves replaced.
const fn with_half(number: u64, index: u16, value: u32) -> u64 {
    let (low, high) = halves(number);
    let (low, high) = if index == 0 { (value, high) } else { (low, value) };
    (high as u64) << 32 | low as u64
}

const fn half(number: u64, index: u16) -> u32 {
    let (low, high) = halves(number);
    if index == 0 { low } else { high }
}

/// The answer to a rebase that has no result.
const fn refused(error: &RebaseError) -> Answer {
    match error {
        RebaseError::NotMapped => Answer::NotMapped,
        RebaseError::BeforeRegion { .. }
        | RebaseError::BehindRegion { .. }
        | RebaseError::OutsideAperture(_) => Answer::OutsideRegion,
        RebaseError::Wraps(_) => Answer::Wraps,
        RebaseError::HighAddress(_) => Answer::HighAddress,
    }
}

impl Firmware {
    pub fn read(&self, register: RegisterId, index: u16) -> u32 {
        match register {
            RegisterId::ORDER => 0,
            RegisterId::ANSWER => self.answer.unwrap_or(Answer::Done) as u32,
            RegisterId::ADDRESS => half(self.address, index),
            RegisterId::SIZE => half(self.size, index),
            RegisterId::POOL => self.pool,
            RegisterId::ID => self.id,
            RegisterId::VALUE => half(self.value, index),
            RegisterId::IN_FLIGHT => self.pools.in_flight(),
            RegisterId::DVA_BASE => half(self.config.dva_base.get(), index),
            RegisterId::REGION_SIZE => half(self.config.region_size.get(), index),
            RegisterId::MAPPED_BASE => half(self.config.mapped_base.get(), index),
        }
    }

    /// Writes a register; an order may lead to a write of a queue's BAR.
    pub fn write(&mut self, register: RegisterId, index: u16, value: u32) -> Option<BarWrite> {
        let config = &mut self.config;
        match register {
            RegisterId::ORDER => {
                let (answer, write) = match self.carry_out(OrderWord::from_word(value)) {
                    Ok(write) => (Answer::Done, write),
                    Err(answer) => (answer, None),
                };
                self.answer = Some(answer);
                return write;
            }
            RegisterId::ADDRESS => self.address = with_half(self.address, index, value),
            RegisterId::SIZE => self.size = with_half(self.size, index, value),
            RegisterId::POOL => self.pool = value,
            RegisterId::ID => self.id = value,
            RegisterId::DVA_BASE => config.dva_base = with_half(config.dva_base.get(), index, value).into(),
            RegisterId::REGION_SIZE => {
                config.region_size = with_half(config.region_size.get(), index, value).into();
            }
            RegisterId::MAPPED_BASE => {
                config.mapped_base = with_half(config.mapped_base.get(), index, value).into();
            }
            RegisterId::ANSWER | RegisterId::VALUE | RegisterId::IN_FLIGHT => {}
        }
        None
    }

    fn carry_out(&mut self, word: OrderWord) -> Result<Option<BarWrite>, Answer> {
        match Order::try_from(word.order()).map_err(|_| Answer::Unknown)? {
            Order::Bind => return self.bind(word),
            Order::Premap => {
                let address = self.rebase(word)?;
                self.id = self.pools.add(self.pool, address)?;
            }
            Order::PoolCreate => self.pool = self.pools.create()?,
            Order::PoolDestroy => self.pools.destroy(self.pool)?,
            Order::Take => {
                let (id, address) = self.pools.take(self.pool)?;
                (self.id, self.value) = (id, address.0);
            }
            Order::Return => self.pools.give_back(self.id)?,
            Order::Recycle => self.pools.recycle(self.id)?,
            Order::Begin => self.pools.begin()?,
            Order::End => self.pools.end()?,
        }
        Ok(None)
    }

    /// Where the buffer at ADDRESS and SIZE lies, after every check that it has to pass.
    fn rebase(&mut self, word: OrderWord) -> Result<ApertureAddr, Answer> {
        let buffer = ClampedBuffer::try_from(word.buffer()).map_err(|_| Answer::Unknown)?;
        let iova = clamp(buffer, self.address).map_err(|_| Answer::HighAddress)?;
        let range = IovaRange::new(iova.0.into(), self.size).map_err(|_| Answer::OutsideRegion)?;
        let address = rebase_range(&self.config, range).map_err(|error| refused(&error))?;
        self.value = address.0;
        Ok(address)
    }

    fn bind(&mut self, word: OrderWord) -> Result<Option<BarWrite>, Answer> {
        let address = self.rebase(word)?;
        let queue = QueueId::new(word.queue().into()).map_err(|_| Answer::Unknown)?;
        let bar = BarIndex::new(word.bar().into()).map_err(|_| Answer::Unknown)?;
        let width = if word.wide() { BarWidth::Wide } else { BarWidth::Narrow };
        let target = bind(queue, bar, width, address).map_err(|_| Answer::NeedsWideBar)?;
        let (entry, write) = match target {
            BarTarget::Register { at, value } => (None, Some(BarWrite { at, value: value.into_bits() })),
            BarTarget::SoftwareTable { value, .. } => (Some(value), None),
        };
        let slot = self.wide.get_mut(queue.index()).and_then(|bars| bars.get_mut(bar.index()));
        if let Some(slot) = slot {
            *slot = entry;
            self.has_wide |= entry.is_some();
        }
        Ok(write)
    }

    /// A request's base addresses, with those of wide BARs out of the table.
    ///
    /// An address that the region no longer has leads nowhere: its BAR is left as the register had it.
    pub fn bars(&self, queue: QueueId, registers: &BarTable) -> BarTable {
        let mut bars = *registers;
        if !self.has_wide {
            return bars;
        }
        let Some(wide) = self.wide.get(queue.index()) else { return bars };
        for (bar, address) in BarIndex::ALL.into_iter().zip(wide) {
            if let Some(iova) = address.and_then(|address| undo(&self.config, address).ok()) {
                bars.set(bar, iova);
            }
        }
        bars
    }
}
