//! The operands of a neural pass besides its source, from the kernel fetcher: coefficients and a table.

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::kernel_dma;
use vm_memory::GuestMemory;

use super::compute::Compute;
use super::reach::Reach;
use crate::dart::Circuit;
use crate::engine::plan::coefficients::Kernel;
use crate::engine::plan::verdict::Verdict;
use crate::engine::table::{BadTable, BrokenRule};
use crate::engine::{Result, kernel_fetcher};
use crate::refusal::Category;

impl Compute {
    pub(super) fn fetch_kernel<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        kernel: &Kernel,
        group: u32,
    ) -> Result<()> {
        let (coefficients, pool, registers) = (&mut self.coefficients, self.array.pool(), reach.registers);
        let pieces = coefficients.begin(kernel, group);
        let circuit = Circuit::KernelFetch;
        let outcome = reach.each(circuit, &kernel_dma::COEFF_BASE_ADDR, pieces, |dma, pace, piece| {
            coefficients.fetch(dma, registers, (kernel, group), (pace, pool), piece)
        });
        coefficients.show(kernel, reach.device()?.kernel);
        outcome?;
        let groups = u64::from(kernel.groups).max(1);
        reach.note_transfer(circuit, kernel.bytes.checked_div(groups).unwrap_or(0))
    }

    /// Brings the activation table, and refuses one that cannot be understood. Each engine that has
    /// coefficients has its own table. The meaning of different tables is not known, so they are
    /// refused.
    pub(super) fn fetch_table<M: GuestMemory>(
        &mut self,
        reach: &mut Reach<'_, M>,
        kernel: Option<&Kernel>,
    ) -> Result<[u8; BYTES]> {
        let (circuit, register, registers) =
            (Circuit::KernelFetch, &kernel_dma::COEFF_BASE_ADDR, reach.registers);
        let (mut bytes, mut another) = ([0; BYTES], [0; BYTES]);
        let outcome = reach.each(circuit, register, 1, |dma, _, _| {
            Ok(kernel_fetcher::table(dma, registers, 0, &mut bytes)?)
        });
        kernel_fetcher::show_table(&bytes, reach.device()?.kernel);
        outcome?;
        reach.note_transfer(circuit, BYTES as u64)?;
        for engine in (1..kernel.map_or(1, |kernel| kernel.engines))
            .take_while(|&engine| kernel.is_some_and(|kernel| kernel.slots_of(engine) != 0))
        {
            reach.each(circuit, register, 1, |dma, _, _| {
                Ok(kernel_fetcher::table(dma, registers, engine, &mut another)?)
            })?;
            if another != bytes {
                let address = register.info.at(engine).unwrap_or(register.offset());
                let value = registers.written(address).unwrap_or_default();
                let why = "engines have different activation tables in front of their coefficients";
                return Err(
                    Verdict { category: Category::Undefined, address, bits: u32::MAX, value, why }.into()
                );
            }
        }
        self.tables.get(&bytes).map_err(|bad| bad_table(&bad))?;
        Ok(bytes)
    }
}

/// An activation table that is refused; the value is that of the halfword to blame.
fn bad_table(bad: &BadTable) -> Verdict {
    let why = match bad.why {
        BrokenRule::Mode => "activation table has a mode that is not known",
        BrokenRule::Flags => "activation table has flags that are not known together",
        BrokenRule::Spacing => "activation table has knots more than 2^64 or less than 2^-64 apart",
        BrokenRule::KnotInMode(_) => "activation table has knots in a mode that was seen without",
        BrokenRule::SpacingInMode(_) => "activation table has knots that its mode leaves",
        BrokenRule::NegativeInMode(_) => {
            "activation table lets negative values into a mode that has no place for them"
        }
    };
    let address = kernel_dma::COEFF_BASE_ADDR.offset();
    Verdict { category: Category::Undefined, address, bits: u32::MAX, value: bad.value.into(), why }
}
