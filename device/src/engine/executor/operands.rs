//! Operands: sources taken from memory or from the chip, results given to either.

use ane_uapi::hw::td::words::{ChipBytes, DmaBytes};
use ane_uapi::hw::td::{l2, tile_destination, tile_source};
use ane_uapi::register::Reg;
use vm_memory::GuestMemory;

use super::compute::{Compute, LONG_ELEMENTS, Staging};
use super::reach::Reach;
use crate::dart::{Access, Circuit};
use crate::engine::kept_state::Passed;
use crate::engine::l2::Unknown;
use crate::engine::plan::operand::{ChipPlace, Element, Origin, Shape, Sink, Source, Window};
use crate::engine::plan::verdict::Verdict;
use crate::engine::room::Room;
use crate::engine::tile::{Tensor, Tile};
use crate::engine::transpose::transpose_under;
use crate::engine::{EngineError, Result, TaskContext, l2 as chip};
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;

/// A source operand, and by which circuit and base register it comes.
#[derive(Clone, Copy)]
pub(super) struct Inlet {
    pub(super) circuit: Circuit,
    pub(super) base: &'static Reg<DmaBytes>,
    on_chip: &'static Reg<ChipBytes>,
}

/// Source 1.
pub(super) const SOURCE1: Inlet =
    Inlet { circuit: Circuit::TileFetch1, base: &tile_source::BASE_ADDR1, on_chip: &l2::SOURCE_BASE };
/// Source 2.
pub(super) const SOURCE2: Inlet =
    Inlet { circuit: Circuit::TileFetch2, base: &tile_source::BASE_ADDR2, on_chip: &l2::SOURCE2_BASE };

impl Compute {
    /// Reads a source into packed form, and leaves on chip what passing leaves there.
    pub(super) fn take<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        source: &Source,
        inlet: Inlet,
        batch: u32,
    ) -> Result<()> {
        let shape = source.stored();
        let Staging { source1, source2, row, turned, .. } = &mut self.staging;
        let pool = self.array.pool();
        let into = if inlet.circuit == SOURCE1.circuit { source1 } else { source2 };
        match source.origin {
            Origin::Passed => take_passed(reach, shape, into)?,
            Origin::Chip(place) => {
                let place = place.batch(batch);
                let registers = reach.registers;
                let device = reach.device()?;
                known(&device.chip.unknown, registers, inlet, place, shape)?;
                into.resize(shape.len());
                chip::read(device.l2, place, shape, into, pool);
                reach.count_elements(shape.elements());
            }
            Origin::Memory { from, by, leaves } => {
                into.resize(shape.len());
                let tensor = Tensor::new(&from, reach.base(inlet.base, &from, batch), shape);
                reach.each(inlet.circuit, inlet.base, tensor.pieces(), |dma, pace, piece| {
                    Ok(Tile { dma, row, pool, pace }.fetch(&tensor, piece, into)?)
                })?;
                reach.note_transfer(inlet.circuit, bytes(shape, from.element))?;
                let device = reach.device()?;
                if leaves == Window::Whole {
                    chip::write(device.l2, by.batch(batch), shape, into, pool);
                }
                source_leaves(&mut device.chip.unknown, source, batch);
            }
        }
        if source.is_transposed {
            reach.count_elements(shape.elements());
            turned.resize(shape.len());
            reach.aside(shape.elements() >= LONG_ELEMENTS, |watch| {
                transpose_under(watch, into, shape, turned)
            })?;
            std::mem::swap(into, turned);
        }
        Ok(())
    }

    /// Says whether a source may be read, and foresees what it leaves on chip.
    pub(super) fn check_source<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        source: &Source,
        inlet: Inlet,
        batch: u32,
    ) -> Result<()> {
        match source.origin {
            Origin::Chip(place) => {
                let registers = reach.registers;
                let foreseen = &reach.device()?.chip.foreseen;
                known(foreseen, registers, inlet, place.batch(batch), source.stored())?;
            }
            Origin::Memory { from, .. } => {
                let tensor = Tensor::new(&from, reach.base(inlet.base, &from, batch), source.stored());
                self.check_tensor(reach, (inlet.circuit, inlet.base), &tensor, Access::Read)?;
            }
            Origin::Passed => {}
        }
        source_leaves(&mut reach.device()?.chip.foreseen, source, batch);
        Ok(())
    }

    pub(super) fn check_result<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        sink: &Sink,
        batch: u32,
    ) -> Result<()> {
        let Some(to) = sink.memory else { return Ok(()) };
        let register = &tile_destination::BASE_ADDR;
        let tensor = Tensor::new(&to, reach.base(register, &to, batch), sink.shape);
        self.check_tensor(reach, (Circuit::TileSend, register), &tensor, Access::Write)
    }

    fn check_tensor<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        (circuit, register): (Circuit, &Reg<DmaBytes>),
        tensor: &Tensor,
        access: Access,
    ) -> Result<()> {
        let (row, pool) = (&mut self.staging.row, self.array.pool());
        reach.each(circuit, register, tensor.pieces(), |dma, pace, piece| {
            Ok(Tile { dma, row, pool, pace }.check(tensor, piece, access)?)
        })
    }

    /// Puts the result where it belongs.
    pub(super) fn give<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        sink: &Sink,
        batch: u32,
    ) -> Result<()> {
        let Staging { result, row, .. } = &mut self.staging;
        let pool = self.array.pool();
        let &TaskContext { queue, nid, index, .. } = reach.task;
        if sink.chip.is_some() {
            reach.count_elements(sink.shape.elements());
        }
        let device = reach.device()?;
        if let Some(place) = sink.chip {
            chip::write(device.l2, place.batch(batch), sink.shape, result, pool);
        }
        result_leaves(&mut device.chip.unknown, sink, batch);
        if sink.is_passed_on {
            let (shape, values) = (sink.shape, result.to_vec());
            device.chip.passed = Some(Passed { queue, nid, index: index.saturating_add(1), shape, values });
        }
        let Some(to) = sink.memory else { return Ok(()) };
        let register = &tile_destination::BASE_ADDR;
        let tensor = Tensor::new(&to, reach.base(register, &to, batch), sink.shape);
        reach.each(Circuit::TileSend, register, tensor.pieces(), |dma, pace, piece| {
            Ok(Tile { dma, row, pool, pace }.send(&tensor, piece, result)?)
        })?;
        reach.note_transfer(Circuit::TileSend, bytes(sink.shape, to.element))
    }
}

