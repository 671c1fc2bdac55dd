//! Layers to passes: where each tensor's axes lie, and by which passes the engine does each operation.
//!
//! A tensor on this engine has channels, rows and columns; a model's has any number of axes. One axis becomes the
//! columns, which follow each other in a *line*; all others say which line. Lines are found by strides, so that most
//! rearrangements cost nothing (`held`), and one pass exchanges the axis of the columns for another (`columns`).
//!
//! * `held`: tensors of any rank over a tensor of the builder.
//! * `columns`: another axis as columns. `wish`: who wants which.
//! * `elementwise`: operations element by element over operands that stretch.
//! * `maps`, `wave`, `joins`, `arrange`, `reduce`, `norm`, `product`, `convolution`, `window`: operations.
//! * `taps`: which taps of a kernel become channels. `stack`: the operand with those channels. `volume`: kernels
//!   that move along depth as well.

mod arrange;
mod columns;
mod convolution;
mod elementwise;
mod held;
mod joins;
mod maps;
mod norm;
mod product;
mod reduce;
mod stack;
mod taps;
mod volume;
mod wave;
mod window;
mod wish;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use half::f16;

use super::limits::MASK;
use super::network::operation::Linear;
use super::network::{Array, Kind, Network, Operation, ValueId};
use super::problem::{Problem, Why};
use crate::build::{Built, Graph, Limit, Shape, Tensor};
use crate::count::count;
use crate::tensor::nearest_half;
use held::Held;

/// Most tasks of one layer. (Chosen) A sixteenth of what a program may have.
pub(super) const TASKS_MAX: u64 = 4096;

/// The tasks that a layer became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The layer's place in the network.
    pub node: usize,
    pub tasks: Range<usize>,
}

/// A program and how it came about.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) built: Built,
    pub(super) steps: Vec<Step>,
    pub(super) notes: Vec<String>,
}

/// The layers that the engine cannot do, of a network that nothing has to come out of.
///
/// Layers are joined as for a program, so that no layer is refused that another would take in.
pub(super) fn problems(network: &mut Network) -> Vec<Problem> {
    let mut is_read = vec![false; network.values.len()];
    network.nodes.iter().flat_map(|node| &node.inputs).for_each(|&input| is_read[input] = true);
    let ends = network.nodes.iter().map(|node| node.output).filter(|&output| !is_read[output]);
    network.outputs.extend(ends.map(|output| (String::new(), output)));
    network.simplify();
    let mut graph = Graph::new();
    Lower::new(network, &mut graph).nodes().1
}

/// The program of `network`.
pub(super) fn lower(network: &Network) -> Result<Lowered, Vec<Problem>> {
    let mut graph = Graph::new();
    let mut lower = Lower::new(network, &mut graph);
    let (steps, mut problems) = lower.nodes();
    let of_output = |name: &str, value: ValueId, why| {
        Problem::new("output", name, vec![network.dims(value).to_vec()], why)
    };
    let mut copies = Vec::new();
    for (name, value) in &network.outputs {
        if lower.held[*value].is_none() && network.known(*value).is_none() {
            continue;
        }
        let first = lower.graph.task_count();
        if let Err(why) = lower.output(name, *value) {
            problems.push(of_output(name, *value, why));
        }
        copies.push((name, *value, first..lower.graph.task_count()));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut notes = Vec::new();
    if lower.beyond > 0 {
        let beyond = count(lower.beyond, "constant");
        notes.push(format!("{beyond} of 65520 or more, beyond the largest half, became infinite"));
    }
    if lower.rounded > 0.0 {
        notes.push(format!(
            "constants were rounded to halves; the largest difference is {:.3e}",
            lower.rounded
        ));
    }
    let errors = match lower.graph.build_or_all_errors() {
        Ok(built) => return Ok(Lowered { built, steps, notes }),
        Err(errors) => errors,
    };
    // Of each layer the first task that does not fit.
    let mut named = Vec::new();
    for error in errors {
        let task = error.task();
        let is_in = |tasks: &Range<usize>| task.is_some_and(|task| tasks.contains(&task));
        // Steps are in the order of their tasks.
        let at = steps.partition_point(|step| task.is_some_and(|task| step.tasks.end <= task));
        if let Some(step) = steps.get(at).filter(|step| is_in(&step.tasks)) {
            let node = &network.nodes[step.node];
            let shapes = node.inputs.iter().map(|&input| network.dims(input).to_vec()).collect();
            named.push(Problem::new(node.operation.name(), &node.name, shapes, error.into()));
        } else if let Some(&(name, value, _)) = copies.iter().find(|(_, _, tasks)| is_in(tasks)) {
            named.push(of_output(name, value, error.into()));
        } else {
            named.push(Problem::new("program", "", Vec::new(), error.into()));
        }
    }
    named.dedup_by(|next, first| next.name == first.name && next.operation == first.operation);
    Err(named)
}

/// Adds the layers of `network` to a graph whose tensors are its inputs; `result` comes out as a tensor of its own.
pub(crate) fn onto(
    graph: &mut Graph,
    network: &Network,
    inputs: &[Tensor],
    result: ValueId,
) -> Result<Tensor, Why> {
    let mut lower = Lower::new(network, graph);
    for (&(_, value), &tensor) in network.inputs.iter().zip(inputs) {
        lower.held[value] = Some(Held::of_tensor(lower.graph, tensor)?);
    }
    for node in &network.nodes {
        let held = lower.node(&node.operation, &node.inputs, node.output)?;
        lower.held[node.output] = Some(held);
    }
    let is_input = network.inputs.iter().any(|&(_, input)| input == result);
    lower.in_order(result, is_input)
}

pub(super) struct Lower<'n> {
    network: &'n Network,
    graph: &'n mut Graph,
    /// Tensors that are computed so far, and inputs.
    held: Vec<Option<Held>>,
    /// Constants that lie in the program already, by value and axis of the columns.
    constants: HashMap<(ValueId, Option<usize>), Held>,
    /// Tensors that were given other columns, by where they lay and the new axis.
    turned: HashMap<(held::Place, Option<usize>), Held>,
    /// The last matrix of a product, as the engine has it: each step of a recurrent layer has the same.
    matrix: Option<(product::MatrixKey, Rc<[f16]>)>,
    /// Weights of all products so far.
    weights: u64,
    /// The layers that read each value.
    readers: Vec<Vec<usize>>,
    /// The largest difference between a constant and its half, where that is finite.
    rounded: f64,
    /// Finite constants whose half is infinite.
    beyond: usize,
}

