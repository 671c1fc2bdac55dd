//! A context and what keeps it.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BoCreate};
use ane_uapi::ioctl::context::{CONTEXT_DETACH, ContextDetach};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use zerocopy::FromZeros;

use super::*;

const BYTES: u64 = 0x4000;

/// A buffer of a file.
fn buffer(driver: &mut Driver<Fake>, file: FileId) -> BoCreate {
    let mut create = BoCreate { size: BYTES, usage: Usage::Input as u32, ..BoCreate::new_zeroed() };
    ioctl(driver, file, &BO_CREATE, &mut create, &mut Segments::new()).unwrap();
    create
}

#[test]
fn context_is_not_given_back_while_a_process_maps_a_buffer_of_it() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    let create = buffer(&mut driver, file);
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

#[test]
fn memory_of_a_file_that_is_closed_is_left_to_the_front_as_it_was() {
    let (mut driver, _) = driver();
    let (sink, retired) = sync_channel(1);
    driver.retire_to(sink);
    let file = open(&mut driver);
    let offset = buffer(&mut driver, file).map_offset;
    let memory = driver.arena(file).unwrap();
    rustix::io::pwrite(&*memory, &[7; BYTES as usize], offset).unwrap();
    let identity = rustix::fs::fstat(&*memory).unwrap().st_ino;
    drop(memory);
    driver.close(file);
    let memory: Vec<_> = retired.try_iter().collect();
    assert_eq!(memory.len(), 1);
    let stat = rustix::fs::fstat(&*memory[0]).unwrap();
    assert_eq!((stat.st_ino, stat.st_blocks * 512), (identity, BYTES as i64), "nothing was freed on the way");
    assert_eq!(Arc::strong_count(&memory[0]), 1);
}
