//! Faults: who is told, who is parked, and who keeps running.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ane_device::Options;
use ane_device::options::FaultPolicy;
use ane_driver::front::{FileId, Files, Segments};
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fault::{
    FAULT_BENIGN, FAULT_LOST, GET_FAILURE, GET_FAULT, GetFailure, GetFault, RECOVER, RECOVER_RESET,
    RECOVER_RESUME, Recover,
};
use ane_uapi::ioctl::param::{FAULTS_MAX, Param, State};
use ane_uapi::ioctl::stats::Counter;
use zerocopy::{FromZeros, IntoBytes};

use super::rig::{
    EmbeddedClients, ane, assert_sum, counter, inject, param, result, rig, rig_with, sum, work_for, wound,
};

fn fault(rig: &mut EmbeddedClients, file: FileId) -> Result<GetFault, Errno> {
    let mut get = GetFault::new_zeroed();
    rig.ioctl(file, &GET_FAULT, &mut get).map(|()| get)
}

fn recover(rig: &mut EmbeddedClients, file: FileId, flags: u32) -> Result<Recover, Errno> {
    let mut recover = Recover { flags, ..Recover::new_zeroed() };
    rig.ioctl(file, &RECOVER, &mut recover).map(|()| recover)
}

/// Requirement: FAULT-23
#[test]
fn real_fault_latches_dumps_once_and_parks_its_context_for_250_ms() {
    let (mut rig, clock) = wound();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "translation-fault:after=1");
    let fence = rig.run(&loaded);
    assert_eq!(result(&fence), Err(Errno::EIO));
    assert!(rig.driver.is_latched());
    let dump = rig.driver.last_dump().unwrap().to_owned();
    assert!(dump.contains("mapper-ane0") && dump.contains("input tensor") && dump.contains("manager status"));
    assert_eq!(param(&mut rig, file, Param::State), State::Parked as u64);
    assert_eq!(rig.submit(&loaded), Err(Errno::EIO));
    clock.advance(Duration::from_millis(249));
    rig.settle();
    assert_eq!(rig.submit(&loaded), Err(Errno::EIO));
    clock.advance(Duration::from_millis(1));
    rig.settle();
    assert!(!rig.driver.is_latched());
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_sum(&mut rig, &loaded);
    assert_eq!(rig.driver.last_dump(), Some(&*dump), "nothing was dumped again");
}

#[test]
fn fault_on_demand_after_the_transfers_of_a_request_ends_the_next_request() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let before = ane(&mut rig).dart().transfers();
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    let transfers = ane(&mut rig).dart().transfers() - before;
    // The pages of the result are checked before anything moves, which is no transfer.
    inject(&mut rig, &format!("translation-fault:after={transfers}"));
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_eq!(result(&rig.run(&loaded)), Err(Errno::EIO));
}

#[test]
fn fault_is_kept_for_the_file_whose_request_it_ended() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    inject(&mut rig, "translation-fault:after=1");
    let fence = rig.run(&loaded);
    let kept = fault(&mut rig, file).unwrap();
    assert_eq!((kept.fence, kept.sequence, kept.remaining), (fence.fence, fence.fault, 0));
    assert_eq!((kept.flags, kept.context), (0, 0));
    assert_eq!(kept.info.sid.get(), 0);
    assert_eq!(kept.info.check(), Ok(()));
    assert!(kept.timestamp != 0 && kept.engine_status != 0xa0);
    assert_eq!(fault(&mut rig, file), Err(Errno::ENODATA));
    assert_eq!(fault(&mut rig, other), Err(Errno::ENODATA));
    assert_eq!(result(&rig.run(&others)), Ok(()), "the other context keeps running");
    assert_eq!(param(&mut rig, other, Param::State), State::Ready as u64);
}

/// GET_FAILURE of a fence, with so much room for the text: the answer, and the text.
fn failure(
    rig: &mut EmbeddedClients,
    file: FileId,
    fence: u64,
    room: u32,
) -> Result<(GetFailure, String), Errno> {
    const TEXT: u64 = 0x1000;
    let mut memory = Segments::new();
    memory.push(TEXT, vec![0; room as usize]);
    let mut get = GetFailure { fence, text: TEXT, text_size: room, reserved: 0 };
    rig.ioctl_with(file, &GET_FAILURE, &mut get, &mut memory)?;
    let text = memory.read(TEXT, get.text_size.min(room) as usize).expect("it was added").to_vec();
    Ok((get, String::from_utf8(text).expect("text")))
}

