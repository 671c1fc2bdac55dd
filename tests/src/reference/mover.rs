//! The mover once more, cycle by cycle: a plain interpreter of its queue, its commands, its instructions and its three memories.
//!
//! Written from mover 1 to 4 and 6 to 9 alone. Nothing is computed ahead: time passes one cycle after the other, and in
//! each the command processor looks at the oldest command once. Questions that the sources leave open are answered as
//! the project says: a transfer's bytes move when it starts, a refused command takes no time, commands leave the queue
//! one in a cycle, and an XMOV waits until the queue is empty and the mover idle.

use std::collections::VecDeque;

/// One of the two accounts of STATUS and of destinations that lie nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The page of the founding document.
    Seed,
    /// The vendor's instruction-set pages.
    Isa,
}

#[derive(Clone, Copy, Debug)]
struct EnteredCommand {
    word: u32,
    params: [u32; 4],
    core: usize,
    entered: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    ready: u64,
    /// Waits for the mover since then.
    waits_since: Option<u64>,
    released: u64,
}

/// The block with its memories.
pub struct Mover {
    /// The large memory.
    pub scratch: Vec<u8>,
    /// The words that XMOV takes its parameters from.
    pub configuration: Vec<u8>,
    /// The small core's memory.
    pub instructions: Vec<u8>,
    pub cycle: u64,
    /// Commands and instructions that had no effect because something was wrong with them.
    pub refused: u32,
    account: Account,
    contended: bool,
    waits_for_credit: bool,
    first_parameter_word: usize,
    behind: u64,
    params: [u32; 4],
    bases: [u32; 4],
    queue: VecDeque<EnteredCommand>,
    credits: u8,
    busy_until: u64,
    processed: Option<u64>,
    had_error: bool,
    threads: [Thread; 3],
}

/// How the block is made.
#[derive(Clone, Copy, Debug)]
pub struct MoverBuild {
    pub account: Account,
    /// Others use the ports too.
    pub contended: bool,
    /// A write without a credit waits, as it should have.
    pub waits_for_credit: bool,
    /// Parameters are where the earlier chip has them.
    pub wormhole: bool,
}

impl Mover {
    /// A block with empty memories.
    pub fn new(made: MoverBuild) -> Self {
        Self {
            scratch: vec![0; 0x20_0000],
            configuration: vec![0; 0x1_0000],
            instructions: vec![0; 0x1_0000],
            cycle: 0,
            refused: 0,
            account: made.account,
            contended: made.contended,
            waits_for_credit: made.waits_for_credit,
            first_parameter_word: if made.wormhole { 76 } else { 88 },
            behind: 0,
            params: [0; 4],
            bases: [0; 4],
            queue: VecDeque::new(),
            credits: 2,
            busy_until: 0,
            processed: None,
            had_error: false,
            threads: [Thread::default(); 3],
        }
    }

    /// Lets time pass until the bus is at `time`; waits of earlier accesses have moved the bus on.
    pub fn until(&mut self, time: u64) {
        while self.cycle < time + self.behind {
            self.pass();
        }
    }

    /// Writes a parameter register.
    pub fn set_parameter(&mut self, index: usize, value: u32) {
        self.params[index] = value;
    }

    /// Writes the base register of a core: B, T0, T1, T2, or another.
    pub fn set_base(&mut self, core: usize, value: u32) {
        self.bases[base_of(core)] = value;
    }

    /// Reads the base register as a core sees it.
    pub fn base(&self, core: usize) -> u32 {
        self.bases[base_of(core)]
    }

    /// Writes the command register.
    pub fn command(&mut self, core: usize, word: u32) {
        while self.queue.len() == 4 {
            self.wait();
        }
        let takes_credit = word >> 31 == 0;
        if takes_credit && self.credits == 0 && !self.waits_for_credit {
            self.refuse();
            return;
        }
        while takes_credit && self.credits == 0 {
            self.wait();
        }
        if takes_credit {
            self.credits -= 1;
        }
        self.queue.push_back(EnteredCommand { word, params: self.params, core, entered: self.cycle });
        self.process();
    }

    /// Writes an instruction to a thread's port.
    pub fn xmov(&mut self, thread: usize, word: u32) {
        if word >> 24 != 0x40 {
            self.refuse();
            return;
        }
        let is_held = |mover: &Self| {
            let thread = &mover.threads[thread];
            thread.waits_since.is_some() || mover.cycle < thread.released || mover.cycle < thread.ready
        };
        while is_held(self) || !self.queue.is_empty() || self.is_busy() {
            self.wait();
        }
        let bank = self.word(0x200 + thread) & 1;
        let first = bank as usize * 0x100 + self.first_parameter_word;
        let [source, destination, size] = [0, 1, 2].map(|n| self.word(first + n));
        self.transfer(source, destination, size, size >> 30);
        self.threads[thread].ready = self.cycle + 1;
    }

