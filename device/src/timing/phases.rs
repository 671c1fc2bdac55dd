//! Phases: a task's cost as spans of virtual time, for the timeline.
//!
//! One span for each part of the chip and each tile, so that a viewer shows what waited for what. Tiles beyond
//! [`TILES_MAX`] are drawn as fewer, longer ones.

use super::cost::{Cost, Spent};

/// The most tiles that are told apart.
pub const TILES_MAX: u64 = 16;

/// A part of the chip that is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Coefficients come in from DRAM.
    KernelFill,
    /// Activations come in from DRAM.
    TileRead,
    /// The array, or the planar engine, reads the pool and computes.
    Array,
    /// The result goes out to DRAM.
    TileWrite,
}

impl Part {
    /// Every part.
    pub const ALL: [Self; 4] = [Self::KernelFill, Self::TileRead, Self::Array, Self::TileWrite];

    /// What it is called: the levels of the hierarchy that it joins.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KernelFill => "DRAM to kernel store",
            Self::TileRead => "DRAM to pool",
            Self::Array => "pool (64 banks) to array",
            Self::TileWrite => "pool to DRAM",
        }
    }
}

/// A span of virtual time, in cycles from the beginning of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Who is busy.
    pub part: Part,
    /// From.
    pub start: u64,
    /// To.
    pub end: u64,
}

/// The `index`th of `count` parts of `cycles`: where it begins and ends.
fn slice(cycles: u64, index: u64, count: u64) -> (u64, u64) {
    let at = |index: u64| {
        let part = u128::from(cycles).saturating_mul(index.into()).checked_div(count.into());
        u64::try_from(part.unwrap_or(0)).unwrap_or(u64::MAX)
    };
    (at(index), at(index.saturating_add(1)))
}

impl Cost {
    /// The spans of a task, of no length where nothing was to do. What the task before hid begins before zero, and is
    /// drawn from zero.
    pub fn spans(&self, spent: &Spent) -> impl Iterator<Item = Span> + use<> {
        let cost = *self;
        let tiles = cost.tiles.clamp(1, TILES_MAX);
        let (body, fill, hidden) = (cost.body, cost.fill, spent.hidden);
        (0..tiles).flat_map(move |tile| {
            let (fill_start, fill_end) = slice(fill, tile, tiles);
            let (body_start, body_end) = slice(body, tile, tiles);
            let length = body_end.saturating_sub(body_start);
            // Fill by fill without a pause, or, where the array is slower, each as the one before is taken.
            let first = slice(fill, 0, tiles).1;
            let start = fill_end.max(first.saturating_add(body_start)).saturating_sub(hidden);
            let share = |cycles: u64| {
                let (from, to) = slice(cycles, tile, tiles);
                to.saturating_sub(from)
            };
            let (read, array, write) = (share(cost.read), share(cost.array), share(cost.write));
            let array_at = if cost.work.streams { start.saturating_add(read) } else { start };
            let end = start.saturating_add(length);
            let span =
                |part, start: u64, cycles: u64| Span { part, start, end: start.saturating_add(cycles) };
            [
                Span {
                    part: Part::KernelFill,
                    start: fill_start.saturating_sub(hidden),
                    end: fill_end.saturating_sub(hidden),
                },
                span(Part::TileRead, start, read),
                span(Part::Array, array_at, array),
                span(Part::TileWrite, end.saturating_sub(write), write),
            ]
        })
    }
}
