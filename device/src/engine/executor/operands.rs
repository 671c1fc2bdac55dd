//! Operands: sources taken from memory or from the chip, results given to either.

use ane_uapi::hw::td::words::{ChipBytes, DmaBytes};
use ane_uapi::hw::td::{l2, tile_destination, tile_source};
use ane_uapi::register::Reg;
use vm_memory::GuestMemory;

use super::Executor;
use super::bench::Bench;
use crate::dart::{Access, Circuit};
use crate::engine::plan::operand::{ChipPlace, Origin, Shape, Sink, Source, Window};
use crate::engine::plan::verdict::Verdict;
use crate::engine::transpose::transpose_under;
use crate::engine::{EngineError, l2 as chip};
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
    /// Reads a source into packed form, and leaves on chip what passing leaves there.
    pub(super) fn take<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        source: &Source,
        inlet: Inlet,
        batch: u32,
        into: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        let shape = source.shape;
        into.resize(shape.len(), 0);
        match source.origin {
            Origin::Chip(place) => {
                let place = place.batch(batch);
                self.known(bench.registers, inlet, place, shape)?;
                chip::read(bench.ports.l2, place, shape, into);
            }
            Origin::Memory { from, by, leaves } => {
                let base = bench.base(inlet.base, &from, batch);
                bench.tile(inlet.circuit, inlet.base, &mut self.staging.row, bytes(shape), |tile| {
                    tile.fetch(&from, base, shape, into)
                })?;
                let by = by.batch(batch);
                match leaves {
                    Window::Whole => chip::write(bench.ports.l2, &mut self.unknown, by, shape, into),
                    Window::Unknown(len) => self.unknown.mark(by.base, len),
                }
            }
        }
        Ok(())
    }

    /// Refuses a source whose bytes nobody knows.
    pub(super) fn known(
        &self,
        registers: &RegisterFile,
        inlet: Inlet,
        place: ChipPlace,
        shape: Shape,
    ) -> Result<(), Verdict> {
        if !chip::is_unknown(&self.unknown, place, shape) {
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

    /// Says whether the result of a batch may be written.
    pub(super) fn check_result<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        sink: &Sink,
        batch: u32,
    ) -> Result<(), EngineError> {
        let Some(to) = sink.memory else { return Ok(()) };
        let register = &tile_destination::BASE_ADDR;
        let base = bench.base(register, &to, batch);
        bench.tile(Circuit::TileSend, register, &mut self.staging.row, 0, |tile| {
            tile.check(&to, base, sink.shape, Access::Write)
        })?;
        Ok(())
    }

    /// Puts the result where it belongs.
    pub(super) fn give<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        sink: &Sink,
        batch: u32,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        if sink.is_transposed {
            transpose_under(bench.watch, result, sink.shape.transposed(), &mut self.staging.turned);
            bench.still_wanted()?;
            std::mem::swap(result, &mut self.staging.turned);
        }
        if let Some((place, len)) = sink.spoils {
            self.unknown.mark(place.batch(batch).base, len);
        }
        if let Some(place) = sink.chip {
            chip::write(bench.ports.l2, &mut self.unknown, place.batch(batch), sink.shape, result);
            // That what was assembled stays readable is a guess (td 4.2).
            if sink.memory.is_some() {
                chip::forget(&mut self.unknown, place.batch(batch), sink.shape);
            }
        }
        if let Some(to) = sink.memory {
            let register = &tile_destination::BASE_ADDR;
            let base = bench.base(register, &to, batch);
            bench.tile(Circuit::TileSend, register, &mut self.staging.row, bytes(sink.shape), |tile| {
                tile.send(&to, base, sink.shape, result)
            })?;
        }
        Ok(())
    }
}

/// Bytes of a tensor.
const fn bytes(shape: Shape) -> u64 {
    shape.elements().saturating_mul(2)
}
