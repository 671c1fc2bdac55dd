//! The element-wise chain, eight doubles at a time.
//!
//! No step is left out: a multiplication by one costs less than the test whether the factor is one. A bias of +0 even has
//! an effect, as it makes +0 of -0. A test for NaN behind each step would cost much, so it is put off to the end of a block:
//! a NaN stays a NaN through all following steps, so a block without a NaN at its end had none on its way. A block with one
//! is computed again, with a test behind each step (`CAREFUL`).

use std::marker::PhantomData;

use ane_uapi::hw::td::planar::Operation;

use super::Planar;
use super::operand::{BLOCK, Spread, View};
use crate::engine::cancel::Pace;
use crate::engine::kernels::planar_vector::{LANES, Vector, VectorWork, padded, run as vectorised};
use crate::engine::numerics::double::{decode, decode_single};

/// The result of a step; if `CAREFUL`, with +0 in the place of a NaN.
#[inline(always)]
fn settled<V: Vector, const CAREFUL: bool>(numbers: V) -> V {
    if CAREFUL { numbers.settled() } else { numbers }
}

/// Operands of a chain; a type and no closure, because a closure cannot be marked to be inlined always.
pub(super) trait Sources<const N: usize> {
    /// The results of the operation on elements, not rounded. A NaN becomes +0 only if `CAREFUL`.
    fn combine<V: Vector, const CAREFUL: bool>(operation: Operation, elements: [V; N]) -> V;
}

pub(super) struct One;

impl Sources<1> for One {
    #[inline(always)]
    fn combine<V: Vector, const CAREFUL: bool>(operation: Operation, [a]: [V; 1]) -> V {
        match operation {
            Operation::SumSquared => settled::<V, CAREFUL>(a.times(a)),
            _ => a,
        }
    }
}

pub(super) struct Two;

impl Sources<2> for Two {
    #[inline(always)]
    fn combine<V: Vector, const CAREFUL: bool>(operation: Operation, [a, b]: [V; 2]) -> V {
        match operation {
            Operation::Add => settled::<V, CAREFUL>(a.plus(b)),
            Operation::Multiply => settled::<V, CAREFUL>(a.times(b)),
            // A comparison may lose what has no value.
            Operation::Maximum => a.settled().maximum(b),
            Operation::Minimum => a.settled().minimum(b),
            Operation::SumSquared => {
                let sum = settled::<V, CAREFUL>(a.plus(b));
                settled::<V, CAREFUL>(sum.times(sum))
            }
        }
    }
}

/// Three sources, of which the third multiplies.
pub(super) struct Three;

impl Sources<3> for Three {
    #[inline(always)]
    fn combine<V: Vector, const CAREFUL: bool>(_: Operation, [a, b, s]: [V; 3]) -> V {
        settled::<V, CAREFUL>(settled::<V, CAREFUL>(a.plus(b)).times(s))
    }
}

pub(super) struct Chain<V> {
    pre_scale: V,
    /// Bits of each source that are turned over.
    signs: [V; 3],
    bias: V,
    scale: V,
    final_scale: V,
    /// Sources below these become them.
    least_sources: [V; 3],
    /// A result below it becomes it.
    least: V,
    is_magnitude: bool,
}

impl<V: Vector> Chain<V> {
    #[inline(always)]
    pub(super) fn new(planar: &Planar) -> Self {
        let least = |is_relu: bool| V::splat(if is_relu { 0.0 } else { f64::NEG_INFINITY });
        let sign = |is_negated: bool| V::splat(if is_negated { -0.0 } else { 0.0 });
        Self {
            pre_scale: V::splat(decode(planar.pre_scale)),
            signs: [sign(planar.negates_first), sign(planar.negates_second), sign(false)],
            bias: V::splat(decode(planar.bias)),
            scale: V::splat(decode(planar.scale)),
            final_scale: V::splat(decode_single(planar.final_scale)),
            least_sources: [planar.relu_first, planar.relu_second, false].map(least),
            least: least(planar.relu),
            is_magnitude: planar.magnitude,
        }
    }

