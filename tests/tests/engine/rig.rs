//! Builds one task and the memory it runs on.
//!
//! Every task runs on the device too, which has to end as the interpreter does and to leave the same memory.

use std::collections::BTreeMap;

use ane_tests::differential::mirror::{self, Mirror};
use ane_tests::reference::engine::numbers::{half_bits, half_value};
use ane_tests::reference::engine::{Mode, ReferenceMachine, TaskOutcome};

/// Where the output, the two inputs and the constants lie: BARs 4, 5, 6 and 1.
const OUTPUT: u32 = 0x0100_0000;
const INPUT: [u32; 2] = [0x0200_0000, 0x0300_0000];
const CONSTANTS: u32 = 0x0400_0000;
/// Bytes mapped at each of them.
const MAPPED: u32 = 0x20_0000;
/// Memory of the device: all of that, and page tables.
const MEMORY: usize = 12 << 20;

/// An operation of the neural engine, as MACCfg (td 4.4), with bit 20 as every compiler sets it.
pub(crate) const MULTIPLY: u32 = 0x10_1c00;
pub(crate) const CHANNEL_SUM: u32 = 0x10_1c08;
pub(crate) const CHANNEL_MAXIMUM: u32 = 0x10_1c0b;
pub(crate) const PASS_THROUGH: u32 = 0x10_000C;
/// Nonlinearities, to be added to one of the above.
pub(crate) const RELU: u32 = 1 << 16;
pub(crate) const TABLE: u32 = 2 << 16;

/// Planar classes (td 4.1).
pub(crate) const COPY: u32 = 2;
pub(crate) const BINARY: u32 = 3;
pub(crate) const NORMALISE: u32 = 4;
pub(crate) const REDUCE: u32 = 5;
pub(crate) const BINARY_REDUCE: u32 = 6;

/// Channels, rows, columns.
pub(crate) type Dims = [u32; 3];

/// A machine, the registers of the next task, and where its operands lie.
pub(crate) struct TaskRig {
    pub(crate) machine: ReferenceMachine,
    registers: BTreeMap<u32, u32>,
    bars: [u32; 32],
    output: Dims,
    mirror: Option<Mirror>,
}

/// Bytes of a row of a surface, rounded up to 64 (td 6).
pub(crate) fn row_bytes([_, _, w]: Dims) -> u32 {
    (2 * w).next_multiple_of(64)
}

fn dimensions([_, h, w]: Dims) -> u32 {
    w | h << 16
}

impl TaskRig {
    fn new(mode: Mode, input: Dims, output: Dims) -> Self {
        let mut machine = ReferenceMachine::new(mode);
        let mut bars = [0; 32];
        for (index, address) in [(4, OUTPUT), (5, INPUT[0]), (6, INPUT[1]), (1, CONSTANTS)] {
            bars[index] = address;
            machine.memory.map(address, MAPPED);
        }
        let mut rig = Self { machine, registers: BTreeMap::new(), bars, output, mirror: None };
        let (row, out_row) = (row_bytes(input), row_bytes(output));
        let chip_channel = (2 * input[2]).next_multiple_of(16);
        rig.set(0x00, dimensions(input)).set(0x04, 1).set(0x0C, input[0]);
        rig.set(0x14, dimensions(output)).set(0x18, 1).set(0x10, output[0]);
        rig.set(0x1C, 0x5000_A021).set(0x24, 0x0001_0001).set(0x28, input[1]);
        rig.set(0x13800, 1).set(0x13838, 0x0100_2031).set(0x1380C, row).set(0x13810, row * input[1]);
        rig.set(0x13820, row).set(0x13824, row * input[1]);
        rig.set(0x4804, 0x172).set(0x480C, chip_channel).set(0x4810, chip_channel * input[0]);
        rig.set(0x4820, chip_channel).set(0x4824, chip_channel * input[0]);
        rig.set(0x17800, 1).set(0x17818, 0x0100_2031);
        rig.set(0x17808, out_row).set(0x1780C, out_row * output[1]).set(0x4830, 0x172);
        // Streamed results pass a window of their own.
        rig.set(0x4834, 0x10_0000);
        rig
    }

