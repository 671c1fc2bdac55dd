//! The result: what L2 and the tile DMA registers say of where it goes.

use ane_uapi::hw::td::common;
use ane_uapi::hw::td::l2::{self, ResultType};
use ane_uapi::hw::td::tile_destination;
use ane_uapi::register::Register;

use super::chip_fits;
use super::operand::{ChipPlace, MemoryPlace, Shape, Sink, may_overlap};
use super::verdict::{Registers, Verdict};
use crate::refusal::Category;

/// The result of `batches` batches, whose extents before any transposition the caller knows.
pub(super) fn sink(
    registers: Registers<'_>,
    shape: Shape,
    is_transposed: bool,
    batches: u32,
) -> Result<Sink, Verdict> {
    let shape = if is_transposed { shape.transposed() } else { shape };
    let cfg = registers.get(&l2::RESULT_CFG);
    let place = ChipPlace::new(
        registers.get(&l2::RESULT_BASE),
        registers.get(&l2::RESULT_CHANNEL_STRIDE),
        registers.get(&l2::RESULT_ROW_STRIDE),
        registers.get(&l2::RESULT_GROUP_STRIDE),
    );
    // The decoder has refused the fourth number.
    let result_type = ResultType::try_from(cfg.result_type()).unwrap_or(ResultType::OnChip);
    let writes = registers.get(&tile_destination::DMA_CONFIG).en();
    let mut sink = Sink { shape, is_transposed, chip: None, memory: None, spoils: None };
    if result_type != ResultType::Stream {
        sink.chip = Some(place);
    } else {
        let rows = u32::from(registers.get(&common::TILE_CFG).tile_height());
        sink.spoils = Some((place, rows.saturating_mul(place.row_stride)));
    }
    if result_type == ResultType::OnChip {
        registers.runs(
            !writes,
            &l2::RESULT_CFG,
            "result_type",
            "result stays on chip and its DMA is enabled",
        )?;
    } else {
        sink.memory = Some(memory(registers, writes)?);
    }
    if let Some(ChipPlace { channel_stride, row_stride, group_stride, .. }) = sink.chip {
        chip_fits(registers, place, shape, &l2::RESULT_BASE)?;
        let axes = [
            (2, shape.width),
            (row_stride, shape.height),
            (channel_stride, shape.channels),
            (group_stride, batches),
        ];
        apart(registers, may_overlap(axes), &l2::RESULT_ROW_STRIDE.info)?;
    }
    if let Some(MemoryPlace { row_stride, plane_stride, group_stride, interleave }) = sink.memory {
        let axes = [
            (2, shape.channels.min(interleave)),
            (interleave.saturating_mul(2), shape.width),
            (row_stride, shape.height),
            (plane_stride, shape.channels.div_ceil(interleave.max(1))),
            (group_stride, batches),
        ];
        apart(registers, may_overlap(axes), &tile_destination::ROW_STRIDE.info)?;
    }
    Ok(sink)
}

/// Refuses results that overwrite themselves: which element is written last is not known.
fn apart(registers: Registers<'_>, overlaps: bool, register: &Register) -> Result<(), Verdict> {
    if !overlaps {
        return Ok(());
    }
    let why = "strides let elements of the result overlap, and which is written last is not known";
    Err(registers.verdict(register, "", Category::Unpredictable, why))
}

fn memory(registers: Registers<'_>, writes: bool) -> Result<MemoryPlace, Verdict> {
    let register = &tile_destination::FMT;
    let fmt = registers.get(register);
    registers.runs(fmt.into_bits() != 0, register, "", "result is written and its format is zero")?;
    registers.defined(
        writes,
        &tile_destination::DMA_CONFIG,
        "en",
        "result leaves the chip and its DMA is disabled",
    )?;
    registers.defined(fmt.fmt_mode() == 1, register, "fmt_mode", "no program moves data in this mode")?;
    registers.defined(fmt.truncate() == 3, register, "truncate", "no program truncates so")?;
    registers.defined(fmt.mem_fmt() == 2, register, "mem_fmt", "only fp16 is known")?;
    let cfg = registers.get(&l2::RESULT_CFG);
    registers.defined(cfg.dma_fmt() == 1, &l2::RESULT_CFG, "dma_fmt", "only 16-bit elements are known")?;
    let interleave = cfg.dma_interleave();
    let agrees = interleave == 1 || interleave == fmt.interleave();
    registers.defined(agrees, &l2::RESULT_CFG, "dma_interleave", "format in memory says otherwise")?;
    Ok(MemoryPlace::new(
        registers.get(&tile_destination::ROW_STRIDE),
        registers.get(&tile_destination::PLANE_STRIDE),
        registers.get(&tile_destination::GROUP_STRIDE),
        fmt.interleave(),
    ))
}
