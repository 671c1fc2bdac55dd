//! Requests on a device that never ends one.

use std::time::Duration;

use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{BO_CREATE, BO_FIXED_ADDRESS, BO_PINNED, BoCreate};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use ane_uapi::ioctl::fence::{CANCEL, Cancel};
use ane_uapi::ioctl::param::FENCE_HISTORY;
use ane_uapi::ioctl::request::{Bar, PRIORITY_DEFAULT, Request, SUBMIT_REQUEST};
use zerocopy::{FromZeros, IntoBytes};

use super::*;
use crate::clock::Time;
use crate::dart::{GIVEN_OUT, address_of};
use crate::fence::{Ending, State};

const BARS: u64 = 0x1000;
const FENCES: u64 = 0x2000;

/// A buffer of one page, at that address if a flag says so.
fn buffer(driver: &mut Driver<Fake>, file: FileId, flags: u32, address: u64) -> u32 {
    let usage = Usage::Program as u32;
    let mut create =
        BoCreate { size: 0x4000, usage, flags, device_address: address, ..BoCreate::new_zeroed() };
    ioctl(driver, file, &BO_CREATE, &mut create, &mut Segments::new()).unwrap();
    create.handle
}

/// Submits a request of one task in a buffer, which runs behind the fences; its fence.
fn submit(driver: &mut Driver<Fake>, file: FileId, handle: u32, deadline: u64, behind: &[u64]) -> u64 {
    let mut memory = Segments::new();
    memory.push(BARS, Bar { handle, ..Bar::new_zeroed() }.as_bytes().to_vec());
    memory.push(FENCES, behind.as_bytes().to_vec());
    let mut request = Request {
        priority: PRIORITY_DEFAULT,
        bars: BARS,
        bar_count: 1,
        bar_size: size_of::<Bar>() as u32,
        stream_size: 0x274,
        task_count: 1,
        first_size: 0x274,
        in_fences: FENCES,
        in_fence_count: behind.len() as u32,
        deadline_ns: deadline,
        ..Request::new_zeroed()
    };
    ioctl(driver, file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
    request.out_fence
}

fn state(driver: &Driver<Fake>, file: FileId, fence: u64) -> Option<State> {
    driver.clients.file(file).unwrap().fences().state(fence)
}

#[test]
fn deadline_is_kept_also_behind_more_alarms_than_are() {
    let (mut driver, clock) = driver();
    let file = open(&mut driver);
    let handle = buffer(&mut driver, file, 0, 0);
    let first = submit(&mut driver, file, handle, 0, &[]);
    let second = 1_000_000_000;
    for n in 0..2000 {
        let fence = submit(&mut driver, file, handle, second + n * 1_000_000, &[first]);
        let mut cancel = Cancel { fence, ..Cancel::new_zeroed() };
        ioctl(&mut driver, file, &CANCEL, &mut cancel, &mut Segments::new()).unwrap();
    }
    let last = submit(&mut driver, file, handle, 10 * second, &[first]);
    let now = |driver: &Driver<Fake>| driver.hardware.now();
    while now(&driver) < Time(10 * second) {
        assert_eq!(state(&driver, file, last), Some(State::Queued));
        let after = driver.progress(Duration::ZERO).after.unwrap();
        clock.advance(after.max(Duration::from_nanos(1)));
    }
    clock.advance(Duration::from_millis(1));
    driver.progress(Duration::ZERO);
    assert!(state(&driver, file, last).unwrap().has_ended());
    assert_eq!(state(&driver, file, first), Some(State::Running));
}

#[test]
fn failure_that_a_request_waits_for_is_known_however_many_requests_end_meanwhile() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    let handle = buffer(&mut driver, file, 0, 0);
    let cancel = |driver: &mut Driver<Fake>, fence| {
        let mut cancel = Cancel { fence, ..Cancel::new_zeroed() };
        ioctl(driver, file, &CANCEL, &mut cancel, &mut Segments::new()).unwrap();
    };
    // The device never ends it, so none of the others starts.
    let first = submit(&mut driver, file, handle, 0, &[]);
    let failed = submit(&mut driver, file, handle, 0, &[first]);
    let waiting = submit(&mut driver, file, handle, 0, &[first, failed]);
    cancel(&mut driver, failed);
    let end_many = |driver: &mut Driver<Fake>| {
        for _ in 0..=FENCE_HISTORY {
            let fence = submit(driver, file, handle, 0, &[first]);
            cancel(driver, fence);
        }
    };
    end_many(&mut driver);
    let cancelled = State::Complete(Ending::unstarted(Errno::ECANCELED));
    assert_eq!(state(&driver, file, failed), Some(cancelled));
    cancel(&mut driver, waiting);
    assert_eq!(state(&driver, file, failed), Some(State::Forgotten));
}

#[test]
fn request_that_waits_for_room_looks_for_it_only_when_some_may_have_become_free() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    let address = u64::from(address_of(GIVEN_OUT).0);
    // Of two that have to lie at one address only one can be in use.
    let handles = [address, address].map(|address| buffer(&mut driver, file, BO_FIXED_ADDRESS, address));
    let fences = handles.map(|handle| submit(&mut driver, file, handle, 0, &[]));
    let begun = |driver: &Driver<Fake>| driver.hardware.space(file).unwrap().begun();
    driver.progress(Duration::ZERO);
    assert_eq!(fences.map(|fence| state(&driver, file, fence)), [State::Running, State::Queued].map(Some));
    let before = begun(&driver);
    for _ in 0..100 {
        driver.progress(Duration::ZERO);
    }
    assert_eq!(begun(&driver), before);
    // A buffer that goes leaves room only if it could not have been evicted.
    for (flags, searches) in [(0, 0), (BO_PINNED, 1)] {
        let other = buffer(&mut driver, file, BO_FIXED_ADDRESS | flags, address + 0x4000);
        let mut close = GemClose { handle: other, padding: 0 };
        ioctl(&mut driver, file, &GEM_CLOSE, &mut close, &mut Segments::new()).unwrap();
        driver.progress(Duration::ZERO);
        assert_eq!(begun(&driver), before + searches);
    }
}
