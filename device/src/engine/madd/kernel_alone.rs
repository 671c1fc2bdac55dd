//! A kernel by itself, without packing and conversion: what the array's arithmetic costs beside plain multiply-adds of the
//! same blocking (goal A4).

use super::stages::Stages;
use crate::engine::kernels::{Adding, Block, Extent, GRANULE, Kernel, Offsets, Tier};

/// A block of a tier's largest kernel, and numbers for it.
#[derive(Debug)]
pub struct Alone {
    kernel: &'static Kernel,
    panel: Vec<f32>,
    offsets: Offsets,
    coefficients: Vec<f32>,
    sums: Vec<i32>,
    /// Taps of each chunk, as many as the numbers allow.
    chunks: Vec<usize>,
}

#[expect(clippy::arithmetic_side_effects, reason = "sizes are those of a block in memory")]
impl Alone {
    /// A block of so many taps; `None` where the tier does not compute in single precision or the numbers do not fit it.
    pub fn new(
        tier: Tier,
        taps: usize,
        operands: impl Iterator<Item = u16>,
        coefficients: impl Iterator<Item = u16>,
    ) -> Option<Self> {
        let code = tier.code();
        let kernel = &code.many;
        let widened = |halves: Vec<u16>| {
            let mut singles = vec![0.0; halves.len()];
            code.widen(&halves, &mut singles);
            singles
        };
        let operands: Vec<_> = operands.take(taps * kernel.columns).collect();
        let coefficients = widened(coefficients.take(taps * kernel.rows).collect());
        let mut extents = vec![Extent::NONE; taps.div_ceil(GRANULE)];
        code.measure_tile(&coefficients, kernel.rows, &mut extents);
        let chunks = Stages::chunks_of(code.measure(&operands), &extents, taps);
        let mut offsets = Offsets::default();
        offsets.set((0..taps).map(|tap| tap * kernel.columns));
        let sums = vec![0; kernel.rows * kernel.columns];
        let panel = widened(operands);
        let fits = tier.is_available() && kernel.has_singles && !chunks.is_empty();
        fits.then_some(Self { kernel, panel, offsets, coefficients, sums, chunks })
    }

    /// Multiplications of a run.
    #[must_use]
    pub fn products(&self) -> usize {
        self.coefficients.len() * self.kernel.columns
    }

    /// Chunks in which the array adds the taps.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Adds all taps as the array does.
    pub fn run(&mut self) {
        self.add(None);
    }

    /// Adds all taps in single precision, whatever becomes of the sums' last digits.
    pub fn run_plain(&mut self) {
        let taps = self.coefficients.len() / self.kernel.rows;
        self.add(Some(&[taps]));
    }

    fn add(&mut self, plain: Option<&[usize]>) {
        let Self { kernel, panel, offsets, coefficients, sums, chunks } = self;
        let chunks = plain.unwrap_or(chunks);
        let adding = Adding::Singles { coefficients, begin: None, chunks, parted: None, ahead: 0 };
        kernel.run(&mut Block { panel, offsets, least: &[], sums, adding });
    }
}
