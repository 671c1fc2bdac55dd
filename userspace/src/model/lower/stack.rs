//! Copies of an operand that become channels: what [`taps`](super::taps) makes of a kernel's taps.
//!
//! Rows are lines, so a copy that begins some rows later, or has every second row, is a copy of lines found by strides.
//! Columns cannot be found so. The operand is turned first, so that its columns are lines, and what is copied is turned
//! back by the pass that copies it.

use super::held::Held;
use super::taps::Along;
use super::{Lower, Why};
use crate::build::Limit;

/// An axis of the operand of which copies are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shift {
    pub(super) along: Along,
    /// Elements of each copy.
    pub(super) count: usize,
    /// Zeros before the operand.
    pub(super) before: usize,
}

impl Shift {
    pub(super) const fn of(along: Along, positions: usize, before: usize) -> Self {
        Self { along, count: along.count(positions), before }
    }

    /// An axis of which there are no copies.
    pub(super) const fn none(extent: usize) -> Self {
        Self { along: Along::direct(1, 1), count: extent, before: 0 }
    }

    /// Zeros before and behind an operand of this extent.
    pub(super) const fn sides(&self, extent: usize) -> (usize, usize) {
        let last = (self.count - 1).saturating_mul(self.along.step);
        let reach =
            last.saturating_add((self.along.copies - 1).saturating_mul(self.along.apart)).saturating_add(1);
        (self.before, reach.saturating_sub(extent.saturating_add(self.before)))
    }
}

impl Lower<'_> {
    /// `x [N, C, H, W]` as `[N, groups * copies of columns * copies of rows * C / groups, rows, columns]`.
    pub(super) fn stacked(
        &mut self,
        x: &Held,
        groups: usize,
        [rows, columns]: [Shift; 2],
    ) -> Result<Held, Why> {
        let &[batches, channels, height, width] = x.dims.as_slice() else { return Err(Why::Operation) };
        let each = channels / groups;
        let mut held = self.by_column(x, Some(3))?;
        let (high, wide) = (rows.along.copies, columns.along.copies);
        if !rows.along.is_direct() {
            held = self.padded(held, 2, rows.sides(height))?;
            // Batch, group, channel, copy, row, column.
            let shifted = held
                .dealt(2, (high, rows.along.apart), (rows.count, rows.along.step))
                .dealt(1, (groups, each), (each, 1))
                .permuted(&[0, 1, 3, 2, 4, 5]);
            let copy = self.fresh(&shifted.dims, shifted.column)?;
            self.copy_into(&copy, &shifted)?;
            held = copy;
        }
        if !columns.along.is_direct() {
            // As many lines as a line has room for become columns in the meantime.
            let lines = high * each;
            let turned = if lines.saturating_mul(rows.count) as u64 <= Limit::Columns.max() {
                [batches, groups, 1, lines * rows.count, width]
            } else {
                [batches, groups, lines, rows.count, width]
            };
            let lined = self.reshape(held, &turned)?;
            let lined = self.by_column(&lined, Some(3))?;
            let lined = self.padded(lined, 4, columns.sides(width))?;
            // Batch, group, copy, and the lines that became columns; column.
            let shifted = lined
                .dealt(4, (wide, columns.along.apart), (columns.count, columns.along.step))
                .permuted(&[0, 1, 4, 2, 3, 5]);
            held = self.by_column(&shifted, Some(5))?;
        }
        self.reshape(held, &[batches, groups * wide * high * each, rows.count, columns.count])
    }

    /// Zeros before and behind along one axis.
    pub(super) fn padded(&mut self, x: Held, axis: usize, sides: (usize, usize)) -> Result<Held, Why> {
        if sides == (0, 0) {
            return Ok(x);
        }
        let mut all = vec![(0, 0); x.dims.len()];
        all[axis] = sides;
        self.pad(x, &all, 0.0)
    }
}

impl Held {
    /// An axis of lines as two, of so many elements and so far apart each.
    pub(super) fn dealt(&self, axis: usize, outer: (usize, usize), inner: (usize, usize)) -> Self {
        let mut held = self.clone();
        let stride = self.strides[axis];
        held.dims.splice(axis..=axis, [outer.0, inner.0]);
        // An axis of one element may have any stride.
        let along = |(extent, apart): (usize, usize)| if extent > 1 { stride * apart as u64 } else { stride };
        held.strides.splice(axis..=axis, [along(outer), along(inner)]);
        held.column = self.column.map(|column| column + usize::from(column > axis));
        held
    }
}
