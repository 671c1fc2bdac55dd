//! Any bytes as what a guest does: register accesses, time passing, and the memory that the engine is led to.
//!
//! Twelve bytes are one step: an operation, an offset, a value. The rest becomes guest memory.

#![no_main]

use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tq::QueueId;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// Guest memory: 64 pages, where a Linux guest's RAM starts.
const RAM: u64 = 0x4000_0000;
const RAM_BYTES: usize = 64 * 0x4000;

/// Steps of one input; what is behind them is memory.
const STEPS: usize = 256;

/// Offsets that are likely to be something, for half of the steps.
fn offset(raw: u32) -> u32 {
    match raw % 4 {
        0 => 0x1c2_4000 + (raw >> 2) % 0x80,
        1 => QueueId::ALL[(raw >> 2) as usize % 8].base().0 + ((raw >> 5) % 0x52) * 4,
        2 => [0x180_0000, 0x181_0000, 0x182_0000][(raw >> 2) as usize % 3] + ((raw >> 4) % 0x500) * 4,
        _ => raw,
    }
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(RAM), RAM_BYTES)]).expect("memory");
    let steps = input.chunks_exact(12).take(STEPS);
    let contents = input.get(12 * STEPS..).unwrap_or_default();
    memory.write_slice(&contents[..contents.len().min(RAM_BYTES)], GuestAddress(RAM)).expect("fits");
    let mut ane = Ane::new(&Options::default(), memory).expect("the default chip has an engine");
    let mut now = Ticks(0);
    for step in steps {
        let word = |at: usize| u32::from_le_bytes([step[at], step[at + 1], step[at + 2], step[at + 3]]);
        let (what, raw, value) = (word(0), word(4), word(8));
        let at = EngineOffset(offset(raw));
        match what % 8 {
            0..=3 => _ = ane.write(at, value, now),
            4 => _ = ane.read(at, now),
            5 => _ = ane.read_wide(at, value as u8, now),
            6 => {
                now = Ticks(now.0.saturating_add(value.into()));
                _ = ane.work(now);
            }
            _ if value % 64 == 0 => ane.reset(now),
            _ => _ = ane.take_events().count(),
        }
    }
    assert!(!ane.dump().is_empty());
});
