//! Normals: 256 layers of equal area over half of the bell curve, most of which need one multiplication.

use super::pcg64::Pcg64;

/// Where the base layer ends and its tail begins.
const TAIL: f64 = 3.654_152_885_361_009;
/// A word gives a layer in 8 bits, a sign in one, and a place in the layer in 52.
const PLACES: f64 = (1_u64 << 52) as f64;

/// The layers, from the base (0) upwards: 1 is the narrow top, 255 lies on the base.
#[derive(Debug)]
pub(super) struct Ziggurat {
    /// The width of a layer's step.
    width: [f64; 256],
    /// Places of a layer that lie under the curve for sure.
    safe: [u64; 256],
    /// The curve at the layer's edge.
    curve: [f64; 256],
}

fn bell(x: f64) -> f64 {
    (-0.5 * x * x).exp()
}

impl Ziggurat {
    pub(super) fn new() -> Self {
        // The area beyond TAIL by its continued fraction, which has converged long before 400 terms.
        let fraction = (1..=400).rev().fold(0.0, |below, term| f64::from(term) / (TAIL + below));
        let area = bell(TAIL) * (TAIL + 1.0 / (TAIL + fraction));
        let (mut width, mut safe, mut curve) = ([0.0; 256], [0; 256], [0.0; 256]);
        (width[255], curve[255]) = (TAIL / PLACES, bell(TAIL));
        // The base is as wide as a rectangle of its area would be.
        (width[0], curve[0]) = (area / bell(TAIL) / PLACES, 1.0);
        safe[0] = (TAIL * bell(TAIL) / area * PLACES) as u64;
        let mut edge = TAIL;
        for layer in (1..255).rev() {
            let inner = (-2.0 * (area / edge + curve[layer + 1]).ln()).sqrt();
            safe[layer + 1] = (inner / edge * PLACES) as u64;
            (width[layer], curve[layer]) = (inner / PLACES, bell(inner));
            edge = inner;
        }
        Self { width, safe, curve }
    }

    pub(super) fn normal(&self, bits: &mut Pcg64) -> f64 {
        loop {
            let word = bits.word();
            let (layer, is_negative, place) =
                (word as usize & 0xff, word >> 8 & 1 == 1, word >> 9 & 0xf_ffff_ffff_ffff);
            let x = place as f64 * self.width[layer];
            let x = if is_negative { -x } else { x };
            if place < self.safe[layer] {
                return x;
            }
            if layer == 0 {
                let beyond = tail(bits);
                return if place >> 8 & 1 == 1 { -beyond } else { beyond };
            }
            let height = (self.curve[layer - 1] - self.curve[layer]) * bits.uniform() + self.curve[layer];
            if height < bell(x) {
                return x;
            }
        }
    }
}

/// A normal beyond the base layer.
fn tail(bits: &mut Pcg64) -> f64 {
    loop {
        let x = -(-bits.uniform()).ln_1p() / TAIL;
        let y = -(-bits.uniform()).ln_1p();
        if y + y > x * x {
            return TAIL + x;
        }
    }
}
