//! Recurrent layers: a step for each place of a sequence, one behind the other, of operations that the engine has.

use super::linear::product;
use super::{Call, Made};
use crate::model::layers::Layers;
use crate::model::network::operation::{Cut, JoinKind, Map};
use crate::model::network::{Array, Kind, Operation, ValueId};
use crate::model::problem::Why;

/// Most steps of a layer, in all its directions: each is some ten operations.
const STEPS_MAX: usize = 1024;

/// The kind of a cell, which computes one step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    Plain,
    Gated,
    LongShort,
}

impl Cell {
    /// Rows of weights for each row of the state.
    const fn gates(self) -> usize {
        match self {
            Self::Plain => 1,
            Self::Gated => 3,
            Self::LongShort => 4,
        }
    }

    /// Its functions, if a model names no others.
    const fn functions(self) -> &'static [Map] {
        match self {
            Self::Plain => &[Map::Tanh],
            Self::Gated => &[Map::Sigmoid, Map::Tanh],
            Self::LongShort => &[Map::Sigmoid, Map::Tanh, Map::Tanh],
        }
    }
}

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    let cell = match call.node.operator.as_str() {
        "RNN" => Cell::Plain,
        "GRU" => Cell::Gated,
        "LSTM" => Cell::LongShort,
        _ => return Ok(None),
    };
    let is_batch_first = call.integer("layout", 0)? != 0;
    let backward: &[bool] = match call.text("direction", "forward")?.as_str() {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(Call::mode(format!("direction {other:?} is not mapped"))),
    };
    let mut x = call.x(0)?;
    if is_batch_first {
        x = call.add(Operation::Permute(vec![1, 0, 2]), &[x])?;
    }
    let (dims, of_state) = (call.dims(x), call.x(2).map(|weights| call.dims(weights))?);
    let (&[steps, batches, _], &[_, _, hidden]) = (dims.as_slice(), of_state.as_slice()) else {
        return Err(Call::mode(format!("a sequence {dims:?} with weights {of_state:?} has other axes")));
    };
    if steps.saturating_mul(backward.len()) > STEPS_MAX {
        return Err(Call::mode(format!("{steps} steps are more than {STEPS_MAX}")));
    }
    if cell == Cell::LongShort && call.integer("input_forget", 0)? != 0 {
        return Err(Call::mode("coupled input and forget gates (input_forget) are not mapped"));
    }
    let told = call.integer("hidden_size", hidden as i64)?;
    if usize::try_from(told) != Ok(hidden) {
        return Err(Call::mode(format!(
            "hidden_size is {told}, and the weights are those of {hidden} states"
        )));
    }
    if call.optional(4).is_some() && call.list(4)?.iter().any(|&length| length != steps as i64) {
        return Err(Call::mode("sequences of several lengths are not mapped"));
    }
    let functions = functions(call, cell, backward.len())?;

    let (mut whole, mut states, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for (number, &is_backward) in backward.iter().enumerate() {
        let functions = &functions[number * cell.functions().len()..];
        let layer = Layer::new(call, cell, number, functions, x, is_batch_first)?;
        let order: Vec<usize> = if is_backward { (0..steps).rev().collect() } else { (0..steps).collect() };
        let (mut state, mut memory) = (layer.state, layer.memory);
        let mut made = vec![state; steps];
        for step in order {
            (state, memory) = layer.step(call, step, state, memory)?;
            made[step] = call.reshape(state, vec![1, 1, batches, hidden])?;
        }
        whole.push(call.add(Operation::Concat(0), &made)?);
        states.push(call.reshape(state, vec![1, batches, hidden])?);
        if cell == Cell::LongShort {
            cells.push(call.reshape(memory, vec![1, batches, hidden])?);
        }
    }
    let mut made = vec![call.add(Operation::Concat(1), &whole)?, call.add(Operation::Concat(0), &states)?];
    if cell == Cell::LongShort {
        made.push(call.add(Operation::Concat(0), &cells)?);
    }
    if is_batch_first {
        for (value, order) in made.iter_mut().zip([vec![2, 0, 1, 3], vec![1, 0, 2], vec![1, 0, 2]]) {
            *value = call.add(Operation::Permute(order), &[*value])?;
        }
    }
    made.truncate(call.outputs.max(1));
    Ok(Some(made))
}

