//! The result: what L2 and the tile DMA registers say of where it goes.

use ane_uapi::hw::td::common;
use ane_uapi::hw::td::l2::{self, ResultType};
use ane_uapi::hw::td::tile_destination;
use ane_uapi::hw::td::tile_source::MemoryFormat;
use ane_uapi::register::{Bits, Reg, Word};

use super::chip_fits;
use super::operand::{ChipPlace, Element, MemoryPlace, Shape, Sink, may_overlap};
use super::source::dma_fmt_is_known;
use super::task::{self, Repeats};
use super::verdict::{Registers, Result};
use crate::refusal::Category;

/// The result of a task that is done so often; its extents before any transposition the caller knows.
pub(super) fn sink(
    registers: Registers<'_>,
    shape: Shape,
    is_transposed: bool,
    repeats: Repeats,
) -> Result<Sink> {
    let shape = if is_transposed { shape.transposed() } else { shape };
    let cfg = registers.get(&l2::RESULT_CFG);
    let element = task::element(registers.get(&common::CH_CFG).out_fmt());
    let place = ChipPlace::new(
        [
            registers.get(&l2::RESULT_BASE),
            registers.get(&l2::RESULT_CHANNEL_STRIDE),
            registers.get(&l2::RESULT_ROW_STRIDE),
            registers.get(&l2::RESULT_DEPTH_STRIDE),
            registers.get(&l2::RESULT_GROUP_STRIDE),
        ],
        repeats.depths,
        element,
    );
    // The decoder has refused every other number.
    let result_type = ResultType::try_from(cfg.result_type()).unwrap_or(ResultType::OnChip);
    let writes = registers.get(&tile_destination::DMA_CONFIG).en();
    let is_passed_on = result_type == ResultType::Passed;
    let mut sink = Sink { shape, is_transposed, chip: None, memory: None, spoils: None, is_passed_on };
    if matches!(result_type, ResultType::OnChip | ResultType::AssembleThenWrite) {
        sink.chip = Some(place);
    } else if !is_passed_on {
        let rows = u32::from(registers.get(&common::TILE_CFG).tile_height());
        sink.spoils = Some((place, rows.saturating_mul(place.row_stride)));
    }
    if is_passed_on {
        let register = &l2::RESULT_CFG;
        let field = l2::ResultCfg::RESULT_TYPE;
        registers.defined(!writes, register, field, "result goes to the next task and its DMA is enabled")?;
        registers.defined(repeats.count() == 1, register, field, "no repeated task passes its result on")?;
        let is_half = element == Element::Half;
        registers.defined(is_half, &common::CH_CFG, common::ChCfg::OUT_FMT, "no program passes bytes on")?;
    } else if result_type == ResultType::OnChip {
        registers.runs(
            !writes,
            &l2::RESULT_CFG,
            l2::ResultCfg::RESULT_TYPE,
            "result stays on chip and its DMA is enabled",
        )?;
    } else {
        sink.memory = Some(memory(registers, writes, repeats, element)?);
    }
    if let Some(ChipPlace { channel_stride, row_stride, group_stride, depth_stride, .. }) = sink.chip {
        chip_fits(registers, place, shape, &l2::RESULT_BASE)?;
        let axes = [
            (element.bytes(), shape.width),
            (row_stride, shape.height),
            (channel_stride, shape.channels),
            (depth_stride, repeats.depths),
            (group_stride, repeats.groups),
        ];
        apart(registers, may_overlap(element, axes), &l2::RESULT_ROW_STRIDE)?;
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
        apart(registers, may_overlap(element, axes), &tile_destination::ROW_STRIDE)?;
    }
    Ok(sink)
}

/// Refuses results that overwrite themselves: which element is written last is not known.
fn apart<T: Word>(registers: Registers<'_>, overlaps: bool, register: &Reg<T>) -> Result<()> {
    if !overlaps {
        return Ok(());
    }
    let why = "strides let elements of the result overlap, and which is written last is not known";
    Err(registers.verdict(register, Bits::ALL, Category::Unpredictable, why))
}

fn memory(registers: Registers<'_>, writes: bool, repeats: Repeats, element: Element) -> Result<MemoryPlace> {
    let register = &tile_destination::FMT;
    let fmt = registers.get(register);
    registers.runs(fmt.into_bits() != 0, register, Bits::ALL, "result is written and its format is zero")?;
    registers.defined(
        writes,
        &tile_destination::DMA_CONFIG,
        tile_destination::DestinationDmaConfig::EN,
        "result leaves the chip and its DMA is disabled",
    )?;
    registers.defined(
        !fmt.shift(),
        register,
        tile_destination::DestinationFmt::SHIFT,
        "no program shifts",
    )?;
    registers.defined(
        fmt.offset_ch() == 0,
        register,
        tile_destination::DestinationFmt::OFFSET_CH,
        "no program offsets channels",
    )?;
    registers.defined(
        !fmt.cmp_vec_fill(),
        register,
        tile_destination::DestinationFmt::CMP_VEC_FILL,
        "no program compresses",
    )?;
    registers.defined(
        fmt.cmp_vec() == 0,
        register,
        tile_destination::DestinationFmt::CMP_VEC,
        "no program compresses",
    )?;
    let (mode, truncate, format) = match element {
        Element::Half => (1, 3, MemoryFormat::Fp16),
        Element::Signed | Element::Unsigned => (0, 0, MemoryFormat::Byte),
    };
    registers.defined(
        fmt.fmt_mode() == mode,
        register,
        tile_destination::DestinationFmt::FMT_MODE,
        "no program moves such elements in this mode",
    )?;
    registers.defined(
        fmt.truncate() == truncate,
        register,
        tile_destination::DestinationFmt::TRUNCATE,
        "no program truncates so",
    )?;
    registers.defined(
        fmt.mem_fmt() == format as u8,
        register,
        tile_destination::DestinationFmt::MEM_FMT,
        "ChCfg says otherwise of the result",
    )?;
    let is_plain = element == Element::Half || fmt.interleave() <= 1;
    registers.defined(
        is_plain,
        register,
        tile_destination::DestinationFmt::INTERLEAVE,
        "no program interleaves bytes",
    )?;
    let cfg = registers.get(&l2::RESULT_CFG);
    let is_known = dma_fmt_is_known(cfg.dma_fmt(), element);
    registers.defined(
        is_known,
        &l2::RESULT_CFG,
        l2::ResultCfg::DMA_FMT,
        "it is 0 with bytes, and 0 or 1 with halves",
    )?;
    registers.defined(
        cfg.dma_cmp_vec() == 0,
        &l2::RESULT_CFG,
        l2::ResultCfg::DMA_CMP_VEC,
        "no program compresses",
    )?;
    registers.defined(
        cfg.dma_offset_ch() == 0,
        &l2::RESULT_CFG,
        l2::ResultCfg::DMA_OFFSET_CH,
        "no program offsets channels",
    )?;
    let interleave = cfg.dma_interleave();
    let agrees = interleave == 1 || interleave == fmt.interleave();
    registers.defined(
        agrees,
        &l2::RESULT_CFG,
        l2::ResultCfg::DMA_INTERLEAVE,
        "format in memory says otherwise",
    )?;
    Ok(MemoryPlace::new(
        [
            registers.get(&tile_destination::ROW_STRIDE),
            registers.get(&tile_destination::PLANE_STRIDE),
            registers.get(&tile_destination::DEPTH_STRIDE),
            registers.get(&tile_destination::GROUP_STRIDE),
        ],
        fmt.interleave(),
        repeats.depths,
        element,
    ))
}
