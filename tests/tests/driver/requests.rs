//! Requests: how many, in which order, after which others, and how they are waited for.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ane::build::{Graph, Shape, Tail};
use ane_driver::MappingInfo;
use ane_driver::front::{Call, FileId, Files, Segments};
use ane_tests::client::{Buffer, Loaded};
use ane_uapi::hw::usage::Usage;
use ane_uapi::ioctl::buffer::{
    BO_CREATE, BO_FIXED_ADDRESS, BO_INFO, BO_MAP, BO_UNMAP, BoCreate, BoInfo, BoMap, BoUnmap,
};
use ane_uapi::ioctl::context::{CONTEXT_ANY, CONTEXT_ATTACH, ContextAttach, ContextPolicy};
use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
use ane_uapi::ioctl::errno::Errno;
use ane_uapi::ioctl::fence::{CANCEL, CANCEL_RUNNING, Cancel, Fence, FenceState, WAIT, WAIT_ANY, Wait};
use ane_uapi::ioctl::param::{IN_FLIGHT_MAX, Param};
use ane_uapi::ioctl::request::{Bar, Chain, REQUEST_NONBLOCK, Request, SUBMIT_CHAIN, SUBMIT_REQUEST};
use ane_uapi::ioctl::stats::Counter;
use nix::sys::eventfd::{EfdFlags, EventFd};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::rig::{EmbeddedClients, assert_sum, counter, inject, param, result, rig, sum, wound};

const AT: u64 = 0x4_0000;

const PAGE: u64 = 0x4000;

/// Submits with something changed.
fn submit_with(
    rig: &mut EmbeddedClients,
    loaded: &Loaded,
    change: impl FnOnce(&mut Request),
) -> Result<u64, Errno> {
    let (mut request, mut memory) = loaded.request();
    change(&mut request);
    rig.ioctl_with(loaded.file, &SUBMIT_REQUEST, &mut request, &mut memory)?;
    Ok(request.out_fence)
}