#[test]
fn request_that_failed_is_explained_to_its_file_and_to_no_other() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    assert_eq!(failure(&mut rig, file, 0, 1024).map(|_| ()), Err(Errno::ENODATA));
    inject(&mut rig, "translation-fault:after=1");
    let fence = rig.run(&loaded).fence;
    let (get, text) = failure(&mut rig, file, 0, 1024).unwrap();
    assert_eq!((get.fence, get.text_size as usize), (fence, text.len()));
    assert!(text.contains("task 0: ") && text.contains("; check that every buffer is as long"), "{text}");
    assert_eq!(Some(text.as_str()), rig.driver.last_failure());
    assert_eq!(failure(&mut rig, file, fence, 1024).unwrap().1, text);
    // Without room the length is told; with little, the beginning.
    assert_eq!(failure(&mut rig, file, fence, 0).unwrap().0.text_size, get.text_size);
    assert_eq!(failure(&mut rig, file, fence, 7).unwrap().1, &text[..7]);
    assert_eq!(failure(&mut rig, file, fence + 1, 1024).map(|_| ()), Err(Errno::ENODATA));
    assert_eq!(failure(&mut rig, other, 0, 1024).map(|_| ()), Err(Errno::ENODATA));
}

#[test]
fn recovery_lets_work_go_on_at_once() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    assert_eq!(recover(&mut rig, file, RECOVER_RESUME), Err(Errno::EALREADY));
    inject(&mut rig, "translation-fault:after=1");
    assert_eq!(result(&rig.run(&loaded)), Err(Errno::EIO));
    assert_eq!(
        recover(&mut rig, file, RECOVER_RESUME).map(|recover| recover.state),
        Ok(State::Parked as u32)
    );
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_sum(&mut rig, &loaded);
    assert_eq!(counter(&mut rig, file, false, Counter::Faults), 1);
    assert_eq!(counter(&mut rig, file, false, Counter::Recoveries), 1);
}

#[test]
fn requests_behind_the_one_that_faulted_wait_out_the_park_and_run() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "translation-fault:after=1");
    let fences: Vec<u64> = (0..5).map(|_| rig.submit(&loaded).unwrap()).collect();
    let results: Vec<_> = fences.iter().map(|&fence| result(&rig.wait(file, fence))).collect();
    assert_eq!(results, [Err(Errno::EIO), Ok(()), Ok(()), Ok(()), Ok(())]);
}

/// Requirement: FAULT-24
#[test]
fn second_real_fault_before_recovery_is_kept_and_not_dumped() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    inject(&mut rig, "translation-fault:after=1");
    rig.run(&loaded);
    let dump = rig.driver.last_dump().unwrap().to_owned();
    inject(&mut rig, "translation-fault:after=1");
    assert_eq!(result(&rig.run(&others)), Err(Errno::EIO));
    assert_eq!(rig.driver.last_dump(), Some(&*dump));
    assert!(fault(&mut rig, other).is_ok());
    assert_eq!(recover(&mut rig, file, RECOVER_RESUME).map(|_| ()), Ok(()));
    assert!(rig.driver.is_latched(), "the other context is parked still");
    assert_eq!(recover(&mut rig, other, RECOVER_RESUME).map(|_| ()), Ok(()));
    assert!(!rig.driver.is_latched());
}

/// Requirement: FAULT-17
#[test]
fn every_consumer_gets_the_same_bytes() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let seen: [Arc<Mutex<Vec<IoDartErrorInfo>>>; 2] = Default::default();
    for consumer in seen.clone() {
        rig.driver.on_fault(Box::new(move |info| consumer.lock().unwrap().push(*info)));
    }
    inject(&mut rig, "translation-fault:after=1");
    rig.run(&loaded);
    let [first, second] = seen.map(|seen| seen.lock().unwrap().clone());
    assert_eq!(first.len(), 1);
    assert_eq!(first.as_bytes(), second.as_bytes());
    assert_eq!(fault(&mut rig, file).unwrap().info.as_bytes(), first.as_bytes());
}

/// Requirement: POOL-07
#[test]
fn request_that_faulted_is_not_in_flight_any_more() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "translation-fault:after=1");
    rig.run(&loaded);
    assert_eq!(counter(&mut rig, file, false, Counter::InFlight), 0);
    assert_eq!(counter(&mut rig, file, false, Counter::Failed), 1);
}

