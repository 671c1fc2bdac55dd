//! Values that the notes name for fields (td 4; delta 3, 4 and 14), put into the tasks of compiled programs one at a time:
//! whatever a value does, it makes no result that the second engine does not have.
//!
//! One in sixteen is tried, another one in each program; `ANE_MUTATION=all` tries all of them.

use ane_tests::data;
use ane_tests::differential::compare_all;
use ane_tests::random::Random;

use super::{register_files, transcribed, work};

/// Work of a program that is run so often on the second engine.
const WORK_MAX: u64 = 300_000;

/// Every bit of a register.
const ALL: u32 = u32::MAX;

/// A register, the bits of it that are replaced, and by what.
type Listed = (u32, u32, &'static [u32]);

/// The kinds of the tasks, and their extents and operations.
const TASKS: [Listed; 31] = [
    (0x08, 0x3f, &[0x22, 0x2a, 0x20, 0x02, 0x00, 0x0a, 0x08, 0x28]),
    (0x1c, 7 << 10, &[0, 1 << 10, 2 << 10, 3 << 10, 4 << 10, 5 << 10]),
    (0x1c, 3 << 28, &[2 << 28]),
    (0x1c, 0x1f << 17, &[0, 1 << 17]),
    (0x1c, 0x1f << 22, &[0, 1 << 22]),
    (0x1c, 0x1_e000, &[0xa000, 0x1_4000]),
    (0x20, ALL, &[0, 0x2041]),
    (0x24, ALL, &[0x1_0001, 0x1_0002, 0x1_0004, 0x1_4001, 0x2_4001, 0x8_4001, 0x40_4001]),
    (0x28, ALL, &[1, 2, 8, 0x40]),
    (0x2c, ALL, &[0, 4, 5, 6, 9, 0x26, 0x34, 0x35, 0x44, 0x54]),
    (
        0x30,
        ALL,
        &[0, 1, 2, 4, 8, 0x10, 0x20, 0x30, 0x40, 0x80, 0x100, 0x200, 0x300, 0x400, 0x500, 0x503, 0x703],
    ),
    (0x34, 7, &[0, 1, 2, 3, 4, 5]),
    (0x34, 0x7_7700, &[0, 0x3_0000, 0x3_3300, 0x4_4400, 0x301, 0x4400]),
    (0x34, 7 << 19, &[0, 1 << 19, 2 << 19, 3 << 19, 4 << 19]),
    (0x34, 0x15c0_0000, &[0, 1 << 22, 1 << 23, 1 << 24, 1 << 26, 1 << 28]),
    (0x38, ALL, &[0, 0x10_0000]),
    (0x3c, ALL, &[0, 1]),
    (0x8800, 0x1c, &[0, 4, 8, 0xc, 0x10]),
    (0x8800, 0x60, &[0x20, 0x40, 0x60]),
    (0x8800, 0xd_3003, &[0, 2, 0x1000, 0x2000, 0x1_0000, 2 << 18, 3 << 18]),
    (0x8804, ALL, &[0x3c00_0000, 0x3dc5_0000, 0x3c00_3c00]),
    (0x8808, ALL, &[0x3c00_0000, 0x3c00_00a8, 0x3000_0000]),
    (0x880c, ALL, &[0x3f80_0000, 0x3c80_0000]),
    (0xc800, ALL, &[0, 0x7f, 0x80, 0x81, 0x82, 0x182, 0x1082, 0x4082, 0x1_0082]),
    (0xc804, 0xf, &[0, 8, 0xb, 0xc]),
    (0xc804, 0x13_1f10, &[0, 0x10, 0x1c00, 0x1_0000, 0x2_0000, 0x10_0000]),
    (0xc80c, ALL, &[0, 0x11, 0x3401, 0x3c00]),
    (0xc810, ALL, &[0, 0x3000, 0x3c00, 0x3dc5]),
    (0x1_f800, ALL, &[0, 0x40, 0x60]),
    (0x1_f8c8, ALL, &[0, 0x80]),
    (0x1_f8e8, ALL, &[0, 0x40, ALL]),
];

/// Ports, on chip and in memory.
const PORTS: [Listed; 23] = [
    (0x4800, ALL, &[0, 1, 4, 0x10, 0x14, 0x100, 0x3_3880, 0x3_3881]),
    (
        0x4804,
        0x00ff_ffff,
        &[0x50_0131, 0x50_0132, 0x50_0171, 0x50_0172, 0x173, 0x100, 0x104, 0x108, 0x120, 0x130, 0x160, 0x170],
    ),
    (0x4804, 5 << 24, &[1 << 24, 1 << 26]),
    (0x4808, ALL, &[0x4000]),
    (0x4814, ALL, &[0, ALL]),
    (0x4818, ALL, &[0, ALL]),
    (0x481c, ALL, &[0x4000, ALL]),
    (0x4828, ALL, &[0, ALL]),
    (0x482c, ALL, &[0, ALL]),
    (
        0x4830,
        ALL,
        &[0x50_0170, 0x50_0171, 0x50_0172, 0x50_0173, 0x50_017a, 0x50_013a, 0x10a, 0x14a, 0x140, 0x84a],
    ),
    (0x4834, ALL, &[0x4000]),
    (0x4840, ALL, &[0, ALL]),
    (0x4844, ALL, &[0, ALL]),
    (0x1_3800, ALL, &[0, 1, 0x3_3880, 0x3_3881]),
    (0x1_3804, ALL, &[0, 0x3_3880, 0x3_3881, ALL]),
    (0x1_3808, ALL, &[ALL]),
    (0x1_381c, ALL, &[ALL]),
    (0x1_3838, ALL, &[0x0100_2031, 0x0100_0000, 0x0130_2031, 0x0400_2031, 0x0800_2031, 0x0100_0001]),
    (0x1_383c, ALL, &[0, 0x2030, 0x2031, 0x0100_2031, 0x0100_0000, ALL]),
    (0x1_3850, ALL, &[0, 1]),
    (0x1_7800, ALL, &[0, 0xc0, 0xc1, 0x0400_00c1, 0x0440_00c1, 0x004c_00c1]),
    (0x1_7804, ALL, &[ALL]),
    (0x1_7818, ALL, &[0, 0x0100_0000, 0x0100_2031, 0x0130_0000, 0x0130_2031, 0x0430_2031, 0x0830_2031]),
];

/// Each word of a program's tasks that holds a register: the register, and its place in the stream.
fn places(tasks: &[Vec<u32>], offsets: &[usize]) -> Vec<(u32, usize)> {
    let mut places = Vec::new();
    for (words, offset) in tasks.iter().zip(offsets) {
        let mut at = 10 + (words[6] >> 24 & 1) as usize;
        while at < words.len() {
            let (first, count) = (words[at] & 0x03ff_fffc, (words[at] >> 26) as usize + 1);
            places.extend((first..).step_by(4).zip(offset / 4 + at + 1..=offset / 4 + at + count));
            at += count + 1;
        }
    }
    places
}

/// One changed word of a program.
struct Change {
    program: usize,
    register: u32,
    place: usize,
    value: u32,
}

#[test]
fn value_that_the_notes_name_makes_no_result_of_its_own() {
    let Some(paths) = data::transcribed() else { return };
    let all = std::env::var_os("ANE_MUTATION").is_some_and(|values| values == "all");
    let mut random = Random::new(11);
    let (mut programs, mut changes) = (Vec::new(), Vec::new());
    for path in paths {
        let Some((case, tasks, offsets)) = transcribed(&path) else { continue };
        if register_files(&tasks).iter().map(work).sum::<u64>() > WORK_MAX {
            continue;
        }
        for (register, place) in places(&tasks, &offsets) {
            let before = case.word(place);
            let listed = TASKS.iter().chain(&PORTS).filter(|listed| listed.0 == register);
            for value in listed
                .flat_map(|(_, mask, values)| values.iter().map(move |value| before & !mask | value & mask))
            {
                if value != before && (all || random.below(16) == 0) {
                    changes.push(Change { program: programs.len(), register, place, value });
                }
            }
        }
        programs.push((path, case));
    }
    let numbers: Vec<u64> = (0..changes.len() as u64).collect();
    let ends = compare_all(&numbers, |number| {
        let Change { program, register, place, value } = changes[number as usize];
        let (path, case) = &programs[program];
        let mut changed = case.clone();
        changed.set_word(place, value);
        changed.compare().map_err(|why| format!("{} with {value:#x} in {register:#x}: {why}", path.display()))
    });
    assert!(ends[..3].iter().all(|&count| count > 0), "programs run, hang and are refused: {ends:?}");
}
