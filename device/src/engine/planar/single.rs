//! Passes of one operation: an addition, a product, a maximum or a copy, with nothing behind it but ReLU.
//!
//! Most planar tasks are such, and singles are enough for them. The product of two halves is exact in a single: 22
//! bits of significand, and no smaller than 2^-48. Maxima and copies are exact. A sum of two halves is not, but the
//! second rounding does no harm: a single cannot hold a sum only where the smaller operand is below a sixteenth of the
//! larger one's last place, and then the sum lies that close to a half, far from any tie. Where the half is a denormal,
//! the sum is a multiple of 2^-24 below 2^-14, and exact.
//!
//! The bias of +0 behind the operation is added in singles too: it makes +0 of -0 and is exact otherwise.

use ane_uapi::hw::td::planar::Operation;

use super::Planar;
use super::operand::{BLOCK, Spread, View};
use crate::engine::cancel::{Pace, VECTOR};
use crate::engine::kernels::planar_single::{PassInSingles, Step};
use crate::engine::numerics::double::ONE;

/// A pass of one or two sources in singles; none if it has more than one operation, or the processor is too old.
pub(super) fn of(planar: &Planar, has_second: bool) -> Option<PassInSingles> {
    let changes_nothing = planar.pre_scale == ONE
        && planar.bias == 0
        && !(planar.relu_first || planar.relu_second || planar.magnitude)
        && planar.scale == ONE
        && planar.final_scale == 1f32.to_bits();
    let step = match (planar.operation, has_second) {
        (Operation::Add, false) => Step::Copy,
        (Operation::SumSquared, false) | (Operation::Multiply, _) => Step::Multiply,
        (Operation::Add, true) => Step::Add,
        (Operation::Maximum, _) => Step::Maximum,
        (Operation::Minimum, _) => Step::Minimum,
        (Operation::SumSquared, true) => return None,
    };
    if !changes_nothing {
        return None;
    }
    let negates_second = if has_second { planar.negates_second } else { planar.negates_first };
    PassInSingles::new(step, planar.negates_first, negates_second, planar.relu)
}

/// Computes the elements of a pass from `first` on.
pub(super) fn run(
    pass: &PassInSingles,
    [a, b]: [&View<'_>; 2],
    (first, out): (usize, &mut [u16]),
    pace: &mut Pace<'_>,
) {
    if let (Some(a), Some(b)) = (a.flat(), b.flat()) {
        if !pace.spend(out.len() / VECTOR) {
            pass.run(a.get(first..).unwrap_or_default(), b.get(first..).unwrap_or_default(), out);
        }
        return;
    }
    let (mut one, mut two) = (Spread::new(), Spread::new());
    for (start, out) in (first..).step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
        if pace.spend(out.len()) {
            return;
        }
        pass.run(a.block(start, out.len(), &mut one), b.block(start, out.len(), &mut two), out);
    }
}
