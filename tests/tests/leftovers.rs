//! The state that one task leaves for the next: registers, bytes on chip, and bytes that nobody knows.

use ane::embedded;
use ane_device::Options;
use ane_device::options::Numerics;
use ane_driver::bus::Bus;
use ane_driver::companion::mover;
use ane_tests::differential::task::TaskDraft;
use ane_tests::differential::{Case, ProgramEnd, STEP};
use ane_tests::runner::{EmbeddedRunner, Runner};
use ane_uapi::hw::mmio_map::Region;
use ane_uapi::hw::mover::Direction;
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::ioctl::companion::Mover;

/// A planar copy of two batches of one row of 32 columns, source from BAR 5 and result to BAR 4.
fn copy() -> TaskDraft {
    let mut task =
        TaskDraft { flags: 0x3000_9800, operands: 5 | 1 << 5 | (4 | 1 << 5) << 12, ..TaskDraft::default() };
    let registers = [
        (0x00, 0x0001_0020),
        (0x04, 1),
        (0x08, 0x22),
        (0x0c, 1),
        (0x10, 1),
        (0x14, 0x0001_0020),
        (0x18, 1),
        (0x1c, 0x5000_a021),
        (0x24, 0x0001_0002),
        (0x28, 1),
        (0x2c, 5),
        (0x34, 0x21),
        (0x4804, 0x0050_0171),
        (0x480c, 0x40),
        (0x4810, 0x40),
        (0x4818, 0x40),
        (0x4830, 0x0050_0172),
        (0x4834, 0x1000),
        (0x4838, 0x40),
        (0x483c, 0x40),
        (0x4844, 0x1000),
        (0x8804, 0x3c00_0000),
        (0x8808, 0x3c00_0000),
        (0x880c, 0x3f80_0000),
        (0x1_3800, 0x0003_3881),
        (0x1_3818, 0x40),
        (0x1_3838, 0x0100_2031),
        (0x1_7800, 0x0400_00c1),
        (0x1_7814, 0x40),
        (0x1_7818, 0x0130_2031),
    ];
    registers.into_iter().for_each(|(address, value)| task.set(address, value));
    task
}

/// The copy, and then one of a single batch that reads on chip at `base`.
fn copy_then_read(base: u32) -> Case {
    let mut second = copy();
    second.set(0x24, 0x0001_0001);
    second.set(0x4804, 0x0050_0170);
    second.set(0x4808, base);
    let mut bars = [0; 32];
    let region = |bar: usize, bars: &mut [u32; 32]| {
        bars[bar] = 0x10_0000 * (bar as u32 + 1);
        bars[bar]
    };
    let regions = vec![
        (region(0, &mut bars), TaskDraft::stream(&[copy(), second])),
        (region(4, &mut bars), vec![0; 0x100]),
        (region(5, &mut bars), vec![0x3c; 0x100]),
    ];
    Case { regions, bars, tasks: 2, first_words: copy().layout.words(), numerics: Numerics::M1 }
}

fn ends(case: &Case) -> [ProgramEnd; 2] {
    [ProgramEnd::of(case.on_device().0), case.on_reference(case.machine()).0]
}

#[test]
fn window_of_a_streamed_result_is_unknown_in_every_batch() {
    assert_eq!(ends(&copy_then_read(0x1000)), [ProgramEnd::Refused; 2], "first batch");
    assert_eq!(ends(&copy_then_read(0x2000)), [ProgramEnd::Refused; 2], "second batch");
    assert_eq!(ends(&copy_then_read(0x3000)), [ProgramEnd::Done; 2], "behind both");
}

#[test]
fn source_that_is_kept_is_on_chip_in_every_batch() {
    let case = copy_then_read(0x40);
    assert_eq!(case.compare(), Ok(ProgramEnd::Done));
    let (_, after) = case.on_device();
    assert_eq!(after[1][..0x40], [0x3c; 0x40]);
}

