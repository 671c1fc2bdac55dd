//! The mover against an interpreter that goes cycle by cycle, on random streams of commands.

use ane_device::mover::{Memories, Mover, Settings};
use ane_tests::random::Random;
use ane_tests::reference::mover::{Account, Mover as Interpreter, MoverBuild};
use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::regs::{self, Core};
use ane_uapi::hw::mover::transfer::Contention;
use ane_uapi::hw::mover::xmov::{self, Tensix};
use ane_uapi::register::{Reg, Word};

/// The mover with its memories.
struct DeviceMover {
    mover: Mover,
    scratch: Vec<u8>,
    configuration: Vec<u8>,
    instructions: Vec<u8>,
}

impl DeviceMover {
    fn write<T: Word>(&mut self, core: usize, register: &Reg<T>, value: u32, time: u64) {
        let (id, index) = regs::RegisterId::find(register.offset()).expect("a register");
        let mut memories = Memories {
            scratch: &mut self.scratch,
            known: None,
            configuration: &mut self.configuration,
            instruction_ram: &mut self.instructions,
        };
        self.mover.advance(time, &mut memories);
        self.mover.write(Core::ALL[core], id, index, value, &mut memories);
    }

    fn read<T: Word>(&mut self, core: usize, register: &Reg<T>, time: u64) -> u32 {
        let (id, index) = regs::RegisterId::find(register.offset()).expect("a register");
        let mut memories = Memories {
            scratch: &mut self.scratch,
            known: None,
            configuration: &mut self.configuration,
            instruction_ram: &mut self.instructions,
        };
        self.mover.advance(time, &mut memories);
        self.mover.read(Core::ALL[core], id, index)
    }

    fn port(&mut self, offset: u32, value: u32, time: u64) {
        let (id, thread) = xmov::RegisterId::find(offset).expect("a register");
        let mut memories = Memories {
            scratch: &mut self.scratch,
            known: None,
            configuration: &mut self.configuration,
            instruction_ram: &mut self.instructions,
        };
        self.mover.advance(time, &mut memories);
        self.mover.write_port(id, thread, value, &mut memories);
    }
}

/// An address in units that is usually in the memory of its kind, often at one of its ends.
fn unit(random: &mut Random) -> u32 {
    match random.below(8) {
        0 => random.word(),
        1 => 0x1_fff0 + random.below(0x20),
        2 => 0xff0 + random.below(0x20),
        3 => 0x4000 + random.below(0x1010),
        4 => 0x3ff0 + random.below(0x20),
        _ => random.below(0x400),
    }
}

fn size(random: &mut Random) -> u32 {
    match random.below(6) {
        0 => random.word() & 0x3_ffff & !0xff00,
        1 => 0,
        _ => random.below(0x60),
    }
}

fn command(random: &mut Random) -> u32 {
    let operands = random.word() & 0x7fff_ff00;
    match random.below(9) {
        0 => 0x8000_0089,
        1 => 0x8000_0046,
        2 => 0x0000_0089 | operands,
        3 => 0x0000_0066 | operands,
        4 => 0x0000_0666 | operands,
        5 => 0x8000_0040 | operands,
        6 => random.word(),
        _ => 0x40,
    }
}

/// A stream of accesses, compared after each.
fn stream(seed: u64) {
    let mut random = Random::new(seed);
    let [is_isa, contended, waits_for_credit, wormhole] = [0; 4].map(|_| random.below(2) == 1);
    let mut theirs = Interpreter::new(MoverBuild {
        account: if is_isa { Account::Isa } else { Account::Seed },
        contended,
        waits_for_credit,
        wormhole,
    });
    for byte in theirs.scratch.iter_mut().take(0x8000).step_by(3) {
        *byte = random.word() as u8;
    }
    // Descriptors in both banks, wherever the chip looks for them.
    for word in [76, 88, 0x100 + 76, 0x100 + 88] {
        let transfer = random.below(4) << 30 | random.below(0x40);
        let words = [unit(&mut random), unit(&mut random), transfer];
        for (i, value) in words.into_iter().enumerate() {
            theirs.configuration[4 * (word + i)..][..4].copy_from_slice(&value.to_le_bytes());
        }
    }
    let mut ours = DeviceMover {
        mover: Mover::new(Settings {
            profile: if is_isa { Profile::Isa } else { Profile::Seed },
            chip: if wormhole { Tensix::Wormhole } else { Tensix::Blackhole },
            contention: if contended { Contention::Contended } else { Contention::Ideal },
            waits_for_credit,
            check: false,
        }),
        scratch: theirs.scratch.clone(),
        configuration: theirs.configuration.clone(),
        instructions: theirs.instructions.clone(),
    };
    let parameters: [&Reg<_>; 2] = [&regs::XMOV_SRC_ADDR, &regs::XMOV_DST_ADDR];
    let mut time = 0;
    for step in 0..60 {
        time += u64::from([0, 0, 1, random.below(8), random.below(200)][random.below(5) as usize]);
        theirs.until(time);
        let core = random.below(5) as usize;
        match random.below(8) {
            0 => {
                let base = random.below(0x800);
                ours.write(core, &regs::XMOV_L1_BASE_ADDR, base, time);
                theirs.set_base(core, base);
            }
            1 => {
                let (thread, word) = (random.below(3), 0x4000_0000 | random.below(8) << 22);
                ours.port(xmov::ISSUE.offset() + 4 * thread, word, time);
                theirs.xmov(thread as usize, word);
            }
            2 => {
                let (thread, block) = (random.below(3), random.word() & 0x51);
                let condition = random.word() & 0x1200;
                ours.port(xmov::STALL_WAIT.offset() + 4 * thread, block << 16 | condition, time);
                theirs.stallwait(thread as usize, block, condition);
            }
            3 => assert_eq!(
                ours.read(core, &regs::XMOV_L1_BASE_ADDR, time),
                theirs.base(core),
                "seed {seed}, step {step}"
            ),
            _ => {
                for (index, register) in parameters.into_iter().enumerate() {
                    let value = unit(&mut random);
                    ours.write(core, register, value, time);
                    theirs.set_parameter(index, value);
                }
                let [size, direction, word] = [size(&mut random), random.word(), command(&mut random)];
                ours.write(core, &regs::XMOV_SIZE, size, time);
                theirs.set_parameter(2, size);
                ours.write(core, &regs::XMOV_DIRECTION, direction, time);
                theirs.set_parameter(3, direction);
                ours.write(core, &regs::COMMAND_ADDR, word, time);
                theirs.command(core, word);
            }
        }
        let context = format!("seed {seed}, step {step}");
        assert_eq!(ours.mover.cycle(), theirs.cycle, "cycle, {context}");
        assert_eq!(ours.read(0, &regs::STATUS, time), theirs.status(), "status, {context}");
        assert_eq!(ours.mover.counters().refused, theirs.refused, "refused, {context}");
        assert!(ours.configuration == theirs.configuration, "configuration space, {context}");
        assert!(ours.instructions == theirs.instructions, "instruction ram, {context}");
        assert!(ours.scratch == theirs.scratch, "scratch, {context}");
    }
}

#[test]
fn mover_agrees_with_the_interpreter_on_random_streams() {
    let streams = std::env::var("ANE_MOVER_STREAMS").ok().and_then(|text| text.parse().ok());
    for seed in 0..streams.unwrap_or(25) {
        stream(seed);
    }
}
