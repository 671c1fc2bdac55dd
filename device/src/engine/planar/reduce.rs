//! Reductions: one value for each channel.
//!
//! The elements are summed in double precision in the order of row and column, which is part of the result. Where no
//! order can change it, because every partial sum is exact, several partial sums run side by side.

use ane_uapi::hw::td::planar::{Operation, PostFunction, Reduction};

use std::marker::PhantomData;

use super::Planar;
use super::chain::{Chain, Eights, Looped, One, Sources, Two, looped};
use super::operand::{BLOCK, Spread, View};
use crate::engine::cancel::Pace;
use crate::engine::kernels::planar_vector::{LANES, Vector, VectorWork, maximum, run as vectorised};
use crate::engine::numerics::double::{ONE, decode, decode_single, encode, settle};

/// Sums of multiples of 2^-24 are exact in 53 bits as long as no partial sum reaches this.
const EXACT: f64 = (1u64 << 29) as f64;

struct Reduce<'a, 'v, 'p, S, const N: usize> {
    planar: &'a Planar,
    views: [&'a View<'v>; N],
    /// Elements of a channel.
    elements: usize,
    out: &'a mut [u16],
    pace: &'a mut Pace<'p>,
    sources: PhantomData<S>,
}

impl<S: Sources<N>, const N: usize> VectorWork for Reduce<'_, '_, '_, S, N> {
    #[inline(always)]
    fn run<V: Vector>(self) {
        looped::<V>(self.planar.operation, self);
    }
}

impl<S: Sources<N>, const N: usize> Looped for Reduce<'_, '_, '_, S, N> {
    #[inline(always)]
    fn each<V: Vector>(self, operation: Operation) {
        let Self { planar, views, elements, out, pace, .. } = self;
        let (chain, spread) = (Chain::<V>::new(planar), [const { Spread::new() }; N]);
        let mut walk = ChannelWalk {
            operation,
            chain,
            views,
            start: 0,
            elements,
            spread,
            pace,
            sources: PhantomData::<S>,
        };
        let has_halves = planar.has_halves_for_elements();
        for out in out {
            let value = match planar.reduction {
                Reduction::Sum => {
                    let exact = if has_halves { walk.fold(ExactSum::<V>::new()).sum() } else { None };
                    match exact {
                        Some(sum) => sum,
                        None => walk.fold(OrderedSum(0.0)).0,
                    }
                }
                Reduction::Maximum => walk.fold(Largest::<V>::new()).largest(),
            };
            *out = planar.after_reduction(value);
            if walk.pace.is_over() {
                return;
            }
            walk.start = walk.start.saturating_add(elements);
        }
    }
}

/// The elements of one channel.
struct ChannelWalk<'a, 'v, 'p, V, S, const N: usize> {
    operation: Operation,
    chain: Chain<V>,
    views: [&'a View<'v>; N],
    start: usize,
    elements: usize,
    spread: [Spread; N],
    pace: &'a mut Pace<'p>,
    sources: PhantomData<S>,
}

impl<V: Vector, S: Sources<N>, const N: usize> ChannelWalk<'_, '_, '_, V, S, N> {
    /// Hands the elements over in order, as long as they are wanted.
    #[inline(always)]
    fn fold<F: Fold<V>>(&mut self, mut fold: F) -> F {
        let Self { operation, chain, views, start, elements, spread, pace, .. } = self;
        let mut done = 0;
        while done < *elements {
            let len = elements.saturating_sub(done).min(BLOCK);
            if pace.spend(len) {
                break;
            }
            let eights = Eights::of(*views, start.saturating_add(done), len, spread);
            for i in 0..eights.count() {
                fold.eight(chain.combined::<S, N, true>(*operation, eights.get(i)));
            }
            let last = chain.combined::<S, N, true>(*operation, eights.last()).numbers();
            last.into_iter().take(len % LANES).for_each(|x| fold.one(x));
            done = done.saturating_add(len);
        }
        fold
    }
}

/// A reduction of elements; all methods are to be marked `#[inline(always)]`.
trait Fold<V> {
    /// Takes the next eight.
    fn eight(&mut self, numbers: V);

    /// Takes the next one.
    fn one(&mut self, number: f64);
}

struct OrderedSum(f64);

