//! Phases: a task's cost as spans of virtual time, for the timeline.
//!
//! One span for each part of the chip and each tile, so that a viewer shows what waited for what. Tiles beyond
//! [`TILES_MAX`] are drawn as fewer, longer ones.

use ane_uapi::named;

use super::cost::{Cost, Spent};

/// The most tiles that are told apart.
pub const TILES_MAX: u64 = 16;

named! {
    /// The part of the chip that a span is about, by the levels of the hierarchy that it joins.
    pub enum Part {
        /// Coefficients come in.
        KernelFill "DRAM to kernel store",
        /// Activations come in.
        TileRead "DRAM to pool",
        /// The array, or the planar engine, reads the pool and computes.
        Array "pool (64 banks) to array",
        /// The result goes out.
        TileWrite "pool to DRAM",
    }
}

/// A span of virtual time, in cycles from the beginning of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub part: Part,
    pub start: u64,
    pub end: u64,
}

/// The `index`th of `count` parts of `cycles`: where it begins and ends.
fn slice(cycles: u64, index: u64, count: u64) -> (u64, u64) {
    if count == 1 {
        // So it is with most tasks, and no division is needed.
        return (0, cycles);
    }
    let at = |index: u64| {
        let part = u128::from(cycles).saturating_mul(index.into()).checked_div(count.into());
        u64::try_from(part.unwrap_or(0)).unwrap_or(u64::MAX)
    };
    (at(index), at(index.saturating_add(1)))
}

impl Cost {
    /// Gives the spans of a task that took time. A span that the previous task hid begins before zero, and is drawn from zero.
    pub fn spans(&self, spent: &Spent, mut give: impl FnMut(Span)) {
        let tiles = self.tiles.clamp(1, TILES_MAX);
        let mut span = |part, start: u64, end: u64| {
            if end > start {
                give(Span { part, start, end });
            }
        };
        let mut end = 0;
        for tile in 0..tiles {
            let (fill_start, fill_end) = slice(self.fill, tile, tiles);
            let (body_start, body_end) = slice(self.body, tile, tiles);
            let hidden = |cycles: u64| cycles.saturating_sub(spent.hidden);
            // Fill by fill without a pause, or, where the array is slower, each as the one before is taken.
            let start = hidden(fill_end).max(end);
            end = start.saturating_add(body_end.saturating_sub(body_start));
            let share = |cycles: u64| {
                let (from, to) = slice(cycles, tile, tiles);
                to.saturating_sub(from)
            };
            let (read, array, write) = (share(self.read), share(self.array), share(self.write));
            let array_at = if self.work.streams { start.saturating_add(read) } else { start };
            span(Part::KernelFill, hidden(fill_start), hidden(fill_end));
            span(Part::TileRead, start, start.saturating_add(read));
            // Shares are rounded each by itself; the array has one tile at a time.
            span(Part::Array, array_at, array_at.saturating_add(array).min(end));
            let write_at = end.saturating_sub(write);
            span(Part::TileWrite, write_at, write_at.saturating_add(write));
        }
    }
}
