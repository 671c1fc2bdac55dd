//! The result that a transcribed program has to give: the meaning of its operation, in doubles.

use ane::tensor::nearest_half;
use half::f16;

use super::Oracle;
use super::constants::MadeConstants;

/// A tensor in doubles.
type Doubles = Vec<f64>;

/// The result, and how far from it a program may be: absolutely, and in parts of the value.
#[derive(Clone, Debug)]
pub struct Meaning {
    pub values: Doubles,
    pub near: f64,
    pub part: f64,
}

fn doubles(values: &[f16]) -> Doubles {
    values.iter().map(|value| value.to_f64()).collect()
}

/// The error function, to 1.5e-7.
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.3275911 * x.abs());
    let factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
    let series = factors.into_iter().fold(0.0, |sum, factor| (sum + factor) * t);
    x.signum() * (1.0 - series * (-x * x).exp())
}

/// A curve, and the error of its table: absolutely, and in parts of the value.
type Curve = (fn(f64) -> f64, f64, f64);

fn curve(name: &str) -> Option<Curve> {
    Some(match name {
        "sigmoid" => (|x| 1.0 / (1.0 + (-x).exp()), 5e-3, 2e-3),
        "silu" => (|x| x / (1.0 + (-x).exp()), 1.6e-2, 2e-3),
        "gelu" => (|x| x / 2.0 * (1.0 + erf(x / std::f64::consts::SQRT_2)), 1.6e-2, 2e-3),
        "exp" => (f64::exp, 2e-3, 1.2e-2),
        "abs" => (f64::abs, 0.0, 0.0),
        _ => return None,
    })
}

/// Numbers of an attribute.
fn list(oracle: &Oracle, name: &str) -> Vec<usize> {
    oracle.mil(name).split(',').filter_map(|part| part.parse().ok()).collect()
}

/// The place of each element in row-major order.
fn places(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product()).map(move |mut index: usize| {
        let mut place = vec![0; shape.len()];
        for (at, extent) in place.iter_mut().zip(shape).rev() {
            (*at, index) = (index % extent, index / extent);
        }
        place
    })
}

fn index(shape: &[usize], place: &[usize]) -> usize {
    shape.iter().zip(place).fold(0, |index, (extent, at)| index * extent + at)
}

/// The result of the operation on its inputs.
///
/// # Panics
///
/// Panics for an operation that is not known here.
pub fn of(oracle: &Oracle, inputs: &[Vec<f16>], made: &MadeConstants) -> Meaning {
    let op = oracle.mil("op");
    let a = inputs.first().map(|values| doubles(values)).unwrap_or_default();
    let shape = oracle.inputs().next().map_or([1; 4], |input| input.shape);
    let rounded = |values| Meaning { values, near: 1e-6, part: 6e-4 };
    let exact = |values| Meaning { values, near: 0.0, part: 0.0 };
    let number = |name: &str| oracle.mil(name).parse::<f64>().expect("a number");
    if let Some((curve, near, part)) = curve(op) {
        return Meaning { values: a.into_iter().map(curve).collect(), near, part };
    }
    match op {
        "add" | "mul" | "maximum" => {
            let b = doubles(&inputs[1]);
            let of_b = oracle.inputs().nth(1).expect("two inputs").shape;
            let values = places(&shape).zip(a).map(|(place, a)| {
                let clipped: Vec<usize> =
                    place.iter().zip(of_b).map(|(at, extent)| (*at).min(extent - 1)).collect();
                let b = b[index(&of_b, &clipped)];
                match op {
                    "add" => a + b,
                    "mul" => a * b,
                    _ => a.max(b),
                }
            });
            rounded(values.collect())
        }
        "sub_scalar" | "mul_scalar" | "real_div_scalar" | "maximum_scalar" => {
            let value = number("value");
            let of = |a: f64| match op {
                "sub_scalar" => a - value,
                "mul_scalar" => a * value,
                "real_div_scalar" => a / value,
                _ => a.max(value),
            };
            rounded(a.into_iter().map(of).collect())
        }
        "mul_const" => {
            let factors = doubles(&made.operand);
            rounded(places(&shape).zip(a).map(|(place, a)| a * factors[place[1]]).collect())
        }
        "add_relu_self" => rounded(a.into_iter().map(|a| a + a.max(0.0)).collect()),
        "logical_not" => exact(a.into_iter().map(|a| f64::from(a == 0.0)).collect()),
        "tile_relu" | "tile_const" => {
            let row = if op == "tile_relu" { a } else { doubles(&made.operand) };
            let out = oracle.output();
            exact((0..out.len()).map(|at| row[at % row.len()].max(0.0)).collect())
        }
        "transpose" => {
            let (from, order) = (list(oracle, "in"), list(oracle, "perm"));
            let to: Vec<usize> = order.iter().map(|axis| from[*axis]).collect();
            let value = |place: Vec<usize>| {
                let mut back = vec![0; place.len()];
                order.iter().zip(place).for_each(|(axis, at)| back[*axis] = at);
                a[index(&from, &back)]
            };
            exact(places(&to).map(value).collect())
        }
        "reduce_sum" | "reduce_max" => {
            let axes = list(oracle, "axes");
            let kept: Vec<usize> =
                (0..4).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect();
            let is_sum = op == "reduce_sum";
            let start = if is_sum { 0.0 } else { f64::NEG_INFINITY };
            let mut values = vec![start; kept.iter().product()];
            for (place, a) in places(&shape).zip(a) {
                let clipped: Vec<usize> =
                    place.iter().zip(&kept).map(|(at, extent)| (*at).min(extent - 1)).collect();
                let value = &mut values[index(&kept, &clipped)];
                *value = if is_sum { *value + a } else { value.max(a) };
            }
            Meaning { values, near: 2e-3, part: 2e-3 }
        }
        "softmax" => {
            let axis = list(oracle, "axis")[0];
            let mut along = shape;
            along[axis] = 1;
            let line = |mut place: Vec<usize>| {
                place[axis] = 0;
                index(&along, &place)
            };
            let mut sums = vec![0.0; along.iter().product()];
            places(&shape).zip(&a).for_each(|(place, a)| sums[line(place)] += a.exp());
            let values = places(&shape).zip(&a).map(|(place, a)| a.exp() / sums[line(place)]).collect();
            Meaning { values, near: 3e-3, part: 5e-3 }
        }
        "matmul_const" => {
            let (rows, inner) = (list(oracle, "M")[0], list(oracle, "K")[0]);
            let mut values = product(&a, rows, inner, &made.layers[0], oracle.mil("tx") == "1");
            if let Some(bias) = oracle.mil.get("uniform_bias") {
                let bias = u16::from_str_radix(bias.trim_start_matches("0x"), 16).expect("a half");
                values.iter_mut().for_each(|value| *value += f16::from_bits(bias).to_f64());
            }
            Meaning { values, near: 6e-3, part: 3e-3 }
        }
        "ffn" => {
            let (rows, inner, hidden) = (list(oracle, "M")[0], list(oracle, "K")[0], list(oracle, "H")[0]);
            let (curve, ..) = curve(oracle.mil("act")).expect("a curve");
            let between = product(&a, rows, inner, &made.layers[0], false).into_iter();
            let between: Doubles = between.map(|x| nearest_half(curve(x)).to_f64()).collect();
            Meaning {
                values: product(&between, rows, hidden, &made.layers[1], false),
                near: 3e-2,
                part: 5e-3,
            }
        }
        "conv" => Meaning { values: convolution(oracle, &a, shape, made), near: 8e-3, part: 4e-3 },
        _ => panic!("no meaning is known of {op}"),
    }
}

