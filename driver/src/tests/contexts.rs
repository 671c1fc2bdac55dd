//! A context and what keeps it.

use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BoCreate};
use ane_uapi::ioctl::context::{CONTEXT_DETACH, ContextDetach};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use zerocopy::FromZeros;

use super::*;

const BYTES: u64 = 0x4000;

#[test]
fn context_is_not_given_back_while_a_process_maps_a_buffer_of_it() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    let mut create = BoCreate { size: BYTES, usage: Usage::Input as u32, ..BoCreate::new_zeroed() };
    ioctl(&mut driver, file, &BO_CREATE, &mut create, &mut Segments::new()).unwrap();
    driver.map(file, create.map_offset, BYTES).unwrap();
    let mut close = GemClose { handle: create.handle, padding: 0 };
    ioctl(&mut driver, file, &GEM_CLOSE, &mut close, &mut Segments::new()).unwrap();
    let detach = |driver: &mut Driver<Fake>| {
        let mut detach = ContextDetach { flags: 0, reserved: 0 };
        ioctl(driver, file, &CONTEXT_DETACH, &mut detach, &mut Segments::new())
    };
    assert_eq!(detach(&mut driver), Err(Errno::EBUSY));
    driver.unmap(file, create.map_offset, BYTES).unwrap();
    assert_eq!(driver.unmap(file, create.map_offset, BYTES), Err(Errno::EINVAL), "the buffer went with it");
    assert_eq!(detach(&mut driver), Ok(()));
}
