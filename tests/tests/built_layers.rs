//! Layers of the builder against the formulas in double precision, in both engines.
//!
//! Numbers are ordinary, between -2 and 2. A tolerance is a part of the largest expected value; what has no table on its
//! way and adds nothing up is exact.

use ane::build::{
    Axis, BuildError, Channels, Comparison, Convolution, Cut, Edge, Element, Graph, Map, Padding, Pool,
    Shape, Statistic, Tail, Tensor, Weights,
};
use ane_device::options::Numerics;
use ane_tests::differential::ProgramEnd;
use ane_tests::differential::built::surface::{of_graph, put, take};
use ane_tests::random::Random;
use half::f16;

/// Half a unit in the last place of fp16, relative.
const ROUNDING: f64 = 1.0 / 2048.0;

/// Ordinary numbers, as the halves that they are.
fn numbers(seed: u64, count: u64) -> Vec<f16> {
    let mut random = Random::new(seed);
    (0..count).map(|_| f16::from_f32(random.below(4097) as f32 / 1024.0 - 2.0)).collect()
}

/// The function of one element.
type Formula = fn(f64) -> f64;
/// Whether two elements compare so.
type Holds = fn(&f64, &f64) -> bool;
/// The function of the elements along axes.
type Along<'a> = &'a dyn Fn(&[f64]) -> f64;

/// A tensor in double precision.
#[derive(Clone, Debug, PartialEq)]
struct Dense {
    shape: [usize; 3],
    values: Vec<f64>,
}

impl Dense {
    fn of(shape: [usize; 3], value: impl Fn([usize; 3]) -> f64) -> Self {
        let [_, h, w] = shape;
        let all = shape.iter().product();
        Self { shape, values: (0..all).map(|at| value([at / (h * w), at / w % h, at % w])).collect() }
    }

    fn at(&self, [c, h, w]: [usize; 3]) -> f64 {
        self.values[(c * self.shape[1] + h) * self.shape[2] + w]
    }

    /// 0 outside.
    fn near(&self, at: [isize; 3]) -> Option<f64> {
        let inside = (0..3).all(|axis| (0..self.shape[axis].cast_signed()).contains(&at[axis]));
        inside.then(|| self.at(at.map(isize::cast_unsigned)))
    }

    /// The results of `of` for the elements along axes.
    fn over(&self, axes: &[usize], of: impl Fn(&[f64]) -> f64) -> Self {
        let left: [usize; 3] =
            std::array::from_fn(|axis| if axes.contains(&axis) { 1 } else { self.shape[axis] });
        Self::of(left, |place| {
            let mut along = Vec::new();
            for (at, &value) in self.values.iter().enumerate() {
                let own = [
                    at / (self.shape[1] * self.shape[2]),
                    at / self.shape[2] % self.shape[1],
                    at % self.shape[2],
                ];
                if (0..3).all(|axis| axes.contains(&axis) || own[axis] == place[axis]) {
                    along.push(value);
                }
            }
            of(&along)
        })
    }

    /// Both of one shape, or extents of 1.
    fn with(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let place = |of: &Self, at: [usize; 3]| std::array::from_fn(|axis| at[axis].min(of.shape[axis] - 1));
        let shape = std::array::from_fn(|axis| self.shape[axis].max(other.shape[axis]));
        Self::of(shape, |at| of(self.at(place(self, at)), other.at(place(other, at))))
    }

    fn map(&self, of: impl Fn(f64) -> f64) -> Self {
        Self { shape: self.shape, values: self.values.iter().map(|&x| of(x)).collect() }
    }
}

/// Ordinary inputs of these shapes, and what the operation makes of them, in both engines.
fn run(
    shapes: &[[usize; 3]],
    operation: impl FnOnce(&mut Graph, &[Tensor]) -> Result<Tensor, BuildError>,
) -> (Vec<Dense>, Vec<f64>) {
    let shape = |[c, h, w]: [usize; 3]| Shape::new(c as u32, h as u32, w as u32);
    let bits = |halves: &[f16]| halves.iter().map(|half| half.to_bits()).collect::<Vec<_>>();
    let given: Vec<Vec<f16>> =
        (1..).zip(shapes).map(|(seed, &of)| numbers(seed, shape(of).elements())).collect();
    let (built, mut case) = of_graph(shape(shapes[0]), &bits(&given[0]), Numerics::M1, |graph, x| {
        let mut operands = vec![x];
        for (index, &of) in shapes.iter().enumerate().skip(1) {
            operands.push(graph.input(&index.to_string(), shape(of))?);
        }
        operation(graph, &operands)
    });
    for (index, values) in given.iter().enumerate().skip(1) {
        put(&mut case, &built, &index.to_string(), &bits(values));
    }
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
    let left = take(&case, &built, "result", &case.on_device().1);
    let dense = given
        .iter()
        .zip(shapes)
        .map(|(values, &shape)| Dense { shape, values: values.iter().map(|half| half.to_f64()).collect() });
    (dense.collect(), left.into_iter().map(|bits| f16::from_bits(bits).to_f64()).collect())
}