fn take_passed<M: GuestMemory>(reach: &mut Reach<'_, M>, shape: Shape, into: &mut Room) -> Result<()> {
    let registers = reach.registers;
    let refuse = |category, why| {
        let address = l2::SOURCE_CFG.offset();
        let value = registers.written(address).unwrap_or_default();
        EngineError::Refused(Verdict { category, address, bits: 3, value, why })
    };
    let Some(passed) = reach.device()?.chip.passed.take() else {
        return Err(refuse(Category::Unpredictable, "the task before has passed nothing on"));
    };
    if passed.shape != shape {
        return Err(refuse(Category::Undefined, "what the task before has passed on has other extents"));
    }
    into.resize(passed.values.len());
    into.copy_from_slice(&passed.values);
    reach.count_elements(passed.shape.elements());
    Ok(())
}

/// Refuses a source whose bytes are not known.
fn known(
    unknown: &Unknown,
    registers: &RegisterFile,
    inlet: Inlet,
    place: ChipPlace,
    shape: Shape,
) -> Result<(), Verdict> {
    if !chip::is_unknown(unknown, place, shape) {
        return Ok(());
    }
    Err(Verdict {
        category: Category::Unpredictable,
        address: inlet.on_chip.offset(),
        bits: u32::MAX,
        value: registers.written(inlet.on_chip.offset()).unwrap_or_default(),
        why: "source on chip has bytes that an earlier task streamed through in an order that is not known",
    })
}

/// Takes down what a source of a batch leaves known and unknown on chip.
fn source_leaves(unknown: &mut Unknown, source: &Source, batch: u32) {
    if let Origin::Memory { by, leaves, .. } = source.origin {
        match leaves {
            Window::Whole => chip::know(unknown, by.batch(batch), source.stored()),
            Window::Unknown(len) => unknown.mark(by.base, len),
            Window::Overlapping => {
                let by = by.batch(batch);
                let bytes = by.end(source.stored()).saturating_sub(by.base.into());
                unknown.mark(by.base, u32::try_from(bytes).unwrap_or(u32::MAX));
            }
        }
    }
}

/// The same for the result.
pub(super) fn result_leaves(unknown: &mut Unknown, sink: &Sink, batch: u32) {
    if let Some((place, len)) = sink.spoils {
        unknown.mark(place.batch(batch).base, len);
    }
    match (sink.chip, sink.memory) {
        (Some(place), None) => chip::know(unknown, place.batch(batch), sink.shape),
        // That what was assembled stays readable is a guess (td 4.2).
        (Some(place), Some(_)) => chip::forget(unknown, place.batch(batch), sink.shape),
        (None, _) => {}
    }
}

/// Bytes of a tensor.
const fn bytes(shape: Shape, element: Element) -> u64 {
    shape.elements().saturating_mul(element.bytes() as u64)
}
