//! What a neural pass takes besides its source: coefficients and a table, by the kernel fetcher.

use std::task::{Poll, ready};

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::kernel_dma;
use vm_memory::GuestMemory;

use super::Executor;
use super::bench::Bench;
use crate::dart::Circuit;
use crate::engine::plan::coefficients::Kernel;
use crate::engine::plan::verdict::Verdict;
use crate::engine::table::{BadTable, Why};
use crate::engine::{EngineError, Ports, kernel_fetcher};
use crate::refusal::Category;

impl Executor {
    /// Brings the coefficients of a group, from piece `next` on.
    pub(super) fn fetch_kernel<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        kernel: &Kernel,
        group: u32,
        next: &mut u32,
    ) -> Poll<Result<(), EngineError>> {
        bench.say_purpose(&kernel_dma::COEFF_BASE_ADDR);
        let Ports { memory, dart, kernel: shown, .. } = &mut bench.ports;
        let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
        let coefficients = &mut self.compute.coefficients;
        let outcome =
            ready!(coefficients.fetch(&mut dma, bench.registers, (kernel, group), &mut bench.pace, next));
        coefficients.show(kernel, shown);
        bench.still_wanted()?;
        outcome?;
        let groups = u64::from(kernel.groups).max(1);
        bench.note_transfer(Circuit::KernelFetch, kernel.bytes.checked_div(groups).unwrap_or(0), &Ok(()));
        Poll::Ready(Ok(()))
    }

    /// Brings the activation table, and refuses one that cannot be understood. Each engine that has
    /// coefficients has its own table. What different tables mean is not known, so they are refused.
    pub(super) fn fetch_table<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        kernel: Option<&Kernel>,
    ) -> Result<[u8; BYTES], EngineError> {
        bench.say_purpose(&kernel_dma::COEFF_BASE_ADDR);
        let Ports { memory, dart, kernel: shown, .. } = &mut bench.ports;
        let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
        let (mut bytes, mut another) = ([0; BYTES], [0; BYTES]);
        let outcome = kernel_fetcher::table(&mut dma, bench.registers, 0, &mut bytes);
        kernel_fetcher::show_table(&bytes, shown);
        bench.note_transfer(Circuit::KernelFetch, BYTES as u64, &outcome);
        outcome?;
        for engine in (1..kernel.map_or(1, |kernel| kernel.engines))
            .take_while(|&engine| kernel.is_some_and(|kernel| kernel.slots_of(engine) != 0))
        {
            let Ports { memory, dart, .. } = &mut bench.ports;
            let mut dma = dart.dma(*memory, bench.task.stream, Circuit::KernelFetch);
            kernel_fetcher::table(&mut dma, bench.registers, engine, &mut another)?;
            if another != bytes {
                let register = &kernel_dma::COEFF_BASE_ADDR;
                let address = register.info.at(engine).unwrap_or(register.offset());
                let value = bench.registers.written(address).unwrap_or_default();
                let why = "engines have different activation tables in front of their coefficients";
                return Err(
                    Verdict { category: Category::Undefined, address, bits: u32::MAX, value, why }.into()
                );
            }
        }
        self.compute.tables.get(&bytes).map_err(|bad| bad_table(&bad))?;
        Ok(bytes)
    }
}

/// An activation table that is refused; the value is that of the halfword to blame.
fn bad_table(bad: &BadTable) -> Verdict {
    let why = match bad.why {
        Why::Mode => "activation table has a mode that is not known",
        Why::Flags => "activation table has flags that are not known together",
        Why::Spacing => "activation table has knots more than 2^64 or less than 2^-64 apart",
        Why::KnotInMode(_) => "activation table has knots in a mode that was seen without",
        Why::SpacingInMode(_) => "activation table has knots that its mode leaves",
        Why::NegativeInMode(_) => {
            "activation table lets negative values into a mode that has no place for them"
        }
    };
    let address = kernel_dma::COEFF_BASE_ADDR.offset();
    Verdict { category: Category::Undefined, address, bits: u32::MAX, value: bad.value.into(), why }
}
