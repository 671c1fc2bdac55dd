//! Any bytes as commands and instructions of the mover: it does what an interpreter of its commands does, and no access
//! to its windows, at any width, panics or goes on without bound.
//!
//! The first byte says which of the two is looked for, and how the mover is made.

#![no_main]

use ane_device::mover::{Memories, Mover, Settings};
use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_tests::reference::mover::{Account, Mover as Interpreter, MoverBuild};
use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::regs::{self, Core};
use ane_uapi::hw::mover::transfer::Contention;
use ane_uapi::hw::mover::xmov::{self, Tensix};
use ane_uapi::hw::space::EngineOffset;
use steps::Steps;
use vm_memory::{GuestAddress, GuestMemoryMmap};

#[path = "../src/steps.rs"]
mod steps;

/// Steps that are compared: each may move a megabyte in a quarter of a million of the interpreter's cycles.
const STEPS: usize = 24;

/// Bytes of scratch for most inputs: to compare it takes most of an execution's time. One input in eight has the whole scratch.
const SCRATCH: usize = 0x4_0000;

/// Accesses to the whole device.
const ACCESSES: usize = 512;

/// The mover with its memories.
struct Ours {
    mover: Mover,
    scratch: Vec<u8>,
    configuration: Vec<u8>,
    instructions: Vec<u8>,
}

impl Ours {
    fn parts(&mut self) -> (&mut Mover, Memories<'_>) {
        let memories = Memories {
            scratch: &mut self.scratch,
            known: None,
            configuration: &mut self.configuration,
            instruction_ram: &mut self.instructions,
        };
        (&mut self.mover, memories)
    }

    fn write(&mut self, core: usize, offset: u32, value: u32, time: u64) {
        let (register, index) = regs::RegisterId::find(offset).expect("a register");
        let (mover, mut memories) = self.parts();
        mover.advance(time, &mut memories);
        mover.write(Core::ALL[core], register, index, value, &mut memories);
    }

    fn read(&mut self, core: usize, offset: u32, time: u64) -> u32 {
        let (register, index) = regs::RegisterId::find(offset).expect("a register");
        let (mover, mut memories) = self.parts();
        mover.advance(time, &mut memories);
        mover.read(Core::ALL[core], register, index)
    }

    fn port(&mut self, offset: u32, value: u32, time: u64) {
        let (register, thread) = xmov::RegisterId::find(offset).expect("a register");
        let (mover, mut memories) = self.parts();
        mover.advance(time, &mut memories);
        mover.write_port(register, thread, value, &mut memories);
    }
}

/// The same stream to both.
fn compare(how: u8, mut steps: Steps<'_>) {
    let [is_isa, contended, waits_for_credit, wormhole] = [1, 2, 3, 4].map(|bit| how >> bit & 1 == 1);
    let account = if is_isa { Account::Isa } else { Account::Seed };
    let mut theirs = Interpreter::new(MoverBuild { account, contended, waits_for_credit, wormhole });
    if how >> 5 != 7 {
        theirs.scratch.truncate(SCRATCH);
    }
    for (index, byte) in theirs.scratch.iter_mut().take(0x8000).enumerate() {
        *byte = (index * 7 + index / 256) as u8;
    }
    for word in [76, 88, 0x100 + 76, 0x100 + 88] {
        theirs.configuration[4 * word..][..12].copy_from_slice(&[steps.bytes(12), &[0; 12]].concat()[..12]);
    }
    let settings = Settings {
        profile: if is_isa { Profile::Isa } else { Profile::Seed },
        chip: if wormhole { Tensix::Wormhole } else { Tensix::Blackhole },
        contention: if contended { Contention::Contended } else { Contention::Ideal },
        waits_for_credit,
        check: true,
    };
    let mut ours = Ours {
        mover: Mover::new(settings),
        scratch: theirs.scratch.clone(),
        configuration: theirs.configuration.clone(),
        instructions: theirs.instructions.clone(),
    };
    let mut time = 0;
    for _ in 0..STEPS {
        let Some(what) = steps.next() else { break };
        time += steps.number(1);
        theirs.until(time);
        let core = usize::from(what / 8 % 5);
        match what % 8 {
            0 => {
                let base = steps.number(2) as u32;
                ours.write(core, regs::XMOV_L1_BASE_ADDR.offset(), base, time);
                theirs.set_base(core, base);
            }
            1 => {
                let (thread, word) = (u32::from(what / 8 % 3), 0x4000_0000 | steps.number(3) as u32);
                ours.port(xmov::ISSUE.offset() + 4 * thread, word, time);
                theirs.xmov(thread as usize, word);
            }
            2 => {
                let (thread, block) = (u32::from(what / 8 % 3), steps.number(1) as u32 & 0x51);
                let condition = steps.number(2) as u32 & 0x1200;
                ours.port(xmov::STALL_WAIT.offset() + 4 * thread, block << 16 | condition, time);
                theirs.stallwait(thread as usize, block, condition);
            }
            3..=5 => {
                for (index, offset) in [regs::XMOV_SRC_ADDR.offset(), regs::XMOV_DST_ADDR.offset(), 8, 12]
                    .into_iter()
                    .enumerate()
                {
                    let value = steps.number(if index < 2 { 3 } else { 2 }) as u32;
                    ours.write(core, offset, value, time);
                    theirs.set_parameter(index, value);
                }
                ours.write(core, regs::COMMAND_ADDR.offset(), 0x40, time);
                theirs.command(core, 0x40);
            }
            _ => {
                let word = steps.number(4) as u32;
                ours.write(core, regs::COMMAND_ADDR.offset(), word, time);
                theirs.command(core, word);
            }
        }
        assert_eq!(ours.mover.cycle(), theirs.cycle);
        assert_eq!(ours.read(core, regs::STATUS.offset(), time), theirs.status());
        assert_eq!(ours.mover.counters().refused, theirs.refused);
    }
    assert!(ours.configuration == theirs.configuration, "configuration space");
    assert!(ours.instructions == theirs.instructions, "instruction ram");
    assert!(ours.scratch == theirs.scratch, "scratch");
}

/// Accesses to the windows of a whole device that checks.
fn access(mut steps: Steps<'_>) {
    let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(0x4000_0000), 0x4000)]).expect("memory");
    let options = Options { check: true, ..Options::default() };
    let mut ane = Ane::new(&options, memory).expect("the default chip has an engine");
    let mut now = Ticks(0);
    for _ in 0..ACCESSES {
        let Some(what) = steps.next() else { break };
        // Registers, what is added to them, configuration space, the port.
        let (base, bytes) =
            [(0x1f1_0000, 0x5400), (0x1f1_8000, 0x400), (0x1f2_0000, 0x1_0000), (0x1f3_0000, 0x40)]
                [usize::from(what % 4)];
        let at = EngineOffset(base + steps.number(2) as u32 % bytes);
        match what / 4 % 8 {
            0 => _ = ane.read(at, now),
            1 => _ = ane.read_wide(at, steps.number(1) as u8 % 9, now),
            2 => _ = ane.write_wide(at, steps.number(1) as u8 % 9, steps.number(8), now),
            3 => {
                now = Ticks(now.0.saturating_add(steps.number(2)));
                _ = ane.work(now);
            }
            _ => _ = ane.write(EngineOffset(at.0 & !3), steps.number(4) as u32, now),
        }
    }
    assert!(!ane.dump().is_empty());
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut steps = Steps(input);
    let how = steps.number(1) as u8;
    if how & 1 == 0 { compare(how, steps) } else { access(steps) }
});
