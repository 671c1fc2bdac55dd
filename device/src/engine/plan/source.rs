//! Sources: what the tile DMA and L2 registers say of the operands.

use ane_uapi::hw::td::common::{self, ChCfg, TaskClass};
use ane_uapi::hw::td::l2::{self, SourceCfg, SourceType};
use ane_uapi::hw::td::tile_source::{self, MemoryFormat, SourceDmaConfig, SourceFmt};
use ane_uapi::hw::td::words::ChipBytes;
use ane_uapi::register::{Bits, Reg};

use super::chip_fits;
use super::operand::{ChipPlace, Element, MemoryPlace, Origin, Shape, Source, Window, may_overlap};
use super::task::{self, Repeats};
use super::verdict::{Registers, Result};

/// FmtMode and Truncate of a port that moves halves.
const FMT_MODE_HALVES: u8 = 1;
const TRUNCATE_HALVES: u8 = 3;

/// Columns of one tile: what a window is wide.
pub(super) fn tile_width(task: Registers<'_>, class: TaskClass) -> u32 {
    match class {
        TaskClass::Neural => 128 >> u32::from(task.get(&common::CFG).sh_min()),
        _ => 1 << u32::from(task.get(&common::PATCH_CFG).width()),
    }
}

/// Bytes of one channel of one row of a tile; on chip it takes whole units of 16 bytes.
pub(super) const fn row_tile_bytes(width: u32, tile_width: u32, element: Element) -> u32 {
    let columns = if width < tile_width { width } else { tile_width };
    columns.saturating_mul(element.bytes()).next_multiple_of(16)
}

#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The extents of the operand; 1 where it is broadcast.
    pub(super) shape: Shape,
    /// True if it lies with channels and columns in each other's place.
    pub(super) is_transposed: bool,
    /// How often the task is done.
    pub(super) repeats: Repeats,
}

pub(super) fn source1(task: Registers<'_>, class: TaskClass, wanted: Wanted) -> Result<Source> {
    let Wanted { shape, is_transposed, repeats } = wanted;
    let cfg = task.get(&l2::SOURCE_CFG);
    let element = task::element(task.get(&common::CH_CFG).in_fmt());
    let by = ChipPlace::new(
        [
            task.get(&l2::SOURCE_BASE),
            task.get(&l2::SOURCE_CHANNEL_STRIDE),
            task.get(&l2::SOURCE_ROW_STRIDE),
            task.get(&l2::SOURCE_DEPTH_STRIDE),
            task.get(&l2::SOURCE_GROUP_STRIDE),
        ],
        repeats.depths,
        element,
    );
    let source = |origin| Source { shape, is_transposed, origin };
    let stored = source(Origin::Passed).stored();
    // The decoder has refused every other number.
    let source_type = SourceType::try_from(cfg.source_type()).unwrap_or(SourceType::OnChip);
    match source_type {
        SourceType::OnChip => {
            chip_fits(task, by, stored, &l2::SOURCE_BASE)?;
            return Ok(source(Origin::Chip(by)));
        }
        SourceType::Passed => {
            let register = &l2::SOURCE_CFG;
            let field = SourceCfg::SOURCE_TYPE;
            task.defined(repeats.count() == 1, register, field, "no repeated task takes what is passed on")?;
            let is_half = element == Element::Half;
            task.defined(is_half, &common::CH_CFG, ChCfg::IN_FMT, "no program passes bytes on")?;
            return Ok(source(Origin::Passed));
        }
        SourceType::LoadAndKeep | SourceType::Stream => {}
    }
    let tile = tile_width(task, class);
    task.runs(
        by.channel_stride >= row_tile_bytes(stored.width, tile, element),
        &l2::SOURCE_CHANNEL_STRIDE,
        ChipBytes::UNITS,
        "channel stride is shorter than one row tile",
    )?;
    let dma = task.get(&tile_source::DMA_CONFIG1);
    task.runs(
        dma.en(),
        &tile_source::DMA_CONFIG1,
        SourceDmaConfig::EN,
        "source 1 is needed and its DMA is disabled",
    )?;
    let fmt = task.get(&tile_source::FMT1);
    check_fmt(task, &tile_source::FMT1, fmt, element, fmt.fmt_mode() == FMT_MODE_HALVES)?;
    check_element(task, cfg, fmt, element)?;
    let from = MemoryPlace::new(
        [
            task.get(&tile_source::ROW_STRIDE1),
            task.get(&tile_source::PLANE_STRIDE1),
            task.get(&tile_source::DEPTH_STRIDE1),
            task.get(&tile_source::GROUP_STRIDE1),
        ],
        fmt.interleave(),
        repeats.depths,
        element,
    );
    let overlaps = may_overlap(
        element,
        [
            (element.bytes(), stored.width),
            (by.row_stride, stored.height),
            (by.channel_stride, stored.channels),
        ],
    );
    let leaves = if source_type == SourceType::Stream {
        window(task, by, stored, (tile, overlaps || repeats.count() > 1))
    } else if overlaps {
        Window::Overlapping
    } else {
        Window::Whole
    };
    if leaves.is_its_place() {
        chip_fits(task, by, stored, &l2::SOURCE_BASE)?;
    }
    Ok(source(Origin::Memory { from, by, leaves }))
}

