//! Kernel fetcher: coefficients from memory, through sixteen channels, into the order in which outputs use them.
//!
//! Each neural engine has a channel, a chunk behind that channel's base, and slots in the chunk. The array gets
//! planes in ascending order, each `[tap][lane]`, and the bias rows apart. Kernel memory shows the first bytes, as
//! many as it has room for.
//!
//! Bytes become halves here, and sparse slots dense ones ([`sparse`]), so that the array knows neither.

mod sparse;

use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::kernel_dma;
use vm_memory::GuestMemory;
use zerocopy::IntoBytes;

use super::EngineError;
use super::cancel::Pace;
use super::plan::coefficients::{Format, Kernel, Slot};
use super::plan::verdict::Verdict;
use super::pool::Pool;
use super::room::Room;
use super::tile::{Fault, little_endian};
use crate::dart::{Access, Dma, Rows};
use crate::kernel_memory::{self, GRANULE, KernelMemory};
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;

/// Steps that a transfer counts for, besides those for what it brings.
const TRANSFER: usize = 16;

/// Coefficients of a plane that are brought together at most: half a megabyte of halves.
const TOGETHER: usize = 1 << 18;

/// Coefficients in the order of use, of one group.
#[derive(Debug, Default)]
pub(super) struct Coefficients {
    /// One for each output, or nothing.
    pub(super) biases: Room,
    /// Planes, taps, lanes.
    pub(super) weights: Room,
    /// A slot whose planes are narrower than it, and bytes on their way.
    staged: Vec<u16>,
    bytes: Vec<u8>,
    /// Where each engine's next sparse slot begins in its chunk, and whether those before it were empty.
    next: [(u64, bool); kernel_dma::CHANNELS as usize],
}

fn read<M: GuestMemory>(dma: &mut Dma<'_, M>, base: u64, into: &mut [u8]) -> Result<(), Fault> {
    match dma.range(base, into.len() as u64, Access::Read).map_err(Box::<IoDartErrorInfo>::new)? {
        Some(range) => dma.read(range, into).map_err(Box::new),
        None => Ok(()),
    }
}

/// The chunk of an engine, in memory.
fn chunk(registers: &RegisterFile, engine: u16) -> u64 {
    registers.base(&kernel_dma::COEFF_BASE_ADDR, engine).0.into()
}

impl Coefficients {
    /// Makes room for what a group of a convolution needs; in how many pieces that comes.
    pub(super) fn begin(&mut self, kernel: &Kernel, group: u32) -> u32 {
        let outputs = kernel.outputs as usize;
        self.weights.resize(outputs.saturating_mul(kernel.taps as usize));
        self.biases.resize(if kernel.has_bias { outputs } else { 0 });
        if group == 0 {
            self.next = [(kernel.table_bytes(), true); kernel_dma::CHANNELS as usize];
        }
        kernel.slots().div_ceil(together(kernel)).saturating_mul(parts(kernel))
    }

    /// Brings a piece, if it is still wanted.
    pub(super) fn fetch<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        registers: &RegisterFile,
        (kernel, group): (&Kernel, u32),
        (pace, pool): (&mut Pace<'_>, &mut Pool),
        piece: u32,
    ) -> Result<(), EngineError> {
        let (parts, together) = (parts(kernel), together(kernel));
        let first = piece.checked_div(parts).unwrap_or(0).saturating_mul(together);
        let part = piece.checked_rem(parts).unwrap_or(0);
        let slots = first..kernel.slots().min(first.saturating_add(together));
        let slot = kernel.slot(group, first);
        let len = (slot.lanes as usize).saturating_mul(kernel.taps as usize);
        let steps = TRANSFER.saturating_add(len.min(TOGETHER)).saturating_mul(slots.len());
        if pace.spend(steps) {
            return Ok(());
        }
        if together > 1 {
            let slots = slots.map(|index| kernel.slot(group, index));
            return Ok(self.several(dma, registers, kernel, slots, pool)?);
        }
        if kernel.sparse.is_some() {
            self.sparse(dma, registers, kernel, slot)
        } else if parts == 1 && (slot.lanes, slot.row) != (kernel.common_lanes(), slot.lanes) {
            Ok(self.scattered(dma, registers, kernel, slot)?)
        } else {
            Ok(self.straight(dma, registers, kernel, slot, part as usize)?)
        }
    }