impl<V: Vector> Fold<V> for OrderedSum {
    #[inline(always)]
    fn eight(&mut self, numbers: V) {
        let numbers = numbers.numbers();
        let plain = numbers.iter().fold(self.0, |sum, x| sum + x);
        // Two infinities met: once more, with +0 in that place.
        let careful = || numbers.iter().fold(self.0, |sum, x| settle(sum + x));
        self.0 = if plain.is_nan() { careful() } else { plain };
    }

    #[inline(always)]
    fn one(&mut self, number: f64) {
        self.0 = settle(self.0 + number);
    }
}

/// The sum in some order, and the sum of magnitudes, which says whether the order matters.
struct ExactSum<V> {
    sums: V,
    magnitudes: V,
    sum: f64,
    magnitude: f64,
}

impl<V: Vector> ExactSum<V> {
    #[inline(always)]
    fn new() -> Self {
        Self { sums: V::splat(0.0), magnitudes: V::splat(0.0), sum: 0.0, magnitude: 0.0 }
    }

    /// The sum, if every partial sum in any order is exact.
    #[inline(always)]
    fn sum(self) -> Option<f64> {
        let whole = self.magnitudes.numbers().iter().fold(self.magnitude, |sum, part| sum + part);
        // The sum of magnitudes bounds every partial sum, and is itself exact below the limit.
        (whole < EXACT).then(|| self.sums.numbers().iter().fold(self.sum, |sum, part| sum + part))
    }
}

impl<V: Vector> Fold<V> for ExactSum<V> {
    #[inline(always)]
    fn eight(&mut self, numbers: V) {
        self.sums = self.sums.plus(numbers);
        self.magnitudes = self.magnitudes.plus(numbers.magnitude());
    }

    #[inline(always)]
    fn one(&mut self, number: f64) {
        self.sum += number;
        self.magnitude += number.abs();
    }
}

struct Largest<V> {
    eights: V,
    one: f64,
}

impl<V: Vector> Largest<V> {
    #[inline(always)]
    fn new() -> Self {
        Self { eights: V::splat(f64::NEG_INFINITY), one: f64::NEG_INFINITY }
    }

    #[inline(always)]
    fn largest(self) -> f64 {
        self.eights.numbers().into_iter().fold(self.one, maximum)
    }
}

impl<V: Vector> Fold<V> for Largest<V> {
    #[inline(always)]
    fn eight(&mut self, numbers: V) {
        self.eights = self.eights.maximum(numbers);
    }

    #[inline(always)]
    fn one(&mut self, number: f64) {
        self.one = maximum(self.one, number);
    }
}

impl Planar {
    /// True if every element is a multiple of 2^-24: a half, or a sum or difference of two.
    fn has_halves_for_elements(&self) -> bool {
        let squares = self.operation == Operation::SumSquared || self.operation == Operation::Multiply;
        self.pre_scale == ONE && !squares
    }

    /// The result of a channel, from its sum or maximum.
    fn after_reduction(&self, value: f64) -> u16 {
        let scaled = settle(value * decode_single(self.final_scale));
        let x = settle(scaled + decode(self.epsilon));
        let posted = match self.post {
            PostFunction::None => x,
            // One over zero is +infinity, whatever the zero's sign (numerics 11).
            PostFunction::Reciprocal if x == 0.0 => f64::INFINITY,
            PostFunction::Reciprocal => 1.0 / x,
            PostFunction::ReciprocalSquareRoot if x == 0.0 => f64::INFINITY,
            PostFunction::ReciprocalSquareRoot => settle(1.0 / x.sqrt()),
        };
        let biased = settle(posted + decode(self.bias));
        let result = settle(biased * decode(self.scale));
        encode(if self.relu && result <= 0.0 { 0.0 } else { result })
    }
}

pub(super) fn run(
    planar: &Planar,
    elements: usize,
    sources: (&View<'_>, Option<&View<'_>>),
    out: &mut [u16],
    pace: &mut Pace<'_>,
) {
    match sources {
        (a, Some(b)) => {
            vectorised(Reduce::<Two, 2> { planar, views: [a, b], elements, out, pace, sources: PhantomData })
        }
        (a, None) => {
            vectorised(Reduce::<One, 1> { planar, views: [a], elements, out, pace, sources: PhantomData })
        }
    }
}
