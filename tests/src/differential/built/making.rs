//! A graph while it is put together, and the operands that there are.

use ane::build::{BuildError, Graph, Shape, Tail, Tensor};
use half::f16;

use super::values::ValueKind;
use crate::random::Random;

/// Most surfaces that a program reads: more operands are constants.
const INPUTS_MAX: usize = 6;

/// A tensor that operations may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct GraphOperand {
    pub(super) tensor: Tensor,
    /// Channels side by side in one plane, which parts have to respect.
    pub(super) interleave: u32,
}

/// A graph while it is put together.
pub(super) struct GraphMaker {
    pub(super) random: Random,
    pub(super) values: ValueKind,
    pub(super) graph: Graph,
    pub(super) operands: Vec<GraphOperand>,
    pub(super) steps: Vec<String>,
    inputs: usize,
}

impl GraphMaker {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let values = ValueKind::draw(&mut random);
        let (graph, operands, steps) = (Graph::new(), Vec::new(), Vec::new());
        Self { random, values, graph, operands, steps, inputs: 0 }
    }

    /// True once in so many times.
    pub(super) const fn once_in(&mut self, times: u32) -> bool {
        self.random.below(times) == 0
    }

    pub(super) const fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.random.below(high - low + 1)
    }

    /// A number as this program has them.
    pub(super) fn half(&mut self) -> f16 {
        self.values.half(&mut self.random)
    }

    /// A shape: small mostly, sometimes of many channels, or wider than a tile.
    pub(super) const fn shape(&mut self) -> Shape {
        match self.random.below(12) {
            0 => Shape::new(self.between(1, 3), self.between(1, 2), self.between(100, 600)),
            1 => Shape::new(self.between(30, 150), 1, self.between(1, 4)),
            2 => Shape::new(self.between(1, 80), 1, 1),
            3 => Shape::new(self.between(1, 2), self.between(10, 40), self.between(1, 20)),
            _ => Shape::new(self.between(1, 12), self.between(1, 5), self.between(1, 24)),
        }
    }

    /// A tensor that the client fills, or a constant where there are enough.
    pub(super) fn input(&mut self, shape: Shape) -> Result<Tensor, BuildError> {
        if self.inputs == INPUTS_MAX || (self.inputs > 0 && self.once_in(3)) {
            let values = self.values.halves(&mut self.random, shape.elements());
            return self.graph.constant(shape, &values);
        }
        let tensor = self.graph.input(&format!("input{}", self.inputs), shape)?;
        self.inputs += 1;
        self.operands.push(GraphOperand { tensor, interleave: 1 });
        Ok(tensor)
    }

    pub(super) fn any(&mut self) -> GraphOperand {
        self.operands[self.random.below(self.operands.len() as u32) as usize]
    }

    /// An operand that `fits`, or a tensor of `shape`.
    pub(super) fn other(&mut self, shape: Shape, fits: impl Fn(Shape) -> bool) -> Result<Tensor, BuildError> {
        let candidate = self.any().tensor;
        if fits(self.graph.shape(candidate)?) { Ok(candidate) } else { self.input(shape) }
    }

    /// The last step of the neural engine, without a table.
    pub(super) fn tail(&mut self) -> Tail {
        let tail = if self.once_in(3) { Tail::RELU } else { Tail::NONE };
        let post_scale = if self.once_in(2) { self.half() } else { f16::ONE };
        Tail { post_scale, transpose: self.once_in(4), ..tail }
    }

    /// The interleave of what the operation called `name` made: parts have that of the whole.
    pub(super) fn interleave_of(&self, name: &str, from: GraphOperand) -> u32 {
        if name == "slice" { from.interleave } else { 1 }
    }
}
