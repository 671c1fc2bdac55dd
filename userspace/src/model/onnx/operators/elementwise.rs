//! Element by element.

use super::{Call, Made, one, tensor};
use crate::model::layers::Layers;
use crate::model::network::array::broadcast;
use crate::model::network::evaluate::both;
use crate::model::network::operation::{Join, JoinKind, Map};
use crate::model::network::{Kind, Operation, ValueId};
use crate::model::problem::Why;
use crate::tensor::nearest_half;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    if let Some(map) = function(call)? {
        let x = call.x(0)?;
        return one(call.map(map, x)?);
    }
    match call.node.operator.as_str() {
        "Identity" => one(call.x(0)?),
        "Dropout" => {
            let is_training = call.optional(2).is_some() && call.known(2)?.only() != Some(0.0);
            if is_training || call.wanted > 1 {
                return Err(Call::mode("training mode and the mask are not mapped"));
            }
            one(call.x(0)?)
        }
        "Cast" => cast(call),
        "CastLike" => {
            let (x, like) = (call.x(0)?, call.x(1)?);
            let (kind, element) = (call.kind(like), call.types.get(&like).copied());
            one(convert(call, x, kind, element)?)
        }
        "Not" => {
            let x = call.x(0)?;
            one(call.map(Map::Step { below: 0.0, zero: 1.0, above: 0.0 }, x)?)
        }
        "Clip" => clip(call),
        "ThresholdedRelu" => {
            let (x, alpha) = (call.x(0)?, call.single("alpha", 1.0)?);
            one(call.thresholded(x, alpha, false)?)
        }
        "HardSwish" => {
            let x = call.x(0)?;
            let line = call.affine(x, 1.0 / 6.0, 0.5)?;
            let gate = call.map(Map::Clip(0.0, 1.0), line)?;
            one(call.join(JoinKind::Multiply, x, gate)?)
        }
        "HardSigmoid" => {
            let (x, alpha, beta) = (call.x(0)?, call.single("alpha", 0.2)?, call.single("beta", 0.5)?);
            let line = call.affine(x, alpha, beta)?;
            one(call.map(Map::Clip(0.0, 1.0), line)?)
        }
        "Swish" => {
            let (x, alpha) = (call.x(0)?, call.single("alpha", 1.0)?);
            if alpha == 1.0 {
                return one(call.map(Map::Silu, x)?);
            }
            let steep = call.affine(x, alpha, 0.0)?;
            let gate = call.map(Map::Sigmoid, steep)?;
            one(call.join(JoinKind::Multiply, x, gate)?)
        }
        "Shrink" => {
            let (x, bias, lambda) = (call.x(0)?, call.single("bias", 0.0)?, call.single("lambd", 0.5)?);
            let above = call.affine(x, 1.0, -lambda)?;
            let above = call.map(Map::Step { below: 0.0, zero: 0.0, above: 1.0 }, above)?;
            let below = call.affine(x, 1.0, lambda)?;
            let below = call.map(Map::Step { below: 1.0, zero: 0.0, above: 0.0 }, below)?;
            let down = call.affine(x, 1.0, -bias)?;
            let up = call.affine(x, 1.0, bias)?;
            let down = call.join(JoinKind::Multiply, down, above)?;
            let up = call.join(JoinKind::Multiply, up, below)?;
            one(call.join(JoinKind::Add, down, up)?)
        }
        "PRelu" => {
            let (x, slope) = (call.x(0)?, call.x(1)?);
            let above = call.map(Map::Relu, x)?;
            let below = call.affine(x, -1.0, 0.0)?;
            let below = call.map(Map::Relu, below)?;
            let below = call.join(JoinKind::Multiply, below, slope)?;
            one(call.join(JoinKind::Subtract, above, below)?)
        }
        "Add" => join(call, JoinKind::Add),
        "Sub" => join(call, JoinKind::Subtract),
        "Mul" => join(call, JoinKind::Multiply),
        "Div" => divide(call),
        "Mod" => remainder(call),
        "Sum" => many(call, JoinKind::Add, false),
        "Mean" => many(call, JoinKind::Add, true),
        "Max" => many(call, JoinKind::Maximum, false),
        "Min" => many(call, JoinKind::Minimum, false),
        "And" => logical(call, JoinKind::Multiply),
        "Or" => logical(call, JoinKind::Maximum),
        "Xor" => compare(call, (1.0, 0.0, 1.0)),
        "Equal" => compare(call, (0.0, 1.0, 0.0)),
        "Less" => compare(call, (1.0, 0.0, 0.0)),
        "LessOrEqual" => compare(call, (1.0, 1.0, 0.0)),
        "Greater" => compare(call, (0.0, 0.0, 1.0)),
        "GreaterOrEqual" => compare(call, (0.0, 1.0, 1.0)),
        "Where" => {
            let (condition, a, b) = (call.x(0)?, call.x(1)?, call.x(2)?);
            let kind = call.kind(a);
            one(call.add_as(Operation::Select, &[condition, a, b], kind)?)
        }
        _ => Ok(None),
    }
}

