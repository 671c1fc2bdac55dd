//! A neural pass: coefficients or a table by the kernel fetcher, the array, the nonlinearity.
//!
//! It has three parts: what it takes is fetched, the array computes, the result is given. A long one is away between the
//! first and the third (`beside`).

use std::task::Poll;

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::{common, kernel_dma};
use vm_memory::GuestMemory;

use super::bench::Bench;
use super::beside::{self, Came, Job};
use super::operands::SOURCE1;
use super::{Executor, extents, sizes};
use crate::dart::Circuit;
use crate::engine::cancel::{Pace, Watch};
use crate::engine::madd::{Array, ShapeError};
use crate::engine::plan::Plan;
use crate::engine::plan::coefficients::Kernel;
use crate::engine::plan::neural::{NeuralPass, Nonlinearity, Operation};
use crate::engine::plan::verdict::Verdict;
use crate::engine::table::{BadTable, Why};
use crate::engine::{Done, EngineError, Ports, TaskContext, kernel_fetcher};
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;
use crate::trace::What;

/// A pass that is being computed beside, and what comes after.
pub(super) struct Away {
    plan: Plan,
    table: Option<[u8; BYTES]>,
}

impl Executor {
    /// Runs a neural task, or sends it away.
    pub(super) fn run_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        plan: &Plan,
        pass: &NeuralPass,
    ) -> Poll<Result<(), EngineError>> {
        let mut input = std::mem::take(&mut self.staging.source1);
        let fetched = self.fetch_neural(bench, pass, &mut input);
        self.staging.source1 = input;
        let table = fetched?;
        if self.beside.is_some() && beside::is_long(self.numerics, pass) && self.send_away(bench, pass) {
            self.away = Some(Box::new(Away { plan: *plan, table }));
            return Poll::Pending;
        }
        let mut result = std::mem::take(&mut self.staging.result);
        result.resize(pass.output().len(), 0);
        let (input, array) = (&self.staging.source1, &mut self.array);
        let computed = beside::compute(array, pass, &self.coefficients, input, &mut result, bench.watch);
        let given = self.give_neural(bench, pass, table.as_ref(), computed, &mut result);
        self.staging.result = result;
        Poll::Ready(given)
    }

    /// Takes up the task that was away, if it is back.
    #[cold]
    pub(super) fn come_back<M: GuestMemory>(
        &mut self,
        task: &TaskContext<'_>,
        registers: &RegisterFile,
        ports: Ports<'_, M>,
        away: Box<Away>,
    ) -> Poll<Result<Done, EngineError>> {
        let Some(beside) = &mut self.beside else { return Poll::Ready(Err(EngineError::Cancelled)) };
        if ports.cancel.is_cancelled(task.queue) {
            beside.give_up();
            return Poll::Ready(Err(EngineError::Cancelled));
        }
        let (job, computed) = match beside.came() {
            Came::Back(job, computed) => (*job, computed),
            Came::NotYet => {
                self.away = Some(away);
                return Poll::Pending;
            }
            Came::Never => return Poll::Ready(Err(EngineError::Cancelled)),
        };
        let Job { pass, array, coefficients, input, mut result, .. } = job;
        (self.array, self.coefficients, self.staging.source1) = (array, coefficients, input);
        let watch = Watch::new(ports.cancel, task.queue);
        let mut bench = Bench { task, registers, ports, watch: &watch, pace: Pace::new(&watch) };
        let given = self.give_neural(&mut bench, &pass, away.table.as_ref(), computed, &mut result);
        self.staging.result = result;
        Poll::Ready(given.and_then(|()| self.finish(&mut bench, &away.plan)))
    }

    /// Has a pass computed beside; false if there is nobody to do it.
    #[cold]
    fn send_away<M: GuestMemory>(&mut self, bench: &Bench<'_, '_, M>, pass: &NeuralPass) -> bool {
        let Some(beside) = &mut self.beside else { return false };
        if !beside.start() {
            return false;
        }
        let mut result = std::mem::take(&mut self.staging.result);
        result.resize(pass.output().len(), 0);
        // Should the pass be given up, then the next one has an array all the same.
        let array = Array::with_tier(self.numerics, self.array.threads(), self.array.tier());
        beside.send(Job {
            queue: bench.task.queue,
            pass: *pass,
            array: std::mem::replace(&mut self.array, array),
            coefficients: std::mem::take(&mut self.coefficients),
            input: std::mem::take(&mut self.staging.source1),
            result,
        });
        true
    }

    /// Brings everything that a pass takes, and says whether its result may be written.
    #[inline]
    fn fetch_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &NeuralPass,
        input: &mut Vec<u16>,
    ) -> Result<Option<[u8; BYTES]>, EngineError> {
        self.take(bench, &pass.source, SOURCE1, 0, input)?;
        if pass.input_relu {
            bench.pace.strides(input, |input| input.iter_mut().for_each(|half| *half = input_relu(*half)));
        }
        if let Operation::Convolve(kernel) = pass.operation {
            self.fetch_kernel(bench, &kernel)?;
        }
        let table = match pass.nonlinearity {
            Nonlinearity::Table => Some(self.fetch_table(bench)?),
            Nonlinearity::None | Nonlinearity::Relu => None,
        };
        self.check_result(bench, &pass.sink, 0)?;
        Ok(table)
    }

    /// Takes what the array has computed through the nonlinearity and to where it belongs.
    #[inline]
    fn give_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &NeuralPass,
        table: Option<&[u8; BYTES]>,
        computed: Result<(), ShapeError>,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        computed.map_err(|_| {
            sizes(bench.registers, &common::CONV_CFG.info, "array does not take a pass of these sizes")
        })?;
        bench.still_wanted()?;
        if let Some(bytes) = table {
            let table = self.tables.get(bytes).map_err(|bad| bad_table(&bad))?;
            bench.pace.strides(result, |result| table.apply(result));
        } else if pass.nonlinearity == Nonlinearity::Relu {
            bench.pace.strides(result, |result| result.iter_mut().for_each(|half| *half = relu(*half)));
        }
        bench.still_wanted()?;
        let what = What::Pass {
            class: TaskClass::Neural,
            shape: extents(pass.output()),
            numerics: Some(self.numerics),
            macs: pass.macs(),
        };
        bench.note(what);
        self.give(bench, &pass.sink, 0, result)
    }

    fn fetch_kernel<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        kernel: &Kernel,
    ) -> Result<(), EngineError> {
        bench.say_purpose(&kernel_dma::COEFF_BASE_ADDR);
        let Ports { memory, dart, kernel: shown, .. } = &mut bench.ports;
        let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
        let outcome = self.coefficients.fetch(&mut dma, bench.registers, kernel, &mut bench.pace);
        self.coefficients.show(kernel, shown);
        bench.still_wanted()?;
        let bytes = kernel.slot_bytes().saturating_mul(kernel.planes.into());
        bench.note_transfer(Circuit::KernelFetch, bytes, &outcome);
        Ok(outcome?)
    }

    fn fetch_table<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
    ) -> Result<[u8; BYTES], EngineError> {
        bench.say_purpose(&kernel_dma::COEFF_BASE_ADDR);
        let Ports { memory, dart, kernel, .. } = &mut bench.ports;
        let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
        let mut bytes = [0; BYTES];
        let outcome = kernel_fetcher::table(&mut dma, bench.registers, kernel, &mut bytes);
        bench.note_transfer(Circuit::KernelFetch, BYTES as u64, &outcome);
        outcome?;
        self.tables.get(&bytes).map_err(|bad| bad_table(&bad))?;
        Ok(bytes)
    }
}