/// Holds the largest difference, as a part of the largest expected value, against a bound.
#[track_caller]
fn within(most: f64, seen: &[f64], expected: &Dense) {
    assert_eq!(seen.len(), expected.values.len());
    let largest = expected.values.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let difference = |(a, b): (&f64, &f64)| (a - b).abs();
    let error = seen.iter().zip(&expected.values).map(difference).fold(0.0, f64::max) / largest;
    assert!(error <= most, "{error} is more than {most}");
}

/// Requirement: ORA-24
#[test]
fn functions_of_each_element_are_the_formulas() {
    let exact: [(Map, Formula); 6] = [
        (Map::Abs, f64::abs),
        (Map::Floor, f64::floor),
        (Map::Ceil, f64::ceil),
        (Map::Round, f64::round_ties_even),
        (Map::Clip(-0.5, 0.75), |x| x.clamp(-0.5, 0.75)),
        (Map::Step { below: -1.0, zero: 0.0, above: 1.0 }, |x| if x == 0.0 { 0.0 } else { x.signum() }),
    ];
    for (map, formula) in exact {
        let (x, y) = run(&[[3, 5, 20]], |graph, x| graph.map(x[0], map));
        assert_eq!(y, x[0].map(formula).values, "{map:?}");
    }
    let rounded: [(Map, f64, Formula); 10] = [
        (Map::Affine { scale: 0.5, offset: 0.25 }, ROUNDING, |x| 0.5 * x + 0.25),
        (Map::Silu, 0.009, |x| x / (1.0 + (-x).exp())),
        (Map::GeluTanh, 0.004, |x| {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
        }),
        (Map::Softplus, 0.005, |x| x.exp().ln_1p()),
        (Map::Exp, 0.002, f64::exp),
        (Map::Exp2, 0.002, f64::exp2),
        (Map::Tanh, 0.002, f64::tanh),
        (Map::Sigmoid, 0.004, |x| 1.0 / (1.0 + (-x).exp())),
        (Map::Softsign, 0.003, |x| x / (1.0 + x.abs())),
        (Map::Elu { alpha: 1.0, beta: 1.0, gamma: 1.0 }, 0.005, |x| if x < 0.0 { x.exp_m1() } else { x }),
    ];
    for (map, most, formula) in rounded {
        let (x, y) = run(&[[3, 5, 20]], |graph, x| graph.map(x[0], map));
        within(most, &y, &x[0].map(formula));
    }
    let (x, y) = run(&[[3, 5, 20]], |graph, x| graph.hard_swish(x[0]));
    within(6.0 * ROUNDING, &y, &x[0].map(|x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)));
}

/// Requirement: ORA-25
#[test]
fn quotients_powers_comparisons_and_choices_are_the_formulas() {
    let shapes = [[3, 5, 20], [3, 1, 20]];
    let (x, y) = run(&shapes, |graph, x| {
        let divisor = graph.map(x[1], Map::Exp)?;
        graph.divide(x[0], divisor)
    });
    within(0.004, &y, &x[0].with(&x[1], |a, b| a / b.exp()));
    let (x, y) = run(&shapes, |graph, x| {
        let base = graph.map(x[0], Map::Exp2)?;
        graph.power(base, x[1])
    });
    within(0.01, &y, &x[0].with(&x[1], |a, b| a.exp2().powf(b)));
    let (x, y) = run(&shapes[..1], |graph, x| graph.to_power(x[0], 3.0));
    within(2.0 * ROUNDING, &y, &x[0].map(|x| x.powi(3)));
    let comparisons: [(Comparison, Holds); 6] = [
        (Comparison::Equal, |a, b| a == b),
        (Comparison::NotEqual, |a, b| a != b),
        (Comparison::Less, |a, b| a < b),
        (Comparison::LessOrEqual, |a, b| a <= b),
        (Comparison::Greater, |a, b| a > b),
        (Comparison::GreaterOrEqual, |a, b| a >= b),
    ];
    for (comparison, holds) in comparisons {
        // Whole numbers, so that some are equal.
        let (x, y) = run(&shapes, |graph, x| {
            let (a, b) = (graph.map(x[0], Map::Floor)?, graph.map(x[1], Map::Floor)?);
            graph.compare(a, b, comparison)
        });
        let expected = x[0].with(&x[1], |a, b| f64::from(u8::from(holds(&a.floor(), &b.floor()))));
        assert_eq!(y, expected.values, "{comparison:?}");
    }
    let (x, y) = run(&shapes, |graph, x| {
        let zero = graph.map(x[0], Map::Relu)?;
        let is_zero = graph.not(zero)?;
        graph.select(is_zero, x[1], x[0])
    });
    let expected = x[0].with(&x[1], |a, b| if a <= 0.0 { b } else { a });
    assert_eq!(y, expected.values);
}

