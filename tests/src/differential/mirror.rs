//! The device beside a reference machine: what runs on one runs on the other, with the same memory.

use ane::embedded;
use ane_device::Options;
use ane_device::options::{Hang, Numerics};
use ane_uapi::hw::space::Iova;

use super::ProgramEnd;
use crate::reference::engine::{self, Memory, Mode};
use crate::runner::Runner;

/// Where the mirror keeps the descriptor that it runs: nowhere that tests use.
const DESCRIPTOR: Iova = Iova(0x7000_0000);

/// Room for a descriptor.
const DESCRIPTOR_BYTES: u64 = 0x4000;

/// Network id that the runner's requests have, in a descriptor's first word.
const NID: u32 = 0x40 << 16;

/// How the device computes that is to agree with a machine in `mode`.
pub const fn numerics(mode: Mode) -> Numerics {
    match mode {
        Mode::M1 => Numerics::M1,
        Mode::Exact => Numerics::Exact,
    }
}

/// How the interpreter ended.
pub const fn expected(outcome: &engine::TaskOutcome) -> ProgramEnd {
    match outcome {
        engine::TaskOutcome::Done { .. } => ProgramEnd::Done,
        engine::TaskOutcome::Hangs { .. } => ProgramEnd::Hangs,
        engine::TaskOutcome::Refused { .. } => ProgramEnd::Refused,
        engine::TaskOutcome::Fault { .. } => ProgramEnd::Fault,
    }
}

/// A device whose registers and chip go along with those of a reference machine.
pub struct Mirror {
    runner: Runner<embedded::InProcess>,
    mapped: Vec<u32>,
}

impl Mirror {
    /// A device with `bytes` bytes of memory.
    ///
    /// # Panics
    ///
    /// If it cannot be had.
    pub fn new(mode: Mode, strict: bool, bytes: usize) -> Self {
        let numerics = numerics(mode);
        let options = Options { numerics, strict, hang: Hang::Report, ..Options::default() };
        let bus = embedded::open(&options, bytes).expect("a device can be had");
        let mut runner = Runner::new(bus);
        runner.region_at(DESCRIPTOR, DESCRIPTOR_BYTES);
        Self { runner, mapped: Vec::new() }
    }

    /// Runs one descriptor on the device, whose memory is made the same before.
    ///
    /// # Panics
    ///
    /// If the device does not take the request at all.
    pub fn run(&mut self, memory: &Memory, words: &[u32], bars: &[u32; 32]) -> ProgramEnd {
        for (address, bytes) in memory.pages() {
            if !self.mapped.contains(&address) {
                self.runner.region_at(Iova(address), bytes.len() as u64);
                self.mapped.push(address);
            }
            self.runner.write(Iova(address), bytes);
        }
        let mut words = words.to_vec();
        words[0] |= NID;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.runner.write(DESCRIPTOR, &bytes);
        self.runner.submit_at(DESCRIPTOR, bytes.len() as u32, 1, *bars);
        ProgramEnd::of(self.runner.wait())
    }

    /// The first byte that the device's memory has otherwise.
    pub fn difference(&self, memory: &Memory) -> Option<u32> {
        memory.pages().find_map(|(address, bytes)| {
            let seen = self.runner.read(Iova(address), bytes.len());
            let at = seen.iter().zip(bytes).position(|(a, b)| a != b)?;
            Some(address + at as u32)
        })
    }
}