/// Operators that are one function.
fn function(call: &Call<'_, '_>) -> Result<Option<Map>, Why> {
    let alpha = |otherwise| call.single("alpha", otherwise);
    Ok(Some(match call.node.operator.as_str() {
        "Relu" => Map::Relu,
        "LeakyRelu" => Map::LeakyRelu(alpha(0.01)?),
        "Sigmoid" => Map::Sigmoid,
        "Tanh" => Map::Tanh,
        "Exp" => Map::Exp,
        "Log" => Map::Ln,
        "Sqrt" => Map::SquareRoot,
        "Reciprocal" => Map::Reciprocal,
        "Neg" => Map::Affine { scale: -1.0, offset: 0.0 },
        "Abs" => Map::Abs,
        "Erf" => Map::Erf,
        "Softplus" => Map::Softplus,
        "Softsign" => Map::Softsign,
        "Mish" => Map::Mish,
        "Floor" => Map::Floor,
        "Ceil" => Map::Ceil,
        "Round" => Map::Round,
        "Sign" => Map::Step { below: -1.0, zero: 0.0, above: 1.0 },
        "Elu" => Map::Elu { alpha: alpha(1.0)?, beta: 1.0, gamma: 1.0 },
        "Celu" => Map::Elu { alpha: alpha(1.0)?, beta: alpha(1.0)?, gamma: 1.0 },
        "Selu" => Map::Elu { alpha: alpha(1.673_263_2)?, beta: 1.0, gamma: call.single("gamma", 1.050_701)? },
        "Gelu" => match call.text("approximate", "none")?.as_str() {
            "none" => Map::Gelu,
            "tanh" => Map::GeluTanh,
            other => return Err(Call::mode(format!("approximate {other:?} is not none or tanh"))),
        },
        _ => return Ok(None),
    }))
}

fn cast(call: &mut Call<'_, '_>) -> Made {
    let to = call.integer("to", 0)?;
    let element = u64::try_from(to).ok();
    let kind = element.and_then(tensor::kind);
    let kind = kind.ok_or_else(|| Call::mode(format!("a cast to type {to} is not mapped")))?;
    let x = call.x(0)?;
    one(convert(call, x, kind, element)?)
}

/// `element` is the standard's number of the type, where it is known.
fn convert(call: &mut Call<'_, '_>, x: ValueId, kind: Kind, element: Option<u64>) -> Result<ValueId, Why> {
    if let Some(array) = call.network.known(x) {
        if element.and_then(tensor::whole).is_some_and(tensor::Whole::is_narrow) {
            call.network.is_exact([x])?;
        }
        let array = match (kind, element.and_then(tensor::whole)) {
            (Kind::Real, _) => array.clone(),
            // Of a real number outside of the type the standard does not say what becomes.
            (Kind::Integer, Some(whole)) if call.kind(x) == Kind::Integer => {
                array.map(|value| whole.wrapped(value))
            }
            (Kind::Integer, _) => array.map(f64::trunc),
            (Kind::Bool, _) => array.map(|value| f64::from(u8::from(value != 0.0))),
        };
        return Ok(call.constant(array, kind));
    }
    match (call.kind(x), kind) {
        (from, to) if from == to => Ok(x),
        // On the engine both are halves.
        (Kind::Bool, Kind::Real) => {
            call.add_as(Operation::Map(Map::Affine { scale: 1.0, offset: 0.0 }), &[x], kind)
        }
        (Kind::Real, Kind::Bool) => {
            call.add_as(Operation::Map(Map::Step { below: 1.0, zero: 0.0, above: 1.0 }), &[x], kind)
        }
        _ => Err(Call::mode("whole numbers are computed before the run only: the engine has halves")),
    }
}

fn clip(call: &mut Call<'_, '_>) -> Made {
    let bound = |call: &Call<'_, '_>, index: usize, otherwise: f64| match call.optional(index) {
        Some(_) => call.number(index),
        None => Ok(otherwise),
    };
    let x = call.x(0)?;
    let (low, high) = (bound(call, 1, f64::NEG_INFINITY)?, bound(call, 2, f64::INFINITY)?);
    if low == 0.0 && high == f64::INFINITY {
        return one(call.map(Map::Relu, x)?);
    }
    if low == f64::NEG_INFINITY && high == f64::INFINITY {
        return one(x);
    }
    one(call.map(Map::Clip(low, high.max(f64::NEG_INFINITY)), x)?)
}

