//! Any bytes as page tables: a walk ends in memory or in a fault with a name, in every format.

#![no_main]

use ane_device::dart::{Access, Circuit, Dart};
use ane_uapi::hw::dart::pte::PteFormat;
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::dart::stream::StreamId;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// Guest memory: four pages, two of which the input fills as tables.
const RAM: u64 = 0x4000_0000;
const PAGE: usize = 0x4000;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((head, tables)) = input.split_first_chunk::<16>() else { return };
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(RAM), 4 * PAGE)]).expect("memory");
    memory.write_slice(&tables[..tables.len().min(2 * PAGE)], GuestAddress(RAM)).expect("fits");

    let format = PteFormat::ALL[word(0) as usize % PteFormat::ALL.len()];
    let stream = StreamId::new(word(4) % 16).expect("below 16");
    let mut dart = Dart::new(format);
    for window in Window::CARRYING_DMA {
        // A refused write is as good as an accepted one.
        _ = dart.write(window, regs::ENABLED_STREAMS.offset(), 0xffff);
        _ = dart.write(window, regs::TCR.offset() + 4 * u32::from(stream.number()), word(4) >> 8 | 1 << 7);
        _ = dart.write(window, regs::TTBR.offset() + 16 * u32::from(stream.number()), word(8));
    }
    for (index, circuit) in [Circuit::TdFetch, Circuit::TileFetch1, Circuit::TileSend].into_iter().enumerate()
    {
        let access = if index == 2 { Access::Write } else { Access::Read };
        let mut bytes = vec![0; 1 + (word(12) >> 16) as usize % 0x9000];
        let address = u64::from(word(12) & 0xffff) << (index * 6);
        let mut dma = dart.dma(&memory, stream, circuit);
        let Ok(Some(range)) = dma.range(address, bytes.len() as u64, access) else { continue };
        let outcome = match access {
            Access::Read => dma.read(range, &mut bytes),
            Access::Write => dma.write(range, &bytes),
        };
        if let Err(info) = outcome {
            info.check().expect("a fault's descriptor is sound");
            assert_eq!(info.stream(), Ok(stream));
        }
    }
    for (_, info) in dart.take_faults() {
        info.check().expect("a captured fault is sound");
    }
});
