//! Work tiles: what the array fetches from the pool at once, and how well strides spread it over the banks.
//!
//! A neural work tile is 128 pixels, `128 >> k` columns by `2^k` rows (td 4.1), and the first stage of the array adds four
//! channels at a time (facts G.2). Four channels of 128 fp16 pixels are 64 granules: one for each bank, if strides see to
//! it. Deviation: inferred. Sources give the law of conflicts, and not what is fetched together.

use super::Hierarchy;
use super::bank::{Axis, BANKS_MAX, fullest};
use super::stride::Costs;

/// Channels whose pixels are fetched together.
pub const CHANNELS_AT_ONCE: u32 = 4;

pub const PIXELS: u32 = 128;

/// The narrowest work tile.
pub const COLUMNS_MIN: u32 = 8;

/// Columns and rows of the work tile for rows of `width` pixels: the narrowest that holds one, as compilers choose.
pub const fn extents(width: u32) -> (u32, u32) {
    let columns = if width < COLUMNS_MIN {
        COLUMNS_MIN
    } else if width > PIXELS {
        PIXELS
    } else {
        width.next_power_of_two()
    };
    (columns, PIXELS / columns)
}

/// The unit of one fetch: a work tile, or the part of one at an edge, of up to four channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    pub channels: u32,
    pub rows: u32,
    pub row_granules: u32,
}

impl Hierarchy {
    /// Granules of a row of so many fp16 elements.
    pub const fn granules(&self, width: u32) -> u32 {
        // At most twice the elements.
        let granules = (width as u64 * 2).div_ceil(self.granule as u64);
        if granules > u32::MAX as u64 { u32::MAX } else { granules as u32 }
    }

    /// Turns that a group takes in a tensor of these strides.
    pub fn turns_of_group(&self, group: Group, channel_stride: u64, row_stride: u64) -> u32 {
        self.turns([
            Axis::new(channel_stride, group.channels),
            Axis::new(row_stride, group.rows),
            Axis::new(self.granule.into(), group.row_granules),
        ])
    }
}

impl Costs {
    /// For each bank that a row stride may lead to, the turns that a whole group of a tensor takes then.
    ///
    /// (Chosen) This is what builders fill the vector with. It follows the law of
    /// [`of_rows`](Self::of_rows) where there is one channel of one granule, and looks at all that is fetched otherwise.
    pub fn of_tensor(
        hierarchy: &Hierarchy,
        channels: u32,
        rows: u32,
        width: u32,
        channel_stride: u64,
    ) -> Self {
        let (columns, tile_rows) = extents(width);
        let group = Group {
            channels: if channels < CHANNELS_AT_ONCE { channels } else { CHANNELS_AT_ONCE },
            rows: if rows < tile_rows { rows } else { tile_rows },
            row_granules: hierarchy.granules(if width < columns { width } else { columns }),
        };
        let mut costs = [0.0; BANKS_MAX as usize];
        // These do not depend on the stride.
        let channels = Axis::new(channel_stride, group.channels);
        let row = Axis::new(hierarchy.granule.into(), group.row_granules);
        let of_a_row = hierarchy.loads(0, [channels, row, Axis::new(0, 1)]);
        for (granules, cost) in (0_u64..).zip(&mut costs) {
            let stride = granules * u64::from(hierarchy.granule);
            *cost = fullest(&hierarchy.along(of_a_row, Axis::new(stride, group.rows))) as f32;
        }
        Self(costs)
    }
}
