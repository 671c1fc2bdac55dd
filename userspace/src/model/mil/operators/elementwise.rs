//! Element by element.

use super::super::program::ElementType;
use super::{Call, Made, mode, one};
use crate::model::layers::Layers;
use crate::model::network::operation::{JoinKind, Map};
use crate::model::network::{Kind, Operation, ValueId};
use crate::model::onnx::operators::Setting;
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    if let Some(operator) = same(call.operator) {
        let x = call.x()?;
        return one(call.onnx_one(operator, &[x], &[])?);
    }
    if let Some(operator) = joined(call.operator) {
        let (x, y) = (call.x()?, call.tensor("y")?);
        return one(call.onnx_one(operator, &[x, y], &[])?);
    }
    if let Some(map) = function(call)? {
        let x = call.x()?;
        return one(call.map(map, x)?);
    }
    match call.operator {
        "cast" => {
            let to = call.text("dtype", "")?;
            cast(call, "x", &to)
        }
        "constexpr_cast" => {
            let to = call.text("output_dtype", "")?;
            cast(call, "source_val", &to)
        }
        // A small number is added first.
        "log" | "rsqrt" | "inverse" => {
            let otherwise = match call.operator {
                "log" => 1e-45,
                "rsqrt" => 1e-12,
                _ => 1e-4,
            };
            let (x, epsilon) = (call.x()?, call.number("epsilon", otherwise)?);
            let x =
                if epsilon < f64::from(half::f16::from_bits(1)) { x } else { call.affine(x, 1.0, epsilon)? };
            one(match call.operator {
                "log" => call.map(Map::Ln, x)?,
                "rsqrt" => call.map(Map::ReciprocalSquareRoot, x)?,
                _ => call.map(Map::Reciprocal, x)?,
            })
        }
        "clamped_relu" => {
            let (x, alpha, beta) = (call.x()?, call.number("alpha", 0.0)?, call.number("beta", 0.0)?);
            let leaky = call.map(Map::LeakyRelu(alpha), x)?;
            one(call.map(Map::Clip(f64::NEG_INFINITY, beta), leaky)?)
        }
        "scaled_tanh" => {
            let (x, alpha, beta) = (call.x()?, call.number("alpha", 1.0)?, call.number("beta", 1.0)?);
            let steep = call.affine(x, beta, 0.0)?;
            let bent = call.map(Map::Tanh, steep)?;
            one(call.affine(bent, alpha, 0.0)?)
        }
        "sigmoid_hard" => {
            let (x, alpha, beta) = (call.x()?, call.number("alpha", 0.2)?, call.number("beta", 0.5)?);
            let line = call.affine(x, alpha, beta)?;
            one(call.map(Map::Clip(0.0, 1.0), line)?)
        }
        "gelu" => {
            let x = call.x()?;
            match call.text("mode", "EXACT")?.as_str() {
                "EXACT" => one(call.map(Map::Gelu, x)?),
                "TANH_APPROXIMATION" => one(call.map(Map::GeluTanh, x)?),
                "SIGMOID_APPROXIMATION" => {
                    one(call.onnx_one("Swish", &[x], &[("alpha", Setting::Single(1.702))])?)
                }
                other => Err(mode(format!("mode {other:?} is not mapped"))),
            }
        }
        "thresholded_relu" => {
            let (x, alpha) = (call.x()?, call.number("alpha", 1.0)?);
            one(call.thresholded(x, alpha, true)?)
        }
        "prelu" => {
            let x = call.x()?;
            let slope = of_channels(call, "alpha", x)?;
            one(call.onnx_one("PRelu", &[x, slope], &[])?)
        }
        "softplus_parametric" => {
            let x = call.x()?;
            let (alpha, beta) = (of_channels(call, "alpha", x)?, of_channels(call, "beta", x)?);
            let steep = call.join(JoinKind::Multiply, x, beta)?;
            let bent = call.map(Map::Softplus, steep)?;
            one(call.join(JoinKind::Multiply, bent, alpha)?)
        }
        "floor_div" => {
            let (x, y) = (call.x()?, call.tensor("y")?);
            let quotient = call.join(JoinKind::Divide, x, y)?;
            one(call.map(Map::Floor, quotient)?)
        }
        "quantize" | "dequantize" => {
            let (x, scale) = (call.tensor("input")?, call.tensor("scale")?);
            let operands: Vec<ValueId> = [x, scale].into_iter().chain(call.optional("zero_point")?).collect();
            let mut settings = vec![("axis", Setting::Integer(call.integer("axis", 1)?))];
            if call.operator == "dequantize" {
                return one(call.onnx_one("DequantizeLinear", &operands, &settings)?);
            }
            // Numbers of ONNX's types.
            settings.push(match call.text("output_dtype", "")?.as_str() {
                "int8" => ("output_dtype", Setting::Integer(3)),
                "uint8" => ("output_dtype", Setting::Integer(2)),
                other => return Err(mode(format!("whole numbers of type {other:?} are not mapped"))),
            });
            one(call.onnx_one("QuantizeLinear", &operands, &settings)?)
        }
        "select" => {
            let (condition, a, b) = (call.tensor("cond")?, call.tensor("a")?, call.tensor("b")?);
            let kind = call.kind(a);
            one(call.network.add(call.name, Operation::Select, &[condition, a, b], kind)?)
        }
        _ => Ok(None),
    }
}

