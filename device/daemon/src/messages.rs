//! The effects of a frontend's messages; the transport reads them and calls this.
//!
//! A queue works from the moment when it has a kick and is enabled, until `GET_VRING_BASE` stops it. The frontend gives the rings by
//! its own virtual addresses, which are translated to addresses of the guest.

use std::fs::File;
use std::io;
use std::sync::{Arc, PoisonError};

use ane_uapi::wire::QUEUES;
use vhost::VhostUserMemoryRegionBase;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig, VhostUserSharedMsg,
    VhostUserSingleMemoryRegion, VhostUserVirtioFeatures, VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{Error, GpuBackend, Result, VhostUserBackendReqHandlerMut};
use vhost_user_backend::VringT;
use virtio_bindings::bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use vm_memory::{GuestAddress, GuestAddressSpace, GuestMemoryAtomic, GuestMemoryMmap, GuestRegionMmap};

use super::backend::Backend;
use super::queues::Queues;
use super::vring::QUEUE_SIZE_MAX;
use super::worker::Vring;

/// Regions of memory that a frontend may hand over.
const SLOTS: u64 = 509;

/// Where the frontend sees a region of the guest's memory.
struct Place {
    user: u64,
    bytes: u64,
    guest: u64,
}

/// One connection: what was agreed on, its memory and its queues.
pub(crate) struct Messages {
    backend: Arc<Backend>,
    queues: Queues,
    vrings: Vec<Vring>,
    memory: GuestMemoryAtomic<GuestMemoryMmap>,
    places: Vec<Place>,
    features: u64,
    is_owned: bool,
}

fn refused(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::ReqHandlerError(io::Error::other(why))
}

fn region(of: &VhostUserMemoryRegion, file: File) -> Result<(GuestRegionMmap, Place)> {
    let place = Place { user: of.user_addr, bytes: of.memory_size, guest: of.guest_phys_addr };
    let region = GuestRegionMmap::new(of.mmap_region(file)?, GuestAddress(place.guest))
        .ok_or_else(|| refused("region reaches beyond the last address"))?;
    Ok((region, place))
}

impl Messages {
    pub(crate) fn new(backend: &Arc<Backend>) -> anyhow::Result<Self> {
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let size = u16::try_from(QUEUE_SIZE_MAX)?;
        let vrings = (0..QUEUES).map(|_| Ok(Vring::new(memory.clone(), size)?));
        let vrings: Vec<_> = vrings.collect::<anyhow::Result<_>>()?;
        let queues = Queues::start(backend, vrings.clone())?;
        let (places, features, is_owned) = (Vec::new(), 0, false);
        Ok(Self { backend: Arc::clone(backend), queues, vrings, memory, places, features, is_owned })
    }

    fn vring(&self, number: u32) -> Result<(u16, &Vring)> {
        let vring = usize::try_from(number).ok().and_then(|number| self.vrings.get(number));
        vring
            .zip(u16::try_from(number).ok())
            .map(|(vring, number)| (number, vring))
            .ok_or(Error::InvalidParam)
    }

    /// Has a queue wake its thread or not, and looks once for what it did not wake it for.
    fn watch(&self, number: u16, vring: &Vring) -> Result<()> {
        self.queues.watch(number, vring).map_err(Error::ReqHandlerError)?;
        self.backend.look_again();
        Ok(())
    }

    fn enable_all(&self, is_enabled: bool) -> Result<()> {
        (0..QUEUES).zip(&self.vrings).try_for_each(|(number, vring)| {
            vring.set_enabled(is_enabled);
            self.watch(number, vring)
        })
    }

    /// A queue begins with its first kick. One after a kick that was taken away is watched anew.
    fn begin(&self, number: u16, vring: &Vring) -> Result<()> {
        if !vring.has_kick() {
            return Ok(());
        }
        vring.set_queue_ready(true);
        self.watch(number, vring)
    }

    /// Where the guest has what the frontend has at `user`.
    fn guest_address(&self, user: u64) -> Result<u64> {
        let inside = |place: &Place| {
            let offset = user.checked_sub(place.user).filter(|offset| *offset < place.bytes)?;
            place.guest.checked_add(offset)
        };
        let found = self.places.iter().find_map(inside);
        found.ok_or_else(|| refused(format!("frontend's address {user:#x} lies in no region")))
    }

    /// Puts other memory in the place of what there was, and looks once for requests that came while their ring was away: the
    /// guest does not wake the device for them again.
    fn replace_memory(&self, memory: GuestMemoryMmap) -> Result<()> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).replace(memory);
        let outcome = self.backend.update_memory(&self.memory).map_err(Error::ReqHandlerError);
        self.backend.look_again();
        outcome
    }
}

const NOT_OFFERED: Error = Error::InvalidOperation("not offered");

impl VhostUserBackendReqHandlerMut for Messages {
    fn set_owner(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_owned, true) {
            return Err(Error::InvalidOperation("already claimed"));
        }
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        (self.is_owned, self.features) = (false, 0);
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        self.enable_all(false)?;
        self.features = 0;
        self.backend.reset_device();
        Ok(())
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(Backend::features())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !Backend::features() != 0 {
            return Err(Error::InvalidParam);
        }
        self.features = features;
        // One that does not know how to enable queues has them enabled.
        if features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() == 0 {
            self.enable_all(true)?;
        }
        let has_indices = features & (1 << VIRTIO_RING_F_EVENT_IDX) != 0;
        self.vrings.iter().for_each(|vring| vring.set_queue_event_idx(has_indices));
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        table: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<VhostUserMemoryRegionBase>>> {
        let regions: Vec<_> =
            table.iter().zip(files).map(|(one, file)| region(one, file)).collect::<Result<_>>()?;
        let (regions, places): (Vec<_>, _) = regions.into_iter().unzip();
        self.replace_memory(GuestMemoryMmap::from_regions(regions).map_err(refused)?)?;
        self.places = places;
        Ok(None)
    }