/// Rows of `inner` numbers times the coefficients of a layer; turned, they are columns.
fn product(
    a: &[f64],
    rows: usize,
    inner: usize,
    (weights, biases): &(Vec<f16>, Vec<f16>),
    is_turned: bool,
) -> Doubles {
    let (weights, biases) = (doubles(weights), doubles(biases));
    let mut values = Vec::with_capacity(rows * biases.len());
    let mut row = vec![0.0; inner];
    for m in 0..rows {
        row.iter_mut()
            .enumerate()
            .for_each(|(k, to)| *to = if is_turned { a[k * rows + m] } else { a[m * inner + k] });
        for (weights, bias) in weights.chunks_exact(inner).zip(&biases) {
            values.push(weights.iter().zip(&row).map(|(w, x)| w * x).sum::<f64>() + bias);
        }
    }
    values
}

fn convolution(
    oracle: &Oracle,
    a: &[f64],
    [_, inputs, height, width]: [usize; 4],
    made: &MadeConstants,
) -> Doubles {
    let [_, outputs, out_height, out_width] = oracle.output().shape;
    let (kernel, groups, stride) = (list(oracle, "k"), list(oracle, "groups")[0], list(oracle, "stride")[0]);
    let (kh, kw) = (kernel[0], kernel[1]);
    let (weights, biases) = (doubles(&made.layers[0].0), doubles(&made.layers[0].1));
    let (each_in, each_out) = (inputs / groups, outputs / groups);
    let before = |out: usize, kernel: usize, extent: usize| {
        let is_same = oracle.mil("pad") == "same";
        if is_same { ((out - 1) * stride + kernel).saturating_sub(extent) / 2 } else { 0 }
    };
    let (top, left) = (before(out_height, kh, height), before(out_width, kw, width));
    let mut values = Vec::with_capacity(outputs * out_height * out_width);
    for o in 0..outputs {
        for (y, x) in (0..out_height).flat_map(|y| (0..out_width).map(move |x| (y, x))) {
            let mut sum = biases[o];
            for c in 0..each_in {
                for (ky, kx) in (0..kh).flat_map(|ky| (0..kw).map(move |kx| (ky, kx))) {
                    let (row, column) =
                        ((y * stride + ky).wrapping_sub(top), (x * stride + kx).wrapping_sub(left));
                    if row < height && column < width {
                        let channel = o / each_out * each_in + c;
                        let weight = weights[((o * each_in + c) * kh + ky) * kw + kx];
                        sum += weight * a[(channel * height + row) * width + column];
                    }
                }
            }
            values.push(sum);
        }
    }
    values
}
