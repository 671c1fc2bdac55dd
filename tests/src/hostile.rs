//! A frontend that does everything wrong.
//!
//! It knows the protocol well enough to get to where it can do harm: it sets two queues up properly, and then
//! puts whatever a test wants into them.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ane_driver::bus::DmaMemory;
use ane_uapi::hw::space::PhysAddr;
use ane_uapi::wire::ctrl::{Header, RequestKind, Response, Status};
use vhost::vhost_user::message::{VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend, VhostUserFrontend};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};
use zerocopy::{FromBytes, IntoBytes};

use crate::daemon::LIMIT;

/// Where its memory starts.
pub const BASE: u64 = 0x8000_0000;
/// Bytes of its memory.
pub const MEMORY: usize = 1 << 20;
/// Places of its queues.
pub const SIZE: u16 = 16;

/// Where the tables of queue 0 lie, from [`BASE`]; those of queue 1 follow [`QUEUE`] bytes on.
pub const DESCRIPTORS: u64 = 0;
pub const AVAILABLE: u64 = 0x1000;
pub const USED: u64 = 0x2000;
/// Bytes from one queue's tables to the next's.
pub const QUEUE: u64 = 0x4000;
/// A well-formed request; what is behind it is free.
pub const REQUEST: u64 = 0x10000;
pub const ANSWER: u64 = 0x20000;
pub const FREE: u64 = 0x40000;

const FEATURES: u64 = 1 << 32 | 1 << 30 | 1 << 28;

/// Flags of a descriptor.
pub const NEXT: u16 = 1;
/// The device writes it.
pub const WRITE: u16 = 2;
/// It is a table.
pub const INDIRECT: u16 = 4;

/// A descriptor: address from the start of memory, bytes, flags, next.
pub type Descriptor = (u64, u32, u16, u16);

pub struct Hostile {
    /// For messages of the test's own.
    pub frontend: Frontend,
    pub memory: DmaMemory,
    /// To wake the device with.
    pub kicks: [EventFd; 2],
    _calls: [EventFd; 2],
    announced: u16,
    seen: u16,
}

impl Hostile {
    /// Sets everything up as it should be.
    ///
    /// # Panics
    ///
    /// If the device does not play along.
    pub fn new(socket: &Path) -> Self {
        let (frontend, memory) = Self::introduce(socket);
        frontend.set_mem_table(&[Self::region(&memory)]).expect("memory is accepted");
        let eventfd = || EventFd::new(EFD_NONBLOCK).expect("eventfds can be had");
        let mut hostile = Self {
            frontend,
            memory,
            kicks: [eventfd(), eventfd()],
            _calls: [eventfd(), eventfd()],
            announced: 0,
            seen: 0,
        };
        hostile.set_queue_up(0);
        hostile.set_queue_up(1);
        hostile
    }

    /// Gets as far as agreed features.
    ///
    /// # Panics
    ///
    /// If the device does not play along.
    pub fn introduce(socket: &Path) -> (Frontend, DmaMemory) {
        let stream = UnixStream::connect(socket).expect("the daemon listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
        let mut frontend = Frontend::from_stream(stream, 2);
        frontend.set_owner().expect("nobody else is there");
        let offered = frontend.get_features().expect("features are offered");
        assert_eq!(offered & FEATURES, FEATURES);
        let protocol = frontend.get_protocol_features().expect("protocol features are offered");
        let wanted = VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::CONFIGURE_MEM_SLOTS
            | VhostUserProtocolFeatures::RESET_DEVICE;
        assert!(protocol.contains(wanted));
        frontend.set_protocol_features(wanted).expect("protocol features are accepted");
        frontend.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        frontend.set_features(FEATURES).expect("features are accepted");
        (frontend, DmaMemory::new(PhysAddr(BASE), MEMORY).expect("memory can be had"))
    }

    /// The region as it is announced.
    ///
    /// # Panics
    ///
    /// If there is no file behind the memory.
    pub fn region(memory: &DmaMemory) -> VhostUserMemoryRegionInfo {
        let file = memory.region().file_offset().expect("it is a memfd");
        VhostUserMemoryRegionInfo {
            guest_phys_addr: memory.base().0,
            memory_size: memory.region().size() as u64,
            userspace_addr: memory.region().as_ptr() as u64,
            mmap_offset: 0,
            mmap_handle: file.file().as_raw_fd(),
        }
    }

    /// Where queue `index` lies, as messages name it.
    pub fn addresses(&self, index: usize) -> VringConfigData {
        let start = self.memory.region().as_ptr() as u64 + QUEUE * index as u64;
        VringConfigData {
            queue_max_size: SIZE,
            queue_size: SIZE,
            flags: 0,
            desc_table_addr: start + DESCRIPTORS,
            used_ring_addr: start + USED,
            avail_ring_addr: start + AVAILABLE,
            log_addr: None,
        }
    }

    /// Sets a queue up.
    ///
    /// # Panics
    ///
    /// If the device refuses.
    pub fn set_queue_up(&mut self, index: usize) {
        self.frontend.set_vring_num(index, SIZE).expect("size is accepted");
        self.frontend.set_vring_base(index, 0).expect("start is accepted");
        self.frontend.set_vring_addr(index, &self.addresses(index)).expect("addresses are accepted");
        self.frontend.set_vring_call(index, &self._calls[index]).expect("call is accepted");
        self.frontend.set_vring_kick(index, &self.kicks[index]).expect("kick is accepted");
        self.frontend.set_vring_enable(index, true).expect("queue is enabled");
    }

    /// Writes bytes, `at` from the start of memory.
    ///
    /// # Panics
    ///
    /// If they do not fit.
    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.memory.write(PhysAddr(BASE + at), bytes).expect("lies in memory");
    }