    /// Has a thread wait: which instructions, and for what.
    pub fn stallwait(&mut self, thread: usize, block: u32, condition: u32) {
        let is_blackhole = self.first_parameter_word == 88;
        let block = if block == 0 { 1 << 6 } else { block };
        let condition = match (condition, is_blackhole) {
            (0, true) => 0x0f,
            (0, false) => 0x7f,
            _ => condition,
        };
        if block & 0x11 == 0 {
            return;
        }
        let waits = condition & if is_blackhole { 0x200 } else { 0x1000 } != 0;
        let at = self.cycle;
        let entry = &mut self.threads[thread];
        if waits && self.busy_until > at {
            entry.waits_since = Some(at);
        } else {
            entry.released = entry.released.max(at + 1);
        }
    }

    pub fn status(&self) -> u32 {
        let queued = self.queue.len() as u32;
        let mut word = u32::from(self.is_busy()) | (4 - queued) << 8;
        word |= u32::from(queued == 4) << 2 | u32::from(queued == 0) << 3;
        match self.account {
            Account::Isa => word | u32::from(self.credits == 0) << 4 | u32::from(self.credits == 2) << 5,
            Account::Seed => word | u32::from(self.had_error) << 4,
        }
    }

    fn is_busy(&self) -> bool {
        self.cycle < self.busy_until
    }

    fn refuse(&mut self) {
        self.refused += 1;
        self.had_error = true;
    }

    fn word(&self, index: usize) -> u32 {
        let bytes = self.configuration[4 * index..][..4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    }

    /// A cycle for which the bus has to wait.
    fn wait(&mut self) {
        self.behind += 1;
        self.pass();
    }

    fn pass(&mut self) {
        self.cycle += 1;
        self.process();
        if !self.is_busy() {
            for thread in &mut self.threads {
                if thread.waits_since.take().is_some() {
                    thread.released = thread.released.max(self.cycle + 1);
                }
            }
        }
    }

    /// Looks at the oldest command, unless one has left the queue in this cycle.
    fn process(&mut self) {
        let Some(&entry) = self.queue.front() else { return };
        if self.processed == Some(self.cycle) || entry.entered > self.cycle {
            return;
        }
        let opcode = entry.word & 0xff;
        if (opcode == 0x40 || opcode == 0x46) && self.is_busy() {
            return;
        }
        self.queue.pop_front();
        self.processed = Some(self.cycle);
        let is_compact = entry.word >> 31 == 1;
        if !is_compact {
            self.credits += 1;
        }
        match opcode {
            0x40 if is_compact => {
                let source = self.bases[base_of(entry.core)].wrapping_add(entry.word >> 8 & 0xff);
                let direction = if entry.word >> 30 & 1 == 1 { 3 } else { 1 };
                self.transfer(source, entry.word >> 16 & 0xff, entry.word >> 24 & 0x3f, direction);
            }
            0x40 => {
                let [source, destination, size, direction] = entry.params;
                self.transfer(source, destination, size, direction);
            }
            0x46 | 0x89 => {}
            0x66 if !is_compact && entry.word & 0x600 == 0x600 => {
                let [at, _, low, high] = entry.params;
                let value = u64::from(high) << 32 | u64::from(low);
                let bytes = if entry.word & 0x100 == 0 { 4 } else { 8 };
                self.poke(at as usize, &value.to_le_bytes()[..bytes]);
            }
            _ => self.refuse(),
        }
    }

    fn poke(&mut self, at: usize, bytes: &[u8]) {
        if at + bytes.len() > self.scratch.len() {
            self.refuse();
            return;
        }
        self.scratch[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn transfer(&mut self, source: u32, destination: u32, size: u32, direction: u32) {
        let units = u64::from(size & 0xffff);
        let bytes = units as usize * 16;
        let direction = direction & 3;
        let [from, to] = [source, destination].map(|units| units as usize * 16);
        let copies = direction == 1 || direction == 3;
        if units == 0 {
            return;
        }
        let is_nowhere = direction == 1 || direction == 2;
        let is_nowhere = is_nowhere
            && match to {
                0..=0xffff | 0x4_0000..=0x4_ffff => false,
                0x1_0000..=0x3_ffff => true,
                _ => self.account == Account::Isa,
            };
        if is_nowhere && self.account == Account::Seed {
            return;
        }
        if copies && from + bytes > self.scratch.len() {
            return self.refuse();
        }
        let snapshot = if copies { self.scratch[from..from + bytes].to_vec() } else { vec![0; bytes] };
        if !is_nowhere {
            let (memory, start) = match (direction, to) {
                (0 | 3, _) => (&mut self.scratch, to),
                (_, 0..=0xffff) => (&mut self.configuration, to),
                _ => (&mut self.instructions, to - 0x4_0000),
            };
            if start + bytes > memory.len() {
                return self.refuse();
            }
            memory[start..start + bytes].copy_from_slice(&snapshot);
        }
        let cycles = match (direction, self.contended) {
            (1 | 3, false) => (11 * units).div_ceil(8),
            (1 | 3, true) => 4 * units,
            (0, true) => 3 * units,
            _ => units,
        };
        self.busy_until = self.cycle + cycles;
    }
}

fn base_of(core: usize) -> usize {
    match core {
        0..=3 => core,
        _ => 1,
    }
}
