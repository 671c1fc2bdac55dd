//! Energy of DRAM: bytes that a layer moves for each operation.
//!
//! On the M5 nothing happens to throughput where an operand outgrows the pool; the cost shows in the energy of DRAM for each
//! operation, which "bottoms near a 2 MB operand and rises beyond about 4 to 5 MB, around the M5 bound of 4.72 MB" (seed 003).
//! A product moves its operands once as long as they fit together; what does not fit is brought again for every tile of the
//! batch. Deviation: inferred, the source gives the curve and no mechanism.

use ane_device::timing::work::Work;
use ane_device::timing::{Cost, Machine};
use ane_uapi::hw::hal::Generation;
use ane_uapi::hw::sram::tensor_bytes;

/// The pool of the M5, as measured: 4.72 MB (seed 003).
const M5_WORKING_SET: u64 = 472 * (1 << 20) / 100;

/// A product of `rows` rows with a weight of `inputs` by `outputs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    rows: u64,
    inputs: u64,
    outputs: u64,
}

impl Product {
    /// Bytes of the weight.
    const fn weight(&self) -> u64 {
        tensor_bytes(self.inputs.saturating_mul(self.outputs))
    }

    /// Bytes to and from DRAM with a pool of `pool` bytes.
    const fn dram_bytes(&self, pool: u64) -> u64 {
        let activations = tensor_bytes(self.rows.saturating_mul(self.inputs.saturating_add(self.outputs)));
        let all = activations.saturating_add(self.weight());
        // Bytes beyond the pool leave it and come back.
        all.saturating_add(all.saturating_sub(pool).saturating_mul(2))
    }

    const fn dram_bytes_per_thousand(&self, pool: u64) -> u64 {
        let operations = self.rows.saturating_mul(self.inputs).saturating_mul(self.outputs).saturating_mul(2);
        match self.dram_bytes(pool).saturating_mul(1_000_000).checked_div(operations) {
            Some(bytes) => bytes / 1000,
            None => 0,
        }
    }
}

/// Cycles of a product of 512 rows with a weight of `bytes` bytes and 1024 input channels.
fn cycles(machine: &Machine, bytes: u64) -> f64 {
    let outputs = bytes / 2048;
    let passes = outputs.div_ceil(machine.outputs_per_pass.into());
    let work = Work {
        kernel_bytes: bytes,
        read_bytes: 512 * 2048,
        write_bytes: 512 * 2 * outputs,
        passes,
        cycles: passes * 1024 * 16,
        ..Work::default()
    };
    Cost::of_work(machine, work).alone as f64
}

/// Requirement: MEM-09
#[test]
fn m5_crosses_the_bound_smoothly_and_pays_in_energy() {
    // Operations a cycle just below and just above the bound: a step on the M1, none on the M5.
    let step = |generation| {
        let machine = Machine::of(generation);
        let split: u64 = machine.hierarchy.split_bytes().into();
        let rate = |bytes: u64| bytes as f64 / cycles(&machine, bytes);
        rate(split + (1 << 14)) / rate(split - (1 << 14))
    };
    assert!((step(Generation::H17s) - 1.0).abs() < 0.03, "{}", step(Generation::H17s));
    assert!(step(Generation::H13) > 1.08, "{}", step(Generation::H13));

    // Square weights from 0.5 to 8 MB, in steps of 32 channels.
    let energy: Vec<_> = (512..=2048)
        .step_by(32)
        .map(|channels| {
            let product = Product { rows: 512, inputs: channels, outputs: channels };
            (product.weight(), product.dram_bytes_per_thousand(M5_WORKING_SET))
        })
        .collect();
    let (bottom, least) = *energy.iter().min_by_key(|(_, bytes)| *bytes).expect("there are some");
    assert!((1.5..3.0).contains(&(bottom as f64 / f64::from(1 << 20))), "bottoms at {bottom} bytes");
    let beyond = energy.iter().filter(|(weight, _)| *weight > 4 << 20);
    assert!(beyond.clone().all(|(_, bytes)| *bytes > least), "rises beyond 4 MB");
}
