//! Recurrent layers. Gates stand in another order than ONNX has them, and directions lie side by side in the last axis.

use super::{Call, Made, mode};
use crate::model::layers::Layers;
use crate::model::network::operation::Cut;
use crate::model::network::{Array, Operation, ValueId};
use crate::model::onnx::operators::Setting::{Text, Texts};
use crate::model::problem::Why;

/// Where a gate of ONNX stands: input, output, forget and cell gate there are input, forget, output and cell gate here.
const LONG_SHORT: &[usize] = &[0, 2, 1, 3];
/// The same of peepholes, which the cell gate has none of.
const PEEPHOLES: &[usize] = &[0, 2, 1];
/// Operands that name the functions of a long short-term layer, and what is meant without them.
const FUNCTIONS: &[(&str, &str)] =
    &[("recurrent_activation", "sigmoid"), ("cell_activation", "tanh"), ("activation", "tanh")];

pub(super) fn call(call: &mut Call<'_>) -> Made {
    let (operator, gates, functions): (_, &[usize], &[(&'static str, &str)]) = match call.operator {
        "lstm" => ("LSTM", LONG_SHORT, FUNCTIONS),
        "rnn" => ("RNN", &[0], &[("activation", "tanh")]),
        _ => return Ok(None),
    };
    let (direction, has_both) = match call.text("direction", "forward")?.as_str() {
        "forward" => ("forward", false),
        "reverse" => ("reverse", false),
        "bidirectional" => ("bidirectional", true),
        other => return Err(mode(format!("direction {other:?} is not mapped"))),
    };
    let mut named = Vec::new();
    for &(name, otherwise) in functions {
        named.push(match call.text(name, otherwise)?.as_str() {
            "relu" => "Relu",
            "sigmoid" => "Sigmoid",
            "tanh" => "Tanh",
            other => return Err(mode(format!("{name} {other:?} is not mapped"))),
        });
    }
    let directions = if has_both { 2 } else { 1 };
    let x = call.x()?;
    let input = both(call, ["weight_ih", "weight_ih_back"], has_both, gates)?;
    let recurrent = both(call, ["weight_hh", "weight_hh_back"], has_both, gates)?;
    let mut bias = both(call, ["bias", "bias_back"], has_both, gates)?;
    if let Some(first) = bias {
        // ONNX has a second one for the state.
        let none = call.constant(Array::from_fn(call.dims(first), |_| 0.0)?);
        bias = Some(call.add(Operation::Concat(1), &[first, none])?);
    }
    let (mut memory, mut peepholes) = (None, None);
    let state = call.tensor("initial_h")?;
    let state = apart(call, state, directions)?;
    if operator == "LSTM" {
        let first = call.tensor("initial_c")?;
        memory = Some(apart(call, first, directions)?);
        peepholes = both(call, ["peephole", "peephole_back"], has_both, PEEPHOLES)?;
    }
    let settings = [("direction", Text(direction)), ("activations", Texts(named.repeat(directions)))];
    let operands = [Some(x), input, recurrent, bias, None, Some(state), memory, peepholes];
    let wants_all = call.truth("output_sequence")?;
    let operands = if operator == "LSTM" { &operands[..] } else { &operands[..6] };
    let mut made = call.onnx(operator, operands, &settings)?.into_iter();
    let (Some(whole), Some(last)) = (made.next(), made.next()) else { return Err(Why::Operation) };
    let last = beside(call, last)?;
    let dims = call.dims(whole);
    let sequence = if wants_all {
        let turned = call.add(Operation::Permute(vec![0, 2, 1, 3]), &[whole])?;
        call.reshape(turned, vec![dims[0], dims[2], dims[1] * dims[3]])?
    } else {
        call.reshape(last, vec![1, dims[2], dims[1] * dims[3]])?
    };
    let mut values = vec![sequence, last];
    if let Some(memory) = made.next().filter(|_| operator == "LSTM") {
        values.push(beside(call, memory)?);
    }
    Ok(Some(values))
}

/// The weights of all directions, with their gates as ONNX has them; `None` if they are left out.
fn both(
    call: &mut Call<'_>,
    names: [&'static str; 2],
    has_both: bool,
    gates: &[usize],
) -> Result<Option<ValueId>, Why> {
    let mut each = Vec::new();
    for name in &names[..if has_both { 2 } else { 1 }] {
        let Some(weights) = call.optional(name)? else { continue };
        let dims = call.dims(weights);
        let rows = dims.first().copied().unwrap_or_default();
        if rows == 0 || rows % gates.len() != 0 {
            return Err(mode(format!("{name} of {dims:?} is not {} gates", gates.len())));
        }
        let count = rows / gates.len();
        let mut parts = Vec::new();
        for gate in gates {
            let mut cuts: Vec<Cut> = dims.iter().map(|&extent| Cut::all(extent)).collect();
            cuts[0] = Cut { start: gate * count, step: 1, count };
            parts.push(call.add(Operation::Cut(cuts), &[weights])?);
        }
        let ordered = call.add(Operation::Concat(0), &parts)?;
        each.push(call.reshape(ordered, [vec![1], dims].concat())?);
    }
    match each.len() {
        0 => Ok(None),
        1 if has_both => Err(mode(format!("{} is there for one direction only", names[0]))),
        _ => Ok(Some(call.add(Operation::Concat(0), &each)?)),
    }
}

/// A state of each direction: `[batches, directions * hidden]` as `[directions, batches, hidden]`.
fn apart(call: &mut Call<'_>, x: ValueId, directions: usize) -> Result<ValueId, Why> {
    let dims = call.dims(x);
    let &[batches, all] = dims.as_slice() else {
        return Err(mode(format!("a state of {dims:?} is no matrix")));
    };
    let split = call.reshape(x, vec![batches, directions, all / directions])?;
    call.add(Operation::Permute(vec![1, 0, 2]), &[split])
}

/// The other way round.
fn beside(call: &mut Call<'_>, x: ValueId) -> Result<ValueId, Why> {
    let dims = call.dims(x);
    let turned = call.add(Operation::Permute(vec![1, 0, 2]), &[x])?;
    call.reshape(turned, vec![dims[1], dims[0] * dims[2]])
}
