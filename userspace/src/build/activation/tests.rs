//! Tables evaluated as numerics.md says, against the functions.

use super::*;

/// The value of a table at `x`, rounded to fp16.
fn value(table: &ActivationTable, x: f64) -> f64 {
    let half = |bits: zerocopy::little_endian::U16| f16::from_bits(bits.get()).to_f64();
    let mode = table.mode.get();
    let odd = mode & 0xe0 == ODD;
    if mode & 0xe0 == NON_NEGATIVE && x < 0.0 {
        return 0.0;
    }
    let sign = if odd && x < 0.0 { -1.0 } else { 1.0 };
    let x = if odd { x.abs() } else { x };
    let (low, high) = (half(table.domain_low), half(table.domain_high));
    if x < low || (x == low && !odd) {
        return sign * half(table.below);
    }
    if x >= high {
        return sign * half(table.above);
    }
    let scale = f64::from(table.spacing.get().cast_signed()).exp2();
    // `x = m * 2^k` with `m` in [0.5, 1), and the same in powers of four with `m` in [0.5, 2).
    let k = if x > 0.0 { x.log2().floor() + 1.0 } else { 0.0 };
    let quarters = ((k - 1.0) / 2.0).floor() + if (k - 1.0).rem_euclid(2.0) == 1.0 { 1.0 } else { 0.0 };
    let roots = |sign: f64| (x / 4.0_f64.powf(quarters) * scale, (sign * quarters).exp2(), 0.0);
    let (t, times, plus) = match mode & 0xf {
        0x0 => (x * scale, 1.0, 0.0),
        0x1 => (x * scale + 16.0, 1.0, 0.0),
        0xa => ((x - x.floor()) * scale, x.floor().exp2(), 0.0),
        0x5 => roots(1.0),
        0x6 => roots(-1.0),
        0x7 => ((x / k.exp2() - 0.5) * scale, (-k).exp2(), 0.0),
        0x9 => ((x / k.exp2() - 0.5) * scale, 1.0, k),
        other => panic!("mode {other:#x}"),
    };
    let line = |slope, intercept| half(slope) * x + half(intercept);
    let curve = match t {
        t if t < 0.0 => line(table.slope_low, table.intercept_low),
        t if t > 32.0 => line(table.slope_high, table.intercept_high),
        t => {
            let i = (t.floor() as usize).min(31);
            let (a, b) = (half(table.knots[i]), half(table.knots[i + 1]));
            a + (b - a) * (t - i as f64)
        }
    };
    sign * round(curve * times + plus)
}

/// Every finite half, as numbers.
fn halves() -> impl Iterator<Item = f64> {
    (0..=u16::MAX).map(f16::from_bits).filter(|half| half.is_finite()).map(f16::to_f64)
}

/// Largest error over all finite halves that `within` takes.
fn worst(table: &ActivationTable, within: impl Fn(f64) -> bool, error: impl Fn(f64, f64) -> f64) -> f64 {
    halves().filter(|&x| within(x)).map(|x| error(x, value(table, x)).abs()).fold(0.0, f64::max)
}

#[test]
fn sigmoid_and_tanh_are_as_far_off_as_measured() {
    let f = |x: f64| 1.0 / (1.0 + (-x).exp());
    let sigmoid_error = worst(&sigmoid(), |_| true, |x, y| y - f(x));
    assert!((0.00334..0.00345).contains(&sigmoid_error), "{sigmoid_error}");
    let tanh_error = worst(&tanh(), |_| true, |x, y| y - x.tanh());
    assert!((0.00155..0.00175).contains(&tanh_error), "{tanh_error}");
    assert_eq!(value(&sigmoid(), 3.0), 0.952_636_718_75);
}

#[test]
fn gelu_and_silu_stay_within_their_bounds() {
    let silu_error = worst(&silu(), |x| x < 64.0, |x, y| y - x / (1.0 + (-x).exp()));
    assert!(silu_error < 0.0152, "{silu_error}");
    let inner = |x: f64| 0.797_884_560_8 * (x + 0.044_715 * x.powi(3));
    let gelu_error = worst(&gelu(), |x| x < 64.0, |x, y| y - 0.5 * x * (1.0 + inner(x).tanh()));
    assert!(gelu_error < 0.0062, "{gelu_error}");
}

