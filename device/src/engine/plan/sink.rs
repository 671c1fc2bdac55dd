//! The result: what L2 and the tile DMA registers say of where it goes.

use ane_uapi::hw::td::common::{self, ChCfg};
use ane_uapi::hw::td::l2::{self, ResultCfg, ResultType};
use ane_uapi::hw::td::tile_destination::{self, DestinationDmaConfig, DestinationFmt};
use ane_uapi::hw::td::tile_source::MemoryFormat;
use ane_uapi::register::{Bits, Reg, Word};

use super::chip_fits;
use super::operand::{ChipPlace, Element, MemoryPlace, Shape, Sink, may_overlap};
use super::source::dma_fmt_is_known;
use super::task::{self, Repeats};
use super::verdict::{Registers, Result};
use crate::refusal::Category;

/// The result of a task that is done so often; its extents before any transposition the caller knows.
pub(super) fn sink(task: Registers<'_>, shape: Shape, is_transposed: bool, repeats: Repeats) -> Result<Sink> {
    let shape = if is_transposed { shape.transposed() } else { shape };
    let cfg = task.get(&l2::RESULT_CFG);
    let element = task::element(task.get(&common::CH_CFG).out_fmt());
    let place = ChipPlace::new(
        [
            task.get(&l2::RESULT_BASE),
            task.get(&l2::RESULT_CHANNEL_STRIDE),
            task.get(&l2::RESULT_ROW_STRIDE),
            task.get(&l2::RESULT_DEPTH_STRIDE),
            task.get(&l2::RESULT_GROUP_STRIDE),
        ],
        repeats.depths,
        element,
    );
    // The decoder has refused every other number.
    let result_type = ResultType::try_from(cfg.result_type()).unwrap_or(ResultType::OnChip);
    let writes = task.get(&tile_destination::DMA_CONFIG).en();
    let is_passed_on = result_type == ResultType::Passed;
    let mut sink = Sink { shape, is_transposed, chip: None, memory: None, spoils: None, is_passed_on };
    if matches!(result_type, ResultType::OnChip | ResultType::AssembleThenWrite) {
        sink.chip = Some(place);
    } else if !is_passed_on {
        let rows = u32::from(task.get(&common::TILE_CFG).tile_height());
        sink.spoils = Some((place, rows.saturating_mul(place.row_stride)));
    }
    if is_passed_on {
        let register = &l2::RESULT_CFG;
        let field = ResultCfg::RESULT_TYPE;
        task.defined(!writes, register, field, "result goes to the next task and its DMA is enabled")?;
        task.defined(repeats.count() == 1, register, field, "no repeated task passes its result on")?;
        let is_half = element == Element::Half;
        task.defined(is_half, &common::CH_CFG, ChCfg::OUT_FMT, "no program passes bytes on")?;
    } else if result_type == ResultType::OnChip {
        task.runs(
            !writes,
            &l2::RESULT_CFG,
            ResultCfg::RESULT_TYPE,
            "result stays on chip and its DMA is enabled",
        )?;
    } else {
        sink.memory = Some(memory(task, writes, repeats, element)?);
    }
    if let Some(ChipPlace { channel_stride, row_stride, group_stride, depth_stride, .. }) = sink.chip {
        chip_fits(task, place, shape, &l2::RESULT_BASE)?;
        let axes = [
            (element.bytes(), shape.width),
            (row_stride, shape.height),
            (channel_stride, shape.channels),
            (depth_stride, repeats.depths),
            (group_stride, repeats.groups),
        ];
        apart(task, may_overlap(element, axes), &l2::RESULT_ROW_STRIDE)?;
    }
    if let Some(MemoryPlace { row_stride, plane_stride, group_stride, depth_stride, interleave, .. }) =
        sink.memory
    {
        let axes = [
            (element.bytes(), shape.channels.min(interleave)),
            (interleave.saturating_mul(element.bytes()), shape.width),
            (row_stride, shape.height),
            (plane_stride, shape.channels.div_ceil(interleave.max(1))),
            (depth_stride, repeats.depths),
            (group_stride, repeats.groups),
        ];
        apart(task, may_overlap(element, axes), &tile_destination::ROW_STRIDE)?;
    }
    Ok(sink)
}

