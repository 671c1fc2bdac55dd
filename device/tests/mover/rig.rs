//! A mover with memories of its own, and a driver's way to write to it.

use ane_device::mover::{Memories, Mover, Settings};
use ane_uapi::hw::mover::model;
use ane_uapi::hw::mover::regs::{self, Core};
use ane_uapi::hw::mover::xmov;
use ane_uapi::register::{Reg, Word};

pub(crate) const SCRATCH: usize = 0x20_0000;

pub(crate) struct Rig {
    pub(crate) mover: Mover,
    pub(crate) scratch: Vec<u8>,
    pub(crate) configuration: Vec<u8>,
    pub(crate) instructions: Vec<u8>,
    /// The bus's time, in cycles.
    pub(crate) time: u64,
}

/// The vendor's description, by which the vectors go.
pub(crate) fn isa() -> Rig {
    Rig::new("isa")
}

impl Rig {
    pub(crate) fn new(settings: &str) -> Self {
        Self::with(settings.parse().unwrap())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        Self {
            mover: Mover::new(settings),
            scratch: vec![0; SCRATCH],
            configuration: vec![0; 0x1_0000],
            instructions: vec![0; 0x1_0000],
            time: 0,
        }
    }

    fn lend(&mut self) -> (&mut Mover, Memories<'_>) {
        let memories = Memories {
            scratch: &mut self.scratch,
            known: None,
            configuration: &mut self.configuration,
            instruction_ram: &mut self.instructions,
        };
        (&mut self.mover, memories)
    }

    /// Writes the register at an offset of a core's window.
    pub(crate) fn poke(&mut self, core: Core, offset: u32, value: u32) {
        let (register_id, index) = regs::RegisterId::find(offset).unwrap();
        let time = self.time;
        let (mover, mut memories) = self.lend();
        mover.advance(time, &mut memories);
        mover.write(core, register_id, index, value, &mut memories);
    }

    /// Reads the register at an offset of a core's window.
    pub(crate) fn peek(&mut self, core: Core, offset: u32) -> u32 {
        let (register_id, index) = regs::RegisterId::find(offset).unwrap();
        let time = self.time;
        let (mover, mut memories) = self.lend();
        mover.advance(time, &mut memories);
        mover.read(core, register_id, index)
    }

    pub(crate) fn set(&mut self, offset: u32, value: u32) {
        self.poke(Core::B, offset, value);
    }

    pub(crate) fn get(&mut self, offset: u32) -> u32 {
        self.peek(Core::B, offset)
    }

    pub(crate) fn model<T: Word>(&mut self, register: &Reg<T>, index: u32) -> u32 {
        let (register_id, index) = model::RegisterId::find(register.offset() + 4 * index).unwrap();
        let time = self.time;
        let (mover, mut memories) = self.lend();
        mover.advance(time, &mut memories);
        mover.read_model(register_id, index)
    }

    pub(crate) fn set_model<T: Word>(&mut self, register: &Reg<T>, index: u32, value: u32) {
        let (register_id, index) = model::RegisterId::find(register.offset() + 4 * index).unwrap();
        let time = self.time;
        let (mover, mut memories) = self.lend();
        mover.advance(time, &mut memories);
        mover.write_model(register_id, index, value);
    }

    /// Issues an instruction on a thread.
    pub(crate) fn issue(&mut self, thread: u32, word: u32) {
        self.port(xmov::ISSUE.offset() + 4 * thread, word);
    }

    /// Has a thread wait.
    pub(crate) fn stallwait(&mut self, thread: u32, block: u32, condition: u32) {
        self.port(xmov::STALL_WAIT.offset() + 4 * thread, block << 16 | condition);
    }

    fn port(&mut self, offset: u32, word: u32) {
        let (register_id, thread) = xmov::RegisterId::find(offset).unwrap();
        let time = self.time;
        let (mover, mut memories) = self.lend();
        mover.advance(time, &mut memories);
        mover.write_port(register_id, thread, word, &mut memories);
    }

    /// Writes the four parameters.
    pub(crate) fn parameters(&mut self, [source, destination, size, direction]: [u32; 4]) {
        self.set(0x00, source);
        self.set(0x04, destination);
        self.set(0x08, size);
        self.set(0x0c, direction);
    }

    pub(crate) fn command(&mut self, parameters: [u32; 4], word: u32) {
        self.parameters(parameters);
        self.set(0x10, word);
    }

    /// A transfer, run to its end.
    pub(crate) fn transfer(&mut self, parameters: [u32; 4]) {
        self.command(parameters, 0x40);
        self.rest();
    }

    pub(crate) fn status(&mut self) -> u32 {
        self.get(regs::STATUS.offset())
    }

    /// Long enough for whatever is queued.
    pub(crate) fn rest(&mut self) {
        self.time += 2_000_000;
        let time = self.time;
        let (mover, mut memories) = self.lend();
        mover.advance(time, &mut memories);
    }

    /// The refusals, in words.
    pub(crate) fn refused(&mut self) -> Vec<String> {
        self.mover.take_refused().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn fill(&mut self, at: usize, bytes: &[u8]) {
        self.scratch[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Words in a bank of configuration space.
    pub(crate) fn configure(&mut self, word: usize, values: &[u32]) {
        for (i, value) in values.iter().enumerate() {
            self.configuration[4 * (word + i)..][..4].copy_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn configured(&self, word: usize) -> u32 {
        u32::from_le_bytes(self.configuration[4 * word..][..4].try_into().unwrap())
    }

    pub(crate) fn memories(&self) -> [Vec<u8>; 3] {
        [self.scratch.clone(), self.configuration.clone(), self.instructions.clone()]
    }
}
