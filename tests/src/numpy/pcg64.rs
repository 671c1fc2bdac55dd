//! A linear congruential generator of 128 bits, whose output is the exclusive or of both halves, turned.

const MULTIPLIER: u128 = 2_549_297_995_355_413_924 << 64 | 4_865_540_595_714_422_341;

#[derive(Debug)]
pub(super) struct Pcg64 {
    state: u128,
    increment: u128,
}

impl Pcg64 {
    /// From the words of a seed: state and increment, each high word first.
    pub(super) const fn new([state_high, state_low, increment_high, increment_low]: [u64; 4]) -> Self {
        let increment = wide(increment_high, increment_low) << 1 | 1;
        let mut generator = Self { state: 0, increment };
        generator.step();
        generator.state = generator.state.wrapping_add(wide(state_high, state_low));
        generator.step();
        generator
    }

    const fn step(&mut self) {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
    }

    pub(super) const fn word(&mut self) -> u64 {
        self.step();
        ((self.state >> 64) as u64 ^ self.state as u64).rotate_right((self.state >> 122) as u32)
    }

    /// Below one, in steps of 2^-53.
    pub(super) const fn uniform(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const fn wide(high: u64, low: u64) -> u128 {
    (high as u128) << 64 | low as u128
}