    /// The results of the operation on eight elements of each source, before bias and scale, not rounded.
    #[inline(always)]
    pub(super) fn combined<S: Sources<N>, const N: usize, const CAREFUL: bool>(
        &self,
        operation: Operation,
        sources: [&[u16; LANES]; N],
    ) -> V {
        let mut elements = [V::splat(0.0); N];
        for (element, source) in elements.iter_mut().zip(sources) {
            *element = V::decode(source);
        }
        for (element, &least) in elements.iter_mut().zip(&self.least_sources) {
            *element = element.at_least(least);
        }
        if let Some(first) = elements.first_mut() {
            *first = settled::<V, CAREFUL>(first.times(self.pre_scale));
        }
        for (element, &signs) in elements.iter_mut().zip(&self.signs) {
            *element = element.flipped(signs);
        }
        S::combine::<V, CAREFUL>(operation, elements)
    }

    /// The same with bias and scales.
    #[inline(always)]
    fn scaled<S: Sources<N>, const N: usize, const CAREFUL: bool>(
        &self,
        operation: Operation,
        sources: [&[u16; LANES]; N],
    ) -> V {
        let numbers = self.combined::<S, N, CAREFUL>(operation, sources);
        let biased = settled::<V, CAREFUL>(numbers.plus(self.bias));
        let scaled = settled::<V, CAREFUL>(biased.times(self.scale));
        settled::<V, CAREFUL>(scaled.times(self.final_scale))
    }

    #[inline(always)]
    fn stored(&self, numbers: V) -> V {
        let numbers = numbers.at_least(self.least);
        if self.is_magnitude { numbers.magnitude() } else { numbers }
    }

    /// Computes a block of an element-wise pass. False if a result may be a NaN and the steps were not `CAREFUL`.
    #[inline(always)]
    fn block<S: Sources<N>, const N: usize, const CAREFUL: bool>(
        &self,
        operation: Operation,
        eights: &Eights<'_, N>,
        out: &mut [u16],
    ) -> bool {
        // A NaN among the terms makes the sum a NaN. Two infinities may do so too, which is only a needless second run.
        let mut sum = V::splat(0.0);
        let (whole, rest) = out.as_chunks_mut();
        for (i, out) in whole.iter_mut().enumerate() {
            let numbers = self.scaled::<S, N, CAREFUL>(operation, eights.get(i));
            sum = sum.plus(numbers);
            *out = self.stored(numbers).encode();
        }
        let numbers = self.scaled::<S, N, CAREFUL>(operation, eights.last());
        let last = self.stored(numbers).encode();
        rest.iter_mut().zip(last).for_each(|(out, half)| *out = half);
        CAREFUL || sum.plus(numbers).numbers().iter().all(|number| !number.is_nan())
    }
}

/// Blocks of as many sources, eight elements at a time.
pub(super) struct Eights<'a, const N: usize> {
    whole: [&'a [[u16; LANES]]; N],
    last: [[u16; LANES]; N],
}

impl<'a, const N: usize> Eights<'a, N> {
    /// The blocks of `len` elements from `start` on in each view. An element that is broadcast is repeated.
    #[inline(always)]
    pub(super) fn of(
        views: [&'a View<'_>; N],
        start: usize,
        len: usize,
        spread: &'a mut [Spread; N],
    ) -> Self {
        let mut eights = Self { whole: [&[]; N], last: [[0; LANES]; N] };
        let places = eights.whole.iter_mut().zip(&mut eights.last);
        for ((view, spread), (whole, last)) in views.into_iter().zip(spread).zip(places) {
            let (eights, rest) = view.block(start, len, spread).as_chunks();
            (*whole, *last) = (eights, padded(rest));
        }
        eights
    }