/// Requirement: ORA-26
#[test]
fn parts_tiles_and_orders_of_axes_move_elements_and_change_none() {
    let all = Cut::all;
    let back = |start, step, count| Cut { start, step, count };
    let (x, y) = run(&[[4, 6, 33]], |graph, x| graph.cut(x[0], [all(4), back(5, -2, 3), back(1, 3, 10)]));
    assert_eq!(y, Dense::of([4, 3, 10], |[c, h, w]| x[0].at([c, 5 - 2 * h, 1 + 3 * w])).values);
    let (x, y) = run(&[[2, 3, 20]], |graph, x| graph.tile(x[0], [3, 2, 2]));
    assert_eq!(y, Dense::of([6, 6, 40], |[c, h, w]| x[0].at([c % 2, h % 3, w % 20])).values);
    let (x, y) = run(&[[1, 3, 1]], |graph, x| graph.expand(x[0], Shape::new(5, 3, 40)));
    assert_eq!(y, Dense::of([5, 3, 40], |[_, h, _]| x[0].at([0, h, 0])).values);
    let (x, y) =
        run(&[[4, 6, 33]], |graph, x| graph.permute(x[0], [Axis::Columns, Axis::Channels, Axis::Rows]));
    assert_eq!(y, Dense::of([33, 4, 6], |[c, h, w]| x[0].at([h, w, c])).values);
    let (x, y) = run(&[[4, 6, 10]], |graph, x| graph.reshape(x[0], Shape::new(5, 2, 24)));
    assert_eq!(y, x[0].values);
    let (x, y) = run(&[[4, 6, 10]], |graph, x| graph.take(x[0], Axis::Rows, &[5, 5, 0, 2]));
    assert_eq!(y, Dense::of([4, 4, 10], |[c, h, w]| x[0].at([c, [5, 5, 0, 2][h], w])).values);
    let (x, y) = run(&[[2, 3, 20], [2, 3, 7]], |graph, x| graph.concat(x, Axis::Columns));
    let beside = |[c, h, w]: [usize; 3]| if w < 20 { x[0].at([c, h, w]) } else { x[1].at([c, h, w - 20]) };
    assert_eq!(y, Dense::of([2, 3, 27], beside).values);
    let (x, y) = run(&[[2, 6, 8]], |graph, x| {
        let deep = graph.space_to_depth(x[0], 2)?;
        assert_eq!(graph.shape(deep)?, Shape::new(8, 3, 4));
        graph.depth_to_space(deep, 2)
    });
    assert_eq!(y, x[0].values);
    for (edge, inside) in [
        (Edge::Value(0.5), (|_, _| None) as fn(isize, isize) -> Option<isize>),
        (Edge::Nearest, |at, extent| Some(at.clamp(0, extent - 1))),
        (Edge::Mirrored, |at, extent| {
            Some(if at < 0 {
                -at
            } else if at < extent {
                at
            } else {
                2 * extent - 2 - at
            })
        }),
        (Edge::Wrapped, |at, extent| Some(at.rem_euclid(extent))),
    ] {
        let (x, y) = run(&[[3, 5, 20]], |graph, x| graph.pad(x[0], [(0, 0), (1, 2), (3, -4)], edge));
        let expected = Dense::of([3, 8, 19], |[c, h, w]| {
            let at = [c.cast_signed(), h.cast_signed() - 1, w.cast_signed() - 3];
            x[0].near(at).unwrap_or_else(|| {
                let rows = inside(at[1], 5);
                // Columns are cut off behind first, so that 16 are left.
                let columns = inside(at[2], 16);
                rows.zip(columns).and_then(|(h, w)| x[0].near([at[0], h, w])).unwrap_or(0.5)
            })
        });
        assert_eq!(y, expected.values, "{edge:?}");
    }
}

