//! The element-wise chain, eight doubles at a time.
//!
//! A step is left out where it would change nothing. Adding a bias of +0 is no such step: it turns -0 into +0.

use std::marker::PhantomData;

use ane_uapi::hw::td::planar::Operation;

use super::Planar;
use super::operand::View;
use crate::engine::cancel::Pace;
use crate::engine::kernels::planar_vector::{LANES, Vector, Work, run as vectorised};
use crate::engine::numerics::double::{ONE, decode, decode_single};

/// Elements of a block: what an operand that is broadcast is spread into.
pub(super) const BLOCK: usize = 256;

/// The chain with its constants as numbers; `None` is a step that changes nothing.
pub(super) struct Chain {
    operation: Operation,
    pre_scale: Option<f64>,
    negates_first: bool,
    negates_second: bool,
    bias: f64,
    scale: Option<f64>,
    final_scale: Option<f64>,
    relu: bool,
}

/// Each number times a factor, if there is one.
#[inline(always)]
fn times<V: Vector>(numbers: V, factor: Option<f64>) -> V {
    match factor {
        Some(factor) => numbers.times(V::splat(factor)),
        None => numbers,
    }
}

#[inline(always)]
fn negated<V: Vector>(numbers: V, is_negated: bool) -> V {
    if is_negated { numbers.negated() } else { numbers }
}

impl Chain {
    pub(super) fn new(planar: &Planar) -> Self {
        let unless_one = |half| (half != ONE).then(|| decode(half));
        Self {
            operation: planar.operation,
            pre_scale: unless_one(planar.pre_scale),
            negates_first: planar.negates_first,
            negates_second: planar.negates_second,
            bias: decode(planar.bias),
            scale: unless_one(planar.scale),
            final_scale: (planar.final_scale != 1f32.to_bits()).then(|| decode_single(planar.final_scale)),
            relu: planar.relu,
        }
    }

    /// Source 1, times pre-scale, negated if asked.
    #[inline(always)]
    fn first<V: Vector>(&self, a: &[u16; LANES]) -> V {
        negated(times(V::decode(a), self.pre_scale), self.negates_first)
    }

    /// Elements of one source before bias and scale; not rounded.
    #[inline(always)]
    pub(super) fn of_one<V: Vector>(&self, a: &[u16; LANES]) -> V {
        let x: V = self.first(a);
        if self.operation == Operation::SumSquared { x.times(x) } else { x }
    }

    /// Elements of two sources before bias and scale; not rounded.
    #[inline(always)]
    pub(super) fn of_two<V: Vector>(&self, a: &[u16; LANES], b: &[u16; LANES]) -> V {
        let x: V = self.first(a);
        let y = negated(V::decode(b), self.negates_second);
        match self.operation {
            Operation::Add => x.plus(y),
            Operation::Multiply => x.times(y),
            Operation::Maximum => x.maximum(y),
            Operation::Minimum => x.minimum(y),
            Operation::SumSquared => {
                let sum = x.plus(y);
                sum.times(sum)
            }
        }
    }

    /// Elements of `(a - b) * s`; not rounded.
    #[inline(always)]
    fn of_three<V: Vector>(&self, a: &[u16; LANES], b: &[u16; LANES], s: &[u16; LANES]) -> V {
        self.first::<V>(a).plus(V::decode(b).negated()).times(V::decode(s))
    }

    /// Everything behind the operation of an element-wise pass, and the rounding.
    #[inline(always)]
    fn finish<V: Vector>(&self, numbers: V) -> [u16; LANES] {
        let biased = numbers.plus(V::splat(self.bias));
        let scaled = times(times(biased, self.scale), self.final_scale);
        let result = if self.relu { scaled.relu() } else { scaled };
        result.encode()
    }
}

/// What is left behind the last eight, with +0 behind it.
#[inline(always)]
pub(super) fn padded(rest: &[u16]) -> [u16; LANES] {
    let mut whole = [0; LANES];
    whole.iter_mut().zip(rest).for_each(|(to, &from)| *to = from);
    whole
}

/// Operands of a chain; a type and no closure, because a closure cannot be marked to be inlined always.
trait Sources<const N: usize> {
    /// Their elements before bias and scale; not rounded.
    fn elements<V: Vector>(chain: &Chain, sources: [&[u16; LANES]; N]) -> V;
}

struct One;

impl Sources<1> for One {
    #[inline(always)]
    fn elements<V: Vector>(chain: &Chain, [a]: [&[u16; LANES]; 1]) -> V {
        chain.of_one(a)
    }
}

struct Two;