    /// Eight elements of each source.
    #[inline(always)]
    pub(super) fn get(&self, i: usize) -> [&[u16; LANES]; N] {
        let mut sources = [&[0; LANES]; N];
        for (source, eights) in sources.iter_mut().zip(self.whole) {
            *source = eights.get(i).unwrap_or(&[0; LANES]);
        }
        sources
    }

    /// How often there are eight.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.whole.first().map_or(0, |eights| eights.len())
    }

    /// The elements behind them.
    #[inline(always)]
    pub(super) fn last(&self) -> [&[u16; LANES]; N] {
        self.last.each_ref()
    }
}

/// A pass whose loop is compiled for each operation.
pub(super) trait Looped {
    /// The loop; the operation is a constant wherever it is called. To be marked `#[inline(always)]`.
    fn each<V: Vector>(self, operation: Operation);
}

/// Goes through the loop that is compiled for an operation.
#[inline(always)]
pub(super) fn looped<V: Vector>(operation: Operation, pass: impl Looped) {
    match operation {
        Operation::Add => pass.each::<V>(Operation::Add),
        Operation::Multiply => pass.each::<V>(Operation::Multiply),
        Operation::Maximum => pass.each::<V>(Operation::Maximum),
        Operation::Minimum => pass.each::<V>(Operation::Minimum),
        Operation::SumSquared => pass.each::<V>(Operation::SumSquared),
    }
}

/// An element-wise pass.
struct Elementwise<'a, 'v, 'p, S, const N: usize> {
    planar: &'a Planar,
    views: [&'a View<'v>; N],
    /// The first element that is computed.
    first: usize,
    out: &'a mut [u16],
    pace: &'a mut Pace<'p>,
    sources: PhantomData<S>,
}

impl<'a, 'v, 'p, S: Sources<N>, const N: usize> Elementwise<'a, 'v, 'p, S, N> {
    fn new(
        planar: &'a Planar,
        views: [&'a View<'v>; N],
        (first, out): (usize, &'a mut [u16]),
        pace: &'a mut Pace<'p>,
    ) -> Self {
        Self { planar, views, first, out, pace, sources: PhantomData }
    }
}

impl<S: Sources<N>, const N: usize> Looped for Elementwise<'_, '_, '_, S, N> {
    #[inline(always)]
    fn each<V: Vector>(self, operation: Operation) {
        let Self { planar, views, first, out, pace, .. } = self;
        let chain = Chain::<V>::new(planar);
        let mut spread = [const { Spread::new() }; N];
        for (start, out) in (first..).step_by(BLOCK).zip(out.chunks_mut(BLOCK)) {
            if pace.spend(out.len()) {
                return;
            }
            let eights = Eights::of(views, start, out.len(), &mut spread);
            if !chain.block::<S, N, false>(operation, &eights, out) {
                chain.block::<S, N, true>(operation, &eights, out);
            }
        }
    }
}

impl<S: Sources<N>, const N: usize> VectorWork for Elementwise<'_, '_, '_, S, N> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        looped::<V>(self.planar.operation, self);
    }
}

/// Computes the elements of an element-wise pass of one or two sources from the first of `out` on.
pub(super) fn run(
    planar: &Planar,
    (a, b): (&View<'_>, Option<&View<'_>>),
    out: (usize, &mut [u16]),
    pace: &mut Pace<'_>,
) {
    match b {
        Some(b) => vectorised(Elementwise::<Two, 2>::new(planar, [a, b], out, pace)),
        None => vectorised(Elementwise::<One, 1>::new(planar, [a], out, pace)),
    }
}

/// Computes `(a + b) * s` of three views and what follows.
pub(super) fn normalise(
    planar: &Planar,
    views: [&View<'_>; 3],
    out: (usize, &mut [u16]),
    pace: &mut Pace<'_>,
) {
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
            Elementwise::<Two, 2>::new(&planar, [&a, &b], (0, &mut portable), &mut pace).run::<Portable>();
            run(&planar, (&a, Some(&b)), (0, &mut vector), &mut pace);
            assert!(portable == vector, "{operation}");
        }
    }
}
