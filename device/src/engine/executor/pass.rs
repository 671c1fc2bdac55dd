//! A pass, from top to bottom.
//!
//! First every transfer is checked, so that a task that faults has usually written nothing. Then, for each batch, operands and
//! coefficients come, the engine computes, and the result goes to the chip, to memory, or both. A pass has one batch or
//! several; several are checked together before the first, and what each leaves on chip is worked out then, because
//! a batch may read what one before it leaves there or makes unknown.
//!
//! Nothing here says where a pass runs. [`Reach`] gives the device's memory and registers for as long as they are needed, on the
//! device's thread or on the engine's, and `computing` is the one place that needs neither.

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::common;
use ane_uapi::register::Register;
use vm_memory::GuestMemory;

use super::compute::{Compute, Misfit};
use super::operands::{SOURCE1, SOURCE2, result_leaves};
use super::reach::Reach;
use crate::engine::plan::Pass;
use crate::engine::plan::neural::{NeuralPass, Nonlinearity, Operation};
use crate::engine::plan::operand::Shape;
use crate::engine::plan::verdict::Verdict;
use crate::engine::{EngineError, Result};
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;
use crate::trace::What;

/// A pass that has its operands and computes for longer than it may on the device's thread. It goes on from here on the
/// engine's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    batch: u32,
    table: Option<[u8; BYTES]>,
}

/// Why a pass ended before its end.
#[derive(Debug)]
pub(super) enum Left {
    Failed(EngineError),
    /// It has to go on elsewhere.
    TooLong(Box<Begun>),
}

impl From<EngineError> for Left {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl Compute {
    /// Carries a pass out, or what is left of one that has begun.
    pub(super) fn carry_out<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        pass: &Pass,
        begun: Option<&Begun>,
    ) -> Result<(), Left> {
        let batches = pass.batches();
        if batches > 1 && begun.is_none() {
            self.check(reach, pass)?;
        }
        let first = begun.map_or(0, |begun| begun.batch);
        let mut table = begun.and_then(|begun| begun.table);
        for batch in first..batches {
            if begun.is_none() || batch > first {
                reach.count_batch()?;
                self.take(reach, pass.source1(), SOURCE1, batch)?;
                match pass {
                    Pass::Neural(neural) => self.fetch(reach, neural, batch, &mut table)?,
                    Pass::Planar(planar) => {
                        if let Some(source) = &planar.source2 {
                            self.take(reach, source, SOURCE2, batch)?;
                        }
                    }
                }
                if batches == 1 {
                    self.check_result(reach, pass.sink(), batch)?;
                }
            }
            if !self.computing(reach, pass, table.as_ref())? {
                return Err(Left::TooLong(Box::new(Begun { batch, table })));
            }
            self.give(reach, pass.sink(), batch)?;
        }
        Ok(reach.still_wanted()?)
    }

    /// Checks every transfer of several batches, and foresees what each batch leaves on chip.
    fn check<M: GuestMemory>(&mut self, reach: &mut Reach<'_, M>, pass: &Pass) -> Result<()> {
        let chip = reach.device()?.chip;
        chip.foreseen.copy(&chip.unknown);
        for batch in 0..pass.batches() {
            reach.count_batch()?;
            self.check_source(reach, pass.source1(), SOURCE1, batch)?;
            if let Some(source) = pass.source2() {
                self.check_source(reach, source, SOURCE2, batch)?;
            }
            self.check_result(reach, pass.sink(), batch)?;
            result_leaves(&mut reach.device()?.chip.foreseen, pass.sink(), batch);
        }
        Ok(())
    }

    /// Brings the coefficients of a batch, and with the first batch the activation table.
    fn fetch<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        pass: &NeuralPass,
        batch: u32,
        table: &mut Option<[u8; BYTES]>,
    ) -> Result<()> {
        let kernel = match &pass.operation {
            Operation::Convolve(kernel) => Some(kernel),
            Operation::Sum | Operation::Maximum | Operation::PassThrough => None,
        };
        if let Some(kernel) = kernel {
            self.fetch_kernel(reach, kernel, batch.checked_div(pass.depths).unwrap_or(0))?;
        }
        if pass.nonlinearity == Nonlinearity::Table && batch == 0 {
            *table = Some(self.fetch_table(reach, kernel)?);
        }
        Ok(())
    }

    /// Computes a batch; false if that takes longer than it may here, and then it is to be computed again elsewhere.
    #[inline]
    fn computing<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        pass: &Pass,
        table: Option<&[u8; BYTES]>,
    ) -> Result<bool> {
        let is_long = self.is_long(pass);
        let Some(computed) = reach.compute(is_long, |watch| self.run(pass, table, watch))? else {
            return Ok(false);
        };
        let (class, numerics, macs, why, register) = match pass {
            Pass::Neural(neural) => (
                common::TaskClass::Neural,
                Some(self.numerics()),
                neural.macs(),
                "array does not take a pass of these sizes",
                &common::CONV_CFG.info,
            ),
            Pass::Planar(planar) => (
                planar.planar.class.task_class(),
                None,
                0,
                "planar engine does not take a pass of these sizes",
                &common::IN_DIM.info,
            ),
        };
        computed.map_err(|Misfit| sizes(reach.registers, register, why))?;
        if !is_long {
            reach.count_elements(super::compute::elements(pass));
        }
        reach.note(What::Pass { class, shape: extents(pass.output()), numerics, macs })?;
        Ok(true)
    }
}

/// A pass that was planned and that an engine refuses: a mistake of the model, which it says and does not hide.
fn sizes(registers: &RegisterFile, register: &Register, why: &'static str) -> Verdict {
    let value = registers.written(register.offset).unwrap_or_default();
    Verdict { category: Category::Unimplemented, address: register.offset, bits: u32::MAX, value, why }
}

/// A shape as the timeline shows it.
const fn extents(shape: Shape) -> [u32; 3] {
    [shape.channels, shape.height, shape.width]
}
