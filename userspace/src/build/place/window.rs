//! Windows: the part of the chip through which an operand in memory streams.
//!
//! A window is some rows of one tile column of all channels (td 4.2); it lasts as long as its task.

use ane_uapi::hw::sram::Hierarchy;
use ane_uapi::hw::td::common::TaskClass;

use super::{Lowering, Place, assembled, take};
use crate::build::encode::{self, ChipWords};
use crate::build::error::Result;
use crate::build::graph::View;
use crate::build::pass::{Pass, Work};
use crate::build::shape::{CHIP_ALIGN, HALF, OnChip, Shape, row_stride};

/// Bytes of windows that a task asks for before it is content with fewer rows. (Chosen)
const WINDOW_BYTES: u64 = 512 << 10;

impl Lowering<'_> {
    /// Windows for the operands in memory, of as many rows as fit.
    pub(super) fn windows(&mut self, task: usize, pass: &Pass) -> Result<(Windows, u32)> {
        let in_memory = |view: View| matches!(self.places[view.value], Some(Place::Memory { .. }));
        let channel =
            |width: u32| (HALF * u64::from(width.min(pass.tile_width()))).next_multiple_of(CHIP_ALIGN);
        // A batch passes where the one before it did.
        let streams = |channel: u64, channels: u32| {
            let row = channel * u64::from(channels);
            ChipWords { base: 0, channel, row, group: if pass.batches == 1 { row } else { 0 } }
        };
        let source = |view: View| in_memory(view).then(|| streams(channel(pass.input.w), view.shape.c));
        let result = in_memory(pass.result).then(|| {
            if assembled(pass) {
                // The batches of what is put together on chip lie beside each other: each makes one row.
                let OnChip { channel, row, .. } = OnChip::dense(pass.result.shape);
                return ChipWords { base: 0, channel, row, group: row };
            }
            let stored = pass.output.transposed_if(pass.transpose);
            streams(channel(stored.w), stored.c)
        });
        let first = if pass.keep.is_some() { None } else { source(pass.first) };
        let wanted = Windows { first, second: pass.second.and_then(source), result };

        let each_row = wanted.iter().map(|window| window.row).sum::<u64>().max(1);
        let least = pass.input.h.min(pass.kernel_rows());
        let most = u32::try_from(WINDOW_BYTES / each_row).unwrap_or(u32::MAX);
        let mut rows = most.clamp(least, pass.input.h.max(least));
        let mut spread = true;
        loop {
            match self.take_windows(task, pass, wanted, (rows, spread)) {
                Err(error) if rows == least && !spread => return Err(error),
                // Where all else fails, rows may as well share banks.
                Err(_) if rows == least => spread = false,
                Err(_) => rows = (rows / 2).max(least),
                Ok(windows) => return Ok((windows, rows)),
            }
        }
    }

    fn take_windows(
        &mut self,
        task: usize,
        pass: &Pass,
        wanted: Windows,
        (rows, spread): (u32, bool),
    ) -> Result<Windows> {
        let mut given = wanted;
        let mut taken = Vec::new();
        // Source 2 of a normalisation is two rows, however high the tile.
        let second_rows = match &pass.work {
            Work::Planar(planar) if planar.class == TaskClass::PlanarNormalise => 2,
            _ => 1,
        };
        // The part that a stream leaves unknown is as high as the tile, however few rows the result has.
        let result_rows = if assembled(pass) { pass.result.shape.h } else { rows };
        let places = [
            (&mut given.first, rows, "window of source 1"),
            (&mut given.second, rows.max(second_rows), "window of source 2"),
            (&mut given.result, result_rows, "window of the result"),
        ];
        for (window, rows, what) in places {
            let Some(window) = window else { continue };
            // The part that a stream leaves unknown is counted in whole rows, and the last group begins inside of one.
            let whole_rows = u64::from(rows) + u64::from(pass.groups() > 1);
            // Rows that do not fit side by side need no search for a stride that leaves room between them.
            if spread && !assembled(pass) && self.chip.has_room(window.row * whole_rows) {
                window.spread(&self.graph.hierarchy, rows);
            }
            match take(&mut self.chip, task, pass, what, window.row * whole_rows) {
                Ok(base) => {
                    window.base = base;
                    taken.push(base);
                }
                Err(error) => {
                    taken.into_iter().for_each(|base| self.chip.give_back(base));
                    return Err(error);
                }
            }
        }
        Ok(given)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) first: Option<ChipWords>,
    pub(super) second: Option<ChipWords>,
    pub(super) result: Option<ChipWords>,
}

impl Windows {
    pub(super) fn iter(&self) -> impl Iterator<Item = ChipWords> {
        [self.first, self.second, self.result].into_iter().flatten()
    }
}

impl ChipWords {
    /// Leaves room between `rows` rows, so that they lie in different banks.
    fn spread(&mut self, hierarchy: &Hierarchy, rows: u32) {
        let (channels, columns) = (self.row / self.channel.max(1), self.channel / HALF);
        // Both are extents of a tensor, and a window is not wider than one.
        let shape = Shape::new(channels as u32, rows, columns as u32);
        let row = row_stride(hierarchy, shape, self.channel, self.row);
        if self.group == self.row {
            self.group = row;
        }
        self.row = row;
    }
}

impl Pass {
    /// Columns of a tile, by which windows are as wide as they are (td 4.2).
    fn tile_width(&self) -> u32 {
        match self.work {
            Work::Planar(_) => 1 << encode::patch_width(self.input),
            Work::Neural(ref neural) => 128 >> encode::work_tile(neural, self.input),
        }
    }

    fn kernel_rows(&self) -> u32 {
        match self.work {
            Work::Planar(_) => 1,
            Work::Neural(ref neural) => neural.kernel.height,
        }
    }
}