/// An activation table that is refused; the value is that of the halfword to blame.
fn bad_table(bad: &BadTable) -> Verdict {
    let why = match bad.why {
        Why::Mode => "activation table has a mode that is not known",
        Why::Flags => "activation table has flags that are not known together",
        Why::Spacing => "activation table has knots more than 2^64 or less than 2^-64 apart",
        Why::SpacingInMode(_) => "activation table has knots that its mode leaves",
        Why::NegativeInMode(_) => {
            "activation table lets negative values into a mode that has no place for them"
        }
    };
    let address = kernel_dma::COEFF_BASE_ADDR.offset();
    Verdict { category: Category::Undefined, address, bits: u32::MAX, value: bad.value.into(), why }
}

/// A half as InputReLU passes it on.
const fn input_relu(half: u16) -> u16 {
    const INFINITY: u16 = 0x7c00;
    if half & 0x7fff > INFINITY { INFINITY } else { relu(half) }
}

/// The larger of a half and +0.
const fn relu(half: u16) -> u16 {
    if half & 0x8000 == 0 { half } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relu_on_the_input_takes_what_is_no_number_for_infinity() {
        assert_eq!([0xfe00, 0x7e01, 0x8000, 0xbc00, 0x3c00].map(input_relu), [0x7c00, 0x7c00, 0, 0, 0x3c00]);
    }
}
