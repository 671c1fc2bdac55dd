//! Random programs as a walk over one crowded memory.
//!
//! [`super::random_case`] gives each task operands and room of its own, and [`super::built`] leaves places to the
//! builder. Here tasks share what there is: an operand is what an earlier task read or wrote, whole or in part, in
//! memory or on chip; a result may go on top of its own operand, of coefficients or of a table that a later task
//! reads; rows repeat, overlap or lie among channels; coefficients are whatever lies where the fetcher is sent. A
//! descriptor writes what has to change and little else, in records of any length and order, so that registers of
//! engines at rest keep what other tasks left there. Descriptors themselves lie in any order in the stream.
//!
//! * `place`: where operands lie, and what is known of memory and chip.
//! * `neural`, `planar`: what tasks do.
//! * `written`: descriptors.

mod neural;
mod place;
mod planar;
mod written;

use ane_device::options::Numerics;

use super::Case;
use super::neural::MODES;
use super::task::{half, halves};
use crate::random::Random;
use place::UsedPlaces;
use written::{Delta, stream};

/// Device address and bytes of the task stream, BAR 0.
const STREAM: (u32, u32) = (0x10_0000, 0x4000);
/// Those of the constants, BAR 1: tables first, then noise.
const CONSTANTS: (u32, u32) = (0x20_0000, 0x8000);
/// Those of everything else, into which all other BARs point.
const DATA: (u32, u32) = (0x40_0000, 0x1_8000);
/// Most tasks of a program.
const TASKS: u32 = 6;

/// A random program.
pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed ^ 0x77a1_c0de);
    let count = 1 + random.below(TASKS);
    let numerics = if random.below(4) == 0 { Numerics::Exact } else { Numerics::M1 };
    let mut bars = [0; 32];
    (bars[0], bars[1]) = (STREAM.0, CONSTANTS.0);
    for bar in &mut bars[3..10] {
        *bar = DATA.0 + 64 * random.below(64) * random.below(8);
    }
    let mut known = UsedPlaces::new(bars);
    let mut held = Delta::default();
    let tasks: Vec<Delta> = (0..count)
        .map(|_| {
            let mut task = Delta::default();
            if random.below(2) == 0 {
                neural::task(&mut random, &mut known, &mut task);
            } else {
                planar::task(&mut random, &mut known, &mut task);
            }
            task.leave_out(&mut random, &mut held)
        })
        .collect();
    let (stream, first_words) = stream(&mut random, &tasks);
    let mut constants = tables(&mut random);
    constants.extend(halves(&mut random, CONSTANTS.1 as usize - constants.len()));
    let data = halves(&mut random, DATA.1 as usize);
    let regions = vec![(STREAM.0, stream), (CONSTANTS.0, constants), (DATA.0, data)];
    Case { regions, bars, tasks: count as u16, first_words, numerics }
}

/// Where activation tables begin, one in every 128 bytes.
const fn table_at(index: u32) -> u32 {
    CONSTANTS.0 + 128 * index
}

/// A table of noise in each of the modes.
fn tables(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (mode, least, spacings) in MODES {
        let mut table: Vec<u16> = (0..64).map(|_| half(random)).collect();
        (table[0], table[1]) = ([0x0000, 0x8001][random.below(2) as usize], 0x5000);
        if mode < 5 {
            table[0] = 0xd000;
        }
        table[41] = (least + random.below(spacings)) as u16;
        table[42] = mode;
        if matches!(mode & 0xf, 3 | 4) {
            table[4..41].fill(0);
        }
        bytes.extend(table.into_iter().flat_map(u16::to_le_bytes));
    }
    bytes
}