/// Requirement: ORA-27
#[test]
fn windows_are_the_formulas() {
    let pool = Pool { stride: (2, 1), padding: Padding::all(1), ..Pool::new((3, 2)) };
    let window = |x: &Dense, [c, h, w]: [usize; 3]| -> Vec<f64> {
        let rows = (0..2).map(|tap| (h + tap).cast_signed() - 1);
        let place = |row| (0..3).map(move |tap| [c.cast_signed(), row, (2 * w + tap).cast_signed() - 1]);
        rows.flat_map(place).filter_map(|at| x.near(at)).collect()
    };
    let (x, y) = run(&[[4, 6, 21]], |graph, x| graph.max_pool(x[0], &pool));
    let largest = |at| window(&x[0], at).into_iter().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(y, Dense::of([4, 7, 11], largest).values);
    for counts_padding in [false, true] {
        let pool = Pool { counts_padding, ..pool };
        let (x, y) = run(&[[4, 6, 21]], |graph, x| graph.mean_pool(x[0], &pool));
        let mean = |at| {
            let window = window(&x[0], at);
            window.iter().sum::<f64>() / if counts_padding { 6.0 } else { window.len() as f64 }
        };
        within(6.0 * ROUNDING, &y, &Dense::of([4, 7, 11], mean));
    }
}

/// Requirement: ORA-28
#[test]
fn dilated_and_transposed_convolutions_are_the_formulas() {
    let weights = numbers(7, 6 * 4 * 6);
    let bias = numbers(8, 6);
    let kernel = Convolution {
        padding: Padding { left: 4, right: 4, top: 1, bottom: 1 },
        stride: (2, 1),
        channels: Channels::Grouped(2),
        bias: Some(&bias),
        tail: Tail::RELU,
        ..Convolution::new(6, (3, 2), Weights::Half(&weights))
    };
    let (x, y) = run(&[[8, 6, 21]], |graph, x| graph.dilated_convolution(x[0], &kernel, (4, 2)));
    // 21 + 8 columns under a kernel of 9, every second; 6 + 2 rows under one of 3.
    let expected = Dense::of([6, 6, 11], |[o, h, w]| {
        let mut sum = bias[o].to_f64();
        for (i, ky, kx) in (0..24).map(|at| (at / 6, at / 3 % 2, at % 3)) {
            let c = o / 3 * 4 + i;
            let at = [c.cast_signed(), (h + 2 * ky).cast_signed() - 1, (2 * w + 4 * kx).cast_signed() - 4];
            sum += x[0].near(at).unwrap_or(0.0) * weights[(o * 4 + i) * 6 + ky * 3 + kx].to_f64();
        }
        sum.max(0.0)
    });
    within(8.0 * ROUNDING, &y, &expected);

    let weights = numbers(9, 8 * 3 * 6);
    let kernel = Convolution {
        padding: Padding { left: 1, right: 1, top: 0, bottom: 1 },
        stride: (2, 3),
        channels: Channels::Grouped(2),
        bias: Some(&bias),
        ..Convolution::new(6, (3, 2), Weights::Half(&weights))
    };
    let (x, y) = run(&[[8, 4, 10]], |graph, x| graph.transposed_convolution(x[0], &kernel, (1, 2), (1, 0)));
    let (rows, columns) = (3 * 3 + 2 + 1 - 1, 2 * 9 + 2 + 1 + 1 - 2);
    let expected = Dense::of([6, rows, columns], |[o, h, w]| {
        let mut sum = bias[o].to_f64();
        for (i, row, column) in (0..4 * 40).map(|at| (at / 40, at / 10 % 4, at % 10)) {
            let c = o / 3 * 4 + i;
            for (ky, kx) in (0..6).map(|at| (at / 3, at % 3)) {
                // Where the element adds this tap.
                if row * 3 + 2 * ky == h && column * 2 + kx == w + 1 {
                    sum += x[0].at([c, row, column]) * weights[(c * 3 + o % 3) * 6 + ky * 3 + kx].to_f64();
                }
            }
        }
        sum
    });
    within(8.0 * ROUNDING, &y, &expected);
}