#[test]
fn tables_of_models_stay_within_their_bounds() {
    use crate::model::network::evaluate::map;
    let elu_of = Map::Elu { alpha: 1.0, beta: 1.0, gamma: 1.0 };
    for (table, function, bound) in [
        (erf(), Map::Erf, 0.0024),
        (softplus(), Map::Softplus, 0.0085),
        (mish(), Map::Mish, 0.021),
        (elu(1.0), elu_of, 0.0083),
    ] {
        // Above that the nearest half is further away.
        let error = worst(&table, |x| x < 8.0, |x, y| y - map(function, x));
        assert!(error < bound, "{function:?}: {error}");
        assert!(value(&table, 4096.0) == map(function, 4096.0), "{function:?} far above");
    }
}

#[test]
fn step_tells_the_smallest_number_from_zero() {
    let table = step([-1.0, 0.0, 1.0].map(f16::from_f32));
    assert_eq!(worst(&table, |_| true, |x, y| y - if x == 0.0 { 0.0 } else { x.signum() }), 0.0);
}

#[test]
fn functions_that_fold_the_exponent_are_relatively_close_everywhere() {
    // Normal results only: denormal ones have fewer bits.
    let relative = |f: fn(f64) -> f64| move |x: f64, y: f64| (y - f(x)) / f(x);
    let normal = |f: fn(f64) -> f64| move |x: f64| x > 0.0 && (6.2e-5..65504.0).contains(&f(x).abs());
    for (table, f, bound) in [
        (sqrt(), f64::sqrt as fn(f64) -> f64, 0.001),
        (rsqrt(), |x| x.sqrt().recip(), 0.0015),
        (reciprocal(), f64::recip, 0.001),
    ] {
        let error = worst(&table, normal(f), relative(f));
        assert!(error < bound, "{error}");
    }
    let error = worst(&exp2(), |x| (-14.0..16.0).contains(&x), |x, y| (y - x.exp2()) / x.exp2());
    assert!(error < 0.0009, "{error}");
    let error = worst(&log2(), |x| x > 0.0, |x, y| y - x.log2());
    // Half a unit of the last place at -24 is that much.
    assert!(error < 0.008, "{error}");
}

#[test]
fn bounds_and_slopes_are_exact() {
    let (low, high) = (f16::from_f32(-1.5), f16::from_f32(6.0));
    let table = clamp(low, high);
    assert_eq!(worst(&table, |_| true, |x, y| y - x.clamp(-1.5, 6.0)), 0.0);
    // As the larger and the smaller of two have it.
    for (low, high) in [(1.0, -1.0), (1.0, 1.0), (-1.0, f64::INFINITY), (f64::INFINITY, 0.5), (f64::NAN, 2.0)]
    {
        let table = clamp(nearest_half(low), nearest_half(high));
        assert_eq!(worst(&table, |_| true, |x, y| y - x.max(low).min(high)), 0.0, "{low} {high}");
    }
    let slope = f16::from_f32(0.25);
    let leaky = |x: f64| if x < 0.0 { round(0.25 * x) } else { x };
    assert_eq!(worst(&leaky_relu(slope), |_| true, |x, y| y - leaky(x)), 0.0);
    assert_eq!(worst(&relu(), |_| true, |x, y| y - x.max(0.0)), 0.0);
}

#[test]
fn special_values_are_the_measured_ones() {
    let infinity = f64::INFINITY;
    assert_eq!((value(&sigmoid(), infinity), value(&tanh(), infinity)), (1.0, 1.0));
    assert_eq!((value(&exp2(), 16.0), value(&exp2(), -25.0)), (infinity, 0.0));
    assert_eq!((value(&sqrt(), -1.0), value(&rsqrt(), -1.0), value(&log2(), -1.0)), (0.0, 0.0, 0.0));
    assert_eq!(value(&sqrt(), -0.0).to_bits(), 0);
    assert_eq!((value(&rsqrt(), -0.0), value(&reciprocal(), -0.0)), (infinity, infinity));
    assert_eq!((value(&relu(), infinity), value(&gelu(), infinity)), (infinity, infinity));
    assert_eq!(value(&log2(), 0.0), -infinity);
}
