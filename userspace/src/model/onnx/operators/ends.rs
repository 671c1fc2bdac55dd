//! Whole numbers that only say "to the end", such as the largest of 64 bits, in the arithmetic that exporters write around them.
//!
//! Doubles do not hold such a number exactly, but no axis is that long. So its opposite is still the other end, and a small number more or
//! less changes nothing. What would leave the 64 bits stays at their end.

use super::Call;
use crate::model::network::array::Magnitudes;
use crate::model::network::{Kind, ValueId};

/// The smallest end. (Chosen) From here on, no sums with small numbers that a model has room for lead back to numbers that doubles hold.
const END: f64 = (1_u64 << 62) as f64;

/// The end of small numbers: those of 32 bits.
const SMALL: f64 = (1_u64 << 32) as f64;

/// Whether an operator makes an end of each end that it is given, and its other elements are exact.
pub(super) fn stays_one(call: &Call<'_, '_>) -> bool {
    let magnitudes = |value: ValueId| {
        let array = call.network.known(value).filter(|_| call.network.values[value].kind == Kind::Integer)?;
        Some(array.magnitudes()).filter(|of| of.inexact.is_none_or(|value| value.abs() >= END))
    };
    let operands: Vec<ValueId> = call.inputs.iter().flatten().copied().collect();
    let operands: Option<Vec<Magnitudes>> = operands.into_iter().map(magnitudes).collect();
    let most = match call.node.operator.as_str() {
        "Neg" => return operands.is_some(),
        "Add" | "Sub" => SMALL,
        "Mul" => 1.0,
        _ => return false,
    };
    // A result without an end among the operands is checked as all others are.
    let is_end = |of: &Magnitudes| of.inexact.is_some();
    match operands.as_deref() {
        Some([end, other]) | Some([other, end]) if is_end(end) && !is_end(other) => other.largest <= most,
        _ => false,
    }
}
