//! Sources: what the tile DMA and L2 registers say of the operands.

use ane_uapi::hw::td::common::{self, TaskClass};
use ane_uapi::hw::td::l2::{self, SourceType};
use ane_uapi::hw::td::tile_source::{self, SourceFmt};
use ane_uapi::register::Reg;

use super::chip_fits;
use super::operand::{ChipPlace, MemoryPlace, Origin, Shape, Source, Window};
use super::verdict::{Registers, Verdict};

/// FmtMode of a port that moves data.
const FMT_MODE_MOVES: u8 = 1;

/// Truncate of a port that moves data.
const TRUNCATE_MOVES: u8 = 3;

/// DMAFmt of 16-bit elements.
const DMA_FMT_16_BITS: u8 = 1;

/// Columns of one tile: what a window is wide.
pub(super) fn tile_width(registers: Registers<'_>, class: TaskClass) -> u32 {
    match class {
        TaskClass::Neural => 128 >> u32::from(registers.get(&common::CFG).sh_min()),
        _ => 1 << u32::from(registers.get(&common::PATCH_CFG).width()),
    }
}

/// Bytes of one channel of one row of a tile; on chip it takes whole units of 16 bytes.
pub(super) const fn row_tile_bytes(width: u32, tile_width: u32) -> u32 {
    let columns = if width < tile_width { width } else { tile_width };
    columns.saturating_mul(2).next_multiple_of(16)
}

/// Source 1, whose extents the caller knows.
pub(super) fn source1(registers: Registers<'_>, class: TaskClass, shape: Shape) -> Result<Source, Verdict> {
    let cfg = registers.get(&l2::SOURCE_CFG);
    let by = ChipPlace::new(
        registers.get(&l2::SOURCE_BASE),
        registers.get(&l2::SOURCE_CHANNEL_STRIDE),
        registers.get(&l2::SOURCE_ROW_STRIDE),
        registers.get(&l2::SOURCE_GROUP_STRIDE),
    );
    // The decoder has refused the fourth number.
    let source_type = SourceType::try_from(cfg.source_type()).unwrap_or(SourceType::OnChip);
    if source_type == SourceType::OnChip {
        chip_fits(registers, by, shape, &l2::SOURCE_BASE)?;
        return Ok(Source { shape, origin: Origin::Chip(by) });
    }
    let tile = tile_width(registers, class);
    registers.runs(
        by.channel_stride >= row_tile_bytes(shape.width, tile),
        &l2::SOURCE_CHANNEL_STRIDE,
        "units",
        "channel stride is shorter than one row tile",
    )?;
    let dma = registers.get(&tile_source::DMA_CONFIG1);
    registers.runs(
        dma.en(),
        &tile_source::DMA_CONFIG1,
        "en",
        "source 1 is needed and its DMA is disabled",
    )?;
    let fmt = registers.get(&tile_source::FMT1);
    check_fmt(registers, &tile_source::FMT1, fmt, fmt.fmt_mode() == FMT_MODE_MOVES)?;
    check_element(registers, cfg, fmt)?;
    let from = MemoryPlace::new(
        registers.get(&tile_source::ROW_STRIDE1),
        registers.get(&tile_source::PLANE_STRIDE1),
        registers.get(&tile_source::GROUP_STRIDE1),
        fmt.interleave(),
    );
    let leaves = if source_type == SourceType::LoadAndKeep {
        Window::Whole
    } else {
        window(registers, by, shape, tile)
    };
    if leaves == Window::Whole {
        chip_fits(registers, by, shape, &l2::SOURCE_BASE)?;
    }
    Ok(Source { shape, origin: Origin::Memory { from, by, leaves } })
}

/// Source 2, whose extents the caller knows.
pub(super) fn source2(registers: Registers<'_>, shape: Shape) -> Result<Source, Verdict> {
    let by = ChipPlace::new(
        registers.get(&l2::SOURCE2_BASE),
        registers.get(&l2::SOURCE2_CHANNEL_STRIDE),
        registers.get(&l2::SOURCE2_ROW_STRIDE),
        registers.get(&l2::SOURCE2_GROUP_STRIDE),
    );
    let cfg = registers.get(&l2::SOURCE_CFG);
    let in_memory = cfg.src2_in_memory();
    registers.defined(
        registers.get(&common::CFG).src2_in_memory() == in_memory,
        &l2::SOURCE_CFG,
        "src2_in_memory",
        "Cfg says otherwise of source 2",
    )?;
    if !in_memory {
        chip_fits(registers, by, shape, &l2::SOURCE2_BASE)?;
        return Ok(Source { shape, origin: Origin::Chip(by) });
    }
    let fmt = registers.get(&tile_source::FMT2);
    check_fmt(registers, &tile_source::FMT2, fmt, fmt.fmt_mode() <= FMT_MODE_MOVES)?;
    // There is one interleave for both: that of source 1, if it is loaded too.
    let spoken_of =
        if cfg.source_type() == SourceType::OnChip as u8 { fmt } else { registers.get(&tile_source::FMT1) };
    check_element(registers, cfg, spoken_of)?;
    let from = MemoryPlace::new(
        registers.get(&tile_source::ROW_STRIDE2),
        registers.get(&tile_source::PLANE_STRIDE2),
        registers.get(&tile_source::GROUP_STRIDE2),
        fmt.interleave(),
    );
    // Whether a small source 2 stays readable is not known.
    let rows = u32::from(registers.get(&common::TILE_CFG).tile_height());
    Ok(Source {
        shape,
        origin: Origin::Memory { from, by, leaves: Window::Unknown(rows.saturating_mul(by.row_stride)) },
    })
}

/// What a streamed source 1 leaves in its window of `TileHeight` rows of one tile column.
fn window(registers: Registers<'_>, by: ChipPlace, shape: Shape, tile: u32) -> Window {
    let rows = u32::from(registers.get(&common::TILE_CFG).tile_height());
    if shape.width <= tile && shape.height <= rows {
        Window::Whole
    } else {
        Window::Unknown(rows.saturating_mul(by.row_stride))
    }
}

fn check_fmt(
    registers: Registers<'_>,
    register: &Reg<SourceFmt>,
    fmt: SourceFmt,
    moves: bool,
) -> Result<(), Verdict> {
    registers.runs(fmt.into_bits() != 0, register, "", "source is needed and its format is zero")?;
    registers.defined(moves, register, "fmt_mode", "no program moves data in this mode")?;
    registers.defined(fmt.truncate() == TRUNCATE_MOVES, register, "truncate", "no program truncates so")?;
    // The decoder looks at the format only where the mode is not 0.
    registers.defined(fmt.mem_fmt() == 2, register, "mem_fmt", "only fp16 is known")
}

fn check_element(registers: Registers<'_>, cfg: l2::SourceCfg, fmt: SourceFmt) -> Result<(), Verdict> {
    let register = &l2::SOURCE_CFG;
    let interleave = cfg.dma_interleave();
    let agrees = interleave == 1 || interleave == fmt.interleave();
    registers.defined(agrees, register, "dma_interleave", "format in memory says otherwise")?;
    registers.defined(cfg.dma_fmt() == DMA_FMT_16_BITS, register, "dma_fmt", "only 16-bit elements are known")
}