pub(super) fn source2(task: Registers<'_>, wanted: Wanted) -> Result<Source> {
    let Wanted { shape, is_transposed, repeats } = wanted;
    let element = task::element(task.get(&common::CH_CFG).second_fmt());
    let by = ChipPlace::new(
        [
            task.get(&l2::SOURCE2_BASE),
            task.get(&l2::SOURCE2_CHANNEL_STRIDE),
            task.get(&l2::SOURCE2_ROW_STRIDE),
            task.get(&l2::SOURCE2_DEPTH_STRIDE),
            task.get(&l2::SOURCE2_GROUP_STRIDE),
        ],
        repeats.depths,
        element,
    );
    let source = |origin| Source { shape, is_transposed, origin };
    let cfg = task.get(&l2::SOURCE_CFG);
    let in_memory = cfg.src2_in_memory();
    task.defined(
        task.get(&common::CFG).src2_in_memory() == in_memory,
        &l2::SOURCE_CFG,
        SourceCfg::SRC2_IN_MEMORY,
        "Cfg says otherwise of source 2",
    )?;
    if !in_memory {
        chip_fits(task, by, source(Origin::Passed).stored(), &l2::SOURCE2_BASE)?;
        return Ok(source(Origin::Chip(by)));
    }
    let fmt = task.get(&tile_source::FMT2);
    check_fmt(task, &tile_source::FMT2, fmt, element, fmt.fmt_mode() <= FMT_MODE_HALVES)?;
    // SourceCfg has one interleave and one DMAFmt for both: those of source 1, if it is loaded too.
    let loads1 = [SourceType::LoadAndKeep as u8, SourceType::Stream as u8].contains(&cfg.source_type());
    if loads1 {
        check_interleave(task, cfg, task.get(&tile_source::FMT1))?;
    } else if element == Element::Half {
        check_interleave(task, cfg, fmt)?;
    } else {
        check_element(task, cfg, fmt, element)?;
    }
    let from = MemoryPlace::new(
        [
            task.get(&tile_source::ROW_STRIDE2),
            task.get(&tile_source::PLANE_STRIDE2),
            task.get(&tile_source::DEPTH_STRIDE2),
            task.get(&tile_source::GROUP_STRIDE2),
        ],
        fmt.interleave(),
        repeats.depths,
        element,
    );
    // The enable of its own port stays clear (td 4.5): that of port 1 is the only one.
    task.defined(
        task.get(&tile_source::DMA_CONFIG1).en(),
        &tile_source::DMA_CONFIG1,
        SourceDmaConfig::EN,
        "source 2 is needed and the DMA of sources is disabled",
    )?;
    // It is not known whether a small source 2 stays readable.
    let rows = u32::from(task.get(&common::TILE_CFG).tile_height());
    let leaves = Window::Unknown(rows.saturating_mul(by.row_stride));
    Ok(source(Origin::Memory { from, by, leaves }))
}

