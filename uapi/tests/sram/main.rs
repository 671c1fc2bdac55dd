//! The memory hierarchy against seed 003, and its arithmetic against brute force.

mod banks;
mod brute;
mod residency;
mod strides;

use ane_uapi::hw::hal::Generation;
use ane_uapi::hw::sram::Hierarchy;

const MB: u64 = 1 << 20;

fn m1() -> Hierarchy {
    Hierarchy::of(Generation::H13)
}