/// Refuses results that overwrite themselves: which element is written last is not known.
fn apart<T: Word>(task: Registers<'_>, overlaps: bool, register: &Reg<T>) -> Result<()> {
    if !overlaps {
        return Ok(());
    }
    let why = "strides let elements of the result overlap, and which is written last is not known";
    Err(task.verdict(register, Bits::ALL, Category::Unpredictable, why))
}

fn memory(task: Registers<'_>, writes: bool, repeats: Repeats, element: Element) -> Result<MemoryPlace> {
    let register = &tile_destination::FMT;
    let fmt = task.get(register);
    task.runs(fmt.into_bits() != 0, register, Bits::ALL, "result is written and its format is zero")?;
    task.defined(
        writes,
        &tile_destination::DMA_CONFIG,
        DestinationDmaConfig::EN,
        "result leaves the chip and its DMA is disabled",
    )?;
    task.defined(!fmt.shift(), register, DestinationFmt::SHIFT, "no program shifts")?;
    task.defined(fmt.offset_ch() == 0, register, DestinationFmt::OFFSET_CH, "no program offsets channels")?;
    task.defined(!fmt.cmp_vec_fill(), register, DestinationFmt::CMP_VEC_FILL, "no program compresses")?;
    task.defined(fmt.cmp_vec() == 0, register, DestinationFmt::CMP_VEC, "no program compresses")?;
    let (mode, truncate, format) = match element {
        Element::Half => (1, 3, MemoryFormat::Fp16),
        Element::Signed | Element::Unsigned => (0, 0, MemoryFormat::Byte),
    };
    task.defined(
        fmt.fmt_mode() == mode,
        register,
        DestinationFmt::FMT_MODE,
        "no program moves such elements in this mode",
    )?;
    task.defined(fmt.truncate() == truncate, register, DestinationFmt::TRUNCATE, "no program truncates so")?;
    task.defined(
        fmt.mem_fmt() == format as u8,
        register,
        DestinationFmt::MEM_FMT,
        "ChCfg says otherwise of the result",
    )?;
    let is_plain = element == Element::Half || fmt.interleave() <= 1;
    task.defined(is_plain, register, DestinationFmt::INTERLEAVE, "no program interleaves bytes")?;
    let cfg = task.get(&l2::RESULT_CFG);
    let is_known = dma_fmt_is_known(cfg.dma_fmt(), element);
    task.defined(
        is_known,
        &l2::RESULT_CFG,
        ResultCfg::DMA_FMT,
        "it is 0 with bytes, and 0 or 1 with halves",
    )?;
    task.defined(cfg.dma_cmp_vec() == 0, &l2::RESULT_CFG, ResultCfg::DMA_CMP_VEC, "no program compresses")?;
    task.defined(
        cfg.dma_offset_ch() == 0,
        &l2::RESULT_CFG,
        ResultCfg::DMA_OFFSET_CH,
        "no program offsets channels",
    )?;
    let interleave = cfg.dma_interleave();
    let agrees = interleave == 1 || interleave == fmt.interleave();
    task.defined(agrees, &l2::RESULT_CFG, ResultCfg::DMA_INTERLEAVE, "format in memory says otherwise")?;
    Ok(MemoryPlace::new(
        [
            task.get(&tile_destination::ROW_STRIDE),
            task.get(&tile_destination::PLANE_STRIDE),
            task.get(&tile_destination::DEPTH_STRIDE),
            task.get(&tile_destination::GROUP_STRIDE),
        ],
        fmt.interleave(),
        repeats.depths,
        element,
    ))
}