    fn set_vring_num(&mut self, number: u32, size: u32) -> Result<()> {
        let (_, vring) = self.vring(number)?;
        let is_valid = |&size: &u16| size.is_power_of_two() && usize::from(size) <= QUEUE_SIZE_MAX;
        let size = u16::try_from(size).ok().filter(is_valid);
        vring.set_queue_size(size.ok_or(Error::InvalidParam)?);
        Ok(())
    }

    fn set_vring_addr(
        &mut self,
        number: u32,
        _flags: VhostUserVringAddrFlags,
        table: u64,
        used: u64,
        available: u64,
        _log: u64,
    ) -> Result<()> {
        let (_, vring) = self.vring(number)?;
        let [table, used, available] =
            [self.guest_address(table)?, self.guest_address(used)?, self.guest_address(available)?];
        vring.set_queue_info(table, available, used).map_err(|_| Error::InvalidParam)?;
        // The other index comes by a message of its own; this one is where the guest sees it.
        let index = vring.queue_used_idx().map_err(|_| Error::BackendInternalError)?;
        vring.set_queue_next_used(index);
        Ok(())
    }

    fn set_vring_base(&mut self, number: u32, base: u32) -> Result<()> {
        let [low, high, ..] = base.to_le_bytes();
        self.vring(number)?.1.set_queue_next_avail(u16::from_le_bytes([low, high]));
        Ok(())
    }

    fn get_vring_base(&mut self, number: u32) -> Result<VhostUserVringState> {
        let (short, vring) = self.vring(number)?;
        vring.set_queue_ready(false);
        self.watch(short, vring)?;
        self.backend.stop_vring(number);
        let next = vring.queue_next_avail();
        vring.set_kick(None);
        vring.set_call(None);
        Ok(VhostUserVringState::new(number, next.into()))
    }

    fn set_vring_kick(&mut self, number: u8, file: Option<File>) -> Result<()> {
        let (number, vring) = self.vring(number.into())?;
        vring.set_kick(file);
        self.begin(number, vring)
    }

    fn set_vring_call(&mut self, number: u8, file: Option<File>) -> Result<()> {
        let (number, vring) = self.vring(number.into())?;
        vring.set_call(file);
        self.begin(number, vring)
    }

    fn set_vring_err(&mut self, number: u8, file: Option<File>) -> Result<()> {
        self.vring(number.into())?.1.set_err(file);
        Ok(())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(Backend::protocol_features())
    }

    fn set_protocol_features(&mut self, _features: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(QUEUES.into())
    }

    fn set_vring_enable(&mut self, number: u32, is_enabled: bool) -> Result<()> {
        let wanted = VhostUserVirtioFeatures::PROTOCOL_FEATURES;
        if self.features & wanted.bits() == 0 {
            return Err(Error::InactiveFeature(wanted));
        }
        let (number, vring) = self.vring(number)?;
        vring.set_enabled(is_enabled);
        self.watch(number, vring)
    }

    fn get_config(&mut self, offset: u32, size: u32, _flags: VhostUserConfigFlags) -> Result<Vec<u8>> {
        Ok(self.backend.config(offset, size))
    }

    fn set_config(&mut self, _offset: u32, _bytes: &[u8], _flags: VhostUserConfigFlags) -> Result<()> {
        // Writes mean nothing, and are no error: a frontend sends back what it read.
        Ok(())
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Ok(SLOTS)
    }

    fn add_mem_region(
        &mut self,
        one: &VhostUserSingleMemoryRegion,
        file: File,
        _postcopy: Option<bool>,
    ) -> Result<Option<VhostUserMemoryRegionBase>> {
        if self.places.len() as u64 >= SLOTS {
            return Err(refused(format!("all {SLOTS} regions that a frontend may hand over are there")));
        }
        let (region, place) = region(one, file)?;
        let memory = self.memory.memory().insert_region(Arc::new(region)).map_err(refused)?;
        self.replace_memory(memory)?;
        self.places.push(place);
        Ok(None)
    }

    fn remove_mem_region(&mut self, one: &VhostUserSingleMemoryRegion) -> Result<()> {
        let (guest, bytes) = (one.guest_phys_addr, one.memory_size);
        let (memory, _) = self.memory.memory().remove_region(GuestAddress(guest), bytes).map_err(refused)?;
        self.replace_memory(memory)?;
        self.places.retain(|place| place.guest != guest);
        Ok(())
    }

    // The messages from here on belong to features that are not offered.

    fn set_gpu_socket(&mut self, _socket: GpuBackend) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_shared_object(&mut self, _id: VhostUserSharedMsg) -> Result<File> {
        Err(NOT_OFFERED)
    }

    fn get_inflight_fd(&mut self, _inflight: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        Err(NOT_OFFERED)
    }

    fn set_inflight_fd(&mut self, _inflight: &VhostUserInflight, _file: File) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn set_device_state_fd(
        &mut self,
        _direction: VhostTransferStateDirection,
        _phase: VhostTransferStatePhase,
        _file: File,
    ) -> Result<Option<File>> {
        Err(NOT_OFFERED)
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(NOT_OFFERED)
    }

    fn set_log_base(&mut self, _log: &VhostUserLog, _file: File) -> Result<()> {
        Err(NOT_OFFERED)
    }
}
