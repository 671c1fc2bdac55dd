//! One program on two engines: the device, through all of it, and the interpreter written from the text.
//!
//! A [`Case`] is memory, a task stream and base addresses. Both run it; what they leave in memory has to be the same
//! byte for byte, and so has the way it ended. The device may refuse what the interpreter carries out, if a bit of the
//! task was turned at random: a refusal is never wrong, only late. It may not carry out what the interpreter does not.
//!
//! Where cases come from: [`random_case`] puts registers together, [`built`] has the program builder do it, and [`walk`]
//! has tasks that share one crowded memory. [`by_number`] counts through the first two.

pub mod built;
pub mod by_number;
pub mod mirror;
pub mod neural;
pub mod packing;
pub mod planar;
pub mod program;
pub mod random_case;
pub mod task;
pub mod walk;

use std::ops::Range;

use ane::embedded;
use ane_device::Options;
use ane_device::options::{Hang, Numerics};
use ane_device::tm::error::ErrorCode;
use ane_driver::bus::Bus;
use ane_uapi::hw::space::Iova;

use crate::reference::engine::{Mode, ReferenceMachine};
use crate::runner::{Outcome, Runner};

/// Bytes of a page.
const PAGE: usize = 0x4000;

/// Device addresses that one table of leaves covers.
const TABLE_SPAN: u32 = 1 << 25;

/// From one descriptor to the next.
pub const STEP: u32 = 0x300;

/// One program with its memory.
#[derive(Clone, Debug)]
pub struct Case {
    /// Regions of device memory: where, and what they hold. The first is the task stream.
    pub regions: Vec<(u32, Vec<u8>)>,
    /// Base addresses.
    pub bars: [u32; 32],
    /// Tasks of the chain.
    pub tasks: u16,
    /// Words of the first descriptor.
    pub first_words: u32,
    /// How the array computes.
    pub numerics: Numerics,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnd {
    /// It ran to its end.
    Done,
    Hangs,
    Refused,
    Fault,
}

impl ProgramEnd {
    /// How the device says that it ended.
    pub fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Failed { code, .. } if code == ErrorCode::WouldHang as u8 => Self::Hangs,
            Outcome::Failed { code, .. } if code == ErrorCode::TransferFault as u8 => Self::Fault,
            Outcome::Failed { code, .. } if code == ErrorCode::DescriptorFault as u8 => Self::Fault,
            Outcome::Failed { .. } => Self::Refused,
        }
    }
}

impl Case {
    /// Memory that the device needs: the regions, and a page of its own for each table.
    pub fn memory_bytes(&self) -> usize {
        let pages: usize = self.regions.iter().map(|(_, bytes)| bytes.len().div_ceil(PAGE).max(1)).sum();
        let mut tables: Vec<u32> = self.regions.iter().map(|(base, _)| base / TABLE_SPAN).collect();
        tables.sort_unstable();
        tables.dedup();
        // The first table, and for each region one more that it may reach into.
        (pages + tables.len() + self.regions.len() + 1) * PAGE
    }

    /// Runs it on the device; gives what became of it and what the regions hold then.
    ///
    /// # Panics
    ///
    /// If the device does not take the request at all.
    pub fn on_device(&self) -> (Outcome, Vec<Vec<u8>>) {
        self.on_device_as(&Options { hang: Hang::Report, ..Options::default() })
    }

    /// The same with a device made by `options`; how it computes is up to the case.
    ///
    /// # Panics
    ///
    /// If the device does not take the request at all.
    pub fn on_device_as(&self, options: &Options) -> (Outcome, Vec<Vec<u8>>) {
        let options = Options { numerics: self.numerics, ..options.clone() };
        self.on_bus(embedded::open(&options, self.memory_bytes()).expect("a device can be had"))
    }

    /// The same with a device behind any bus, which has to compute as the case wants and to have [`Case::memory_bytes`].
    ///
    /// # Panics
    ///
    /// If the device does not take the request at all.
    pub fn on_bus<B: Bus>(&self, bus: B) -> (Outcome, Vec<Vec<u8>>) {
        let mut runner = Runner::new(bus);
        for (base, bytes) in &self.regions {
            runner.region_at(Iova(*base), bytes.len() as u64);
            runner.write(Iova(*base), bytes);
        }
        runner.submit_at(Iova(self.regions[0].0), 4 * self.first_words, self.tasks.into(), self.bars);
        let outcome = runner.wait();
        let after = self.regions.iter().map(|(base, bytes)| runner.read(Iova(*base), bytes.len())).collect();
        (outcome, after)
    }

    /// The interpreter with the case in its memory.
    pub fn machine(&self) -> ReferenceMachine {
        let mode = if self.numerics == Numerics::Exact { Mode::Exact } else { Mode::M1 };
        let mut machine = ReferenceMachine::new(mode);
        for (base, bytes) in &self.regions {
            machine.memory.load(*base, bytes);
        }
        machine
    }

