//! Layers that are several operations, whichever reader or builder asks for them.

use super::operation::{Join, JoinKind, Map, Post, Reduce, ReduceKind};
use super::{Fault, Kind, Network, Operation, ValueId};

/// Adds operations under one name.
pub(crate) struct Compose<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) name: &'a str,
}

impl Compose<'_> {
    /// An operation; its result is of the kind of its first operand.
    pub(crate) fn add(&mut self, operation: Operation, inputs: &[ValueId]) -> Result<ValueId, Fault> {
        let kind = inputs.first().map_or(Kind::Real, |&input| self.network.values[input].kind);
        self.network.add(self.name, operation, inputs, kind)
    }

    fn join(&mut self, kind: JoinKind, a: ValueId, b: ValueId) -> Result<ValueId, Fault> {
        self.add(Operation::Join(Join { kind, relu: false }), &[a, b])
    }

    /// The last two axes exchanged.
    pub(crate) fn turned(&mut self, x: ValueId) -> Result<ValueId, Fault> {
        let rank = self.network.dims(x).len();
        let mut order: Vec<usize> = (0..rank).collect();
        if rank >= 2 {
            order.swap(rank - 1, rank - 2);
        }
        self.add(Operation::Permute(order), &[x])
    }

    /// Exponentials below the largest, over their sum.
    pub(crate) fn softmax(&mut self, x: ValueId, axis: usize) -> Result<ValueId, Fault> {
        let over = |kind, post| {
            Operation::Reduce(Reduce { kind, axes: vec![axis], square: false, epsilon: 0.0, post })
        };
        let largest = self.add(over(ReduceKind::Maximum, Post::None), &[x])?;
        let below = self.join(JoinKind::Subtract, x, largest)?;
        let powers = self.add(Operation::Map(Map::Exp), &[below])?;
        let factor = self.add(over(ReduceKind::Sum, Post::Reciprocal), &[powers])?;
        self.join(JoinKind::Multiply, powers, factor)
    }

    /// One over the root of the mean of squares.
    pub(crate) fn deviation(&mut self, x: ValueId, axes: Vec<usize>, epsilon: f64) -> Result<ValueId, Fault> {
        let post = Post::ReciprocalSquareRoot;
        let reduce = Reduce { kind: ReduceKind::Mean, axes, square: true, epsilon, post };
        self.add(Operation::Reduce(reduce), &[x])
    }

    /// `x` less its mean.
    pub(crate) fn centred(&mut self, x: ValueId, axes: Vec<usize>) -> Result<ValueId, Fault> {
        if axes.is_empty() {
            return self.join(JoinKind::Subtract, x, x);
        }
        let reduce = Reduce { kind: ReduceKind::Mean, axes, square: false, epsilon: 0.0, post: Post::None };
        let mean = self.add(Operation::Reduce(reduce), &[x])?;
        self.join(JoinKind::Subtract, x, mean)
    }

    /// `x`, less its mean if it is to be centred, over the root of the mean of squares.
    pub(crate) fn normalised(
        &mut self,
        x: ValueId,
        axes: Vec<usize>,
        epsilon: f64,
        centre: bool,
    ) -> Result<ValueId, Fault> {
        let x = if centre { self.centred(x, axes.clone())? } else { x };
        let factor = self.deviation(x, axes, epsilon)?;
        self.join(JoinKind::Multiply, x, factor)
    }

    /// `x` as `[batches, groups, channels of a group, rest ...]`, each group normalised. The groups divide the channels.
    pub(crate) fn normalised_groups(
        &mut self,
        x: ValueId,
        groups: usize,
        epsilon: f64,
    ) -> Result<ValueId, Fault> {
        let dims = self.network.dims(x).to_vec();
        let wrong = || Fault::Wrong { what: "groups", value: groups as i64, dims: dims.clone() };
        let (&[batches, channels], rest) = dims.split_first_chunk::<2>().ok_or_else(wrong)?;
        if groups == 0 || !channels.is_multiple_of(groups) {
            return Err(wrong());
        }
        // The rest is as it was, so that its lines stay as they lie.
        let parts = [&[batches, groups, channels / groups], rest].concat();
        let axes = (2..parts.len()).collect();
        let parts = self.add(Operation::Reshape(parts), &[x])?;
        self.normalised(parts, axes, epsilon, true)
    }

    /// `x` times a factor, plus an addend, where they are given.
    pub(crate) fn scaled(
        &mut self,
        x: ValueId,
        factor: Option<ValueId>,
        addend: Option<ValueId>,
    ) -> Result<ValueId, Fault> {
        let x = factor.map_or(Ok(x), |factor| self.join(JoinKind::Multiply, x, factor))?;
        addend.map_or(Ok(x), |addend| self.join(JoinKind::Add, x, addend))
    }

    /// Scores of which those do not count where `ones` has zeros.
    pub(crate) fn seen(&mut self, scores: ValueId, ones: ValueId) -> Result<ValueId, Fault> {
        // The most that halves have is taken off.
        let map = Map::Step { below: 0.0, zero: -65504.0, above: 0.0 };
        let addend = self.network.add(self.name, Operation::Map(map), &[ones], Kind::Real)?;
        self.join(JoinKind::Add, scores, addend)
    }

    /// Softmax of the scaled products of queries and keys, times the values. A mask is added to the scores; of a mask of
    /// 0 and 1, scores with 0 do not count.
    pub(crate) fn attention(
        &mut self,
        [query, key, value]: [ValueId; 3],
        mask: Option<ValueId>,
    ) -> Result<ValueId, Fault> {
        let width = self.network.dims(query).last().copied().unwrap_or(1).max(1);
        let key = self.turned(key)?;
        let scale = Map::Affine { scale: (width as f64).sqrt().recip(), offset: 0.0 };
        let query = self.add(Operation::Map(scale), &[query])?;
        let mut scores = self.add(Operation::Product, &[query, key])?;
        if let Some(mask) = mask {
            let is_truth = self.network.values[mask].kind == Kind::Bool;
            scores =
                if is_truth { self.seen(scores, mask)? } else { self.join(JoinKind::Add, scores, mask)? };
        }
        let last = self.network.dims(scores).len().saturating_sub(1);
        let weights = self.softmax(scores, last)?;
        self.add(Operation::Product, &[weights, value])
    }
}
