//! Operands: sources taken from memory or from the chip, results given to either.

use std::task::{Poll, ready};

use ane_uapi::hw::td::words::{ChipBytes, DmaBytes};
use ane_uapi::hw::td::{l2, tile_destination, tile_source};
use ane_uapi::register::Reg;
use vm_memory::GuestMemory;

use super::bench::Bench;
use super::compute::Staging;
use super::{Executor, Passed};
use crate::dart::{Access, Circuit};
use crate::engine::l2::Unknown;
use crate::engine::plan::operand::{ChipPlace, Element, Origin, Shape, Sink, Source, Window};
use crate::engine::plan::verdict::Verdict;
use crate::engine::transpose::transpose_under;
use crate::engine::{EngineError, TaskContext, l2 as chip};
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

impl Executor {
    /// Reads a source into packed form, from piece `next` on, and leaves on chip what passing leaves there.
    pub(super) fn take<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        source: &Source,
        inlet: Inlet,
        batch: u32,
        next: &mut u32,
    ) -> Poll<Result<(), EngineError>> {
        let shape = source.stored();
        if let Origin::Passed = source.origin {
            self.take_passed(bench, source)?;
        }
        if let Origin::Chip(place) = source.origin {
            known(&self.unknown, bench.registers, inlet, place.batch(batch), shape)?;
        }
        let Staging { source1, source2, row, turned, .. } = &mut self.compute.staging;
        let into = if inlet.circuit == SOURCE1.circuit { source1 } else { source2 };
        into.resize(shape.len());
        match source.origin {
            Origin::Passed => {}
            Origin::Chip(place) => {
                bench.count_elements(shape.elements());
                chip::read(bench.ports.l2, place.batch(batch), shape, into);
            }
            Origin::Memory { from, by, leaves } => {
                let base = bench.base(inlet.base, &from, batch);
                ready!(bench.tile(
                    inlet.circuit,
                    inlet.base,
                    (row, next),
                    bytes(shape, from.element),
                    |tile| { tile.fetch(&from, base, shape, into) }
                ))?;
                if leaves == Window::Whole {
                    chip::write(bench.ports.l2, by.batch(batch), shape, into);
                }
                source_leaves(&mut self.unknown, source, batch);
            }
        }
        if source.is_transposed {
            bench.count_elements(shape.elements());
            turned.resize(shape.len());
            transpose_under(bench.watch, into, shape, turned);
            std::mem::swap(into, turned);
        }
        Poll::Ready(Ok(()))
    }

    /// Takes what the task before has passed on.
    fn take_passed<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        source: &Source,
    ) -> Result<(), EngineError> {
        let refuse = |category, why| {
            let address = l2::SOURCE_CFG.offset();
            let value = bench.registers.written(address).unwrap_or_default();
            EngineError::Refused(Verdict { category, address, bits: 3, value, why })
        };
        let Some(passed) = self.passed.take() else {
            return Err(refuse(Category::Unpredictable, "the task before has passed nothing on"));
        };
        if passed.shape != source.stored() {
            return Err(refuse(Category::Undefined, "what the task before has passed on has other extents"));
        }
        let into = &mut self.compute.staging.source1;
        into.resize(passed.values.len());
        into.copy_from_slice(&passed.values);
        bench.count_elements(passed.shape.elements());
        Ok(())
    }

    /// Says whether a source may be read, from piece `next` on, and foresees what it leaves on chip.
    pub(super) fn check_source<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        source: &Source,
        inlet: Inlet,
        batch: u32,
        next: &mut u32,
    ) -> Poll<Result<(), EngineError>> {
        match source.origin {
            Origin::Chip(place) => {
                known(&self.foreseen, bench.registers, inlet, place.batch(batch), source.stored())?;
            }
            Origin::Memory { from, .. } => {
                let base = bench.base(inlet.base, &from, batch);
                let row = &mut self.compute.staging.row;
                ready!(bench.tile(inlet.circuit, inlet.base, (row, next), 0, |tile| {
                    tile.check(&from, base, source.stored(), Access::Read)
                }))?;
            }
            Origin::Passed => {}
        }
        source_leaves(&mut self.foreseen, source, batch);
        Poll::Ready(Ok(()))
    }

    /// Says whether the result of a batch may be written, from piece `next` on.
    pub(super) fn check_result<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        sink: &Sink,
        batch: u32,
        next: &mut u32,
    ) -> Poll<Result<(), EngineError>> {
        let Some(to) = sink.memory else { return Poll::Ready(Ok(())) };
        let register = &tile_destination::BASE_ADDR;
        let base = bench.base(register, &to, batch);
        let row = &mut self.compute.staging.row;
        bench.tile(Circuit::TileSend, register, (row, next), 0, |tile| {
            tile.check(&to, base, sink.shape, Access::Write)
        })
    }

    /// Puts the result where it belongs, from piece `next` on.
    pub(super) fn give<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        sink: &Sink,
        batch: u32,
        next: &mut u32,
    ) -> Poll<Result<(), EngineError>> {
        let Staging { result, row, .. } = &mut self.compute.staging;
        if *next == 0 {
            if let Some(place) = sink.chip {
                bench.count_elements(sink.shape.elements());
                chip::write(bench.ports.l2, place.batch(batch), sink.shape, result);
            }
            result_leaves(&mut self.unknown, sink, batch);
            if sink.is_passed_on {
                let &TaskContext { queue, nid, index, .. } = bench.task;
                let (shape, values) = (sink.shape, result.to_vec());
                self.passed = Some(Passed { queue, nid, index: index.saturating_add(1), shape, values });
            }
        }
        let Some(to) = sink.memory else { return Poll::Ready(Ok(())) };
        let register = &tile_destination::BASE_ADDR;
        let base = bench.base(register, &to, batch);
        bench.tile(Circuit::TileSend, register, (row, next), bytes(sink.shape, to.element), |tile| {
            tile.send(&to, base, sink.shape, result)
        })
    }
}

/// Refuses a source whose bytes nobody knows.
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
        let by = by.batch(batch);
        match leaves {
            Window::Whole => chip::know(unknown, by, source.stored()),
            Window::Unknown(len) => unknown.mark(by.base, len),
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