/// The functions of all directions.
fn functions(call: &Call<'_, '_>, cell: Cell, directions: usize) -> Result<Vec<Map>, Why> {
    let named = call.texts("activations")?;
    let functions = if named.is_empty() {
        cell.functions().repeat(directions)
    } else {
        let function = |name: &String| match name.as_str() {
            "Relu" => Ok(Map::Relu),
            "Sigmoid" => Ok(Map::Sigmoid),
            "Softplus" => Ok(Map::Softplus),
            "Softsign" => Ok(Map::Softsign),
            "Tanh" => Ok(Map::Tanh),
            other => Err(Call::mode(format!("activation {other:?} is not mapped"))),
        };
        named.iter().map(function).collect::<Result<_, _>>()?
    };
    if functions.len() != cell.functions().len() * directions {
        return Err(Call::mode(format!("{} activations are not those of the layer", functions.len())));
    }
    Ok(functions)
}

struct Layer<'a> {
    cell: Cell,
    functions: &'a [Map],
    hidden: usize,
    /// For each step what its input adds to the gates, biases among it.
    inputs: ValueId,
    /// From a state to the gates.
    weights: ValueId,
    /// The bias of the last gate's part of the state before the reset; only a gated layer that resets it there has one.
    late_bias: Option<ValueId>,
    resets_late: bool,
    /// Of input, output and forget gate.
    peepholes: Option<[ValueId; 3]>,
    state: ValueId,
    memory: ValueId,
}

impl<'a> Layer<'a> {
    fn new(
        call: &mut Call<'_, '_>,
        cell: Cell,
        number: usize,
        functions: &'a [Map],
        x: ValueId,
        is_batch_first: bool,
    ) -> Result<Self, Why> {
        let dims = call.dims(x);
        let [input, recurrent] = [1, 2].map(|operand| part(call, operand, number));
        let (input, recurrent) = (turned(call, input?)?, turned(call, recurrent?)?);
        let of_recurrent = call.dims(recurrent);
        let &[hidden, gates] = of_recurrent.as_slice() else {
            return Err(Call::mode("weights are no matrices"));
        };
        if gates != cell.gates() * hidden {
            return Err(Call::mode(format!("{gates} rows of weights are not those of {hidden} states")));
        }
        let rows = call.reshape(x, vec![dims[0] * dims[1], dims[2]])?;
        let mut inputs = product(call, rows, input)?;
        let resets_late = cell == Cell::Gated && call.integer("linear_before_reset", 0)? != 0;
        let mut late_bias = None;
        if call.optional(3).is_some() {
            let both = part(call, 3, number)?;
            let first = columns(call, both, 0, gates)?;
            let mut second = columns(call, both, gates, gates)?;
            if resets_late {
                late_bias = Some(columns(call, second, 2 * hidden, hidden)?);
                let kept = columns(call, second, 0, 2 * hidden)?;
                let none = call.constant(Array::from_fn(vec![hidden], |_| 0.0)?, Kind::Real);
                second = call.add(Operation::Concat(0), &[kept, none])?;
            }
            let bias = call.join(JoinKind::Add, first, second)?;
            inputs = call.join(JoinKind::Add, inputs, bias)?;
        }
        let mut peepholes = None;
        if cell == Cell::LongShort && call.optional(7).is_some() {
            let all = part(call, 7, number)?;
            let mut part = |gate: usize| columns(call, all, gate * hidden, hidden);
            peepholes = Some([part(0)?, part(1)?, part(2)?]);
        }
        let mut first = |operand: usize| -> Result<ValueId, Why> {
            let Some(all) = call.optional(operand) else {
                let none = Array::from_fn(vec![dims[1], hidden], |_| 0.0)?;
                return Ok(call.constant(none, Kind::Real));
            };
            let axis = usize::from(is_batch_first);
            let one = call.cut(all, axis, Cut { start: number, step: 1, count: 1 })?;
            call.reshape(one, vec![dims[1], hidden])
        };
        let state = first(5)?;
        let memory = if cell == Cell::LongShort { first(6)? } else { state };
        let weights = recurrent;
        Ok(Self {
            cell,
            functions,
            hidden,
            inputs,
            weights,
            late_bias,
            resets_late,
            peepholes,
            state,
            memory,
        })
    }

    /// State and memory behind a step; only a long short-term layer has memory.
    fn step(
        &self,
        call: &mut Call<'_, '_>,
        step: usize,
        state: ValueId,
        memory: ValueId,
    ) -> Result<(ValueId, ValueId), Why> {
        let batches = call.dims(state)[0];
        let input = call.cut(self.inputs, 0, Cut { start: step * batches, step: 1, count: batches })?;
        match self.cell {
            Cell::Plain => {
                let own = product(call, state, self.weights)?;
                let sum = call.join(JoinKind::Add, input, own)?;
                let state = call.map(self.functions[0], sum)?;
                Ok((state, state))
            }
            Cell::Gated => {
                let state = self.gated(call, input, state)?;
                Ok((state, state))
            }
            Cell::LongShort => self.long_short(call, input, state, memory),
        }
    }