/// Requirement: ORA-29
#[test]
fn reductions_over_any_axes_are_the_formulas() {
    const AXES: [Axis; 3] = [Axis::Channels, Axis::Rows, Axis::Columns];
    let sum = |x: &[f64]| x.iter().sum::<f64>();
    for set in 1..8 {
        let places: Vec<usize> = (0..3).filter(|axis| set >> axis & 1 == 1).collect();
        let axes: Vec<Axis> = places.iter().map(|&place| AXES[place]).collect();
        let formulas: [(Statistic, f64, Along<'_>); 6] = [
            (Statistic::Sum, 8.0 * ROUNDING, &sum),
            (Statistic::Mean, 8.0 * ROUNDING, &|x| sum(x) / x.len() as f64),
            (Statistic::Largest, 0.0, &|x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            (Statistic::Smallest, 0.0, &|x| x.iter().copied().fold(f64::INFINITY, f64::min)),
            (Statistic::SumOfSquares, 8.0 * ROUNDING, &|x| x.iter().map(|x| x * x).sum()),
            (Statistic::Norm1, 8.0 * ROUNDING, &|x| x.iter().map(|x| x.abs()).sum()),
        ];
        for (statistic, most, formula) in formulas {
            let (x, y) = run(&[[6, 4, 10]], |graph, x| graph.statistic(x[0], statistic, &axes));
            within(most, &y, &x[0].over(&places, formula));
        }
    }
    let rest: [(Statistic, f64, Along<'_>); 3] = [
        (Statistic::Norm2, 0.003, &|x| x.iter().map(|x| x * x).sum::<f64>().sqrt()),
        (Statistic::Product, 12.0 * ROUNDING, &|x| x.iter().product()),
        (Statistic::LogSumExp, 0.004, &|x| x.iter().map(|x| x.exp()).sum::<f64>().ln()),
    ];
    for (statistic, most, formula) in rest {
        let (x, y) = run(&[[6, 4, 10]], |graph, x| graph.statistic(x[0], statistic, &[Axis::Channels]));
        within(most, &y, &x[0].over(&[0], formula));
    }
    let (x, y) = run(&[[6, 4, 10]], |graph, x| {
        let powers = graph.map(x[0], Map::Exp)?;
        graph.statistic(powers, Statistic::LogSum, &[Axis::Rows, Axis::Columns])
    });
    within(0.004, &y, &x[0].over(&[1, 2], |x| x.iter().map(|x| x.exp()).sum::<f64>().ln()));
}

/// Less the mean if so, over the deviation.
fn normal(x: &Dense, axes: &[usize], centre: bool) -> Dense {
    let mean = x.over(axes, |x| x.iter().sum::<f64>() / x.len() as f64);
    let apart = if centre { x.with(&mean, |x, mean| x - mean) } else { x.clone() };
    let squares = apart.over(axes, |x| x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64);
    apart.with(&squares, |x, square| x / (square + 1e-5).sqrt())
}

/// Requirement: ORA-30
#[test]
fn normalisations_and_softmax_over_any_axes_are_the_formulas() {
    let shapes = [[8, 5, 20], [8, 1, 1], [1, 1, 20]];
    let (x, y) =
        run(&shapes, |graph, x| graph.layer_norm_over(x[0], &[Axis::Channels], Some(x[1]), Some(x[2]), 1e-5));
    let scaled = |normal: &Dense, x: &[Dense]| normal.with(&x[1], |n, s| n * s).with(&x[2], |n, o| n + o);
    within(8.0 * ROUNDING, &y, &scaled(&normal(&x[0], &[0], true), &x));
    let (x, y) =
        run(&shapes[..2], |graph, x| graph.rms_norm(x[0], &[Axis::Rows, Axis::Columns], Some(x[1]), 1e-5));
    within(8.0 * ROUNDING, &y, &normal(&x[0], &[1, 2], false).with(&x[1], |n, s| n * s));
    let (x, y) = run(&shapes, |graph, x| graph.group_norm(x[0], 4, Some(x[1]), Some(x[2]), 1e-5));
    let groups = Dense { shape: [4, 10, 20], values: x[0].values.clone() };
    let whole = Dense { shape: [8, 5, 20], values: normal(&groups, &[1, 2], true).values };
    within(8.0 * ROUNDING, &y, &scaled(&whole, &x));
    for (place, axis) in [Axis::Channels, Axis::Rows, Axis::Columns].into_iter().enumerate() {
        let sum = |x: &Dense| x.map(f64::exp).over(&[place], |x| x.iter().sum());
        let (x, y) = run(&[[8, 5, 20]], |graph, x| graph.softmax_over(x[0], axis));
        within(0.006, &y, &x[0].with(&sum(&x[0]), |x, sum| x.exp() / sum));
        let (x, y) = run(&[[8, 5, 20]], |graph, x| graph.log_softmax(x[0], axis));
        within(0.004, &y, &x[0].with(&sum(&x[0]), |x, sum| x - sum.ln()));
    }
}

#[test]
fn operations_over_more_channels_than_windows_hold_are_the_formulas() {
    let lines = [520, 1, 515];
    let (x, y) = run(&[lines, lines], |graph, x| graph.binary(x[0], x[1], Element::ADD));
    within(ROUNDING, &y, &x[0].with(&x[1], |a, b| a + b));
    let (x, y) = run(&[lines], |graph, x| graph.softmax_columns(x[0]));
    let sum = x[0].map(f64::exp).over(&[2], |x| x.iter().sum());
    within(0.006, &y, &x[0].with(&sum, |x, sum| x.exp() / sum));
    let (x, y) = run(&[lines], |graph, x| graph.layer_norm_over(x[0], &[Axis::Columns], None, None, 1e-5));
    within(8.0 * ROUNDING, &y, &normal(&x[0], &[2], true));
    let (x, y) = run(&[lines], |graph, x| graph.instance_norm(x[0], f16::from_f32(1e-5)));
    within(8.0 * ROUNDING, &y, &normal(&x[0], &[1, 2], true));
    let (x, y) = run(&[[6100, 1, 130]], |graph, x| graph.transpose(x[0]));
    within(0.0, &y, &Dense::of([130, 1, 6100], |[c, h, w]| x[0].at([w, h, c])));
}

fn product(a: &Dense, b: &Dense) -> Dense {
    let ([c, m, k], n) = (a.shape, b.shape[2]);
    Dense::of([c, m, n], |[c, m, n]| (0..k).map(|k| a.at([c, m, k]) * b.at([c, k, n])).sum())
}

/// Requirement: ORA-31
#[test]
fn products_of_channels_and_attention_are_the_formulas() {
    let (x, y) = run(&[[3, 5, 12], [3, 12, 20]], |graph, x| graph.batched_matmul(x[0], x[1]));
    within(6.0 * ROUNDING, &y, &product(&x[0], &x[1]));
    let heads = [[2, 9, 16], [2, 11, 16], [2, 11, 20], [1, 9, 11]];
    for masked in [false, true] {
        let (x, y) = run(&heads, |graph, x| {
            // The mask is an operand of both programs, so that both have the same surfaces.
            let none = graph.map(x[3], Map::Affine { scale: 0.0, offset: 0.0 })?;
            graph.attention(x[0], x[1], x[2], Some(if masked { x[3] } else { none }))
        });
        let turned = Dense::of([2, 16, 11], |[c, h, w]| x[1].at([c, w, h]));
        let mask = if masked { x[3].clone() } else { x[3].map(|_| 0.0) };
        let scores = product(&x[0], &turned).map(|score| score / 4.0).with(&mask, |a, b| a + b);
        let sum = scores.map(f64::exp).over(&[2], |x| x.iter().sum());
        let parts = scores.with(&sum, |x, sum| x.exp() / sum);
        within(0.01, &y, &product(&parts, &x[2]));
    }
}

#[test]
fn layer_that_is_refused_leaves_nothing_in_the_graph() {
    let mut graph = Graph::new();
    let x = graph.input("x", Shape::new(4, 4, 4)).unwrap();
    let why = graph.group_norm(x, 3, None, None, 1e-5).unwrap_err();
    assert_eq!(why.to_string(), "group norm: groups of 3 does not fit a tensor of [1, 4, 4, 4]");
    // The reshape is refused behind a whole normalisation.
    let wide = graph.input("wide", Shape::new(4, 4, 9)).unwrap();
    let narrow = graph.slice(wide, 0..1, 0..1).unwrap();
    graph.rms_norm(narrow, &[Axis::Columns], Some(wide), 1e-5).unwrap_err();
    assert_eq!(graph.task_count(), 0);
    let y = graph.copy(x).unwrap();
    graph.output("y", y).unwrap();
    assert_eq!(graph.build().unwrap().task_count(), 1);
}
