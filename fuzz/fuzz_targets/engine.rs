//! Any bytes as task streams and the memory that they work on, executed by the whole device.
//!
//! Sixteen bytes choose the tasks of two requests, the arithmetic, and the mix of operands. The rest is the task
//! stream, a descriptor every 0x300 bytes, and behind it the data. Nearly all of the aperture is mapped, to the same
//! few pages again and again, so that operands of any size are there; the last BARs lead to what is not mapped.
//! Registers and the chip persist from the first request to the second. Nothing here limits what a task may take:
//! that is for the device to do.

#![no_main]

use std::sync::LazyLock;

use ane_device::options::{Hang, Numerics};
use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::pte::{LeafFormat, Seed};
use ane_uapi::hw::dart::regs::{self, Tcr, Window};
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, PhysAddr};
use ane_uapi::hw::tm::{self, Push, QueueEnable, RequestInfo};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, Slot};
use ane_uapi::hw::usage::Protection;
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// Guest memory: a table of tables, a table of leaves, and the pages that all leaves lead to.
const RAM: u64 = 0x4000_0000;
const PAGES: u64 = 16;
const PAGE: u64 = PAGE_SIZE as u64;
const DATA: u64 = RAM + 2 * PAGE;

/// Entries of the first table that lead somewhere: 3 GiB of the aperture's three and a half.
const MAPPED: u64 = 96;

/// Leaves of a table.
const LEAVES: u64 = PAGE / 8;

/// From one BAR to the next: BAR 1 is right behind the task stream, and the last few are not mapped.
const BAR_STEP: u32 = 0x0660_1c00;

/// From one descriptor to the next, and the bytes of each.
const STEP: usize = 0x300;
const DESCRIPTOR: u32 = 0x274;

/// Tasks of a request.
const TASKS: u8 = 8;

/// The bytes of both tables, which are the same for each input.
static TABLES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let leaves = Seed::encode_table(PhysAddr(RAM + PAGE)).expect("table can be named");
    let first = (0..LEAVES).map(|n| if n < MAPPED { leaves } else { 0 });
    let protection = Protection::new().with_device_reads(true).with_device_writes(true);
    let second = (0..LEAVES).map(|n| {
        let page = PhysAddr(DATA + n % PAGES * PAGE);
        Seed::encode(page, protection).expect("page can be mapped")
    });
    first.chain(second).flat_map(u64::to_le_bytes).collect()
});

/// Guest memory with its tables.
fn memory() -> GuestMemoryMmap {
    let bytes = usize::try_from((PAGES + 2) * PAGE).expect("small");
    let memory = GuestMemoryMmap::<()>::from_ranges(&[(GuestAddress(RAM), bytes)]).expect("memory");
    memory.write_slice(&TABLES, GuestAddress(RAM)).expect("fits");
    memory
}

/// Tells the DART where its tables are.
fn attach(ane: &mut Ane<GuestMemoryMmap>) {
    let base = Ttbr::of(PhysAddr(RAM)).expect("table can be named").into_bits();
    let tcr = Tcr::new().with_translate(true).into_bits();
    for window in Window::CARRYING_DMA {
        for (register, value) in [(regs::TTBR.offset(), base), (regs::TCR.offset(), tcr)] {
            ane.write(EngineOffset(window.base().0 + register), value, Ticks(0)).expect("window is there");
        }
    }
}

/// Runs `tasks` tasks from offset `first` of the stream to their end.
fn run(ane: &mut Ane<GuestMemoryMmap>, first: u32, tasks: u8) {
    let (queue, now) = (QueueId::LINUX, Ticks(0));
    let slot = Slot::First.registers(Pairing::ByPlace);
    let info = RequestInfo::of(DESCRIPTOR, tasks.into()).expect("descriptor has a length").into_bits();
    let q = |offset: u32, value| (EngineOffset(queue.base().0 + offset), value);
    let t = |offset: u32, value| (EngineOffset(tm::TASK_MANAGER.base.0 + offset), value);
    let bars = (0..32).map(|bar| q(slot.bars + 4 * bar, bar * BAR_STEP));
    let writes = [
        t(tm::QUEUE_ENABLE.offset(), QueueEnable::new().with_enable(true).into_bits()),
        q(tq::STATUS.offset(), QueueStatus::new().with_in_use(true).into_bits()),
        q(slot.nid, RequestNid::of(Nid::LINUX).into_bits()),
        q(slot.size, info & 0xffff_0000),
        q(slot.address, first),
        t(tm::REQUEST_ADDRESS.offset(), first),
        t(tm::REQUEST_INFO.offset(), info),
        t(tm::PUSH.offset(), Push::of(queue).into_bits()),
    ];
    for (at, value) in bars.chain(writes) {
        ane.write(at, value, now).expect("register is there");
    }
    let mut steps = 0;
    while ane.work(now).pending {
        steps += 1;
        assert!(steps <= u32::from(tasks), "a request has no more steps than tasks");
    }
    assert!(ane.task_manager().is_idle() || ane.work(now).at.is_some(), "a request ends or waits");
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first_chunk::<16>() else { return };
    let counts = [how[0] % TASKS + 1, how[1] % TASKS];
    let numerics = [Numerics::M1, Numerics::Exact][usize::from(how[2] % 2)];
    let mut bytes = rest.to_vec();
    bytes.truncate(usize::try_from(PAGES * PAGE).expect("small"));
    // The first descriptor of a chain carries the request's network id.
    for first in [0, usize::from(counts[0]) * STEP] {
        if let Some(nid) = bytes.get_mut(first + 2) {
            *nid = Nid::LINUX.number();
        }
    }
    let memory = memory();
    memory.write_slice(&bytes, GuestAddress(DATA)).expect("fits");
    let options = Options { numerics, hang: Hang::Report, ..Options::default() };
    let mut ane = Ane::new(&options, memory).expect("the default chip has an engine");
    attach(&mut ane);
    run(&mut ane, 0, counts[0]);
    if counts[1] > 0 {
        run(&mut ane, u32::from(counts[0]) * STEP as u32, counts[1]);
    }
});