/// Submits behind other fences.
fn submit_after(rig: &mut EmbeddedClients, loaded: &Loaded, fences: &[u64]) -> u64 {
    let (mut request, mut memory) = loaded.request();
    memory.push(AT, fences.as_bytes().to_vec());
    request.in_fences = AT;
    request.in_fence_count = fences.len() as u32;
    rig.ioctl_with(loaded.file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
    request.out_fence
}

/// Submits a chain of as many requests; the fence of each.
fn submit_chain(
    rig: &mut EmbeddedClients,
    loaded: &Loaded,
    count: usize,
    flags: u32,
) -> Result<Vec<u64>, Errno> {
    let (request, mut memory) = loaded.request();
    memory.push(AT, vec![request; count].as_bytes().to_vec());
    let size = size_of::<Request>();
    let mut chain = Chain {
        requests: AT,
        request_count: count as u32,
        request_size: size as u32,
        flags,
        ..Chain::new_zeroed()
    };
    rig.ioctl_with(loaded.file, &SUBMIT_CHAIN, &mut chain, &mut memory)?;
    let written = <[Request]>::ref_from_bytes(memory.read(AT, count * size).unwrap()).unwrap();
    let fences: Vec<u64> = written.iter().map(|request| request.out_fence).collect();
    assert_eq!(chain.out_fence, *fences.last().unwrap());
    Ok(fences)
}

/// The states of fences, without waiting.
fn states(rig: &mut EmbeddedClients, file: FileId, fences: &[u64]) -> Vec<u32> {
    let asked: Vec<Fence> = fences.iter().map(|&fence| Fence { fence, ..Fence::new_zeroed() }).collect();
    let mut memory = Segments::new();
    memory.push(AT, asked.as_bytes().to_vec());
    let mut wait = Wait {
        fences: AT,
        count: fences.len() as u32,
        fence_size: size_of::<Fence>() as u32,
        ..Wait::new_zeroed()
    };
    let _ = rig.ioctl_with(file, &WAIT, &mut wait, &mut memory);
    let bytes = memory.read(AT, asked.as_bytes().len()).unwrap();
    <[Fence]>::ref_from_bytes(bytes).unwrap().iter().map(|fence| fence.state).collect()
}

#[test]
fn buffer_that_is_unmapped_while_a_request_waits_is_out_of_the_requests_reach() {
    let mut rig = rig();
    let file = rig.open();
    let mut graph = Graph::new();
    let input = graph.input("x", Shape::new(64, 1, 1)).unwrap();
    let output = graph.pass_through(input, Tail::NONE).unwrap();
    graph.output("y", output).unwrap();
    let built = graph.build().unwrap();
    let loaded = rig.load(file, &built.program());
    let (own, behind) = (rig.buffer(file, PAGE, Usage::Input), rig.buffer(file, PAGE, Usage::Input));
    // All but the first of the 64 channels lie in the buffer behind.
    let at = u32::from(built.surface("x").unwrap().bar);
    let request = |others: &[Bar]| {
        let (mut request, mut memory) = loaded.request();
        let mut bars = loaded.entries();
        bars.retain(|bar| bar.index != at);
        bars.push(Bar { index: at, handle: own.handle, offset: PAGE - 64, ..Bar::new_zeroed() });
        bars.extend_from_slice(others);
        memory.push(AT, bars.as_bytes().to_vec());
        (request.bars, request.bar_count) = (AT, bars.len() as u32);
        (request, memory)
    };
    // The translations of both are in the buffer from now on.
    let (mut first, mut memory) = request(&[Bar { index: 20, handle: behind.handle, ..Bar::new_zeroed() }]);
    rig.ioctl_with(file, &SUBMIT_REQUEST, &mut first, &mut memory).unwrap();
    assert_eq!(result(&rig.wait(file, first.out_fence)), Ok(()));
    let place = |rig: &mut EmbeddedClients, buffer: Buffer| {
        let mut info = BoInfo { handle: buffer.handle, ..BoInfo::new_zeroed() };
        rig.ioctl(file, &BO_INFO, &mut info).unwrap();
        info.device_address
    };
    assert_eq!(place(&mut rig, behind), place(&mut rig, own) + PAGE);
    let (mut second, mut memory) = request(&[]);
    rig.ioctl_with(file, &SUBMIT_REQUEST, &mut second, &mut memory).unwrap();
    rig.ioctl(file, &GEM_CLOSE, &mut GemClose { handle: behind.handle, padding: 0 }).unwrap();
    assert_eq!(result(&rig.wait(file, second.out_fence)), Err(Errno::EIO));
}

/// Requirement: POOL-06
#[test]
fn of_one_file_127_requests_are_in_flight_and_the_next_waits_or_is_told_so() {
    let mut rig = rig();
    let (file, other) = (rig.open(), rig.open());
    let Some(loaded) = sum(&mut rig, file) else { return };
    let Some(others) = sum(&mut rig, other) else { return };
    let fences: Vec<u64> = (0..IN_FLIGHT_MAX).map(|_| rig.submit(&loaded).unwrap()).collect();
    assert_eq!(counter(&mut rig, file, false, Counter::InFlight), u64::from(IN_FLIGHT_MAX));
    let told = submit_with(&mut rig, &loaded, |request| request.flags = REQUEST_NONBLOCK);
    assert_eq!(told, Err(Errno::EAGAIN));
    assert_eq!(submit_chain(&mut rig, &loaded, 2, REQUEST_NONBLOCK), Err(Errno::EAGAIN));
    let (request, memory) = loaded.request();
    let mut call = Call::new(SUBMIT_REQUEST.number, request.as_bytes().to_vec(), memory);
    assert_eq!(rig.attempt(file, &mut call), Poll::Pending);
    assert!(rig.submit(&others).is_ok(), "another file has its own");
    assert_eq!(rig.call(file, &mut call), Ok(()));
    let last = Request::read_from_bytes(&call.argument).unwrap().out_fence;
    for fence in fences.into_iter().chain([last]) {
        assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    }
    assert_eq!(counter(&mut rig, file, false, Counter::InFlightPeak), u64::from(IN_FLIGHT_MAX));
}

#[test]
fn chain_counts_as_one_in_flight_and_each_of_its_requests_has_a_fence() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let fences = submit_chain(&mut rig, &loaded, 128, 0).unwrap();
    assert_eq!(fences, (1..=128).collect::<Vec<_>>());
    assert_eq!(counter(&mut rig, file, false, Counter::InFlight), 1);
    assert_eq!(result(&rig.wait(file, 128)), Ok(()));
    assert_eq!(counter(&mut rig, file, false, Counter::Completed), 128);
    assert_eq!(counter(&mut rig, file, false, Counter::InFlight), 0);
}

