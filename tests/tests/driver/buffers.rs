//! Buffers as clients ask for them: whose pool, and where they may lie.

use ane_driver::front::FileId;
use ane_uapi::hw::dart::aperture::PAGE_SIZE;
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BO_FIXED_ADDRESS, BO_INFO, BO_PREMAPPED, BoCreate, BoInfo};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::handle::NONE;
use ane_uapi::ioctl::pool::{POOL_CREATE, PoolCreate};
use zerocopy::FromZeros;

use super::rig::{EmbeddedClients, rig};

/// Makes a mapped buffer of a byte at an address, or anywhere; where it lies.
fn place(rig: &mut EmbeddedClients, file: FileId, usage: Usage, at: Option<u64>) -> Result<u64, Errno> {
    let fixed = at.map_or(0, |_| BO_FIXED_ADDRESS);
    let mut create = BoCreate {
        size: 1,
        flags: BO_PREMAPPED | fixed,
        usage: usage as u32,
        device_address: at.unwrap_or_default(),
        ..BoCreate::new_zeroed()
    };
    rig.ioctl(file, &BO_CREATE, &mut create)?;
    Ok(create.device_address)
}

/// That buffers of a kind lie at whole pages, wherever and however they are asked for.
fn assert_aligned(usage: Usage) {
    let mut rig = rig();
    let file = rig.open();
    for n in 1..5 {
        let at = place(&mut rig, file, usage, None).unwrap();
        assert!(at > 0 && at.is_multiple_of(PAGE_SIZE.into()), "buffer {n} at {at:#x}");
    }
    for at in [0x2000, 0x10_2000, 0x10_0040, 0x10_3fff] {
        assert_eq!(place(&mut rig, file, usage, Some(at)), Err(Errno::EINVAL), "{at:#x}");
    }
    assert_eq!(place(&mut rig, file, usage, Some(0x10_0000)), Ok(0x10_0000));
}

/// Requirement: DMA-05
#[test]
fn input_is_mapped_at_whole_pages_only() {
    assert_aligned(Usage::Input);
}

/// Requirement: DMA-06
#[test]
fn output_is_mapped_at_whole_pages_only() {
    assert_aligned(Usage::Output);
}

/// Requirement: POOL-02
#[test]
fn buffer_says_which_pool_it_belongs_to() {
    let mut rig = rig();
    let file = rig.open();
    let pools = [1, 2].map(|capacity| {
        let mut pool = PoolCreate { capacity, ..PoolCreate::new_zeroed() };
        rig.ioctl(file, &POOL_CREATE, &mut pool).unwrap();
        pool.handle
    });
    let told = [pools[0], pools[1], NONE].map(|pool| {
        let usage = Usage::Output as u32;
        let mut create = BoCreate { size: 1, usage, pool, flags: BO_PREMAPPED, ..BoCreate::new_zeroed() };
        rig.ioctl(file, &BO_CREATE, &mut create).unwrap();
        let mut info = BoInfo { handle: create.handle, ..BoInfo::new_zeroed() };
        rig.ioctl(file, &BO_INFO, &mut info).unwrap();
        info.pool
    });
    assert_eq!(told, [pools[0], pools[1], NONE]);
}