    /// A neural task without a patch, source streamed, result written.
    pub(crate) fn neural(mode: Mode, input: Dims, output: Dims, mac: u32) -> Self {
        let mut rig = Self::new(mode, input, output);
        rig.set(0x08, 0x22).set(0x34, 0).set(0xC800, 0x82).set(0xC804, mac).set(0xC810, 0x3C00);
        rig
    }

    /// A pass-through of one channel at a time.
    pub(crate) fn pass_through(extents: Dims, nonlinear: u32) -> Self {
        let mut rig = Self::neural(Mode::M1, extents, extents, PASS_THROUGH | nonlinear);
        rig.set(0x24, 0x0001_4001);
        rig
    }

    /// A 1x1 convolution of `inputs` channels of one element, in `mode`.
    pub(crate) fn dot(mode: Mode, operands: &[f64], coefficients: &[f64]) -> f64 {
        let mut rig = Self::neural(mode, [operands.len() as u32, 1, 1], [1, 1, 1], MULTIPLY);
        rig.engines(&[(0, 2 * coefficients.len() as u32)]);
        rig.constants(&bits(coefficients)).input(0, &bits(operands));
        rig.done()[0]
    }

    /// A planar task of one or two sources in memory.
    pub(crate) fn planar(class: u32, extents: Dims, planar_cfg: u32) -> Self {
        let mut rig = Self::new(Mode::M1, extents, extents);
        let two = matches!(class, BINARY | NORMALISE | BINARY_REDUCE);
        rig.set(0x2C, 9).set(0x34, class << 4 | 1 | u32::from(two) << 1);
        rig.set(0x08, if two { 0x2A } else { 0x22 }).set(0x4804, 0x172 | u32::from(two) << 24);
        rig.set(0x1383C, if two { 0x2030 } else { 0 });
        rig.set(0x8800, planar_cfg | if two { 2 << 18 } else { 0 });
        // Reductions to a maximum go with their padding mode.
        rig.set(0x4800, if planar_cfg & 3 == 2 { 1 << 2 } else { 0 });
        rig.set(0x8804, 0x3C00_0000).set(0x8808, 0x3C00_0000).set(0x880C, 1.0_f32.to_bits());
        // A reduction gives one element for each channel.
        if matches!(class, REDUCE | BINARY_REDUCE) {
            rig.output = [extents[0], 1, 1];
            rig.set(0x17808, 64).set(0x1780C, 64);
        }
        rig
    }

    /// Writes a register of the next task.
    pub(crate) fn set(&mut self, register: u32, value: u32) -> &mut Self {
        self.registers.insert(register, value);
        self
    }

    /// Enables engines from 0 on: the offset of each one's chunk, and its bytes.
    pub(crate) fn engines(&mut self, chunks: &[(u32, u32)]) -> &mut Self {
        self.set(0x1F800, 0x40);
        for (engine, &(offset, bytes)) in (0..).zip(chunks) {
            self.set(0x1F808 + 4 * engine, 1)
                .set(0x1F848 + 4 * engine, offset)
                .set(0x1F888 + 4 * engine, bytes);
        }
        self
    }

    /// Expects the next result in these extents.
    pub(crate) fn expect(&mut self, output: Dims) -> &mut Self {
        self.output = output;
        self
    }

    /// Fills a source, in the extents of the input, row by row.
    pub(crate) fn input(&mut self, source: usize, elements: &[u16]) -> &mut Self {
        let word = self.registers[&0x00];
        let (w, h) = (word & 0x7FFF, word >> 16);
        let row = self.registers[&[0x1380C, 0x13820][source]];
        for (index, &element) in (0..).zip(elements) {
            let at = index / (w * h) * row * h + index / w % h * row + index % w * 2;
            self.machine.memory.load(INPUT[source] + at, &element.to_le_bytes());
        }
        self
    }

