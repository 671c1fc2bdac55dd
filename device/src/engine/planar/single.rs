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
use crate::engine::kernels::planar_single::{Pass, Step};
use crate::engine::numerics::double::ONE;

/// Elements that are computed before the next look whether they are still wanted. Whole vectors.
const STRIP: usize = 1 << 18;

/// Computes a pass of one or two sources; false if it has more than one operation, or the processor is too old.
pub(super) fn run(
    planar: &Planar,
    a: &View<'_>,
    b: Option<&View<'_>>,
    out: &mut [u16],
    pace: &mut Pace<'_>,
) -> bool {
    let changes_nothing = planar.pre_scale == ONE
        && planar.bias == 0
        && !(planar.relu_first || planar.relu_second || planar.magnitude)
        && planar.scale == ONE
        && planar.final_scale == 1f32.to_bits();
    let step = match (planar.operation, b) {
        (Operation::Add, None) => Step::Copy,
        (Operation::SumSquared, None) | (Operation::Multiply, _) => Step::Multiply,
        (Operation::Add, Some(_)) => Step::Add,
        (Operation::Maximum, _) => Step::Maximum,
        (Operation::Minimum, _) => Step::Minimum,
        (Operation::SumSquared, Some(_)) => return false,
    };
    if !changes_nothing {
        return false;
    }
    let negates_second = if b.is_some() { planar.negates_second } else { planar.negates_first };
    let Some(pass) = Pass::new(step, planar.negates_first, negates_second, planar.relu) else { return false };
    let b = b.unwrap_or(a);
    if let (Some(a), Some(b)) = (a.flat(), b.flat()) {
        for ((a, b), out) in a.chunks(STRIP).zip(b.chunks(STRIP)).zip(out.chunks_mut(STRIP)) {
            if pace.spend(out.len() / VECTOR) {
                break;
            }
            pass.run(a, b, out);
        }
        return true;
    }
    let (mut one, mut two) = (Spread::new(), Spread::new());
    for (i, out) in out.chunks_mut(BLOCK).enumerate() {
        if pace.spend(out.len()) {
            break;
        }
        let (start, len) = (i.saturating_mul(BLOCK), out.len());
        pass.run(a.block(start, len, &mut one), b.block(start, len, &mut two), out);
    }
    true
}
