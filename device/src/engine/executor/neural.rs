//! A neural pass: coefficients or a table by the kernel fetcher, the array, the nonlinearity.

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::{common, kernel_dma};
use vm_memory::GuestMemory;

use super::bench::Bench;
use super::operands::SOURCE1;
use super::{Executor, extents, sizes};
use crate::dart::Circuit;
use crate::engine::plan::coefficients::Kernel;
use crate::engine::plan::neural::{NeuralPass, Nonlinearity, Operation};
use crate::engine::plan::verdict::Verdict;
use crate::engine::table::{BadTable, Why};
use crate::engine::{EngineError, Ports, kernel_fetcher, madd};
use crate::refusal::Category;
use crate::trace::What;

impl Executor {
    /// Runs a neural task.
    pub(super) fn run_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &NeuralPass,
    ) -> Result<(), EngineError> {
        let mut input = std::mem::take(&mut self.staging.source1);
        let mut result = std::mem::take(&mut self.staging.result);
        let outcome = self.compute_neural(bench, pass, &mut input, &mut result);
        self.staging.source1 = input;
        self.staging.result = result;
        outcome
    }

    fn compute_neural<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &NeuralPass,
        input: &mut Vec<u16>,
        result: &mut Vec<u16>,
    ) -> Result<(), EngineError> {
        self.take(bench, &pass.source, SOURCE1, 0, input)?;
        if pass.input_relu {
            input.iter_mut().for_each(|half| *half = input_relu(*half));
        }
        if let Operation::Convolve(kernel) = pass.operation {
            self.fetch_kernel(bench, &kernel)?;
        }
        let table = match pass.nonlinearity {
            Nonlinearity::Table => Some(self.fetch_table(bench)?),
            Nonlinearity::None | Nonlinearity::Relu => None,
        };
        self.check_result(bench, &pass.sink, 0)?;
        result.resize(pass.output().len(), 0);
        let convolution = &pass.convolution;
        let array = self.array.under(bench.watch);
        let scale = pass.post_scale;
        let computed = match pass.operation {
            Operation::Convolve(kernel) => {
                let weights = madd::Coefficients::Halves(&self.coefficients.weights);
                let biases = kernel.has_bias.then_some(self.coefficients.biases.as_slice());
                array.convolve(convolution, input, weights, biases, scale, result)
            }
            Operation::Sum => {
                array.convolve(convolution, input, madd::Coefficients::Unity, None, scale, result)
            }
            Operation::Maximum => array.maximum(convolution, input, scale, result),
            Operation::PassThrough => {
                self.array.scale(input, scale, result);
                Ok(())
            }
        };
        computed.map_err(|_| {
            sizes(bench.registers, &common::CONV_CFG.info, "array does not take a pass of these sizes")
        })?;
        bench.still_wanted()?;
        if let Some(bytes) = table {
            self.tables.get(&bytes).map_err(|bad| bad_table(&bad))?.apply(result);
        } else if pass.nonlinearity == Nonlinearity::Relu {
            result.iter_mut().for_each(|half| *half = relu(*half));
        }
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