    /// Fills the constants from their start.
    pub(crate) fn constants(&mut self, halves: &[u16]) -> &mut Self {
        let bytes: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        self.machine.memory.load(CONSTANTS, &bytes);
        self
    }

    /// Fills the constants with bytes.
    pub(crate) fn constant_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.machine.memory.load(CONSTANTS, bytes);
        self
    }

    /// The task, one record for each register.
    pub(crate) fn words(&self) -> Vec<u32> {
        let mut words = vec![0; 10];
        words[8] = 0x25 | 0x26 << 6 | 0x24 << 12;
        words[9] = 0x21;
        for (&register, &value) in &self.registers {
            words.extend([register, value]);
        }
        words
    }

    /// Refuses inferred behaviour from now on.
    pub(crate) fn make_strict(&mut self) {
        self.machine.strict = true;
        self.mirror = None;
    }

    pub(crate) fn run(&mut self) -> TaskOutcome {
        let words = self.words();
        let ReferenceMachine { mode, strict, .. } = self.machine;
        let mirror = self.mirror.get_or_insert_with(|| Mirror::new(mode, strict, MEMORY));
        let seen = mirror.run(&self.machine.memory, &words, &self.bars);
        let outcome = self.machine.run_task(&words, &self.bars);
        assert_eq!(seen, mirror::expected(&outcome), "device and {outcome:?}");
        assert_eq!(mirror.difference(&self.machine.memory), None, "memory of both");
        outcome
    }

    /// Runs the task to its end; the result's elements, as bits.
    pub(crate) fn done_bits(&mut self) -> Vec<u16> {
        let outcome = self.run();
        assert!(matches!(outcome, TaskOutcome::Done { .. }), "{outcome:?}");
        let [c, h, w] = self.output;
        let (row, plane) = (self.registers[&0x17808], self.registers[&0x1780C]);
        let base = self.bars[4] + self.registers.get(&0x17804).copied().unwrap_or(0);
        let mut elements = Vec::new();
        for index in 0..c * h * w {
            let at = base + index / (w * h) * plane + index / w % h * row + index % w * 2;
            let bytes = self.machine.memory.bytes(at, 2).expect("the output is mapped");
            elements.push(u16::from_le_bytes([bytes[0], bytes[1]]));
        }
        elements
    }

    /// Runs the task to its end; the result's elements, as numbers.
    pub(crate) fn done(&mut self) -> Vec<f64> {
        self.done_bits().into_iter().map(half_value).collect()
    }

    /// The register that a task that does not run is refused or hangs for.
    pub(crate) fn refused(&mut self) -> u32 {
        match self.run() {
            TaskOutcome::Refused { register, .. } => register,
            outcome => panic!("not refused: {outcome:?}"),
        }
    }
}

/// Numbers as halves.
pub(crate) fn bits(numbers: &[f64]) -> Vec<u16> {
    numbers.iter().map(|&number| half_bits(number)).collect()
}

/// A word of two halves, the low one first.
pub(crate) fn pair(low: f64, high: f64) -> u32 {
    u32::from(half_bits(low)) | u32::from(half_bits(high)) << 16
}

/// A table of 64 halfwords: domain and the values at its ends, knots, spacing, mode; both tails are flat.
pub(crate) fn table(ends: [f64; 4], knot: impl Fn(f64) -> f64, spacing: u16, mode: u16) -> Vec<u16> {
    let mut halves = bits(&ends);
    halves.extend((0..33).map(|index| half_bits(knot(f64::from(index)))));
    halves.resize(41, 0);
    halves.extend([spacing, mode]);
    halves.resize(64, 0);
    halves
}

/// One element through an activation table.
pub(crate) fn through(table: &[u16], element: u16) -> f64 {
    let mut rig = TaskRig::pass_through([1, 1, 1], TABLE);
    rig.engines(&[(0, 0x80)]).constants(table).input(0, &[element]);
    rig.done()[0]
}
