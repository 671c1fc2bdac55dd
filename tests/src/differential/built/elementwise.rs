//! Operations of the planar engine, with every selector.

use ane::build::{BuildError, Element, Over, Reduce, Shape, Tensor};
use ane_uapi::hw::td::planar::{Operation, PostFunction, Reduction};
use half::f16;

use super::making::{GraphMaker, GraphOperand};

/// Final scales beside plain ones.
const SCALES: [f32; 8] = [0.5, -3.0, 0.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE, f32::MAX, 1.0 / 3.0];

impl GraphMaker {
    /// An operation of the planar engine on elements; of one operand if it `is_alone`.
    fn element(&mut self, is_alone: bool) -> Element {
        const ALONE: [Operation; 2] = [Operation::Add, Operation::SumSquared];
        const TWO: [Operation; 5] = [
            Operation::Add,
            Operation::Multiply,
            Operation::Maximum,
            Operation::Minimum,
            Operation::SumSquared,
        ];
        let operations: &[Operation] = if is_alone { &ALONE } else { &TWO };
        let operation = operations[self.random.below(operations.len() as u32) as usize];
        let often = |making: &mut Self, usual| if making.once_in(3) { making.half() } else { usual };
        Element {
            operation,
            pre_scale: often(self, f16::ONE),
            negate_first: self.once_in(3),
            negate_second: !is_alone && self.once_in(3),
            bias: often(self, f16::ZERO),
            scale: often(self, f16::ONE),
            final_scale: if self.once_in(4) { SCALES[self.random.below(8) as usize] } else { 1.0 },
            relu: self.once_in(4),
            transpose: self.once_in(5),
        }
    }

    fn reduction(&mut self) -> (Reduce, Over) {
        const POSTS: [PostFunction; 3] =
            [PostFunction::None, PostFunction::Reciprocal, PostFunction::ReciprocalSquareRoot];
        let reduction = if self.once_in(3) { Reduction::Maximum } else { Reduction::Sum };
        let reduce = Reduce {
            reduction,
            mean: self.once_in(2),
            epsilon: if self.once_in(3) { self.half() } else { f16::ZERO },
            post: POSTS[self.random.below(3) as usize],
        };
        (reduce, if self.once_in(2) { Over::Columns } else { Over::Plane })
    }

    /// A second operand that stretches to `shape`, or that `shape` stretches to.
    fn second(&mut self, shape: Shape) -> Result<Tensor, BuildError> {
        if self.once_in(6) {
            let value = self.half();
            return self.graph.scalar(value);
        }
        let mut axis = |extent: u32| match self.random.below(4) {
            0 => 1,
            1 if extent == 1 => 1 + self.random.below(6),
            _ => extent,
        };
        let wanted = Shape::new(axis(shape.c), axis(shape.h), axis(shape.w));
        let stretches = |a: u32, b: u32| a == b || a == 1 || b == 1;
        let fits = |other: Shape| {
            stretches(other.c, shape.c) && stretches(other.h, shape.h) && stretches(other.w, shape.w)
                // Two long operands that stretch along different axes make a result that takes all day.
                && u64::from(other.c.max(shape.c)) * u64::from(other.h.max(shape.h)) * u64::from(other.w.max(shape.w)) < 10_000
        };
        self.other(wanted, fits)
    }
}

pub(super) fn binary(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let second = making.graph.shape(from.tensor).and_then(|shape| making.second(shape))?;
    let element = making.element(false);
    // Either may be the one that stretches.
    let (a, b) = if making.once_in(2) { (from.tensor, second) } else { (second, from.tensor) };
    making.graph.binary(a, b, element)
}

pub(super) fn unary(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let element = making.element(true);
    making.graph.unary(from.tensor, element)
}

pub(super) fn normalise(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let channels = making.graph.shape(from.tensor)?.c;
    let channels = if making.once_in(3) { 1 } else { channels };
    let statistics = making.input(Shape::new(channels, 2, 1))?;
    let element = Element { operation: Operation::Add, ..making.element(true) };
    making.graph.normalise(from.tensor, statistics, element)
}

pub(super) fn reduce(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let element = making.element(true);
    let (reduce, over) = making.reduction();
    making.graph.reduce(from.tensor, element, reduce, over)
}

pub(super) fn binary_reduce(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let second = making.graph.shape(from.tensor).and_then(|shape| making.second(shape))?;
    let element = making.element(false);
    let (reduce, over) = making.reduction();
    making.graph.binary_reduce(from.tensor, second, element, reduce, over)
}

pub(super) fn sum_of_squares(making: &mut GraphMaker, from: GraphOperand) -> Result<Tensor, BuildError> {
    let over = making.reduction().1;
    making.graph.sum_of_squares(from.tensor, over)
}
