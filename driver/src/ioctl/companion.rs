//! The two companion blocks.

use ane_uapi::ioctl::companion::{Mover, PeMmuMap, PeMmuUnmap};
use ane_uapi::ioctl::errno::Errno;

use super::Context;
use crate::bus::Bus;
use crate::device::Driver;

impl<B: Bus> Driver<B> {
    pub(super) fn pe_mmu_map(&mut self, _: &mut PeMmuMap, _: &mut Context<'_>) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    pub(super) fn pe_mmu_unmap(&mut self, _: &mut PeMmuUnmap, _: &mut Context<'_>) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }

    pub(super) fn mover(&mut self, _: &mut Mover, _: &mut Context<'_>) -> Result<(), Errno> {
        Err(Errno::EOPNOTSUPP)
    }
}