fn join(call: &mut Call<'_, '_>, kind: JoinKind) -> Made {
    let (a, b) = (call.x(0)?, call.x(1)?);
    one(call.join(kind, a, b)?)
}

fn divide(call: &mut Call<'_, '_>) -> Made {
    let (a, b) = (call.x(0)?, call.x(1)?);
    if call.kind(a) == Kind::Integer && call.network.known(a).is_some() && call.network.known(b).is_some() {
        let quotient = call.join(JoinKind::Divide, a, b)?;
        return one(convert(call, quotient, Kind::Integer, None)?);
    }
    one(divided(call, a, b)?)
}

/// `a / b`; by a known `b` it is a product.
pub(super) fn divided(call: &mut Call<'_, '_>, a: ValueId, b: ValueId) -> Result<ValueId, Why> {
    match (call.network.known(a), call.network.known(b)) {
        (None, Some(known)) => {
            let factors = known.map(f64::recip);
            let factors = call.constant(factors, Kind::Real);
            call.join(JoinKind::Multiply, a, factors)
        }
        _ => call.join(JoinKind::Divide, a, b),
    }
}

/// The remainder of a division; both operands have to be known when the model is read.
fn remainder(call: &mut Call<'_, '_>) -> Made {
    let is_c = call.integer("fmod", 0)? != 0;
    let kind = call.kind(call.x(0)?);
    let (a, b) = (call.known(0)?, call.known(1)?);
    if kind == Kind::Integer && b.values().contains(&0.0) {
        return Err(Call::mode("a divisor is 0"));
    }
    call.network.has_room(&broadcast(a.dims(), b.dims())?)?;
    let rest = both(a, b, |a, b| {
        let rest = a % b;
        // Without `fmod`, it has the sign of the divisor.
        let is_done = is_c || rest == 0.0 || (rest < 0.0) == (b < 0.0);
        if is_done { rest } else { rest + b }
    })?;
    one(call.constant(rest, kind))
}

fn many(call: &mut Call<'_, '_>, kind: JoinKind, mean: bool) -> Made {
    let operands: Vec<ValueId> = call.inputs.iter().flatten().copied().collect();
    // The sum may be beyond halves where the mean is not. A power of two is exact.
    let share = (operands.len() as f64).log2().ceil().exp2().recip();
    let mut result = None;
    for &operand in &operands {
        let part = if mean { call.affine(operand, share, 0.0)? } else { operand };
        result = Some(match result {
            Some(result) => call.join(kind, result, part)?,
            None => part,
        });
    }
    let result = result.ok_or(Why::Missing { operand: 0 })?;
    if !mean {
        return one(result);
    }
    one(call.affine(result, 1.0 / (operands.len() as f64 * share), 0.0)?)
}

fn logical(call: &mut Call<'_, '_>, kind: JoinKind) -> Made {
    let (a, b) = (call.x(0)?, call.x(1)?);
    one(call.add_as(Operation::Join(Join { kind, relu: false }), &[a, b], Kind::Bool)?)
}

/// The operands of a comparison: of whole numbers that the run computes, the halves that hold them.
///
/// The difference of two halves is zero only if they are equal, and has the right sign.
fn compared(call: &mut Call<'_, '_>) -> Result<(ValueId, ValueId), Why> {
    let halves = [call.halves_at(0)?, call.halves_at(1)?];
    let operands = [call.x(0)?, call.x(1)?];
    if halves == [None, None] {
        return Ok((operands[0], operands[1]));
    }
    let mut made = operands;
    for ((made, halves), operand) in made.iter_mut().zip(halves).zip(operands) {
        let Some(known) = call.network.known(operand) else {
            *made = halves.unwrap_or(operand);
            continue;
        };
        if let Some(rounded) = known.values().iter().find(|&&value| nearest_half(value).to_f64() != value) {
            return Err(Call::mode(format!(
                "halves do not hold {rounded}, with which whole numbers are compared"
            )));
        }
        let known = known.clone();
        *made = call.constant(known, Kind::Real);
    }
    Ok((made[0], made[1]))
}

/// The difference through a step: what it is below zero, at zero, and above.
fn compare(call: &mut Call<'_, '_>, (below, zero, above): (f64, f64, f64)) -> Made {
    let (a, b) = compared(call)?;
    let difference = call.join(JoinKind::Subtract, a, b)?;
    one(call.add_as(Operation::Map(Map::Step { below, zero, above }), &[difference], Kind::Bool)?)
}