    /// Brings a part of a slot whose plane is one of the array's.
    fn straight<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        registers: &RegisterFile,
        kernel: &Kernel,
        slot: Slot,
        part: usize,
    ) -> Result<(), Fault> {
        let base = chunk(registers, slot.engine).saturating_add(slot.offset);
        if part == 0 {
            self.bias_row(dma, base, slot)?;
        }
        let first = (slot.first as usize).saturating_mul(kernel.taps as usize);
        let len = (slot.lanes as usize).saturating_mul(kernel.taps as usize);
        let before = part.saturating_mul(TOGETHER);
        let end = first.saturating_add(len.min(before.saturating_add(TOGETHER)));
        let base = base.saturating_add(bias_bytes(kernel, slot)).saturating_add(kernel.size(before as u64));
        match self.weights.get_mut(first.saturating_add(before)..end) {
            Some(weights) => numbers(dma, base, kernel.format, weights),
            None => Ok(()),
        }
    }

    /// Brings slots that follow each other, each of which is a plane of the array's.
    fn several<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        registers: &RegisterFile,
        kernel: &Kernel,
        mut slots: impl Iterator<Item = Slot> + Clone,
        pool: &mut Pool,
    ) -> Result<(), Fault> {
        let Some(Slot { first, lanes, .. }) = slots.clone().next() else { return Ok(()) };
        let (first, lanes, taps) = (first as usize, (lanes as usize).max(1), (kernel.taps as usize).max(1));
        let weights = self.weights.get_mut(first.saturating_mul(taps)..).unwrap_or_default();
        let mut weights = weights.chunks_exact_mut(lanes.saturating_mul(taps));
        let mut biases = self.biases.get_mut(first..).unwrap_or_default().chunks_exact_mut(lanes);
        let rows = slots.by_ref().zip(weights.by_ref()).flat_map(|(slot, weights)| {
            let base = chunk(registers, slot.engine).saturating_add(slot.offset);
            let behind = base.saturating_add(bias_bytes(kernel, slot));
            biases.next().map(|biases| (base, biases)).into_iter().chain([(behind, weights)])
        });
        let mut outside = None;
        let parts = rows.map_while(|(base, row)| {
            let bytes = row.as_mut_bytes();
            let len = bytes.len() as u64;
            let rows = u32::try_from(len).ok().and_then(|len| Rows::new(base, len, 0, 1).ok());
            if rows.is_none() {
                outside = Some((base, len));
            }
            Some((rows?, bytes))
        });
        dma.read_all(parts, pool).map_err(Box::<IoDartErrorInfo>::new)?;
        if let Some((base, len)) = outside {
            dma.range(base, len, Access::Read).map_err(Box::<IoDartErrorInfo>::new)?;
        }
        Ok(())
    }

    /// Brings a slot whose plane is several of the array's, or whose rows have more lanes: those get some lanes of each row.
    fn scattered<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        registers: &RegisterFile,
        kernel: &Kernel,
        slot: Slot,
    ) -> Result<(), Fault> {
        let base = chunk(registers, slot.engine).saturating_add(slot.offset);
        self.bias_row(dma, base, slot)?;
        let (lanes, row, taps) = (slot.lanes as usize, slot.row as usize, kernel.taps as usize);
        self.staged.resize(row.saturating_mul(taps), 0);
        let base = base.saturating_add(bias_bytes(kernel, slot));
        numbers(dma, base, kernel.format, &mut self.staged)?;
        let narrow = kernel.common_lanes().max(1) as usize;
        let first = (slot.first as usize).saturating_mul(taps);
        let planes = self
            .weights
            .get_mut(first..)
            .unwrap_or_default()
            .chunks_exact_mut(narrow.saturating_mul(taps).max(1));
        for (index, plane) in planes.take(lanes.checked_div(narrow).unwrap_or(0)).enumerate() {
            let rows = self.staged.chunks_exact(row.max(1));
            for (to, from) in plane.chunks_exact_mut(narrow).zip(rows) {
                let from = from.chunks_exact(narrow).nth(index).unwrap_or_default();
                to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(())
    }

    /// Brings a sparse slot, which says itself how long it is.
    fn sparse<M: GuestMemory>(
        &mut self,
        dma: &mut Dma<'_, M>,
        registers: &RegisterFile,
        kernel: &Kernel,
        slot: Slot,
    ) -> Result<(), EngineError> {
        let (Some(layout), Some((at, is_empty))) =
            (kernel.sparse, self.next.get_mut(usize::from(slot.engine)))
        else {
            return Ok(());
        };
        let refuse = |bad: sparse::Bad| {
            let register = &kernel_dma::COEFF_BASE_ADDR;
            let address = register.info.at(slot.engine).unwrap_or(register.offset());
            let value = registers.written(address).unwrap_or_default();
            let category = Category::Undefined;
            EngineError::Refused(Verdict { category, address, bits: u32::MAX, value, why: bad.why() })
        };
        let size = u64::from(registers.get_at(&kernel_dma::COEFF_BFR_SIZE, slot.engine).bytes());
        let largest = sparse::largest(kernel, &layout, slot.lanes);
        let len = size.saturating_sub(*at).min(largest);
        self.bytes.resize(usize::try_from(len).unwrap_or(0), 0);
        read(dma, chunk(registers, slot.engine).saturating_add(*at), &mut self.bytes)?;
        let is_only = kernel.slots_of(slot.engine) == 1 && kernel.groups == 1;
        let found =
            sparse::Found::of(&self.bytes, kernel.has_bias, slot.lanes, &layout, is_only).map_err(refuse)?;
        let is_first = *at == kernel.table_bytes();
        if !is_first && *is_empty != found.is_empty() {
            return Err(refuse(sparse::Bad::Empty));
        }
        *is_empty = found.is_empty();
        let taps = kernel.taps as usize;
        let first = slot.first as usize;
        if let Some(biases) = self.biases.get_mut(first..first.saturating_add(slot.lanes as usize)) {
            let (pairs, _) = found.biases.as_chunks::<2>();
            biases.iter_mut().zip(pairs).for_each(|(to, from)| *to = u16::from_le_bytes(*from));
        }
        let len = (slot.lanes as usize).saturating_mul(taps);
        let first = first.saturating_mul(taps);
        if let Some(weights) = self.weights.get_mut(first..first.saturating_add(len)) {
            found.expand(&layout, slot.lanes, weights).map_err(refuse)?;
        }
        *at = at.saturating_add(kernel.padded(found.len));
        Ok(())
    }

    fn bias_row<M: GuestMemory>(&mut self, dma: &mut Dma<'_, M>, base: u64, slot: Slot) -> Result<(), Fault> {
        let first = slot.first as usize;
        if let Some(biases) = self.biases.get_mut(first..first.saturating_add(slot.lanes as usize)) {
            read(dma, base, biases.as_mut_bytes())?;
            little_endian(biases);
        }
        Ok(())
    }

    /// Shows the first of the coefficients in kernel memory, slot by slot in the order of planes.
    pub(super) fn show(&self, kernel: &Kernel, memory: &mut KernelMemory) {
        let lanes = kernel.common_lanes() as usize;
        let plane_len = lanes.saturating_mul(kernel.taps as usize).max(1);
        let mut biases = self.biases.chunks_exact(lanes.max(1));
        let rows =
            self.weights.chunks_exact(plane_len).flat_map(|plane| [biases.next().unwrap_or_default(), plane]);
        let halves = self.biases.len().saturating_add(self.weights.len());
        let Some(slot) = slot(memory, halves.saturating_mul(2)) else { return };
        let (mut left, _) = slot.as_chunks_mut::<2>();
        for row in rows {
            // Row by row, so that what is copied is a slice.
            let Some((pairs, behind)) = left.split_at_mut_checked(row.len().min(left.len())) else { return };
            pairs.iter_mut().zip(row).for_each(|(to, from)| *to = from.to_le_bytes());
            left = behind;
            if left.is_empty() {
                return;
            }
        }
    }
}

/// In how many parts each slot comes: several only if it can go straight to its place.
fn parts(kernel: &Kernel) -> u32 {
    let lanes = kernel.common_lanes();
    if kernel.sparse.is_some() || lanes != kernel.lanes || lanes != kernel.last_lanes {
        return 1;
    }
    let whole = u64::from(kernel.lanes.max(kernel.last_lanes)).saturating_mul(kernel.taps.into());
    u32::try_from(whole.div_ceil(TOGETHER as u64).max(1)).unwrap_or(u32::MAX)
}

/// How many slots are a piece: several only if each is small and is read as it lies in memory.
fn together(kernel: &Kernel) -> u32 {
    let lanes = kernel.common_lanes();
    let is_straight = kernel.sparse.is_none() && lanes == kernel.lanes && lanes == kernel.last_lanes;
    let reads_as_is = cfg!(target_endian = "little") && kernel.format == Format::Half;
    if !is_straight || !reads_as_is {
        return 1;
    }
    let len = u64::from(lanes).saturating_mul(kernel.taps.into());
    let many = (TOGETHER as u64).checked_div(len).unwrap_or(1).clamp(1, kernel.slots().max(1).into());
    u32::try_from(many).unwrap_or(1)
}

/// The part of kernel memory that a transfer of `bytes` fills: as much of it as there is, in whole granules.
fn slot(memory: &mut KernelMemory, bytes: usize) -> Option<&mut [u8]> {
    let granules = bytes.min(kernel_memory::BYTES).next_multiple_of(GRANULE as usize);
    memory.slot(u32::try_from(granules).ok()?).ok()
}

/// Bytes of a slot's bias row.
const fn bias_bytes(kernel: &Kernel, slot: Slot) -> u64 {
    if kernel.has_bias { (slot.row as u64).saturating_mul(2) } else { 0 }
}

/// Reads coefficients as halves.
fn numbers<M: GuestMemory>(
    dma: &mut Dma<'_, M>,
    base: u64,
    format: Format,
    into: &mut [u16],
) -> Result<(), Fault> {
    match format {
        Format::Half => {
            read(dma, base, into.as_mut_bytes())?;
            little_endian(into);
            Ok(())
        }
        Format::Unsigned => bytes(dma, base, into, |byte| half::f16::from(byte).to_bits()),
        Format::Signed => bytes(dma, base, into, |byte| half::f16::from(byte.cast_signed()).to_bits()),
    }
}

/// Reads bytes as numbers, which halves hold exactly.
fn bytes<M: GuestMemory>(
    dma: &mut Dma<'_, M>,
    base: u64,
    into: &mut [u16],
    number: impl Fn(u8) -> u16,
) -> Result<(), Fault> {
    let mut at = base;
    for part in into.chunks_mut(256) {
        let mut bytes = [0; 256];
        let bytes = bytes.get_mut(..part.len()).unwrap_or_default();
        read(dma, at, bytes)?;
        part.iter_mut().zip(&*bytes).for_each(|(half, byte)| *half = number(*byte));
        at = at.saturating_add(part.len() as u64);
    }
    Ok(())
}

/// The activation table in front of an engine's chunk.
pub(super) fn table<M: GuestMemory>(
    dma: &mut Dma<'_, M>,
    registers: &RegisterFile,
    engine: u16,
    into: &mut [u8; BYTES],
) -> Result<(), Fault> {
    read(dma, chunk(registers, engine), into)
}

pub(super) fn show_table(table: &[u8; BYTES], memory: &mut KernelMemory) {
    if let Some(shown) = slot(memory, BYTES).and_then(|slot| slot.first_chunk_mut()) {
        *shown = *table;
    }
}