#[test]
fn task_whose_second_batch_is_unknown_writes_not_even_its_first() {
    let mut second = copy();
    let batches = [(0x4804, 0x0050_0170), (0x4818, 0x1000), (0x8804, 0x4000_0000)];
    batches.into_iter().for_each(|(address, value)| second.set(address, value));
    let mut case = copy_then_read(0);
    case.regions[0].1 = TaskDraft::stream(&[copy(), second]);
    assert_eq!(ends(&case), [ProgramEnd::Refused; 2]);
    let (_, after) = case.on_device();
    assert_eq!(after[1][..0x80], [0x3c; 0x80], "what the first task wrote, and not twice of it");
}

/// The copy, then something that is done to the chip, and then a request that reads 0x40 bytes on chip at `base`: how that
/// ended, and the first byte of its result.
fn copy_then(between: impl FnOnce(&mut EmbeddedRunner), base: u32) -> (ProgramEnd, u8) {
    let case = copy_then_read(base);
    let mut runner = Runner::new(embedded::open(&Options::default(), case.memory_bytes()).unwrap());
    for (base, bytes) in &case.regions {
        runner.region_at(Iova(*base), bytes.len() as u64);
        runner.write(Iova(*base), bytes);
    }
    let tasks = Iova(case.regions[0].0);
    let run = |runner: &mut EmbeddedRunner, task| {
        runner.submit_at(Iova(tasks.0 + task * STEP), 4 * case.first_words, 1, case.bars);
        ProgramEnd::of(runner.wait())
    };
    assert_eq!(run(&mut runner, 0), ProgramEnd::Done);
    between(&mut runner);
    let end = run(&mut runner, 1);
    (end, runner.read(Iova(case.regions[1].0), 1)[0])
}

/// A transfer of 0x40 bytes between addresses on chip.
fn transfer(runner: &mut EmbeddedRunner, direction: Direction, from: u32, to: u32) {
    let [source, destination] = [from, to].map(|at| at / 16);
    let transfer =
        Mover { direction: direction as u32, size: 4, source, destination, cycles: 0, reserved: 0 };
    mover(&mut runner.guest.bus, &transfer).unwrap();
}

#[test]
fn bytes_that_the_mover_or_a_register_write_puts_on_chip_are_known() {
    assert_eq!(copy_then(|_| {}, 0x1000).0, ProgramEnd::Refused);
    let fill = |runner: &mut EmbeddedRunner| transfer(runner, Direction::L0ToL1, 0, 0x1000);
    assert_eq!(copy_then(fill, 0x1000), (ProgramEnd::Done, 0));
    // The copy keeps its source at 0x40.
    let copied = |runner: &mut EmbeddedRunner| transfer(runner, Direction::L1ToL1, 0x40, 0x1000);
    assert_eq!(copy_then(copied, 0x1000), (ProgramEnd::Done, 0x3c));
    let write = |from: u32| {
        move |runner: &mut EmbeddedRunner| {
            for at in (from..0x1040).step_by(4) {
                let at = EngineOffset(Region::TileL2.range().start.0 + at);
                runner.guest.bus.write(at, 0x4040_4040).unwrap();
            }
        }
    };
    assert_eq!(copy_then(write(0x1000), 0x1000), (ProgramEnd::Done, 0x40));
    assert_eq!(copy_then(write(0x1004), 0x1000).0, ProgramEnd::Refused, "its first word is not known");
}

#[test]
fn copy_of_unknown_bytes_on_chip_is_as_unknown() {
    assert_eq!(copy_then(|_| {}, 0x8000).0, ProgramEnd::Done);
    let copied = |runner: &mut EmbeddedRunner| transfer(runner, Direction::L1ToL1, 0x1000, 0x8000);
    assert_eq!(copy_then(copied, 0x8000).0, ProgramEnd::Refused);
    assert_eq!(copy_then(copied, 0x8040).0, ProgramEnd::Done, "behind the copy");
}
