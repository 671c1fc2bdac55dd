//! The base addresses that a chain of tasks reads from and writes to, as far as the registers show them.
//!
//! The flat container has no table of what a BAR carries. Its first readers take outputs from BAR 4 on and inputs behind
//! them; files whose tasks are bound otherwise are met all the same, and today's reader has the tasks tell: a BAR that a
//! port of theirs writes is an output, one that is only read an input, each in rising order (contract 5.3). A port names
//! its BAR in word 8 of the header, and is at rest if its switch is off. Source 2 has no switch that compilers set.
//! Nor does that container say what the elements are. The format of the port does: bytes, or halves.
//! Checked with the 46 compiled programs whose container has a table: this gives the same, all 46 times.

use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use super::header::{Header, WORDS};
use super::record::Records;
use super::tile_destination::{self, DestinationDmaConfig};
use super::tile_source::{self, MemoryFormat, SourceDmaConfig, SourceFmt};

/// Where the formats of source 1, source 2 and the destination are.
const FORMATS: [Option<u32>; 3] =
    [tile_source::FMT1.info.at(0), tile_source::FMT2.info.at(0), tile_destination::FMT.info.at(0)];

/// A set of base addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarSet(u32);

impl BarSet {
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those in it, in rising order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0_u8..32).filter(move |&bar| self.contains(bar))
    }

    pub fn of_range(first: u8, count: usize) -> Self {
        (first..32_u8).take(count).fold(Self::default(), |set, bar| set.with(bar))
    }

    pub const fn contains(self, bar: u8) -> bool {
        self.0 >> (bar & 31) & 1 != 0
    }

    const fn with(self, bar: u8) -> Self {
        Self(self.0 | 1 << (bar & 31))
    }

    const fn from(self, first: u8) -> Self {
        Self(self.0 >> (first & 31) << (first & 31))
    }

    const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

/// The BARs of a program's operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles {
    pub outputs: BarSet,
    pub inputs: BarSet,
    /// Those that a port moves as bytes.
    pub bytes: BarSet,
    /// Those that a port moves as halves. One that is in both sets has elements that nobody can name.
    pub halves: BarSet,
}

impl Roles {
    /// Outputs from `first` on, and inputs behind them: what readers take where the tasks do not tell.
    pub fn in_order(first: u8, outputs: usize, inputs: usize) -> Self {
        let all = BarSet::of_range(first, outputs.saturating_add(inputs));
        let outputs = BarSet::of_range(first, outputs);
        Self { outputs, inputs: all.without(outputs), ..Self::default() }
    }

    /// The roles of the BARs from `first` on in the tasks of `stream`. `None` if `stream` holds no tasks, or if
    /// its tasks reach other numbers of operands than the program says that it has.
    pub fn of_tasks(
        stream: &[u8],
        first_task_bytes: u32,
        tasks: u32,
        first: u8,
        outputs: usize,
        inputs: usize,
    ) -> Option<Self> {
        let used = Used::of_chain(stream, first_task_bytes, tasks)?;
        let written = used.written.from(first);
        let read = used.read.from(first).without(written);
        let roles = Self { outputs: written, inputs: read, bytes: used.bytes, halves: used.halves };
        (roles.outputs.len() == outputs && roles.inputs.len() == inputs).then_some(roles)
    }
}

/// The BARs that are read and written so far.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    read: BarSet,
    written: BarSet,
    bytes: BarSet,
    halves: BarSet,
    /// Ports whose switch is off: registers keep their values from task to task.
    source_rests: bool,
    destination_rests: bool,
    /// The formats of source 1, source 2 and the destination.
    formats: [SourceFmt; 3],
}

impl Used {
    /// Walks a chain. `None` if it leaves the stream, or is longer than one without loops can be.
    fn of_chain(stream: &[u8], first_task_bytes: u32, tasks: u32) -> Option<Self> {
        if tasks == 0 || tasks as usize > stream.len() / (4 * WORDS) {
            return None;
        }
        let mut used = Self::default();
        let (mut at, mut bytes) = (0_usize, first_task_bytes as usize);
        for task in 1..=tasks {
            let descriptor = stream.get(at..at.checked_add(bytes)?)?;
            let (words, _) = <[U32]>::ref_from_prefix_with_elems(descriptor, bytes / 4).ok()?;
            let header = Header::decode(words)?;
            used.add(words, &header);
            if task < tasks && header.next.offset() == 0 {
                return None;
            }
            (at, bytes) = (header.next.offset() as usize, 4 * (usize::from(header.length.next_size()) + 1));
        }
        Some(used)
    }

    fn add(&mut self, words: &[U32], header: &Header) {
        for (address, value) in Records::new(words, header.words()).flat_map(|record| record.writes()) {
            if tile_source::DMA_CONFIG1.info.at(0) == Some(address) {
                self.source_rests = !SourceDmaConfig::from_bits(value).en();
            } else if tile_destination::DMA_CONFIG.info.at(0) == Some(address) {
                self.destination_rests = !DestinationDmaConfig::from_bits(value).en();
            }
            for (format, at) in self.formats.iter_mut().zip(FORMATS) {
                if at == Some(address) {
                    // The destination has its format in the same bits.
                    *format = SourceFmt::from_bits(value);
                }
            }
        }
        let operands = header.operands;
        let [source1, source2, destination] = self.formats;
        if operands.rbe0() && !self.source_rests {
            self.read = self.read.with(operands.rbase0());
            self.moved(operands.rbase0(), source1);
        }
        if operands.rbe1() {
            self.read = self.read.with(operands.rbase1());
            self.moved(operands.rbase1(), source2);
        }
        if operands.wbe() && !self.destination_rests {
            self.written = self.written.with(operands.wbase());
            self.moved(operands.wbase(), destination);
        }
    }

