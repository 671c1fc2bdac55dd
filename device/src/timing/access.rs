//! Accesses to the pool: lines of the array, and the banks in which the granules of a work tile meet.
//!
//! The array takes a *line* in a cycle: four granules of one channel, a whole row or the rows side by side where they
//! are narrower. One fetch brings a group, the work tile of four channels ([`tile`]). If strides put its granules into
//! different banks they come in one turn, and otherwise the fullest bank gives them one after the other. The lines of a
//! group take the array some cycles, so that only turns beyond them hold it up.

use ane_uapi::hw::sram::tile::{self, CHANNELS_AT_ONCE, Group};

use super::machine::{LINE_GRANULES, Machine};
use crate::engine::plan::operand::{ChipPlace, Shape};

/// Lines of one channel of a tensor, or of a work tile.
///
/// Rows of fewer granules than a line lie side by side in it, as far as a power of two of them does.
pub fn lines(machine: &Machine, height: u32, width: u32) -> u64 {
    let row = machine.hierarchy.granules(width);
    if row >= LINE_GRANULES {
        return u64::from(height).saturating_mul(row.div_ceil(LINE_GRANULES).into());
    }
    u64::from(height).saturating_mul(row.next_power_of_two().into()).div_ceil(LINE_GRANULES.into())
}

/// The accesses of one walk over a tensor to the banks, and the conflicts there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Banks {
    pub groups: u64,
    /// Turns beyond those that the granules need if nothing is in the way.
    pub conflicts: u64,
    /// Cycles for which the array waits.
    pub stalls: u64,
}

impl Banks {
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self {
            groups: self.groups.saturating_mul(count),
            conflicts: self.conflicts.saturating_mul(count),
            stalls: self.stalls.saturating_mul(count),
        }
    }

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            groups: self.groups.saturating_add(other.groups),
            conflicts: self.conflicts.saturating_add(other.conflicts),
            stalls: self.stalls.saturating_add(other.stalls),
        }
    }
}

/// A run of parts along one axis: how many are whole, and the rest.
fn parts(extent: u32, each: u32) -> [(u64, u32); 2] {
    let whole = extent.checked_div(each).unwrap_or(0);
    let rest = extent.saturating_sub(whole.saturating_mul(each));
    [(whole.into(), each), ((rest != 0).into(), rest)]
}

/// One walk over a tensor on chip, group by group.
///
/// Where a group begins makes no difference to its banks, so that only its extents are told apart: at most eight kinds.
pub fn walk(machine: &Machine, place: ChipPlace, shape: Shape) -> Banks {
    let hierarchy = &machine.hierarchy;
    let (columns, rows) = tile::extents(shape.width);
    let mut all = Banks::default();
    for (channel_groups, channels) in parts(shape.channels, CHANNELS_AT_ONCE) {
        for (row_tiles, height) in parts(shape.height, rows) {
            for (column_tiles, width) in parts(shape.width, columns) {
                let groups = channel_groups.saturating_mul(row_tiles).saturating_mul(column_tiles);
                if groups == 0 {
                    continue;
                }
                let group = Group { channels, rows: height, row_granules: hierarchy.granules(width) };
                let wanted = channels.saturating_mul(height).saturating_mul(group.row_granules);
                let turns =
                    hierarchy.turns_of_group(group, place.channel_stride.into(), place.row_stride.into());
                let taken = lines(machine, height, width).saturating_mul(channels.into());
                let least = wanted.div_ceil(hierarchy.banks);
                let one = Banks {
                    groups: 1,
                    conflicts: turns.saturating_sub(least).into(),
                    stalls: u64::from(turns).saturating_sub(taken),
                };
                all = all.and(one.times(groups));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::hal::Generation;

    use super::*;

    const M1: fn() -> Machine = || Machine::of(Generation::H13);

    /// Requirement: MEM-22
    #[test]
    fn lines_of_a_row_repeat_every_64_bytes() {
        let m1 = M1();
        let of = |width| lines(&m1, 1, width);
        assert_eq!([1, 32, 33, 64, 65].map(of), [1, 1, 2, 2, 3]);
        for width in 1..2000 {
            assert_eq!(of(width + 32), of(width) + 1, "{width}");
        }
    }

    #[test]
    fn narrow_rows_share_a_line() {
        let m1 = M1();
        assert_eq!(
            [(4, 8), (4, 16), (4, 17), (4, 32), (5, 8)].map(|(h, w)| lines(&m1, h, w)),
            [1, 2, 4, 4, 2]
        );
    }

    #[test]
    fn group_of_a_work_tile_has_a_granule_in_each_bank_where_strides_see_to_it() {
        let place =
            ChipPlace { base: 0, channel_stride: 0x100, row_stride: 0x100 * 64, ..ChipPlace::default() };
        let shape = Shape { channels: 64, height: 8, width: 128 };
        let found = walk(&M1(), place, shape);
        assert_eq!(found, Banks { groups: 16 * 8, conflicts: 0, stalls: 0 });
    }

    #[test]
    fn granules_that_share_one_bank_hold_the_array_up() {
        // Eight columns: sixteen rows of four channels, all strides multiples of 1 KB.
        let place = ChipPlace { base: 0, channel_stride: 0x400, row_stride: 0x4000, ..ChipPlace::default() };
        let shape = Shape { channels: 4, height: 16, width: 8 };
        let found = walk(&M1(), place, shape);
        assert_eq!(found, Banks { groups: 1, conflicts: 63, stalls: 64 - 16 });
    }

    #[test]
    fn rows_that_the_search_spreads_do_not_wait() {
        let shape = Shape { channels: 64, height: 16, width: 8 };
        let dense = ChipPlace { base: 0, channel_stride: 0x10, row_stride: 0x400, ..ChipPlace::default() };
        let spread = ChipPlace { row_stride: 0x440, ..dense };
        assert_eq!(walk(&M1(), dense, shape).conflicts, 16 * 15);
        assert_eq!(walk(&M1(), spread, shape).conflicts, 0);
    }
}
