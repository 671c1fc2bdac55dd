//! How fast the mover copies 64 KB in scratch, its registers and all, to what memcpy makes of the same bytes.

use std::hint::black_box;
use std::time::Instant;

use ane_device::mover::{Memories, Mover, Settings};
use ane_uapi::hw::mover::regs::{Core, RegisterId};

use crate::report::{self, median};

/// Rounds of each measurement; the median is what is reported.
const ROUNDS: usize = 21;

/// Bytes of a copy by the mover.
const COPY: usize = 64 << 10;

/// The time of a copy by the mover and by memcpy, in nanoseconds, and the ratio.
fn copy() -> (f64, f64, f64) {
    let mut scratch: Vec<u8> = (0..2usize << 20).map(|n| (n * 31 + n / 251) as u8).collect();
    let (mut configuration, mut instruction_ram) = (vec![0; 0x1_0000], vec![0; 0x1_0000]);
    let mut mover = Mover::new(Settings::default());
    let registers = [
        RegisterId::XMOV_SRC_ADDR,
        RegisterId::XMOV_DST_ADDR,
        RegisterId::XMOV_SIZE,
        RegisterId::XMOV_DIRECTION,
        RegisterId::COMMAND_ADDR,
    ];
    let mut time = 0;
    let mut by_mover = |scratch: &mut [u8]| {
        let mut memories = Memories {
            scratch,
            known: None,
            configuration: &mut configuration,
            instruction_ram: &mut instruction_ram,
        };
        let units = COPY as u32 / 16;
        for (register, value) in registers.into_iter().zip([0, 0x1_0000, units, 3, 0x40]) {
            mover.advance(time, &mut memories);
            mover.write(Core::B, register, 0, value, &mut memories);
        }
        time += 10_000;
    };
    let mut by_memcpy = |scratch: &mut [u8]| {
        let (from, to) = scratch.split_at_mut(0x10_0000);
        black_box(to)[..COPY].copy_from_slice(&black_box(from)[..COPY]);
    };
    let mut run = |work: &mut dyn FnMut(&mut [u8])| {
        let start = Instant::now();
        for _ in 0..200 {
            work(&mut scratch);
            black_box(&scratch);
        }
        start.elapsed().as_nanos() as f64 / 200.0
    };
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (x, y) = (run(&mut by_mover), run(&mut by_memcpy));
        ours.push(x);
        theirs.push(y);
        ratios.push(y / x);
    }
    (median(ours), median(theirs), median(ratios))
}

pub(crate) fn print() {
    let (ours, theirs, ratio) = copy();
    let seen = format!("{ours:.0} ns / {theirs:.0} ns");
    report::line("P2", "copy of 64 KB by the mover / memcpy", &seen, ratio);
}