    /// One gate's part.
    fn gate(&self, call: &mut Call<'_, '_>, all: ValueId, gate: usize) -> Result<ValueId, Why> {
        columns(call, all, gate * self.hidden, self.hidden)
    }

    fn gated(&self, call: &mut Call<'_, '_>, input: ValueId, state: ValueId) -> Result<ValueId, Why> {
        let both =
            if self.resets_late { self.weights } else { columns(call, self.weights, 0, 2 * self.hidden)? };
        let own = product(call, state, both)?;
        let opened = |call: &mut Call<'_, '_>, gate: usize| -> Result<ValueId, Why> {
            let (a, b) = (self.gate(call, input, gate)?, self.gate(call, own, gate)?);
            let sum = call.join(JoinKind::Add, a, b)?;
            call.map(self.functions[0], sum)
        };
        let (update, reset) = (opened(call, 0)?, opened(call, 1)?);
        let own = if self.resets_late {
            let last = self.gate(call, own, 2)?;
            let last = self.late_bias.map_or(Ok(last), |bias| call.join(JoinKind::Add, last, bias))?;
            call.join(JoinKind::Multiply, reset, last)?
        } else {
            let left = call.join(JoinKind::Multiply, reset, state)?;
            let weights = self.gate(call, self.weights, 2)?;
            product(call, left, weights)?
        };
        let input = self.gate(call, input, 2)?;
        let sum = call.join(JoinKind::Add, input, own)?;
        let new = call.map(self.functions[1], sum)?;
        // (1 - z) * new + z * state
        let change = call.join(JoinKind::Subtract, state, new)?;
        let change = call.join(JoinKind::Multiply, update, change)?;
        call.join(JoinKind::Add, new, change)
    }

    fn long_short(
        &self,
        call: &mut Call<'_, '_>,
        input: ValueId,
        state: ValueId,
        memory: ValueId,
    ) -> Result<(ValueId, ValueId), Why> {
        let own = product(call, state, self.weights)?;
        let sums = call.join(JoinKind::Add, input, own)?;
        let opened = |call: &mut Call<'_, '_>, gate: usize, memory: ValueId| -> Result<ValueId, Why> {
            let mut sum = self.gate(call, sums, gate)?;
            if let Some(peepholes) = self.peepholes {
                let seen = call.join(JoinKind::Multiply, memory, peepholes[gate])?;
                sum = call.join(JoinKind::Add, sum, seen)?;
            }
            call.map(self.functions[0], sum)
        };
        let (take, forget) = (opened(call, 0, memory)?, opened(call, 2, memory)?);
        let new = self.gate(call, sums, 3)?;
        let new = call.map(self.functions[1], new)?;
        let (kept, taken) =
            (call.join(JoinKind::Multiply, forget, memory)?, call.join(JoinKind::Multiply, take, new)?);
        let memory = call.join(JoinKind::Add, kept, taken)?;
        let give = opened(call, 1, memory)?;
        let bent = call.map(self.functions[2], memory)?;
        Ok((call.join(JoinKind::Multiply, give, bent)?, memory))
    }
}

/// One direction's part of an operand.
fn part(call: &mut Call<'_, '_>, operand: usize, number: usize) -> Result<ValueId, Why> {
    let all = call.x(operand)?;
    let dims = call.dims(all);
    if dims.len() < 2 || number >= dims[0] {
        return Err(Call::mode(format!("operand {operand} of {dims:?} has no direction {number}")));
    }
    let one = call.cut(all, 0, Cut { start: number, step: 1, count: 1 })?;
    call.reshape(one, dims[1..].to_vec())
}

fn turned(call: &mut Call<'_, '_>, x: ValueId) -> Result<ValueId, Why> {
    Ok(call.compose().turned(x)?)
}

/// Neighbours along the last axis.
fn columns(call: &mut Call<'_, '_>, x: ValueId, start: usize, count: usize) -> Result<ValueId, Why> {
    let dims = call.dims(x);
    let all = dims.last().copied().unwrap_or_default();
    if all < start + count {
        return Err(Call::mode(format!("{dims:?} has no columns {start} to {}", start + count)));
    }
    call.cut(x, dims.len() - 1, Cut { start, step: 1, count })
}
