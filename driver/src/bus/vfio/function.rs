//! The PCI function: its registers, its notifications, its one interrupt.
//!
//! All queues share a vector, since a machine monitor gives the function only one. So a thread that wakes looks at all
//! rings. When the function is unplugged the kernel asks for it over another descriptor, and waits. The function is given
//! back at once, or the unplugging would never end.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ane_uapi::wire::QUEUES;
use ane_uapi::wire::config::{CONFIG_SIZE, Config};
use vfio_ioctls::{VfioContainer, VfioDevice};
use vm_memory::{AtomicAccess, Bytes, FileOffset, MmapRegion, VolatileMemory};
use vmm_sys_util::epoll::{ControlOperation, Epoll, EpollEvent, EventSet};
use vmm_sys_util::eventfd::{EFD_CLOEXEC, EFD_NONBLOCK, EventFd};

use super::super::descriptor::borrow;
use super::super::queues::{Doorbell, F_VERSION_1, QueueTables, milliseconds, transport};
use super::super::ring::Features;
use super::super::{BusError, DmaMemory, Result};
use super::address::Bdf;
use super::capabilities::{CONFIG_BYTES, Capabilities};
use super::common::*;
use super::refusal;

/// VFIO's numbers: config space among the regions, and the kernel's request among the interrupts.
const CONFIG_REGION: u32 = 7;
const REQUEST: u32 = 4;

/// Set of a region that can be mapped.
const CAN_MAP: u32 = 4;

/// In the command register: answers to memory accesses, may reach memory itself.
const COMMAND: u64 = 4;
const ENABLED: u16 = 0x6;

/// How long a device may take to reset itself.
const RESET: Duration = Duration::from_secs(5);

/// The numbers of the two descriptors in the epoll set.
const INTERRUPTED: u64 = 0;
const REQUESTED: u64 = 1;

/// The function, until the kernel asks for it back.
pub(super) struct Function {
    open: Option<Open>,
    interrupt: EventFd,
    /// The kernel writes to it when it wants the function back.
    request: EventFd,
    sleep: Epoll,
}

/// A function that is ours. The mappings go first: while there is one the kernel keeps the function.
struct Open {
    bars: [Option<MmapRegion>; 6],
    structures: Capabilities,
    /// Where to write that a queue has something: bytes into the BAR.
    notify: [usize; QUEUES as usize],
    device: VfioDevice,
}

impl Open {
    fn new(bdf: Bdf, container: Arc<VfioContainer>) -> Result<Self> {
        let device =
            VfioDevice::new(&bdf.folder(), container, false).map_err(|why| refusal::explain(bdf, &why))?;
        let mut config = [0; CONFIG_BYTES];
        device.region_read(CONFIG_REGION, &mut config, 0);
        let structures = Capabilities::read(&config).map_err(transport("looking at the function"))?;
        let command = u16::from_le_bytes([config[COMMAND as usize], config[COMMAND as usize + 1]]);
        device.region_write(CONFIG_REGION, &(command | ENABLED).to_le_bytes(), COMMAND);

        let mut bars = [const { None }; 6];
        for structure in [structures.common, structures.notify, structures.device] {
            let index = u32::from(structure.bar);
            let size = device.get_region_size(index);
            let end = u64::from(structure.offset) + u64::from(structure.length);
            if device.get_region_flags(index) & CAN_MAP == 0 || end > size {
                return Err(BusError::Lacks { feature: "a BAR that can be mapped and holds its structures" });
            }
            if let Some(bar) = bars.get_mut(usize::from(structure.bar))
                && bar.is_none()
            {
                let file = borrow(&device).try_clone_to_owned().map_err(transport("copying a descriptor"))?;
                let from = FileOffset::new(File::from(file), device.get_region_offset(index));
                *bar = Some(MmapRegion::from_file(from, size as usize).map_err(transport("mapping a BAR"))?);
            }
        }
        Ok(Self { bars, structures, notify: [0; QUEUES as usize], device })
    }

