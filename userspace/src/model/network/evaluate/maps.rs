//! Functions of one element.

use crate::model::network::operation::Map;

/// The value of a function.
pub fn map(map: Map, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    match map {
        Map::Affine { scale, offset } => scale * x + offset,
        Map::Relu => x.max(0.0),
        Map::LeakyRelu(slope) => {
            if x < 0.0 {
                slope * x
            } else {
                x
            }
        }
        Map::Clip(low, high) => x.max(low).min(high),
        Map::Abs => x.abs(),
        Map::Square => x * x,
        Map::SquareRoot => x.sqrt(),
        Map::ReciprocalSquareRoot => x.sqrt().recip(),
        Map::Reciprocal => x.recip(),
        Map::Exp => x.exp(),
        Map::Exp2 => x.exp2(),
        Map::Ln => x.ln(),
        Map::Sigmoid => sigmoid(x),
        Map::Tanh => x.tanh(),
        Map::Sine => x.sin(),
        Map::Cosine => x.cos(),
        Map::Erf => erf(x),
        Map::Gelu => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
        Map::GeluTanh => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
            0.5 * x * (1.0 + inner.tanh())
        }
        Map::Silu => x * sigmoid(x),
        Map::Softplus => softplus(x),
        Map::Softsign => x / (1.0 + x.abs()),
        Map::Mish => x * softplus(x).tanh(),
        Map::Elu { alpha, beta, gamma } => gamma * if x < 0.0 { alpha * (x / beta).exp_m1() } else { x },
        Map::Floor => x.floor(),
        Map::Ceil => x.ceil(),
        Map::Truncate => x.trunc(),
        Map::Round => x.round_ties_even(),
        Map::Step { below, zero, above } => {
            if x < 0.0 {
                below
            } else if x > 0.0 {
                above
            } else {
                zero
            }
        }
    }
}

/// The error function: its power series near zero, the continued fraction of its complement elsewhere.
fn erf(x: f64) -> f64 {
    let magnitude = x.abs();
    let value = if magnitude < 2.5 {
        // 2 / sqrt(pi) * sum of (-1)^n x^(2n+1) / (n! (2n+1))
        let (mut term, mut sum) = (magnitude, magnitude);
        for n in 1..80 {
            term *= -magnitude * magnitude / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    } else if magnitude < 7.0 {
        let mut fraction = 0.0;
        for n in (1..=100).rev() {
            fraction = f64::from(n) / 2.0 / (magnitude + fraction);
        }
        let complement =
            (-magnitude * magnitude).exp() / ((magnitude + fraction) * std::f64::consts::PI.sqrt());
        1.0 - complement
    } else {
        1.0
    };
    value.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_function_has_its_published_values() {
        // Abramowitz and Stegun, table 7.1.
        for (x, value) in
            [(0.5, 0.520_499_877_8), (1.0, 0.842_700_792_9), (2.0, 0.995_322_265_0), (3.0, 0.999_977_909_5)]
        {
            assert!((erf(x) - value).abs() < 2e-10, "{x}: {}", erf(x));
            assert!((erf(-x) + value).abs() < 2e-10, "-{x}");
        }
        assert_eq!((erf(0.0), erf(30.0)), (0.0, 1.0));
    }
}