/// An operand with an element for each channel of `x`.
fn of_channels(call: &mut Call<'_>, name: &'static str, x: ValueId) -> Result<ValueId, Why> {
    let list = call.tensor(name)?;
    let mut dims = vec![1; call.rank(x)];
    if let (Some(channels), &[extent]) = (dims.get_mut(1), call.dims(list).as_slice()) {
        *channels = extent;
    }
    call.reshape(list, dims)
}

/// Operations that are an operator of ONNX without attributes.
fn same(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "identity" => "Identity",
        "sin" => "Sin",
        "cos" => "Cos",
        "logical_not" => "Not",
        _ => return None,
    })
}

fn joined(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "add" => "Add",
        "sub" => "Sub",
        "mul" => "Mul",
        "real_div" => "Div",
        "mod" => "Mod",
        "pow" => "Pow",
        "maximum" => "Max",
        "minimum" => "Min",
        "logical_and" => "And",
        "logical_or" => "Or",
        "logical_xor" | "not_equal" => "Xor",
        "equal" => "Equal",
        "less" => "Less",
        "less_equal" => "LessOrEqual",
        "greater" => "Greater",
        "greater_equal" => "GreaterOrEqual",
        _ => return None,
    })
}

fn function(call: &mut Call<'_>) -> Result<Option<Map>, Why> {
    Ok(Some(match call.operator {
        "relu" => Map::Relu,
        "relu6" => Map::Clip(0.0, 6.0),
        "leaky_relu" => Map::LeakyRelu(call.number("alpha", 0.01)?),
        "clip" => {
            let (low, high) = (call.number("alpha", f64::NEG_INFINITY)?, call.number("beta", f64::INFINITY)?);
            if low == 0.0 && high == f64::INFINITY { Map::Relu } else { Map::Clip(low, high) }
        }
        "threshold" => Map::Clip(call.number("alpha", f64::NEG_INFINITY)?, f64::INFINITY),
        "linear_activation" => {
            Map::Affine { scale: call.number("alpha", 1.0)?, offset: call.number("beta", 0.0)? }
        }
        "elu" => Map::Elu { alpha: call.number("alpha", 1.0)?, beta: 1.0, gamma: 1.0 },
        "sigmoid" => Map::Sigmoid,
        "silu" => Map::Silu,
        "tanh" => Map::Tanh,
        "softplus" => Map::Softplus,
        "softsign" => Map::Softsign,
        "erf" => Map::Erf,
        "exp" => Map::Exp,
        "exp2" => Map::Exp2,
        "sqrt" => Map::SquareRoot,
        "square" => Map::Square,
        "abs" => Map::Abs,
        "floor" => Map::Floor,
        "ceil" => Map::Ceil,
        "round" => Map::Round,
        "sign" => Map::Step { below: -1.0, zero: 0.0, above: 1.0 },
        _ => return Ok(None),
    }))
}

fn cast(call: &mut Call<'_>, operand: &'static str, to: &str) -> Made {
    let x = call.tensor(operand)?;
    let element = ElementType::of_word(to);
    let kind = element.and_then(ElementType::kind);
    // Numbers of ONNX's types.
    let to = match (kind.ok_or_else(|| mode(format!("a cast to {to:?} is not mapped")))?, element) {
        (Kind::Real, _) => 1,
        (Kind::Bool, _) => 9,
        (Kind::Integer, Some(ElementType::Whole(8, true))) => 3,
        (Kind::Integer, Some(ElementType::Whole(8, false))) => 2,
        (Kind::Integer, Some(ElementType::Whole(16, true))) => 5,
        (Kind::Integer, Some(ElementType::Whole(16, false))) => 4,
        (Kind::Integer, Some(ElementType::Whole(32, true))) => 6,
        (Kind::Integer, Some(ElementType::Whole(64, true))) => 7,
        // As good as any other that does not hold every half.
        (Kind::Integer, _) => 12,
    };
    one(call.onnx_one("Cast", &[x], &[("to", Setting::Integer(to))])?)
}
