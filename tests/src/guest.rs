//! As much of a driver as a test of the device needs: page tables, and a request.

use std::time::Duration;

use ane_driver::bus::{Bus, DmaMemory, Operation};
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::dart::pte::{LeafFormat, Seed};
use ane_uapi::hw::dart::regs::{self, StreamCommand, Streams, Tcr, Window};
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::dart::ttbr::Ttbr;
use ane_uapi::hw::dart::walk::{self, WalkIndices};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova, PhysAddr};
use ane_uapi::hw::tm::{self, InterruptEnable, LineEnable, Push, QueueEnable, RequestInfo};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, Slot};
use ane_uapi::hw::usage::Protection;
use ane_uapi::wire::event::Event;

const PAGE: usize = PAGE_SIZE as usize;

/// A device behind a bus, and its memory, of which pages are given away from the start.
pub struct BareGuest<B> {
    pub bus: B,
    next: usize,
    table: PhysAddr,
}

/// The offset of a window's register.
fn at(window: Window, register: u32) -> EngineOffset {
    EngineOffset(window.base().0 + register)
}

impl<B: Bus> BareGuest<B> {
    /// A guest without any mapping.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn new(bus: B) -> Self {
        let mut guest = Self { bus, next: 0, table: PhysAddr(0) };
        guest.table = guest.page();
        guest
    }

    /// A zeroed page.
    ///
    /// # Panics
    ///
    /// If there is none left.
    pub fn page(&mut self) -> PhysAddr {
        let page = PhysAddr(self.bus.memory().base().0 + self.next as u64);
        self.next += PAGE;
        self.bus.memory().write(page, &[0; PAGE]).expect("there is a page left");
        page
    }

    /// Makes `iova` lead to `page`, in the tables only.
    ///
    /// # Panics
    ///
    /// If the tables cannot be written.
    pub fn map(&mut self, iova: Iova, page: PhysAddr) {
        let protection = Protection::new().with_device_reads(true).with_device_writes(true);
        let leaf = Seed::encode(page, protection).expect("page can be mapped");
        self.set_leaf(iova, leaf);
    }

    /// Makes `iova` lead nowhere, in the tables only.
    pub fn unmap(&mut self, iova: Iova) {
        self.set_leaf(iova, 0);
    }

    fn set_leaf(&mut self, iova: Iova, leaf: u64) {
        let indices = WalkIndices::of_iova(iova);
        let entry = walk::entry(self.table, indices.l2).expect("entry lies in its table");
        let word = self.memory().load_u64(entry).expect("table is memory");
        let leaves = match Seed::decode_table(word).expect("entry is well formed") {
            Some(leaves) => leaves,
            None => {
                let leaves = self.page();
                let word = Seed::encode_table(leaves).expect("table can be named");
                self.memory().store_u64(entry, word).expect("table is memory");
                leaves
            }
        };
        let entry = walk::entry(leaves, indices.l3).expect("entry lies in its table");
        self.memory().store_u64(entry, leaf).expect("table is memory");
    }

    fn memory(&self) -> &DmaMemory {
        self.bus.memory()
    }

    /// Tells the three windows where stream 0 finds its tables.
    ///
    /// # Panics
    ///
    /// If the device refuses.
    pub fn attach(&mut self) {
        let base = Ttbr::of(self.table).expect("table can be named").into_bits();
        let tcr = Tcr::new().with_translate(true).into_bits();
        let writes: Vec<_> = Window::CARRYING_DMA
            .into_iter()
            .flat_map(|window| {
                [
                    Operation::Write(at(window, regs::TTBR.offset()), base),
                    Operation::Write(at(window, regs::TCR.offset()), tcr),
                ]
            })
            .collect();
        self.bus.batch(&writes, &mut []).expect("windows can be programmed");
        self.invalidate();
    }

    /// Drops what the translation buffers hold of stream 0.
    ///
    /// # Panics
    ///
    /// If the device refuses.
    pub fn invalidate(&mut self) {
        let select = Streams::new().with_mask(StreamId::BASE.bit()).into_bits();
        let command = StreamCommand::new().with_invalidate(true).into_bits();
        let writes: Vec<_> = Window::CARRYING_DMA
            .into_iter()
            .flat_map(|window| {
                [
                    Operation::Write(at(window, regs::STREAM_SELECT.offset()), select),
                    Operation::Write(at(window, regs::STREAM_COMMAND.offset()), command),
                ]
            })
            .collect();
        self.bus.batch(&writes, &mut []).expect("translations can be dropped");
    }

    /// The writes with which a driver submits: queue 4, 32 BARs, one task whose descriptor is at `iova`.
    ///
    /// # Panics
    ///
    /// If the descriptor's length makes no sense.
    pub fn submission(iova: Iova, bytes: u32, nid: u8) -> Vec<Operation> {
        let queue = QueueId::LINUX;
        let slot = Slot::First.registers(Pairing::ByPlace);
        let nid = RequestNid::of(Nid::new(nid.into()).expect("a network id is not zero"));
        let info = RequestInfo::of(bytes, 1).expect("descriptor has a length").into_bits();
        let q = |offset: u32, value| Operation::Write(EngineOffset(queue.base().0 + offset), value);
        let t = |offset: u32, value| Operation::Write(EngineOffset(tm::TASK_MANAGER.base.0 + offset), value);
        let mut writes = vec![
            t(tm::QUEUE_ENABLE.offset(), QueueEnable::new().with_enable(true).into_bits()),
            t(tm::INTERRUPT_ENABLE.offset(), InterruptEnable::new().with_events(true).into_bits()),
            t(tm::LINE_ENABLE.offset(), LineEnable::new().with_lines(1).into_bits()),
            q(tq::STATUS.offset(), QueueStatus::new().with_in_use(true).into_bits()),
        ];
        writes.extend((0..32).map(|bar| q(slot.bars + 4 * bar, iova.0)));
        writes.extend([
            q(slot.nid, nid.into_bits()),
            q(slot.size, info & 0xffff_0000),
            q(slot.address, iova.0),
            t(tm::REQUEST_ADDRESS.offset(), iova.0),
            t(tm::REQUEST_INFO.offset(), info),
            t(tm::PUSH.offset(), Push::of(queue).into_bits()),
        ]);
        writes
    }

    /// Submits as [`BareGuest::submission`] says.
    ///
    /// # Panics
    ///
    /// If the device refuses.
    pub fn submit(&mut self, iova: Iova, bytes: u32, nid: u8) {
        let writes = Self::submission(iova, bytes, nid);
        self.bus.batch(&writes, &mut []).expect("request can be submitted");
    }

    /// The next event.
    ///
    /// # Panics
    ///
    /// If none comes in time.
    pub fn event(&mut self) -> Event {
        self.bus.event(crate::daemon::LIMIT).expect("bus is sound").expect("an event comes")
    }

    /// True if no event comes for a while.
    ///
    /// # Panics
    ///
    /// If the bus fails.
    pub fn is_quiet(&mut self) -> bool {
        self.bus.event(Duration::from_millis(50)).expect("bus is sound").is_none()
    }
}
