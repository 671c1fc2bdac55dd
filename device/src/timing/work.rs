//! Work: what a pass asks of the chip, as far as time goes.
//!
//! Read off the plan, and so off the registers: bytes to fetch and to send, coefficients, cycles of the array, and what its
//! walks over the pool meet in the banks. A task that takes rows out of a larger tensor shows that in its strides, and
//! counts as a piece of a streamed operand if the whole does not fit.

use ane_uapi::hw::sram::residency::Residency;
use ane_uapi::hw::td::activation;

use super::access::{Banks, lines, walk};
use super::machine::{ENGINES, Machine};
use crate::engine::madd::Reads;
use crate::engine::plan::Pass;
use crate::engine::plan::coefficients::Kernel;
use crate::engine::plan::neural::{NeuralPass, Nonlinearity, Operation};
use crate::engine::plan::operand::{ChipPlace, Element, MemoryPlace, Origin, Shape, Sink, Source};
use crate::engine::plan::planar::PlanarPass;

/// Bytes of a granule of the pool.
const GRANULE: u32 = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes of coefficients, or of a table, from DRAM.
    pub kernel_bytes: u64,
    /// Bytes of activations from DRAM.
    pub read_bytes: u64,
    /// Bytes of the result to DRAM.
    pub write_bytes: u64,
    /// Some activation is part of one that the pool does not hold.
    pub streams: bool,
    /// Walks over the input, each for as many output channels as accumulators hold.
    pub passes: u64,
    /// Cycles of the array or of the planar engine, if nothing holds them up.
    pub cycles: u64,
    /// Their accesses to the banks, and the conflicts there.
    pub banks: Banks,
}

/// An activation in DRAM: the bytes that are moved for one of so many groups, and whether the whole of it exceeds the pool.
fn moved(machine: &Machine, place: &MemoryPlace, shape: Shape, groups: u32) -> (u64, bool) {
    let interleave = place.interleave.max(1);
    let planes = u64::from(shape.channels.div_ceil(interleave));
    let row =
        u64::from(shape.width).saturating_mul(interleave.into()).saturating_mul(place.element.bytes().into());
    // Rows of a surface are padded to lines of 64 bytes, and DMA moves whole ones.
    let row = row.checked_next_multiple_of(64).unwrap_or(row);
    let bytes = planes.saturating_mul(shape.height.into()).saturating_mul(row);
    let whole = place.whole_bytes(shape, groups);
    (bytes, matches!(machine.hierarchy.residency(whole), Residency::Streamed { .. }))
}

impl Work {
    pub fn of(machine: &Machine, pass: &Pass) -> Self {
        match pass {
            Pass::Neural(pass) => Self::neural(machine, pass),
            Pass::Planar(pass) => Self::planar(machine, pass),
        }
    }

    fn neural(machine: &Machine, pass: &NeuralPass) -> Self {
        let convolution = &pass.convolution;
        let (output, kernel_taps) =
            (pass.output(), convolution.kernel_height.saturating_mul(convolution.kernel_width));
        let lines = lines(machine, output.height, output.width);
        let (passes, taps) = match (pass.operation, convolution.reads) {
            // Each output walks over channels of its own.
            (_, Reads::Unicast { channels }) => (u64::from(output.channels), channels),
            (Operation::Convolve(kernel), Reads::Dense | Reads::Grouped { .. }) => {
                (dense_passes(machine, &kernel), convolution.channels)
            }
            (_, Reads::Dense | Reads::Grouped { .. }) => {
                (output.channels.div_ceil(machine.outputs_per_pass).into(), convolution.channels)
            }
        };
        // Groups and depths are done one after the other.
        let repeats = u64::from(pass.groups).saturating_mul(pass.depths.into());
        let passes = passes.saturating_mul(repeats);
        let taps = u64::from(taps).saturating_mul(kernel_taps.into());
        let cycles = passes.saturating_mul(taps).saturating_mul(lines);
        let mut work = Self { passes, cycles, ..Self::default() };
        work.kernel_bytes = match (pass.operation, pass.nonlinearity) {
            (Operation::Convolve(kernel), _) => kernel.bytes,
            (_, Nonlinearity::Table) => activation::BYTES as u64,
            _ => 0,
        };
        work.take(machine, &pass.source, (pass.groups, repeats));
        // Every pass walks over the input once for each tap of the kernel; unicast passes over their channels only.
        let walks = match convolution.reads {
            Reads::Dense | Reads::Grouped { .. } => passes,
            Reads::Unicast { .. } => repeats,
        };
        let input = walk(machine, on_chip(&pass.source), pass.source.stored());
        work.banks = work.banks.and(input.times(walks.saturating_mul(kernel_taps.into())));
        work.give(machine, &pass.sink, (pass.groups, repeats));
        work
    }

    fn planar(machine: &Machine, pass: &PlanarPass) -> Self {
        let batches = u64::from(pass.batches);
        let lines = lines(machine, pass.shape.height, pass.shape.width);
        let sources = if pass.source2.is_some() { 2 } else { 1 };
        let cycles = lines.saturating_mul(pass.shape.channels.into()).saturating_mul(sources);
        let mut work = Self { passes: 1, cycles: cycles.saturating_mul(batches), ..Self::default() };
        for source in [Some(&pass.source1), pass.source2.as_ref()].into_iter().flatten() {
            work.take(machine, source, (pass.batches, batches));
            work.banks = work.banks.and(walk(machine, on_chip(source), source.stored()).times(batches));
        }
        work.give(machine, &pass.sink, (pass.batches, batches));
        work
    }

    fn take(&mut self, machine: &Machine, source: &Source, (groups, batches): (u32, u64)) {
        if let Origin::Memory { from, .. } = &source.origin {
            let (bytes, streams) = moved(machine, from, source.stored(), groups);
            self.read_bytes = self.read_bytes.saturating_add(bytes.saturating_mul(batches));
            self.streams |= streams;
        }
    }

    fn give(&mut self, machine: &Machine, sink: &Sink, (groups, batches): (u32, u64)) {
        if let Some(place) = &sink.memory {
            let (bytes, streams) = moved(machine, place, sink.shape, groups);
            self.write_bytes = self.write_bytes.saturating_add(bytes.saturating_mul(batches));
            self.streams |= streams;
        }
        if let Some(place) = sink.chip {
            self.banks = self.banks.and(walk(machine, place, sink.shape).times(batches));
        }
    }
}

/// Where a source lies on chip, or passes.
const fn on_chip(source: &Source) -> ChipPlace {
    match source.origin {
        Origin::Chip(place) => place,
        Origin::Memory { by, .. } => by,
        // It has no place that a register names; as if its channels lay close together.
        Origin::Passed => ChipPlace {
            base: 0,
            channel_stride: GRANULE,
            row_stride: GRANULE,
            group_stride: 0,
            depth_stride: 0,
            depths: 1,
            element: Element::Half,
        },
    }
}

/// Passes of a dense convolution: the engine with most outputs decides.
fn dense_passes(machine: &Machine, kernel: &Kernel) -> u64 {
    u64::from(kernel.busiest()).div_ceil(u64::from(machine.outputs_per_pass / ENGINES).max(1))
}