#[test]
fn requests_behind_one_that_failed_in_a_chain_are_cancelled() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "corrupted-completion:1");
    let fences = submit_chain(&mut rig, &loaded, 4, 0).unwrap();
    let results: Vec<_> = fences.iter().map(|&fence| result(&rig.wait(file, fence))).collect();
    let cancelled = Err(Errno::ECANCELED);
    assert_eq!(results, [Err(Errno::EIO), cancelled, cancelled, cancelled]);
    assert_eq!(counter(&mut rig, file, false, Counter::Cancelled), 3);
}

#[test]
fn request_waits_for_its_fences_and_is_cancelled_with_one_that_failed() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "stuck-queue:4");
    let stuck = rig.submit(&loaded).unwrap();
    let done = submit_with(&mut rig, &loaded, |request| request.priority = 5).unwrap();
    let behind = submit_after(&mut rig, &loaded, &[done, stuck]);
    rig.settle();
    let queued = FenceState::Queued as u32;
    assert_eq!(states(&mut rig, file, &[stuck, behind]), [FenceState::Running as u32, queued]);
    assert_eq!(result(&rig.wait(file, behind)), Err(Errno::ECANCELED));
    assert_eq!(result(&rig.wait(file, stuck)), Err(Errno::ETIME));
    let complete = rig.submit(&loaded).unwrap();
    rig.wait(file, complete);
    let after = submit_after(&mut rig, &loaded, &[complete, done]);
    assert_eq!(result(&rig.wait(file, after)), Ok(()));
}

