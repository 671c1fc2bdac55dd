//! Controller and nub: the registers of the three windows, and the right to ask for mappers.
//!
//! The engine's circuits go through windows 0, 1 and 2, and nothing says which through which. So every word is
//! written into all three: if a driver forgets one, correct transfers fail. A stream needs its bit among the
//! enabled streams, a control word that translates, and the base of its tables.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::dart::regs::{self, StreamCommand, Streams, Tcr, Window};
use ane_uapi::hw::dart::stream::{BYPASSED, ENABLED_AT_RESET, StreamId};
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::space::EngineOffset;

use super::mapper::{Mapper, OWN_BYTES};
use super::tables::{TABLES_BYTES, TableError, Tables};
use crate::bus::{Bus, BusError, DmaMemory, Operation};
use crate::per_number::PerContext;

/// How often the DART is asked whether it is done dropping translations before it is taken for stuck (Chosen):
/// the model is done at once.
const POLLS_MAX: u32 = 1000;

/// Bytes of the driver's memory that a context takes: for its tables, and for the driver's own pages in it.
pub const CONTEXT_BYTES: usize = TABLES_BYTES + OWN_BYTES;

/// The DART's registers: one for a device.
#[derive(Debug)]
pub struct Controller {
    memory: DmaMemory,
    format: PteFormat,
    is_published: bool,
}

/// The right to have address spaces made: given out once.
#[derive(Debug)]
pub struct Nub {
    memory: DmaMemory,
    format: PteFormat,
    /// By context, whether its mapper is out.
    given: PerContext<bool>,
}

impl Controller {
    /// The controller whose tables lie in this memory and have this format.
    pub const fn new(memory: DmaMemory, format: PteFormat) -> Self {
        Self { memory, format, is_published: false }
    }

    /// The nub of the controller, the first time; then none.
    pub fn publish(&mut self) -> Option<Nub> {
        if self.is_published {
            return None;
        }
        self.is_published = true;
        Some(Nub { memory: self.memory.clone(), format: self.format, given: PerContext::default() })
    }

    /// The writes by which exactly these mappers' streams translate.
    pub fn program<'a>(&self, mappers: impl Iterator<Item = &'a Mapper>, into: &mut Vec<Operation>) {
        let mut enabled = ENABLED_AT_RESET & BYPASSED;
        for mapper in mappers {
            enabled |= mapper.context().stream().bit();
            attach(mapper, into);
        }
        enable(enabled, into);
    }

    /// The writes that leave a context's stream without tables, and block it.
    pub fn detach(&self, context: ContextId, into: &mut Vec<Operation>) {
        stream(context, Ttbr::new(), Tcr::new(), into);
    }

    /// Has the DART drop what it holds of a stream, and waits until it has.
    pub fn invalidate(bus: &mut impl Bus, context: ContextId) -> Result<(), BusError> {
        let select = Streams::new().with_mask(context.stream().bit()).into_bits();
        let command = StreamCommand::new().with_invalidate(true).into_bits();
        let [dart0, dart1, dart2] = Window::CARRYING_DMA;
        let ask = |window| Operation::Read(at(window, regs::STREAM_COMMAND.offset()));
        let select = |window| Operation::Write(at(window, regs::STREAM_SELECT.offset()), select);
        let start = |window| Operation::Write(at(window, regs::STREAM_COMMAND.offset()), command);
        let mut states = [0; 3];
        // Started in all windows before the first is asked: they work side by side.
        let all = [
            select(dart0),
            start(dart0),
            select(dart1),
            start(dart1),
            select(dart2),
            start(dart2),
            ask(dart0),
            ask(dart1),
            ask(dart2),
        ];
        bus.batch(&all, &mut states)?;
        for _ in 0..POLLS_MAX {
            if !states.iter().any(|&state| StreamCommand::from_bits(state).busy()) {
                return Ok(());
            }
            bus.batch(&[ask(dart0), ask(dart1), ask(dart2)], &mut states)?;
        }
        Err(BusError::BadAnswer { what: format!("busy with dropping translations of {context}") })
    }
}

impl Nub {
    /// The mapper of a context, without any mapping; nothing if it is out.
    pub fn give(&mut self, context: ContextId) -> Result<Option<Mapper>, TableError> {
        if self.given[context] {
            return Ok(None);
        }
        let memory = self.memory.part(context.index().saturating_mul(CONTEXT_BYTES), CONTEXT_BYTES)?;
        let tables = Tables::new(&memory, self.format)?;
        let mapper = Mapper::new(context, tables, memory.part(TABLES_BYTES, OWN_BYTES)?)?;
        self.given[context] = true;
        Ok(Some(mapper))
    }