    /// Reads bytes.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory.read(PhysAddr(BASE + at), &mut bytes).expect("lies in memory");
        bytes
    }

    /// Writes a table of descriptors.
    pub fn put_table(&self, at: u64, table: &[Descriptor]) {
        for (n, (address, bytes, flags, next)) in (0u64..).zip(table) {
            let address = BASE.wrapping_add(*address).to_le_bytes();
            let rest = [bytes.to_le_bytes().as_slice(), &flags.to_le_bytes(), &next.to_le_bytes()].concat();
            self.put(at + 16 * n, &[address.as_slice(), &rest].concat());
        }
    }

    /// Makes the chain at `head` available, without waking anybody.
    pub fn announce(&mut self, head: u16) {
        let slot = u64::from(self.announced % SIZE);
        self.put(AVAILABLE + 4 + 2 * slot, &head.to_le_bytes());
        self.announced = self.announced.wrapping_add(1);
        self.put(AVAILABLE + 2, &self.announced.to_le_bytes());
    }

    /// Wakes the device.
    ///
    /// # Panics
    ///
    /// If it cannot be woken.
    pub fn kick(&self, queue: usize) {
        self.kicks[queue].write(1).expect("eventfd takes a kick");
    }

    /// Waits for the next chain that the device is done with: its head, and the bytes written.
    pub fn used(&mut self, limit: Duration) -> Option<(u32, u32)> {
        let end = Instant::now() + limit;
        while u16::from_le_bytes(self.get(USED + 2)) == self.seen {
            if Instant::now() >= end {
                return None;
            }
            thread::sleep(Duration::from_micros(200));
        }
        let entry = USED + 4 + 8 * u64::from(self.seen % SIZE);
        self.seen = self.seen.wrapping_add(1);
        Some((u32::from_le_bytes(self.get(entry)), u32::from_le_bytes(self.get(entry + 4))))
    }

    /// Submits the chain at descriptor 0 of `table`, and waits for it: the bytes written.
    ///
    /// # Panics
    ///
    /// If it does not come back.
    pub fn submit(&mut self, table: &[Descriptor]) -> u32 {
        self.put_table(DESCRIPTORS, table);
        self.announce(0);
        self.kick(0);
        let (head, written) = self.used(LIMIT).expect("chain comes back");
        assert_eq!(head, 0);
        written
    }

    /// Sends a request that is one readable and one writable part, and returns what the device says.
    ///
    /// # Panics
    ///
    /// If it gives no answer.
    pub fn ask(&mut self, request: &[u8], room: u32) -> Response {
        self.put(REQUEST, request);
        let table = [(REQUEST, request.len() as u32, NEXT, 1), (ANSWER, room, WRITE, 0)];
        let written = self.submit(&table);
        assert!(written as usize >= size_of::<Response>(), "{written} bytes are no answer");
        Response::read_from_bytes(&self.get::<{ size_of::<Response>() }>(ANSWER)).expect("has its size")
    }

    /// True if the device answers an empty batch as it should.
    pub fn is_served(&mut self) -> bool {
        let header = Header::new(RequestKind::Batch, 0, 0x5e_17ed);
        let response = self.ask(header.as_bytes(), 24);
        response.status() == Ok(Status::Done) && response.cookie.get() == 0x5e_17ed
    }
}