#[test]
fn more_urgent_request_that_comes_later_runs_first() {
    let mut rig = rig();
    let root = rig.open_as(true);
    let Some(loaded) = sum(&mut rig, root) else { return };
    let late: Vec<u64> = [7, 4, 2, 0]
        .map(|priority| submit_with(&mut rig, &loaded, |r| r.priority = priority).unwrap())
        .to_vec();
    let ended = late.iter().map(|&fence| (rig.wait(root, fence).timestamp, fence));
    let mut ended: Vec<_> = ended.collect();
    ended.sort_unstable();
    let order: Vec<u64> = ended.into_iter().map(|(_, fence)| fence).collect();
    assert_eq!(order, late.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn files_of_one_priority_take_turns() {
    // No time passes, or a request during which the host was busy would have had its file's turns for long.
    let (mut rig, _) = wound();
    let files = [rig.open(), rig.open(), rig.open()];
    let mut loads = Vec::new();
    for file in files {
        let Some(loaded) = sum(&mut rig, file) else { return };
        loads.push(loaded);
    }
    // The first file has submitted all of its requests before the others come.
    let mut fences: Vec<(FileId, u64)> = Vec::new();
    for loaded in &loads {
        fences.extend((0..20).map(|_| (loaded.file, rig.submit(loaded).unwrap())));
    }
    let mut ended: Vec<(u64, u64, FileId)> =
        fences.into_iter().map(|(file, fence)| (rig.wait(file, fence).timestamp, fence, file)).collect();
    ended.sort_unstable();
    // While all of them have some, however many of the first file ended before the others came.
    let ends: Vec<FileId> = ended.iter().map(|&(.., file)| file).collect();
    let begins = files.map(|file| ends.iter().position(|&other| other == file).unwrap());
    let lasts = files.map(|file| ends.iter().rposition(|&other| other == file).unwrap());
    let between = &ends[*begins.iter().max().unwrap()..=*lasts.iter().min().unwrap()];
    let counts = files.map(|file| between.iter().filter(|&&other| other == file).count());
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(*least >= 2 && most - least <= 1, "{counts:?}: {ended:?}");
}

#[test]
fn wait_for_any_returns_with_the_first_and_a_wait_that_is_over_tells_how_far_they_are() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    inject(&mut rig, "stuck-queue:4");
    let stuck = rig.submit(&loaded).unwrap();
    let quick = submit_with(&mut rig, &loaded, |request| request.priority = 3).unwrap();
    let asked = [stuck, quick].map(|fence| Fence { fence, ..Fence::new_zeroed() });
    let mut memory = Segments::new();
    memory.push(AT, asked.as_bytes().to_vec());
    let now = param(&mut rig, file, Param::ClockNs) as i64;
    let any = Wait {
        fences: AT,
        count: 2,
        fence_size: size_of::<Fence>() as u32,
        timeout_ns: now + 1_000_000_000,
        flags: WAIT_ANY,
        ..Wait::new_zeroed()
    };
    // The urgent one runs although the other is stuck once the device has given up on that: so only now.
    let mut all = Wait { flags: 0, timeout_ns: now + 20_000_000, ..any };
    assert_eq!(rig.ioctl_with(file, &WAIT, &mut all, &mut memory.clone()), Err(Errno::ETIMEDOUT));
    let mut wait = Wait { timeout_ns: i64::MAX, ..any };
    assert_eq!(rig.ioctl_with(file, &WAIT, &mut wait, &mut memory), Ok(()));
    assert!((1..=2).contains(&wait.completed));
    assert_eq!(result(&rig.wait(file, quick)), Ok(()));
}

#[test]
fn eventfd_is_written_to_when_its_request_has_ended() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let event = EventFd::from_flags(EfdFlags::EFD_NONBLOCK).unwrap();
    let fence = rig.submit(&loaded).unwrap();
    let shared = || Arc::new(event.as_fd().try_clone_to_owned().unwrap());
    rig.driver.signal(file, fence, shared()).unwrap();
    assert!(event.read().is_err());
    rig.settle();
    assert_eq!(event.read(), Ok(1));
    assert_eq!(rig.driver.signal(file, fence + 1, shared()), Err(Errno::ENODATA));
}

#[test]
fn request_whose_address_another_one_uses_begins_when_that_has_ended() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let mut info = BoInfo { handle: loaded.bar(4).handle, ..BoInfo::new_zeroed() };
    rig.ioctl(file, &BO_INFO, &mut info).unwrap();
    let address = 0x1000_0000;
    let outputs = [(); 2].map(|()| {
        let mut create = BoCreate {
            size: info.size,
            usage: Usage::Output as u32,
            flags: BO_FIXED_ADDRESS,
            device_address: address,
            ..BoCreate::new_zeroed()
        };
        rig.ioctl(file, &BO_CREATE, &mut create).unwrap();
        create.handle
    });
    let fences = outputs.map(|handle| {
        let (mut request, mut memory) = loaded.request();
        let mut bars = loaded.entries();
        bars.iter_mut().filter(|bar| bar.index == 4).for_each(|bar| bar.handle = handle);
        memory.push(AT, bars.as_bytes().to_vec());
        request.bars = AT;
        rig.ioctl_with(file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
        request.out_fence
    });
    for fence in fences {
        assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    }
}

