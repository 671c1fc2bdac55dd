//! Numbers for the tensors of a program.

use half::f16;

use crate::differential::task;
use crate::random::Random;

/// The kind of numbers that a program gets.
///
/// Where every sixteenth is special, sums of many are infinite mostly; so there are programs without any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Between -2 and 2.
    Calm,
    /// Plain numbers mostly, and everything that has rules of its own.
    Mixed,
    /// Any sixteen bits.
    Wild,
}

impl ValueKind {
    pub(super) const fn draw(random: &mut Random) -> Self {
        [Self::Calm, Self::Mixed, Self::Mixed, Self::Wild][random.below(4) as usize]
    }

    pub(super) fn half(self, random: &mut Random) -> f16 {
        f16::from_bits(match self {
            Self::Calm => f16::from_f32(random.below(4097) as f32 / 1024.0 - 2.0).to_bits(),
            Self::Mixed => task::half(random),
            Self::Wild => random.word() as u16,
        })
    }

    /// So many numbers.
    pub(super) fn halves(self, random: &mut Random, count: u64) -> Vec<f16> {
        (0..count).map(|_| self.half(random)).collect()
    }

    /// Numbers that fill so many bytes.
    pub(super) fn bytes(self, random: &mut Random, bytes: u64) -> Vec<u8> {
        (0..bytes / 2).flat_map(|_| self.half(random).to_le_bytes()).collect()
    }
}