/// The contents that a streamed source 1 leaves in its window of `TileHeight` rows of one tile column. It `refills` the window
/// if a task is repeated, or if its elements take each other's place.
fn window(task: Registers<'_>, by: ChipPlace, shape: Shape, (tile, refills): (u32, bool)) -> Window {
    let rows = u32::from(task.get(&common::TILE_CFG).tile_height());
    if shape.width <= tile && shape.height <= rows && !refills {
        Window::Whole
    } else {
        Window::Unknown(rows.saturating_mul(by.row_stride))
    }
}

/// Checks the format of a port; `moves_halves` says whether its mode does.
fn check_fmt(
    task: Registers<'_>,
    register: &Reg<SourceFmt>,
    fmt: SourceFmt,
    element: Element,
    moves_halves: bool,
) -> Result<()> {
    task.runs(fmt.into_bits() != 0, register, Bits::ALL, "source is needed and its format is zero")?;
    task.defined(!fmt.shift(), register, SourceFmt::SHIFT, "no program shifts")?;
    task.defined(fmt.offset_ch() == 0, register, SourceFmt::OFFSET_CH, "no program offsets channels")?;
    task.defined(fmt.cmp_vec() == 0, register, SourceFmt::CMP_VEC, "no program compresses")?;
    if element == Element::Half {
        task.defined(moves_halves, register, SourceFmt::FMT_MODE, "no program moves halves in this mode")?;
        task.defined(
            fmt.truncate() == TRUNCATE_HALVES,
            register,
            SourceFmt::TRUNCATE,
            "no program truncates so",
        )?;
        return task.defined(
            fmt.mem_fmt() == MemoryFormat::Fp16 as u8,
            register,
            SourceFmt::MEM_FMT,
            "ChCfg says that elements are halves",
        );
    }
    task.defined(fmt.fmt_mode() == 0, register, SourceFmt::FMT_MODE, "no program moves bytes in this mode")?;
    task.defined(fmt.truncate() == 0, register, SourceFmt::TRUNCATE, "no program truncates bytes")?;
    task.defined(
        fmt.mem_fmt() == MemoryFormat::Byte as u8,
        register,
        SourceFmt::MEM_FMT,
        "ChCfg says that elements are bytes",
    )?;
    task.defined(fmt.interleave() <= 1, register, SourceFmt::INTERLEAVE, "no program interleaves bytes")
}

fn check_element(task: Registers<'_>, cfg: SourceCfg, fmt: SourceFmt, element: Element) -> Result<()> {
    check_interleave(task, cfg, fmt)?;
    let is_known = dma_fmt_is_known(cfg.dma_fmt(), element);
    task.defined(is_known, &l2::SOURCE_CFG, SourceCfg::DMA_FMT, "it is 0 with bytes, and 0 or 1 with halves")
}

/// DMAFmt 0 is that of bytes, and without effect beside halves (delta C6; measured).
pub(super) const fn dma_fmt_is_known(dma_fmt: u8, element: Element) -> bool {
    dma_fmt == 0 || (dma_fmt == 1 && matches!(element, Element::Half))
}

fn check_interleave(task: Registers<'_>, cfg: SourceCfg, fmt: SourceFmt) -> Result<()> {
    let register = &l2::SOURCE_CFG;
    let interleave = cfg.dma_interleave();
    let agrees = interleave == 1 || interleave == fmt.interleave();
    task.defined(agrees, register, SourceCfg::DMA_INTERLEAVE, "format in memory says otherwise")?;
    task.defined(cfg.dma_cmp_vec() == 0, register, SourceCfg::DMA_CMP_VEC, "no program compresses")?;
    task.defined(cfg.dma_offset_ch() == 0, register, SourceCfg::DMA_OFFSET_CH, "no program offsets channels")
}