#[test]
fn request_may_insist_on_its_network_id_and_then_waits_for_it() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let fences: Vec<u64> = (0..6)
        .map(|n| {
            submit_with(&mut rig, &loaded, |request| {
                request.network_id = 0x41;
                request.priority = 2 + n;
            })
            .unwrap()
        })
        .collect();
    for fence in fences {
        assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    }
    assert_sum(&mut rig, &loaded);
}

#[test]
fn buffer_that_is_freed_while_a_request_uses_it_lives_until_the_request_has_ended() {
    use ane_uapi::ioctl::drm::{GEM_CLOSE, GemClose};
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    let fence = rig.submit(&loaded).unwrap();
    for (_, buffer) in &loaded.bars {
        let mut close = GemClose { handle: buffer.handle, padding: 0 };
        rig.ioctl(file, &GEM_CLOSE, &mut close).unwrap();
    }
    assert_eq!(result(&rig.wait(file, fence)), Ok(()));
    assert_eq!(rig.submit(&loaded), Err(Errno::ESTALE));
    assert_eq!(counter(&mut rig, file, false, Counter::Buffers), 0);
}

#[test]
fn ninth_client_is_refused_until_one_of_the_eight_has_closed() {
    let mut rig = rig();
    let files: Vec<FileId> = (0..9).map(|_| rig.open()).collect();
    for &file in &files[..8] {
        rig.driver.arena(file).unwrap();
    }
    assert_eq!(rig.driver.arena(files[8]).err(), Some(Errno::EBUSY));
    assert_eq!(param(&mut rig, files[8], Param::ContextsFree), 0);
    rig.driver.close(files[3]);
    assert!(rig.driver.arena(files[8]).is_ok());
    assert_eq!(param(&mut rig, files[8], Param::Context), 3);
}

/// A call that waits for a context.
fn waiting_for_context() -> Call {
    let attach = ContextAttach {
        policy: ContextPolicy::Wait as u32,
        context: CONTEXT_ANY,
        timeout_ns: i64::MAX,
        ..ContextAttach::new_zeroed()
    };
    Call::new(CONTEXT_ATTACH.number, attach.as_bytes().to_vec(), Segments::new())
}

#[test]
fn client_that_waits_for_a_context_gets_the_one_that_is_given_back() {
    let mut rig = rig();
    let files: Vec<FileId> = (0..9).map(|_| rig.open()).collect();
    for &file in &files[..8] {
        rig.driver.arena(file).unwrap();
    }
    let mut call = waiting_for_context();
    assert_eq!(rig.attempt(files[8], &mut call), Poll::Pending);
    assert!(!rig.driver.progress(Duration::ZERO).is_some);
    rig.driver.close(files[5]);
    assert_eq!(rig.attempt(files[8], &mut call), Poll::Ready(Ok(())));
    assert_eq!(ContextAttach::read_from_bytes(&call.argument).unwrap().context, 5);
}

#[test]
fn clients_that_wait_for_a_context_get_one_in_the_order_in_which_they_came() {
    let mut rig = rig();
    let files: Vec<FileId> = (0..14).map(|_| rig.open()).collect();
    for &file in &files[..8] {
        rig.driver.arena(file).unwrap();
    }
    let mut calls: Vec<Call> = (0..5).map(|_| waiting_for_context()).collect();
    for (call, &file) in calls.iter_mut().zip(&files[8..]) {
        assert_eq!(rig.attempt(file, call), Poll::Pending);
    }
    // The first gives up, and the second is closed.
    rig.driver.abandon(files[8], calls.remove(0));
    rig.driver.close(files[9]);
    calls.remove(0);
    rig.driver.close(files[2]);
    assert_eq!(rig.driver.arena(files[13]).err(), Some(Errno::EBUSY), "who does not wait comes last");
    assert_eq!(rig.attempt(files[12], &mut calls[2]), Poll::Pending);
    assert_eq!(rig.attempt(files[11], &mut calls[1]), Poll::Pending);
    assert_eq!(rig.attempt(files[10], &mut calls[0]), Poll::Ready(Ok(())));
    rig.driver.close(files[3]);
    rig.driver.close(files[4]);
    assert_eq!(
        rig.attempt(files[12], &mut calls[2]),
        Poll::Ready(Ok(())),
        "there is one for the other as well"
    );
    assert_eq!(rig.attempt(files[11], &mut calls[1]), Poll::Ready(Ok(())));
    rig.driver.close(files[5]);
    assert!(rig.driver.arena(files[13]).is_ok());
}