    /// A port moves the elements at a BAR. The engine runs no port whose format is zero, so that it says nothing.
    fn moved(&mut self, bar: u8, format: SourceFmt) {
        match MemoryFormat::try_from(format.mem_fmt()) {
            Ok(MemoryFormat::Byte) if format.into_bits() != 0 => self.bytes = self.bytes.with(bar),
            Ok(MemoryFormat::Fp16) => self.halves = self.halves.with(bar),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::hw::td::header::OperandBases;

    /// A task of a header and records of one register.
    fn task(next: u32, operands: OperandBases, writes: &[(u32, u32)]) -> Vec<u8> {
        let mut words = vec![0; WORDS];
        words[1] = (WORDS as u32 + 3) << 16;
        (words[7], words[8]) = (next, operands.into_bits());
        for &(address, value) in writes {
            words.extend([address, value]);
        }
        words.resize(WORDS + 4, 0);
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    const BYTES: u32 = 4 * (WORDS as u32 + 4);

    fn roles(stream: &[u8], tasks: u32, outputs: usize, inputs: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let found = Roles::of_tasks(stream, BYTES, tasks, 4, outputs, inputs)?;
        Some((found.outputs.iter().collect(), found.inputs.iter().collect()))
    }

    const ON: [(u32, u32); 2] = [(0x13800, 1), (0x17800, 1)];

    fn binary() -> OperandBases {
        OperandBases::new().with_rbase0(4).with_rbe0(true).with_rbase1(6).with_rbe1(true)
    }

    #[test]
    fn what_is_written_is_an_output_wherever_it_lies() {
        let stream = task(0, binary().with_wbase(5).with_wbe(true), &ON);
        assert_eq!(roles(&stream, 1, 1, 2), Some((vec![5], vec![4, 6])));
        assert_eq!(roles(&stream, 1, 1, 1), None, "the file says other numbers");
    }

    #[test]
    fn output_that_a_later_task_reads_is_an_output_and_scratch_is_neither() {
        let mut stream = task(BYTES, binary().with_wbase(5).with_wbe(true), &ON);
        let again = OperandBases::new().with_rbase0(5).with_rbe0(true).with_wbase(3).with_wbe(true);
        stream.extend(task(0, again, &[]));
        assert_eq!(roles(&stream, 2, 1, 2), Some((vec![5], vec![4, 6])));
    }

    #[test]
    fn ports_whose_switch_is_off_use_nothing_also_in_later_tasks() {
        let mut stream = task(BYTES, binary().with_wbase(7).with_wbe(true), &[(0x13800, 1), (0x17800, 0)]);
        stream.extend(task(0, binary().with_wbase(7).with_wbe(true), &[(0x13800, 0)]));
        assert_eq!(roles(&stream, 2, 0, 2), Some((vec![], vec![4, 6])));
    }

    #[test]
    fn elements_are_what_the_format_of_the_port_says() {
        const HALVES: u32 = 0x0100_2031;
        let bytes = [(0x13838, 0x0100_0000), (0x17818, 0x0130_0000)];
        let all = binary().with_wbase(5).with_wbe(true);
        let of = |writes: [(u32, u32); 2]| {
            let mut stream = task(BYTES, all, &writes);
            stream.extend(task(0, all.with_rbase0(7), &[(0x1383c, HALVES)]));
            let found = Roles::of_tasks(&stream, BYTES, 2, 4, 1, 3).unwrap();
            (found.bytes.iter().collect::<Vec<_>>(), found.halves.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(bytes), (vec![4, 5, 7], vec![6]));
        assert_eq!(of([(0x13838, HALVES), (0x17818, HALVES)]), (vec![], vec![4, 5, 6, 7]));
        assert_eq!(of([(0x13838, 0), (0x17818, 0)]), (vec![], vec![6]), "it is not known");
    }

    #[test]
    fn chain_that_loops_or_leaves_the_stream_tells_nothing() {
        let all = binary().with_wbase(5).with_wbe(true);
        let looping = [task(BYTES, all, &ON), task(BYTES, all, &ON)].concat();
        assert_eq!(roles(&looping, u32::MAX, 1, 2), None);
        assert_eq!(roles(&task(0x4000, all, &ON), 2, 1, 2), None);
        assert_eq!(roles(&task(0, all, &ON), 2, 1, 2), None);
        assert_eq!(roles(&[], 1, 0, 0), None);
        assert_eq!(roles(&task(0, all, &ON), 0, 0, 0), None);
    }

    #[test]
    fn order_of_the_first_readers_is_outputs_and_then_inputs() {
        let roles = Roles::in_order(4, 2, 1);
        assert!(roles.outputs.iter().eq([4, 5]) && roles.inputs.iter().eq([6]));
        assert!(Roles::in_order(4, 0, 0).inputs.is_empty());
        assert_eq!(Roles::in_order(4, 30, usize::MAX).inputs.len(), 0, "there are no more BARs");
    }
}