    fn slice(&self, bar: u8, at: usize, bytes: usize) -> Result<vm_memory::VolatileSlice<'_>> {
        let bar = self.bars.get(usize::from(bar)).and_then(Option::as_ref);
        let bar = bar.ok_or(BusError::Lacks { feature: "a mapped BAR" })?;
        bar.get_slice(at, bytes).map_err(transport("accessing a BAR"))
    }

    fn read<T: AtomicAccess>(&self, register: usize) -> Result<T> {
        let common = self.structures.common;
        let slice = self.slice(common.bar, common.offset as usize + register, size_of::<T>())?;
        slice.load(0, Ordering::Acquire).map_err(transport("reading a register of the function"))
    }

    fn write<T: AtomicAccess>(&self, register: usize, value: T) -> Result<()> {
        let common = self.structures.common;
        let slice = self.slice(common.bar, common.offset as usize + register, size_of::<T>())?;
        slice.store(value, 0, Ordering::Release).map_err(transport("writing a register of the function"))
    }

    fn add_status(&self, bit: u8) -> Result<u8> {
        let status: u8 = self.read(STATUS)?;
        self.write(STATUS, status | bit)?;
        self.read(STATUS)
    }

    fn reset(&self) -> Result<()> {
        self.write(STATUS, 0u8)?;
        let start = Instant::now();
        while self.read::<u8>(STATUS)? != 0 {
            if start.elapsed() > RESET {
                return Err(BusError::TimedOut { limit: RESET });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// The device's config space: each word is a trip to the device's process.
    fn config(&self) -> Result<Config> {
        let structure = self.structures.device;
        let mut bytes = [0; CONFIG_SIZE as usize];
        if (structure.length as usize) < bytes.len() {
            return Err(BusError::Lacks { feature: "a config space of 56 bytes" });
        }
        for (n, word) in bytes.chunks_exact_mut(4).enumerate() {
            let slice = self.slice(structure.bar, structure.offset as usize + 4 * n, 4)?;
            let value: u32 = slice.load(0, Ordering::Acquire).map_err(transport("reading config space"))?;
            word.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(Config::read(&bytes)?)
    }

    fn negotiate(&self, wanted: Features) -> Result<Features> {
        let mut offered = 0u64;
        for half in 0..2u32 {
            self.write(DEVICE_FEATURE_SELECT, half)?;
            offered |= u64::from(self.read::<u32>(DEVICE_FEATURE)?) << (32 * half);
        }
        if offered & F_VERSION_1 == 0 {
            return Err(BusError::Lacks { feature: "virtio version 1" });
        }
        let features = wanted.offered_in(offered);
        let accepted = F_VERSION_1 | features.bits();
        for half in 0..2u32 {
            self.write(DRIVER_FEATURE_SELECT, half)?;
            self.write(DRIVER_FEATURE, (accepted >> (32 * half)) as u32)?;
        }
        if self.add_status(FEATURES_OK)? & FEATURES_OK == 0 {
            return Err(BusError::Lacks { feature: "the features that it offered" });
        }
        Ok(features)
    }

    fn set_queue(&mut self, queue: &QueueTables, messages: &DmaMemory) -> Result<()> {
        self.write(QUEUE_SELECT, queue.index)?;
        if self.read::<u16>(QUEUE_SIZE)? < queue.size {
            return Err(BusError::Lacks { feature: "queues that are long enough" });
        }
        self.write(QUEUE_SIZE, queue.size)?;
        self.write(QUEUE_VECTOR, 0u16)?;
        if self.read::<u16>(QUEUE_VECTOR)? != 0 {
            return Err(BusError::Lacks { feature: "an interrupt vector" });
        }
        let base = messages.base().0 + queue.offset as u64;
        let tables = [
            (QUEUE_DESCRIPTORS, queue.layout.descriptors),
            (QUEUE_AVAILABLE, queue.layout.available),
            (QUEUE_USED, queue.layout.used),
        ];
        for (register, offset) in tables {
            let at = base + offset as u64;
            // Eight bytes are written in halves: not every machine takes them at once.
            self.write(register, at as u32)?;
            self.write(register + 4, (at >> 32) as u32)?;
        }
        let step =
            u64::from(self.read::<u16>(QUEUE_NOTIFY_OFFSET)?) * u64::from(self.structures.notify_multiplier);
        if step + 2 > u64::from(self.structures.notify.length) {
            return Err(BusError::Lacks { feature: "a place for notifications" });
        }
        if let Some(notify) = self.notify.get_mut(usize::from(queue.index)) {
            *notify = self.structures.notify.offset as usize + step as usize;
        }
        self.write(QUEUE_ENABLE, 1u16)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // The memory that its queues are in goes away behind it. A device that does not answer is dead anyway.
        let _ = self.reset();
    }
}

impl Function {
    /// Takes the function over and brings it to where features can be negotiated.
    pub(super) fn open(bdf: Bdf, container: Arc<VfioContainer>) -> Result<Self> {
        let eventfd = || EventFd::new(EFD_CLOEXEC | EFD_NONBLOCK).map_err(transport("making an eventfd"));
        let (interrupt, request) = (eventfd()?, eventfd()?);
        let sleep = Epoll::new().map_err(transport("making an epoll descriptor"))?;
        for (descriptor, data) in [(&interrupt, INTERRUPTED), (&request, REQUESTED)] {
            let interest = EpollEvent::new(EventSet::IN, data);
            sleep
                .ctl(ControlOperation::Add, descriptor.as_raw_fd(), interest)
                .map_err(transport("watching an interrupt"))?;
        }
        let open = Open::new(bdf, container)?;
        open.device
            .enable_msix(vec![&interrupt])
            .map_err(transport("asking for an MSI-X interrupt of the function"))?;
        open.device
            .enable_irq(REQUEST, vec![&request])
            .map_err(transport("asking to be told when the function is unplugged"))?;
        open.reset()?;
        open.add_status(ACKNOWLEDGE)?;
        open.add_status(DRIVER)?;
        // There is no vector to spare for changes of config space, and there are none.
        open.write(CONFIG_VECTOR, NO_VECTOR)?;
        Ok(Self { open: Some(open), interrupt, request, sleep })
    }

    /// Reads config space, and only then agrees on features: another device is left alone.
    pub(super) fn negotiate(&self, wanted: Features) -> Result<(Config, Features)> {
        let open = self.open.as_ref().ok_or(BusError::HungUp)?;
        let config = open.config()?;
        Ok((config, open.negotiate(wanted)?))
    }

    /// Tells the device of its queues, and that it may use them.
    pub(super) fn set_queues(&mut self, queues: &[QueueTables], messages: &DmaMemory) -> Result<()> {
        let open = self.open.as_mut().ok_or(BusError::HungUp)?;
        if usize::from(open.read::<u16>(QUEUE_COUNT)?) < queues.len() {
            return Err(BusError::Lacks { feature: "two queues: is num_vqs or num-queues less?" });
        }
        for queue in queues {
            open.set_queue(queue, messages)?;
        }
        open.add_status(DRIVER_OK).map(|_| ())
    }

    /// Readable when the device has interrupted, or the kernel wants the function back.
    pub(super) fn wakeup(&self) -> BorrowedFd<'_> {
        borrow(&self.sleep)
    }
}

impl Doorbell for Function {
    fn ring(&self, queue: u16) -> Result<()> {
        let open = self.open.as_ref().ok_or(BusError::HungUp)?;
        let at = open.notify.get(usize::from(queue)).copied().unwrap_or_default();
        let slice = open.slice(open.structures.notify.bar, at, 2)?;
        slice.store(queue.to_le(), 0, Ordering::Release).map_err(transport("notifying the device"))
    }

    fn sleep(&mut self, _: u16, limit: Duration) -> Result<bool> {
        if self.is_gone() {
            return Ok(true);
        }
        let mut woken = [EpollEvent::default(); 2];
        let count = match self.sleep.wait(milliseconds(limit), &mut woken) {
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => 0,
            other => other.map_err(transport("waiting for the device"))?,
        };
        let is_requested = woken.iter().take(count).any(|event| event.data() == REQUESTED);
        // Nothing to read is a wake-up that someone else took, or none at all.
        let _ = self.interrupt.read();
        if is_requested {
            // From now on every call says that the device is gone, so no descriptor has to wake anybody for it.
            let _ = self.request.read();
            self.open = None;
        }
        Ok(is_requested)
    }

    fn pass_on(&self) {
        // An eventfd that is full wakes just as well.
        let _ = self.interrupt.write(1);
    }

    fn is_gone(&self) -> bool {
        self.open.is_none()
    }
}