#[test]
fn mapping_that_a_waiting_request_names_stays_and_its_buffer_outlives_the_handle() {
    let mut rig = rig();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    // Two that do not fit beside each other: while the one is in use the other has no place.
    let [one, other] = [(); 2].map(|()| rig.buffer(file, 2 << 30, Usage::Intermediate));
    let mut map = BoMap { handle: other.handle, usage: Usage::Intermediate as u32, ..BoMap::new_zeroed() };
    rig.ioctl(file, &BO_MAP, &mut map).unwrap();
    inject(&mut rig, "stuck-queue");
    let stuck = submit_naming(&mut rig, &loaded, one.handle, 0);
    let waits = submit_naming(&mut rig, &loaded, other.handle, map.mapping);
    rig.settle();
    assert_eq!(
        states(&mut rig, file, &[stuck, waits]),
        [FenceState::Running as u32, FenceState::Queued as u32]
    );
    let unmap = |mapping, usage| BoUnmap { handle: other.handle, mapping, usage, reserved: 0 };
    let intermediate = Usage::Intermediate as u32;
    assert_eq!(rig.ioctl(file, &BO_UNMAP, &mut unmap(map.mapping, intermediate)), Err(Errno::EBUSY));
    assert_eq!(rig.ioctl(file, &BO_UNMAP, &mut unmap(0, intermediate)), Err(Errno::ENODATA), "not named");
    rig.ioctl(file, &GEM_CLOSE, &mut GemClose { handle: other.handle, padding: 0 }).unwrap();
    let mut hard = Cancel { fence: stuck, flags: CANCEL_RUNNING, ..Cancel::new_zeroed() };
    rig.ioctl(file, &CANCEL, &mut hard).unwrap();
    assert_eq!(result(&rig.wait(file, stuck)), Err(Errno::ECANCELED));
    assert_eq!(result(&rig.wait(file, waits)), Ok(()));
    assert_sum(&mut rig, &loaded);
    let large = |map: &&MappingInfo| map.range.len() == 2 << 30;
    assert_eq!(
        rig.driver.contexts()[0].mappings.iter().find(large),
        None,
        "the buffer went with its request"
    );
}

/// Submits with one BAR more, which nothing uses.
fn submit_naming(rig: &mut EmbeddedClients, loaded: &Loaded, handle: u32, mapping: u32) -> u64 {
    let (mut request, mut memory) = loaded.request();
    let bars = memory.read(request.bars, request.bar_count as usize * size_of::<Bar>()).unwrap();
    let more = Bar { index: 31, handle, mapping, ..Bar::new_zeroed() };
    memory.push(AT, [bars, more.as_bytes()].concat());
    (request.bars, request.bar_count) = (AT, request.bar_count + 1);
    rig.ioctl_with(loaded.file, &SUBMIT_REQUEST, &mut request, &mut memory).unwrap();
    request.out_fence
}

#[test]
fn device_that_slept_wakes_for_the_next_request() {
    let (mut rig, clock) = wound();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    rig.run(&loaded);
    clock.advance(Duration::from_secs(1));
    rig.settle();
    assert!(!rig.driver.status().is_powered_idle());
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_sum(&mut rig, &loaded);
}
