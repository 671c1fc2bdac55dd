//! Programs with wide BARs: the driver's registers hold what they can, and the firmware's table the rest.

use ane::build::Built;
use ane_driver::bus::Bus;
use ane_tests::client::{Buffer, Loaded};
use ane_tests::null_task::program;
use ane_uapi::hw::firmware::{self, Answer, FIRMWARE, Order, OrderWord};
use ane_uapi::hw::rebase::ClampedBuffer;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tq::QueueId;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_INFO, BoInfo};
use ane_uapi::register::{Reg, Word};
use half::f16;
use zerocopy::FromZeros;

use super::rig::{EmbeddedClients, rig};

/// Above what a BAR of 32 bits holds.
const APERTURE: u64 = 0x1bc4_0000_0000;

fn write<T: Word>(rig: &mut EmbeddedClients, register: &Reg<T>, value: u64, halves: u32) {
    for half in 0..halves {
        let at = EngineOffset(FIRMWARE.base.0 + register.offset() + 4 * half);
        rig.driver.bus_mut().write(at, (value >> (32 * half)) as u32).unwrap();
    }
}

/// Maps the whole aperture of the DART to where the firmware has its own.
fn aperture(rig: &mut EmbeddedClients, mapped_base: u64) {
    write(rig, &firmware::DVA_BASE, 0, 2);
    write(rig, &firmware::REGION_SIZE, 1 << 31, 2);
    write(rig, &firmware::MAPPED_BASE, mapped_base, 2);
}

/// Lets the firmware bind a buffer to a BAR of the driver's queue.
fn bind(rig: &mut EmbeddedClients, bar: u8, buffer: Buffer, is_wide: bool) -> Answer {
    let mut info = BoInfo { handle: buffer.handle, ..BoInfo::new_zeroed() };
    rig.ioctl(buffer.file, &BO_INFO, &mut info).unwrap();
    write(rig, &firmware::ADDRESS, info.device_address, 2);
    write(rig, &firmware::SIZE, buffer.size, 2);
    let order = OrderWord::new()
        .with_order(Order::Bind as u8)
        .with_buffer(ClampedBuffer::Intermediate as u8)
        .with_queue(QueueId::LINUX.number())
        .with_bar(bar)
        .with_wide(is_wide);
    write(rig, &firmware::ORDER, order.into_bits().into(), 1);
    let answer = EngineOffset(FIRMWARE.base.0 + firmware::ANSWER.offset());
    Answer::try_from(rig.driver.bus_mut().read(answer).unwrap() as u8).unwrap()
}

/// A program that passes a number through, with that number in it.
fn loaded(rig: &mut EmbeddedClients, built: &Built, number: f32) -> Loaded {
    let file = rig.open();
    let loaded = rig.load(file, &built.program());
    rig.fill(&loaded, built.surface("x").unwrap(), &[f16::from_f32(number)]);
    loaded
}

fn run(rig: &mut EmbeddedClients, built: &Built, loaded: &Loaded) -> f32 {
    rig.fill(loaded, built.surface("y").unwrap(), &[f16::ZERO]);
    assert_eq!(rig.run(loaded).result, 0, "{:?}", rig.driver.last_failure());
    rig.take(loaded, built.surface("y").unwrap())[0].to_f32()
}

#[test]
fn program_of_the_driver_runs_with_a_wide_bar_out_of_the_firmwares_table() {
    let mut rig = rig();
    let built = program(1);
    let ours = loaded(&mut rig, &built, 3.0);
    assert_eq!(run(&mut rig, &built, &ours), 3.0);
    let bar = built.surface("x").unwrap().bar;
    // Another buffer of the same context, so that its address means something there.
    let input = ours.bar(bar);
    let stand_in = rig.buffer(ours.file, input.size, Usage::Input);
    rig.write(stand_in, 0, &f16::from_f32(7.0).to_le_bytes());
    let mut mapped = ours.clone();
    mapped.bars.iter_mut().find(|(index, _)| *index == bar).unwrap().1 = stand_in;
    assert_eq!(run(&mut rig, &built, &mapped), 7.0);

    aperture(&mut rig, APERTURE);
    assert_eq!(bind(&mut rig, bar, stand_in, false), Answer::NeedsWideBar);
    assert_eq!(run(&mut rig, &built, &ours), 3.0, "what was refused changed nothing");
    assert_eq!(bind(&mut rig, bar, stand_in, true), Answer::Done);
    // The register says where the driver's buffer lies, and the table where the firmware's does.
    assert_eq!(run(&mut rig, &built, &ours), 7.0);
    assert_eq!(bind(&mut rig, bar, input, true), Answer::Done);
    assert_eq!(run(&mut rig, &built, &mapped), 3.0);

    // A narrow binding takes the entry out of the table, and goes to the register.
    aperture(&mut rig, 0);
    assert_eq!(bind(&mut rig, bar, stand_in, false), Answer::Done);
    assert_eq!(run(&mut rig, &built, &mapped), 7.0);
}

#[test]
fn wide_bar_whose_region_was_moved_leads_nowhere_and_the_register_counts() {
    let mut rig = rig();
    let built = program(1);
    let ours = loaded(&mut rig, &built, 3.0);
    assert_eq!(run(&mut rig, &built, &ours), 3.0);
    let bar = built.surface("x").unwrap().bar;
    aperture(&mut rig, APERTURE);
    let output = ours.bar(built.surface("y").unwrap().bar);
    assert_eq!(bind(&mut rig, bar, output, true), Answer::Done);
    assert_eq!(run(&mut rig, &built, &ours), 0.0, "the output as it was");
    aperture(&mut rig, 2 * APERTURE);
    assert_eq!(run(&mut rig, &built, &ours), 3.0);
}