impl<'n> Lower<'n> {
    fn new(network: &'n Network, graph: &'n mut Graph) -> Self {
        let held = vec![None; network.values.len()];
        let mut readers = vec![Vec::new(); network.values.len()];
        for (at, node) in network.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|&input| readers[input].push(at));
        }
        let (constants, turned) = (HashMap::new(), HashMap::new());
        Self {
            network,
            graph,
            held,
            constants,
            turned,
            matrix: None,
            weights: 0,
            readers,
            rounded: 0.0,
            beyond: 0,
        }
    }
}

impl Lower<'_> {
    /// All layers, and those that the engine cannot do; what depends on these is passed over.
    fn nodes(&mut self) -> (Vec<Step>, Vec<Problem>) {
        let network = self.network;
        let mut problems = Vec::new();
        for (name, value) in &network.inputs {
            if let Err(why) = self.input(name, *value) {
                problems.push(Problem::new("input", name, vec![network.dims(*value).to_vec()], why));
            }
        }
        let mut steps = Vec::new();
        for (index, node) in network.nodes.iter().enumerate() {
            let is_known = |&input: &ValueId| self.held[input].is_some() || network.known(input).is_some();
            if !node.inputs.iter().all(is_known) {
                continue;
            }
            let first = self.graph.task_count();
            match self.node(&node.operation, &node.inputs, node.output) {
                Ok(held) => self.held[node.output] = Some(held),
                Err(why) => {
                    let shapes = node.inputs.iter().map(|&input| network.dims(input).to_vec()).collect();
                    problems.push(Problem::new(node.operation.name(), &node.name, shapes, why));
                }
            }
            steps.push(Step { node: index, tasks: first..self.graph.task_count() });
        }
        (steps, problems)
    }

    fn node(&mut self, operation: &Operation, inputs: &[ValueId], output: ValueId) -> Result<Held, Why> {
        match operation {
            Operation::Map(map) => {
                let x = self.operand(inputs[0])?;
                self.map(*map, &x)
            }
            Operation::Join(join) => self.join_values(*join, inputs[0], inputs[1]),
            Operation::Select => self.select(inputs[0], inputs[1], inputs[2]),
            Operation::Convolution(convolution) => self.convolution(convolution, inputs),
            Operation::Product => self.product(&Linear::NONE, inputs, output),
            Operation::Linear(linear) => self.product(linear, inputs, output),
            Operation::Reduce(reduce) => {
                let x = self.operand(inputs[0])?;
                self.reduce(reduce, x)
            }
            Operation::Normalise(normalise) => {
                let x = self.operand(inputs[0])?;
                self.normalise(normalise, x)
            }
            Operation::Window(window) => {
                let x = self.operand(inputs[0])?;
                self.window(window, x)
            }
            Operation::Reshape(dims) => {
                let x = self.operand(inputs[0])?;
                self.reshape(x, dims)
            }
            Operation::Permute(order) => Ok(self.operand(inputs[0])?.permuted(order)),
            Operation::Cut(cuts) => {
                let x = self.operand(inputs[0])?;
                self.cut(x, cuts)
            }
            &Operation::Concat(axis) => self.concat(inputs, axis),
            Operation::Expand(dims) => {
                let x = self.operand(inputs[0])?;
                self.expand(x, dims)
            }
            Operation::Pad { sides, value } => {
                let x = self.operand(inputs[0])?;
                self.pad(x, sides, *value)
            }
            Operation::Take { axis, indices } => {
                let x = self.operand(inputs[0])?;
                self.take(x, *axis, indices)
            }
            Operation::Stretch(factors) => {
                let x = self.operand(inputs[0])?;
                self.stretch(x, factors)
            }
        }
    }

    fn input(&mut self, name: &str, value: ValueId) -> Result<(), Why> {
        let dims = self.network.dims(value);
        let divided = surface(dims);
        let column = Held::last_column(&divided);
        let (whole, _) = Held::packed(&divided, column)?;
        let tensor = self.graph.named_input(name, whole)?;
        let held = Held::whole(tensor, whole, &divided, column);
        self.held[value] = Some(if divided == dims { held } else { self.reshape(held, dims)? });
        Ok(())
    }

    /// A value as it lies; a constant with its last axis as columns.
    fn operand(&mut self, value: ValueId) -> Result<Held, Why> {
        if let Some(held) = &self.held[value] {
            return Ok(held.clone());
        }
        let column = Held::last_column(self.network.dims(value));
        self.constant(value, column)
    }

    /// A value with this axis as columns.
    fn operand_by(&mut self, value: ValueId, column: Option<usize>) -> Result<Held, Why> {
        match self.held[value].clone() {
            Some(held) => self.by_column(&held, column),
            None => self.constant(value, column),
        }
    }

    fn constant(&mut self, value: ValueId, column: Option<usize>) -> Result<Held, Why> {
        let column = column.filter(|&axis| self.network.dims(value)[axis] > 1);
        if let Some(held) = self.constants.get(&(value, column)) {
            return Ok(held.clone());
        }
        let array = self.network.known(value).ok_or(Why::Missing { operand: 0 })?.clone();
        let held = self.array(&array, column)?;
        self.constants.insert((value, column), held.clone());
        Ok(held)
    }

    /// An array in the program's constants.
    fn array(&mut self, array: &Array, column: Option<usize>) -> Result<Held, Why> {
        let dims = array.dims();
        let (whole, _) = Held::packed(dims, column)?;
        let values = self.halves(&held::by_lines(array, column)?);
        let tensor = self.graph.constant(whole, &values)?;
        Ok(Held::whole(tensor, whole, dims, column))
    }

    fn halves(&mut self, values: &[f64]) -> Vec<f16> {
        self.halves_of_parts(values, 1.0)
    }

    /// The same of values that the engine multiplies with `scale` afterwards, and the errors with them.
    fn halves_of_parts(&mut self, values: &[f64], scale: f64) -> Vec<f16> {
        let (mut worst, mut beyond) = (self.rounded, self.beyond);
        let half = |&value: &f64| {
            let half = nearest_half(value);
            if value.is_finite() && value > MASK {
                if half.is_infinite() {
                    beyond += 1;
                } else {
                    worst = worst.max((half.to_f64() - value).abs() * scale.abs());
                }
            }
            half
        };
        let halves = values.iter().map(half).collect();
        (self.rounded, self.beyond) = (worst, beyond);
        halves
    }

    /// The refusal of an operand that has to be known before the run.
    fn not_known(&self, inputs: &[ValueId], operand: usize) -> Why {
        Why::NotKnown { operand, name: self.network.values[inputs[operand]].name.clone() }
    }

    fn kind(&self, value: ValueId) -> Kind {
        self.network.values[value].kind
    }

    fn output(&mut self, name: &str, value: ValueId) -> Result<(), Why> {
        let tensor = self.in_order(value, false)?;
        if self.graph.named_output(name, tensor).is_ok() {
            return Ok(());
        }
        let copy = self.in_order(value, true)?;
        Ok(self.graph.named_output(name, copy)?)
    }

    /// A value as a tensor whose lines follow each other in the order of the axes; as a copy where it lies otherwise, or
    /// if that is asked for.
    fn in_order(&mut self, value: ValueId, copied: bool) -> Result<Tensor, Why> {
        let own = self.network.dims(value);
        let dims = surface(own);
        let column = Held::last_column(&dims);
        let held = if dims == own {
            self.operand_by(value, column)?
        } else {
            let held = self.operand(value)?;
            let held = self.reshape(held, &dims)?;
            self.by_column(&held, column)?
        };
        let (whole, _) = Held::packed(&dims, column)?;
        if !copied && held.is_whole(whole) {
            return Ok(held.tensor);
        }
        let copy = self.fresh(&dims, column)?;
        self.copy_into(&copy, &held)?;
        Ok(copy.tensor)
    }
}

/// The extents of a surface with these elements in this order: a last axis that columns have no bits for is divided over
/// two.
fn surface(dims: &[usize]) -> Vec<usize> {
    let most = Limit::Columns.max() as usize;
    let Some((&last, others)) = dims.split_last().filter(|(last, _)| **last > most) else {
        return dims.to_vec();
    };
    let wide = (2..=most).rev().find(|wide| last.is_multiple_of(*wide)).unwrap_or(last);
    [others, &[last / wide, wide]].concat()
}

/// An extent of the engine.
fn extent(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A shape of the engine.
fn shape(c: usize, h: usize, w: usize) -> Shape {
    Shape::new(extent(c), extent(h), extent(w))
}
