//! A planar pass: one or two sources, the planar engine, and all of it again for each batch.

use ane_uapi::hw::td::common;
use vm_memory::GuestMemory;

use super::bench::Bench;
use super::operands::{SOURCE1, SOURCE2};
use super::{Executor, extents, sizes};
use crate::dart::Access;
use crate::engine::EngineError;
use crate::engine::plan::operand::{Origin, Shape, Source};
use crate::engine::plan::planar::PlanarPass;
use crate::engine::planar::Operand;
use crate::trace::What;

impl Executor {
    /// Runs a planar task, batch by batch.
    pub(super) fn run_planar<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &PlanarPass,
    ) -> Result<(), EngineError> {
        self.check_batches(bench, pass)?;
        for batch in 0..pass.batches {
            bench.count_batch()?;
            let mut source1 = std::mem::take(&mut self.staging.source1);
            let mut source2 = std::mem::take(&mut self.staging.source2);
            let mut result = std::mem::take(&mut self.staging.result);
            let outcome = self.compute_planar(bench, pass, batch, &mut source1, &mut source2, &mut result);
            self.staging.source1 = source1;
            self.staging.source2 = source2;
            self.staging.result = result;
            outcome?;
        }
        Ok(())
    }

    /// Of a task with batches, looks at every transfer of each, and at what it reads on chip, before the first.
    fn check_batches<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &PlanarPass,
    ) -> Result<(), EngineError> {
        if pass.batches == 1 {
            return Ok(());
        }
        for batch in 0..pass.batches {
            bench.count_batch()?;
            for (source, inlet) in [(Some(&pass.source1), SOURCE1), (pass.source2.as_ref(), SOURCE2)] {
                let Some(Source { shape, origin }) = source else { continue };
                match origin {
                    Origin::Chip(place) => {
                        self.known(bench.registers, inlet, place.batch(batch), *shape)?;
                    }
                    Origin::Memory { from, .. } => {
                        let base = bench.base(inlet.base, from, batch);
                        bench.tile(inlet.circuit, inlet.base, &mut self.staging.row, 0, |tile| {
                            tile.check(from, base, *shape, Access::Read)
                        })?;
                    }
                }
            }
            self.check_result(bench, &pass.sink, batch)?;
        }
        Ok(())
    }

    fn compute_planar<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &PlanarPass,
        batch: u32,
        source1: &mut Vec<u16>,
        source2: &mut Vec<u16>,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        self.take(bench, &pass.source1, SOURCE1, batch, source1)?;
        if let Some(source) = &pass.source2 {
            self.take(bench, source, SOURCE2, batch, source2)?;
        }
        if pass.batches == 1 {
            self.check_result(bench, &pass.sink, batch)?;
        }
        result.resize(pass.output().len(), 0);
        let operand = |shape: Shape, values| Operand {
            values,
            channels: shape.channels,
            height: shape.height,
            width: shape.width,
        };
        let a = operand(pass.source1.shape, source1.as_slice());
        let b = pass.source2.map(|source| operand(source.shape, source2.as_slice()));
        pass.planar.run_under(bench.watch, pass.shape, a, b, result).map_err(|_| {
            sizes(bench.registers, &common::IN_DIM.info, "planar engine does not take a pass of these sizes")
        })?;
        bench.still_wanted()?;
        let class = pass.planar.class.task_class();
        bench.note(What::Pass { class, shape: extents(pass.output()), numerics: None, macs: 0 });
        self.give(bench, &pass.sink, batch, result)
    }
}
