//! Earlier versions of operators, in the form of the later ones.
//!
//! From version to version the standard made operands of attributes. A node of an earlier version gets constants as
//! operands here, so that the families know the later form only. A change of meaning is left to the family: it asks for
//! [`Call::opset`].

use super::Call;
use crate::model::network::{Array, Kind, ValueId};
use crate::model::problem::Why;

/// Where a list of numbers stands that is an operand later.
enum Part {
    /// A list of whole numbers.
    Integers(&'static str),
    /// A number that the standard replaces if it is not given.
    Single(&'static str, Option<f32>),
    /// Singles, one for each axis.
    Singles(&'static str),
    /// No attribute: the later form has an operand here that the earlier one does not know.
    Nothing,
}

/// Operands of the later form, from attributes of the earlier one.
pub(super) fn operands(call: &mut Call<'_, '_>) -> Result<(), Why> {
    use Part::{Integers, Nothing, Single, Singles};
    let (parts, until): (&[Part], i64) = match call.node.operator.as_str() {
        "Slice" => (&[Integers("starts"), Integers("ends"), Integers("axes")], 10),
        "Pad" => (&[Integers("pads"), Single("value", Some(0.0))], 11),
        "Clip" => (&[Single("min", None), Single("max", None)], 11),
        "Split" => (&[Integers("split")], 13),
        "Upsample" if call.opset < 9 => (&[Nothing, Singles("scales")], 9),
        "Upsample" | "Resize" => return with_region(call),
        _ => return Ok(()),
    };
    if call.opset >= until {
        return Ok(());
    }
    if call.inputs.len() > 1 {
        let (count, opset) = (call.inputs.len(), call.opset);
        return Err(Call::mode(format!(
            "{count} operands are given; one is taken before opset {until}, and this is {opset}"
        )));
    }
    for part in parts {
        let value = match part {
            Nothing => None,
            Integers(name) => call.integers(name)?.map(|list| {
                call.constant(Array::list(list.into_iter().map(|value| value as f64)), Kind::Integer)
            }),
            Single(name, otherwise) => {
                let single = call.optional_single(name)?.or(*otherwise);
                single.map(|single| call.scalar(unbounded(single)))
            }
            Singles(name) => {
                let list = call.singles(name)?;
                list.map(|list| call.constant(Array::list(list.into_iter().map(f64::from)), Kind::Real))
            }
        };
        call.inputs.push(value);
    }
    Ok(())
}

/// A bound at the end of singles is none: earlier versions of the standard have no other way to say so.
fn unbounded(single: f32) -> f64 {
    if single.abs() == f32::MAX { f64::INFINITY.copysign(single.into()) } else { single.into() }
}

/// Before opset 11 there is no region of interest between the operand and the factors.
fn with_region(call: &mut Call<'_, '_>) -> Result<(), Why> {
    if call.opset < 11 {
        let factors: Option<ValueId> = Some(call.x(1)?);
        call.inputs = vec![call.inputs[0], None, factors];
    }
    Ok(())
}