#[test]
fn only_the_last_sixteen_faults_are_kept_and_the_first_of_them_says_so() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    for _ in 0..=FAULTS_MAX {
        inject(&mut rig, "translation-fault:after=1");
        rig.run(&loaded);
        recover(&mut rig, file, RECOVER_RESUME).unwrap();
    }
    let first = fault(&mut rig, file).unwrap();
    assert_eq!((first.sequence, first.flags, first.remaining), (2, FAULT_LOST, FAULTS_MAX - 1));
    assert_eq!(fault(&mut rig, file).unwrap().flags & FAULT_BENIGN, 0);
}

/// Requirement: FAULT-25
#[test]
fn device_that_panics_is_dead_until_it_is_reset_and_says_so() {
    let options = Options { fault_policy: FaultPolicy::Panic, ..Options::default() };
    let mut rig = rig_with(&options);
    let (file, root) = (rig.open(), rig.open_as(true));
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, root) else { return };
    inject(&mut rig, "translation-fault:after=1");
    let waiting = [rig.submit(&loaded).unwrap(), rig.submit(&loaded).unwrap(), rig.submit(&loaded).unwrap()];
    let theirs = rig.submit(&others).unwrap();
    let fences = waiting.map(|fence| rig.wait(file, fence));
    assert_eq!(fences.map(|fence| fence.result), [Errno::EIO.as_result(); 3]);
    assert_eq!(result(&rig.wait(root, theirs)), Err(Errno::EIO));
    assert_ne!(fences[0].fault, 0);
    assert_eq!(fault(&mut rig, file).map(|fault| fault.fence), Ok(waiting[0]));
    assert_eq!(param(&mut rig, file, Param::State), State::Dead as u64);
    assert_eq!(rig.submit(&loaded), Err(Errno::EIO));
    assert_eq!(recover(&mut rig, file, RECOVER_RESUME), Err(Errno::EIO));
    assert_eq!(recover(&mut rig, file, RECOVER_RESET), Err(Errno::EPERM));
    assert_eq!(recover(&mut rig, root, RECOVER_RESET).map(|recover| recover.state), Ok(State::Dead as u32));
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_sum(&mut rig, &loaded);
}

#[test]
fn reset_cancels_every_request_of_every_file_and_buffers_keep_their_contents() {
    let mut rig = rig();
    let (file, root) = (rig.open(), rig.open_as(true));
    let Some(loaded) = sum(&mut rig, file) else { return };
    let fences: Vec<u64> = (0..4).map(|_| rig.submit(&loaded).unwrap()).collect();
    // Two of them are with the device, two wait.
    rig.driver.push();
    let done = recover(&mut rig, root, RECOVER_RESET).unwrap();
    assert_eq!((done.state, done.cancelled), (State::Ready as u32, 4));
    for fence in fences {
        assert_eq!(result(&rig.wait(file, fence)), Err(Errno::ECANCELED));
    }
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_sum(&mut rig, &loaded);
}

#[test]
fn recovery_takes_exactly_one_of_its_flags() {
    let mut rig = rig();
    let root = rig.open_as(true);
    for flags in [0, RECOVER_RESUME | RECOVER_RESET, 4, u32::MAX] {
        assert_eq!(recover(&mut rig, root, flags), Err(Errno::EINVAL), "{flags:#x}");
    }
}

#[test]
fn fault_whose_event_was_lost_is_read_from_the_window() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "translation-fault:after=1");
    let fence = rig.submit(&loaded).unwrap();
    rig.driver.push();
    // The event of the fault is taken by somebody else.
    ane(&mut rig).work(ane_device::time::Ticks(1));
    let dropped: Vec<_> = ane(&mut rig).take_events().collect();
    assert_eq!(dropped.len(), 2);
    let ended = rig.wait(file, fence);
    assert_eq!(result(&ended), Err(Errno::EIO));
    assert_eq!(fault(&mut rig, file).map(|fault| fault.sequence), Ok(ended.fault));
}

#[test]
fn file_is_readable_from_a_fault_until_it_is_asked() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    assert!(!rig.driver.is_readable(file));
    inject(&mut rig, "translation-fault:after=1");
    rig.submit(&loaded).unwrap();
    work_for(&mut rig, Duration::from_millis(20));
    assert!(rig.driver.is_readable(file));
    fault(&mut rig, file).unwrap();
    assert!(!rig.driver.is_readable(file));
}
