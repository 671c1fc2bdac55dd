//! A chain of a thousand small tasks: pass-throughs of one element.
//!
//! The tasks differ, so nothing of one serves the next.

use ane::container::{Axes, Bar, Container, Direction, Element, Generation, Program, Role, Surface};
use ane_tests::runner::{EmbeddedRunner, Outcome};
use ane_uapi::hw::td::header::{Flags, Header, Identity, Length, NextPointer, OperandBases};
use ane_uapi::hw::td::record::{FULL, RecordHeader};
use half::f16;

/// Tasks of the chain.
pub(crate) const TASKS: u32 = 1000;
/// Bytes from one descriptor to the next.
const STEP: u32 = 0x300;
/// Pass-through of one element, as the compiler writes it.
const NULL: &[(u32, u32)] = &[
    (0x00, 0x0001_0001),
    (0x04, 1),
    (0x08, 0x22),
    (0x0c, 1),
    (0x10, 1),
    (0x14, 0x0001_0001),
    (0x18, 1),
    (0x1c, 0x5000_a021),
    (0x20, 0x2041),
    (0x24, 0x0001_4001),
    (0x28, 1),
    (0x34, 0x0401_0101),
    (0x38, 0x10_0000),
    (0x1_3800, 0x0003_3881),
    (0x1_380c, 0x40),
    (0x1_3810, 0x40),
    (0x1_3838, 0x0100_2031),
    (0x4804, 0x0050_0172),
    (0x480c, 0x10),
    (0x4810, 0x10),
    (0x4830, 0x0050_017a),
    (0x4834, 0x10),
    (0xc800, 0x80),
    (0xc804, 0x0010_000c),
    (0xc810, 0x3c00),
    (0x1_7800, 0x0400_00c1),
    (0x1_7808, 0x40),
    (0x1_780c, 0x40),
    (0x1_7818, 0x0130_2031),
];

fn descriptor(index: u32) -> Vec<u8> {
    let is_last = index + 1 == TASKS;
    let header = Header {
        identity: Identity::new().with_tid(index as u16).with_lnid(index != 0).with_eon(is_last),
        length: Length::new().with_next_size(if is_last { 0 } else { 156 }),
        flags: Flags::new().with_src_loc(true).with_dst_loc(true),
        next: NextPointer::from_bits(if is_last { 0 } else { STEP * (index + 1) }),
        operands: OperandBases::new()
            .with_rbase0(5)
            .with_rbe0(true)
            .with_wbase(4)
            .with_wbe(true)
            .with_tbe(!is_last)
            .with_ene(1),
        ..Header::default()
    };
    let mut words = header.encode()[..header.words()].to_vec();
    for record in FULL {
        words.push(record);
        let record = RecordHeader::from_bits(record);
        words.extend((0..record.count()).map(|i| match record.address() + 4 * i {
            0x1_3808 | 0x1_7804 => 64 * index,
            address => NULL.iter().find(|(known, _)| *known == address).map_or(0, |(_, value)| *value),
        }));
    }
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn surface(direction: Direction, bar: u8) -> Surface<'static> {
    let bytes = u64::from(TASKS) * 64;
    Surface {
        name: direction.name().into(),
        direction,
        bar,
        element: Element::Half,
        shape: Axes { n: 1, c: TASKS, h: 1, w: 1 },
        dims: None,
        strides: Axes { n: bytes, c: 64, h: 64, w: 2 },
        total_bytes: bytes,
        buffer_bytes: bytes,
    }
}

/// The chain in the memory of a device, having run once.
pub(crate) fn load(mut device: EmbeddedRunner) -> EmbeddedRunner {
    let mut stream = Vec::new();
    for index in 0..TASKS {
        stream.resize((index * STEP) as usize, 0);
        stream.extend(descriptor(index));
    }
    let bar = |index, role, bytes: usize| Bar { index, role, link: None, bytes: bytes as u64 };
    let program = Program {
        container: Container::Anec,
        generation: Generation::H13,
        first_task_bytes: 0x274,
        task_count: TASKS,
        constants: Vec::new(),
        bars: vec![
            bar(0, Role::Tasks, stream.len()),
            bar(4, Role::Surface(1), 64 * TASKS as usize),
            bar(5, Role::Surface(0), 64 * TASKS as usize),
        ],
        surfaces: vec![surface(Direction::Input, 5), surface(Direction::Output, 4)],
        layers: Vec::new(),
        notes: Vec::new(),
        banner: None,
        warnings: Vec::new(),
        stream: &stream,
    };
    device.load(&program);
    let values: Vec<f16> = (0..TASKS).map(|i| f16::from_f32(i as f32)).collect();
    device.fill(&program.surfaces[0], &values);
    assert_eq!(device.run(), Outcome::Done);
    assert_eq!(device.take(&program.surfaces[1]), values, "every task copies its element");
    device
}