    pub fn take_back(&mut self, mapper: Mapper) -> Result<(), Box<Mapper>> {
        if mapper.mapped_pages() != 0 {
            return Err(Box::new(mapper));
        }
        self.given[mapper.context()] = false;
        Ok(())
    }
}

/// The writes that give a mapper's stream its tables.
fn attach(mapper: &Mapper, into: &mut Vec<Operation>) {
    // A base that the register cannot hold stays invalid, and the stream faults by name.
    let base = Ttbr::of(mapper.tables().base()).unwrap_or_default();
    stream(mapper.context(), base, Tcr::new().with_translate(true), into);
}

fn stream(context: ContextId, base: Ttbr, control: Tcr, into: &mut Vec<Operation>) {
    let stream = context.stream();
    let registers = (
        stream.table_base(0).and_then(|index| regs::TTBR.info.at(index)),
        regs::TCR.info.at(stream.number().into()),
    );
    if let (Some(ttbr), Some(tcr)) = registers {
        for window in Window::CARRYING_DMA {
            into.push(Operation::Write(at(window, ttbr), base.into_bits()));
            into.push(Operation::Write(at(window, tcr), control.into_bits()));
        }
    }
}

fn enable(streams: u16, into: &mut Vec<Operation>) {
    let word = Streams::new().with_mask(streams).into_bits();
    for window in Window::CARRYING_DMA {
        into.push(Operation::Write(at(window, regs::ENABLED_STREAMS.offset()), word));
    }
}

const fn at(window: Window, register: u32) -> EngineOffset {
    EngineOffset(window.base().0.saturating_add(register))
}

const _: () = assert!(ContextId::COUNT <= StreamId::COUNT);

#[cfg(test)]
mod tests {
    use ane_uapi::hw::space::PhysAddr;
    use ane_uapi::hw::usage::{Protection, ProtectionClass};

    use super::*;

    fn controller() -> Controller {
        let memory = DmaMemory::new(PhysAddr(0x4000_0000), 2 * CONTEXT_BYTES).unwrap();
        Controller::new(memory, PteFormat::Seed)
    }

    /// Requirement: DART-15
    #[test]
    fn controller_gives_out_one_nub_and_the_nub_one_mapper_for_a_context() {
        let mut controller = controller();
        let mut nub = controller.publish().unwrap();
        assert!(controller.publish().is_none());
        let mapper = nub.give(ContextId::BASE).unwrap().unwrap();
        assert!(nub.give(ContextId::BASE).unwrap().is_none());
        nub.take_back(mapper).unwrap();
        assert!(nub.give(ContextId::BASE).unwrap().is_some());
    }

    /// Requirement: DART-16
    #[test]
    fn mapper_is_not_taken_back_while_a_mapping_lives() {
        let mut nub = controller().publish().unwrap();
        let mut mapper = nub.give(ContextId::BASE).unwrap().unwrap();
        let place = mapper.take(1).unwrap();
        mapper
            .map(place, [PhysAddr(0x8000)].into_iter(), Protection::of(ProtectionClass::ReadWrite))
            .unwrap();
        let mut mapper = *nub.take_back(mapper).unwrap_err();
        mapper.unmap(place).unwrap();
        nub.take_back(mapper).unwrap();
    }

    #[test]
    fn every_window_that_carries_dma_gets_the_same_words() {
        let mut controller = controller();
        let mut nub = controller.publish().unwrap();
        let mapper = nub.give(ContextId::new(1).unwrap()).unwrap().unwrap();
        let mut operations = Vec::new();
        controller.program([&mapper].into_iter(), &mut operations);
        let ttbr = 0x8000_0000 | ((0x4000_0000 + u32::try_from(CONTEXT_BYTES).unwrap()) >> 12);
        for window in [0x180_0000, 0x181_0000, 0x182_0000] {
            for (register, word) in [(0x210, ttbr), (0x104, 0x80), (0xfc, 0xa002)] {
                let write = Operation::Write(EngineOffset(window + register), word);
                assert!(operations.contains(&write), "{write:?} in {operations:?}");
            }
        }
        assert_eq!(operations.len(), 9);
    }
}