impl Sources<2> for Two {
    #[inline(always)]
    fn elements<V: Vector>(chain: &Chain, [a, b]: [&[u16; LANES]; 2]) -> V {
        chain.of_two(a, b)
    }
}

struct Three;

impl Sources<3> for Three {
    #[inline(always)]
    fn elements<V: Vector>(chain: &Chain, [a, b, s]: [&[u16; LANES]; 3]) -> V {
        chain.of_three(a, b, s)
    }
}

/// An element-wise pass.
struct Elementwise<'a, 'v, 'p, S, const N: usize> {
    chain: Chain,
    views: [&'a View<'v>; N],
    out: &'a mut [u16],
    pace: &'a mut Pace<'p>,
    sources: PhantomData<S>,
}

impl<'a, 'v, 'p, S: Sources<N>, const N: usize> Elementwise<'a, 'v, 'p, S, N> {
    fn new(planar: &Planar, views: [&'a View<'v>; N], out: &'a mut [u16], pace: &'a mut Pace<'p>) -> Self {
        Self { chain: Chain::new(planar), views, out, pace, sources: PhantomData }
    }
}

impl<S: Sources<N>, const N: usize> Work for Elementwise<'_, '_, '_, S, N> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        let Self { chain, views, out, pace, .. } = self;
        let mut buffers = [[0; BLOCK]; N];
        let mut start = 0usize;
        for out in out.chunks_mut(BLOCK) {
            if pace.spend(out.len()) {
                return;
            }
            let mut eights: [&[[u16; LANES]]; N] = [&[]; N];
            let mut last = [[0; LANES]; N];
            let places = eights.iter_mut().zip(&mut last);
            for ((view, buffer), (eights, last)) in views.iter().zip(&mut buffers).zip(places) {
                let buffer = buffer.get_mut(..out.len()).unwrap_or_default();
                let (whole, rest) = view.block(start, buffer).as_chunks();
                (*eights, *last) = (whole, padded(rest));
            }
            start = start.saturating_add(out.len());
            let (whole, rest) = out.as_chunks_mut();
            for (i, out) in whole.iter_mut().enumerate() {
                let mut sources = [&[0; LANES]; N];
                for (source, eights) in sources.iter_mut().zip(eights) {
                    *source = eights.get(i).unwrap_or(&[0; LANES]);
                }
                *out = chain.finish::<V>(S::elements(&chain, sources));
            }
            let last = chain.finish::<V>(S::elements(&chain, last.each_ref()));
            rest.iter_mut().zip(last).for_each(|(out, half)| *out = half);
        }
    }
}

/// Computes an element-wise pass of one or two sources.
pub(super) fn run(planar: &Planar, a: &View<'_>, b: Option<&View<'_>>, out: &mut [u16], pace: &mut Pace<'_>) {
    match b {
        Some(b) => vectorised(Elementwise::<Two, 2>::new(planar, [a, b], out, pace)),
        None => vectorised(Elementwise::<One, 1>::new(planar, [a], out, pace)),
    }
}

/// Computes `(a - b) * s` of three views and what follows.
pub(super) fn normalise(planar: &Planar, views: [&View<'_>; 3], out: &mut [u16], pace: &mut Pace<'_>) {
    vectorised(Elementwise::<Three, 3>::new(planar, views, out, pace));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::cancel::Watch;
    use crate::engine::kernels::planar_vector::Portable;
    use crate::engine::planar::{Class, Operand, Shape};

    #[test]
    fn portable_and_vector_code_give_the_same_bytes() {
        let values: Vec<u16> = (0..=u16::MAX).collect();
        let others: Vec<u16> = values.iter().map(|value| value.wrapping_mul(40503)).collect();
        let shape = Shape { channels: 1, height: 1, width: 1 << 16 };
        let operand = |values| Operand { values, channels: 1, height: 1, width: 1 << 16 };
        let [a, b] = [&values, &others].map(|values| View::new(shape, operand(values)).expect("fits"));
        for &operation in Operation::ALL {
            let planar = Planar { bias: 0x1234, scale: 0xc2a5, ..Planar::plain(Class::Binary, operation) };
            let (mut portable, mut vector) = (vec![0; 1 << 16], vec![1; 1 << 16]);
            let watch = Watch::idle();
            let mut pace = Pace::new(&watch);
            Elementwise::<Two, 2>::new(&planar, [&a, &b], &mut portable, &mut pace).run::<Portable>();
            run(&planar, &a, Some(&b), &mut vector, &mut pace);
            assert!(portable == vector, "{operation}");
        }
    }
}
