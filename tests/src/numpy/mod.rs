//! The numbers that numpy's default generator makes of a seed.
//!
//! Measurements of real M1s are published with seeds instead of data. [`Generator`] makes the same data again: the seed is
//! spread over a pool of words (`seed`), the pool starts a permuted congruential generator of 128 bits (`pcg64`), and
//! normals come from it by the ziggurat method (`ziggurat`). Written from the published algorithms (M. E. O'Neill, *PCG*
//! and *Developing a seed_seq alternative*, 2014 and 2015; G. Marsaglia and W. W. Tsang, *The ziggurat method*, 2000).

mod pcg64;
mod seed;
mod ziggurat;

use pcg64::Pcg64;
use ziggurat::Ziggurat;

/// `numpy.random.default_rng(seed)`.
#[derive(Debug)]
pub struct Generator {
    bits: Pcg64,
    layers: Ziggurat,
}

impl Generator {
    /// A generator; the same seed gives the same numbers as in numpy.
    pub fn new(seed: u32) -> Self {
        Self { bits: Pcg64::new(seed::words(seed)), layers: Ziggurat::new() }
    }

    /// A number of `random()`: below one, in steps of 2^-53.
    pub const fn uniform(&mut self) -> f64 {
        self.bits.uniform()
    }

    /// A number of `standard_normal()`.
    pub fn normal(&mut self) -> f64 {
        self.layers.normal(&mut self.bits)
    }

    /// So many numbers of `standard_normal().astype(float32)`.
    pub fn singles(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.normal() as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_numbers_of_two_seeds_are_those_of_numpy() {
        assert_eq!(Generator::new(0).uniform(), 0.636_961_687_321_454_3);
        assert_eq!(Generator::new(42).uniform(), 0.773_956_048_555_963_3);
    }

    #[test]
    fn first_normals_are_those_of_numpy() {
        let mut generator = Generator::new(0);
        let normals: Vec<String> = (0..5).map(|_| format!("{:.8}", generator.normal())).collect();
        assert_eq!(normals, ["0.12573022", "-0.13210486", "0.64042265", "0.10490012", "-0.53566937"]);
    }

    #[test]
    fn many_normals_have_the_moments_and_the_tails_of_normals() {
        let mut generator = Generator::new(7);
        let normals: Vec<f64> = (0..200_000).map(|_| generator.normal()).collect();
        let mean_of = |power: i32| normals.iter().map(|x| x.powi(power)).sum::<f64>() / normals.len() as f64;
        assert!(mean_of(1).abs() < 0.01 && (mean_of(2) - 1.0).abs() < 0.02 && (mean_of(4) - 3.0).abs() < 0.1);
        // Beyond the base layer, where a normal in 3,900 lies.
        let far = normals.iter().filter(|x| x.abs() > 3.654_152_885_361_009).count();
        assert!((25..80).contains(&far), "{far}");
    }
}