    /// Runs it on an interpreter that holds it; gives in words, too, why it did not run.
    ///
    /// # Panics
    ///
    /// If a region vanishes.
    pub fn on_reference(&self, mut machine: ReferenceMachine) -> (ProgramEnd, String, Vec<Vec<u8>>) {
        let words = self.first_words as usize;
        let outcome = machine.run_chain(self.regions[0].0, words, self.tasks, &self.bars);
        let end = mirror::expected(&outcome);
        let bytes = |(base, bytes): &(u32, Vec<u8>)| {
            machine.memory.bytes(*base, bytes.len() as u32).expect("region is mapped")
        };
        (end, format!("{outcome:x?}"), self.regions.iter().map(bytes).collect())
    }

    /// Compares both; says what differs.
    ///
    /// # Errors
    ///
    /// In words, the first difference that is one.
    pub fn compare(&self) -> Result<ProgramEnd, String> {
        let (outcome, seen) = self.on_device();
        let device = ProgramEnd::of(outcome);
        let (reference, why, expected) = self.on_reference(self.machine());
        match (device, reference) {
            (ProgramEnd::Done, ProgramEnd::Done) => {}
            (ProgramEnd::Refused, _) => return Ok(ProgramEnd::Refused),
            // If two things are wrong with a task, each side may find another one first.
            (
                ProgramEnd::Hangs | ProgramEnd::Fault,
                ProgramEnd::Hangs | ProgramEnd::Fault | ProgramEnd::Refused,
            ) => return Ok(device),
            _ => return Err(format!("device says {outcome:x?}, reference {why}")),
        }
        difference(&seen, &expected).map_or(Ok(ProgramEnd::Done), Err)
    }

    /// The same, but what the interpreter carries out may not be refused, and what was done before a refusal has to be
    /// the same.
    ///
    /// # Errors
    ///
    /// In words, the first difference.
    pub fn compare_to_the_end(&self) -> Result<ProgramEnd, String> {
        let (outcome, seen) = self.on_device();
        let (reference, why, expected) = self.on_reference(self.machine());
        let device = ProgramEnd::of(outcome);
        match (device, reference) {
            (ProgramEnd::Done, ProgramEnd::Done) => {}
            // If two things are wrong with a task, each side may find another one first.
            (ProgramEnd::Refused | ProgramEnd::Hangs, ProgramEnd::Refused | ProgramEnd::Hangs) => {}
            // No source says which part of a result is in memory by then.
            (ProgramEnd::Fault, ProgramEnd::Fault | ProgramEnd::Refused | ProgramEnd::Hangs)
            | (ProgramEnd::Refused, ProgramEnd::Fault) => {
                return Ok(device);
            }
            _ => return Err(format!("device says {outcome:x?}, reference {why}")),
        }
        difference(&seen, &expected).map_or(Ok(device), Err)
    }
}

/// The first half that differs, in words.
pub fn difference(seen: &[Vec<u8>], expected: &[Vec<u8>]) -> Option<String> {
    seen.iter().zip(expected).enumerate().find_map(|(index, (seen, expected))| {
        // Whole regions are equal mostly, and quickly compared.
        let at = (seen != expected).then(|| seen.iter().zip(expected).position(|(a, b)| a != b))??;
        let half = |bytes: &[u8]| u16::from_le_bytes([bytes[at & !1], bytes[at | 1]]);
        let (seen, expected) = (half(seen), half(expected));
        Some(format!(
            "region {index} differs at {:#x}: device {seen:#06x}, reference {expected:#06x}",
            at & !1
        ))
    })
}

/// Numbers of the programs to compare. `ANE_DIFFERENTIAL` says how many instead of `usual`, to run for hours, and
/// `ANE_DIFFERENTIAL_FROM` the first, so that no run repeats what another did.
pub fn programs(usual: u64) -> Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let first = number("ANE_DIFFERENTIAL_FROM").unwrap_or(0);
    first..first + number("ANE_DIFFERENTIAL").unwrap_or(usual)
}

/// Compares programs on every processor, and gives how many ended in which way.
///
/// # Panics
///
/// If one differs; the message has its seed.
pub fn compare_all(seeds: &[u64], compare: impl Fn(u64) -> Result<ProgramEnd, String> + Sync) -> [u64; 4] {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = |thread: usize| {
        let mut ends = [0; 4];
        for &seed in seeds.iter().skip(thread).step_by(threads) {
            match compare(seed) {
                Ok(end) => ends[end as usize] += 1,
                Err(difference) => panic!("program {seed}: {difference}"),
            }
        }
        ends
    };
    let parts: Vec<[u64; 4]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || part(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("programs agree")).collect()
    });
    let ends = parts.into_iter().fold([0; 4], |sum, part| std::array::from_fn(|i| sum[i] + part[i]));
    let [done, hang, refused, fault] = ends;
    println!("{} programs: {done} done, {hang} would hang, {refused} refused, {fault} fault", seeds.len());
    ends
}
