//! Kernel fetcher: coefficients from memory, through sixteen channels, into the order in which outputs use them.
//!
//! Each neural engine has a channel, a chunk behind that channel's base, and slots in the chunk. What the array gets
//! is the planes in ascending order, each `[tap][lane]`, and the bias rows apart. Kernel memory shows the first
//! of what was brought, as far as it is large.

use std::task::Poll;

use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::kernel_dma;
use vm_memory::GuestMemory;
use zerocopy::IntoBytes;

use super::cancel::Pace;
use super::plan::coefficients::Kernel;
use super::room::Room;
use super::tile::{Fault, little_endian};
use crate::dart::{Access, Dma};
use crate::kernel_memory::{self, GRANULE, KernelMemory};
use crate::td::register_file::RegisterFile;

/// Steps that a transfer counts for, besides those for what it brings.
const TRANSFER: usize = 16;

/// Coefficients of a plane that are brought together at most: half a megabyte of halves.
const TOGETHER: usize = 1 << 18;

/// Coefficients in the order of use.
#[derive(Debug, Default)]
pub(super) struct Coefficients {
    /// One row of lanes for each plane, or nothing.
    pub(super) biases: Room,
    /// Planes, taps, lanes.
    pub(super) weights: Room,
}

/// Reads `into` from `base`.
fn read<M: GuestMemory>(dma: &mut Dma<'_, M>, base: u64, into: &mut [u8]) -> Result<(), Fault> {
    match dma.range(base, into.len() as u64, Access::Read).map_err(Box::<IoDartErrorInfo>::new)? {
        Some(range) => dma.read(range, into).map_err(Box::new),
        None => Ok(()),
    }
}

impl Coefficients {
    /// Brings what a convolution needs, from piece `next` on and as long as it is wanted and has its turn.
    pub(super) fn fetch<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        registers: &RegisterFile,
        kernel: &Kernel,
        pace: &mut Pace<'_>,
        next: &mut u32,
    ) -> Poll<Result<(), Fault>> {
        let lanes = kernel.lanes as usize;
        let plane_len = lanes.saturating_mul(kernel.taps as usize).max(1);
        let planes = kernel.planes as usize;
        self.weights.resize(planes.saturating_mul(plane_len));
        self.biases.resize(if kernel.has_bias { planes.saturating_mul(lanes) } else { 0 });
        let bias_bytes = if kernel.has_bias { u64::from(kernel.lanes).saturating_mul(2) } else { 0 };
        let pieces = self.weights.chunks_exact_mut(plane_len).enumerate().flat_map(|(plane, weights)| {
            weights.chunks_mut(TOGETHER).enumerate().map(move |(part, weights)| (plane, part, weights))
        });
        for (plane, part, weights) in pieces.skip(*next as usize) {
            if pace.has_had_its_turn() {
                return Poll::Pending;
            }
            if pace.spend(TRANSFER.saturating_add(weights.len())) {
                break;
            }
            let (engine, slot) = place(plane, kernel.engines);
            let chunk = u64::from(registers.base(&kernel_dma::COEFF_BASE_ADDR, engine).0);
            let base = chunk.saturating_add(kernel.slot_bytes().saturating_mul(slot));
            let start = plane.saturating_mul(lanes);
            if part == 0
                && let Some(biases) = self.biases.get_mut(start..start.saturating_add(lanes))
            {
                read(dma, base, biases.as_mut_bytes())?;
                little_endian(biases);
            }
            let before = part.saturating_mul(TOGETHER) as u64;
            let base = base.saturating_add(bias_bytes).saturating_add(kernel.bytes(before));
            if kernel.is_uint8 {
                read_bytes(dma, base, weights)?;
            } else {
                read(dma, base, weights.as_mut_bytes())?;
                little_endian(weights);
            }
            *next = next.saturating_add(1);
        }
        Poll::Ready(Ok(()))
    }

    /// Shows the first of the coefficients in kernel memory, slot by slot in the order of planes.
    pub(super) fn show(&self, kernel: &Kernel, memory: &mut KernelMemory) {
        let lanes = kernel.lanes as usize;
        let plane_len = lanes.saturating_mul(kernel.taps as usize).max(1);
        let mut biases = self.biases.chunks_exact(lanes.max(1));
        let rows =
            self.weights.chunks_exact(plane_len).flat_map(|plane| [biases.next().unwrap_or_default(), plane]);
        let halves = self.biases.len().saturating_add(self.weights.len());
        let Some(slot) = slot(memory, halves.saturating_mul(2)) else { return };
        let (pairs, _) = slot.as_chunks_mut::<2>();
        pairs.iter_mut().zip(rows.flatten()).for_each(|(to, from)| *to = from.to_le_bytes());
    }
}

/// The part of kernel memory that a transfer of `bytes` fills: as much of it as there is, in whole granules.
fn slot(memory: &mut KernelMemory, bytes: usize) -> Option<&mut [u8]> {
    let granules = bytes.min(kernel_memory::BYTES).next_multiple_of(GRANULE as usize);
    memory.slot(u32::try_from(granules).ok()?).ok()
}

/// Engine and slot of a plane.
fn place(plane: usize, engines: u16) -> (u16, u64) {
    let plane = plane as u64;
    let engines = u64::from(engines).max(1);
    // Fewer than sixteen engines.
    let engine = u16::try_from(plane.checked_rem(engines).unwrap_or(0)).unwrap_or(0);
    (engine, plane.checked_div(engines).unwrap_or(0))
}

/// Reads bytes as numbers from 0 to 255, which halves hold exactly.
fn read_bytes<M: GuestMemory>(dma: &mut Dma<'_, M>, base: u64, into: &mut [u16]) -> Result<(), Fault> {
    let mut at = base;
    for part in into.chunks_mut(256) {
        let mut bytes = [0; 256];
        let bytes = bytes.get_mut(..part.len()).unwrap_or_default();
        read(dma, at, bytes)?;
        part.iter_mut().zip(&*bytes).for_each(|(half, byte)| *half = half::f16::from(*byte).to_bits());
        at = at.saturating_add(part.len() as u64);
    }
    Ok(())
}

/// The activation table of channel 0.
pub(super) fn table<M: GuestMemory>(
    dma: &mut Dma<'_, M>,
    registers: &RegisterFile,
    memory: &mut KernelMemory,
    into: &mut [u8; BYTES],
) -> Result<(), Fault> {
    read(dma, registers.base(&kernel_dma::COEFF_BASE_ADDR, 0).0.into(), into)?;
    if let Some(shown) = slot(memory, BYTES).and_then(|slot| slot.first_chunk_mut()) {
        *shown = *into;
    }
    Ok(())
}
