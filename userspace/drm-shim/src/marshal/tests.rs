//! Calls out of this process' own memory, taken apart again by the daemon's reader.

use ane_call::Segments;
use ane_uapi::ioctl::request::{Bar, Chain, Request};
use ane_uapi::ioctl::{drm, drm_ane, request, stats};
use aned_protocol::answer;
use aned_protocol::request::{Ask, Request as Message};
use zerocopy::FromZeros;

use super::*;

fn room() -> Vec<u8> {
    vec![0; MESSAGE_MAX]
}

/// A call as the daemon reads it, and the message.
fn sent(ioctl: &Ioctl, argument: u64) -> (Vec<u8>, Written, Vec<u8>, Segments) {
    let mut message = room();
    let written = write(&mut message, ioctl, 3, 9, argument).unwrap();
    message.truncate(written.bytes);
    let read = Message::read(&message).unwrap();
    assert_eq!((read.file, read.id), (3, 9));
    let Ask::Ioctl { number, argument, memory } = read.ask else { panic!("an ioctl was written") };
    assert_eq!(number, ioctl.number);
    (message, written, argument, memory)
}

/// The daemon's answer.
fn answered(argument: &[u8], memory: &Segments) -> Vec<u8> {
    let mut message = Vec::new();
    answer::begin(&mut message, Kind::Ioctl, 3, 9, Ok(()));
    answer::ioctl(&mut message, argument, memory);
    message
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of) as u64
}

#[test]
fn argument_goes_and_what_is_changed_of_it_comes_back() {
    let mut init = drm_ane::BoInit { size: 0x8000, ..FromZeros::new_zeroed() };
    let at = std::ptr::from_mut(&mut init) as u64;
    let (message, written, mut argument, memory) = sent(&drm_ane::BO_INIT, at);
    assert_eq!(argument, init.as_bytes());
    argument[0] = 7;
    argument[16] = 0x40;
    let reply = answered(&argument, &memory);
    let reply = wire::answer(&reply, Kind::Ioctl, 9).unwrap();
    write_back(&message, written, reply, at).unwrap();
    assert_eq!((init.handle, init.size, init.offset), (7, 0x8000, 0x40));
}

#[test]
fn chain_goes_with_all_that_it_points_at_and_fences_come_back() {
    let bars = [Bar { index: 4, handle: 2, ..FromZeros::new_zeroed() }; 3];
    let fences = [5_u64, 6];
    let mut requests = [
        Request { bars: bars.as_ptr() as u64, bar_count: 3, ..FromZeros::new_zeroed() },
        Request { in_fences: fences.as_ptr() as u64, in_fence_count: 2, ..FromZeros::new_zeroed() },
    ];
    let at = requests.as_mut_ptr() as u64;
    let chain = Chain { requests: at, request_count: 2, ..FromZeros::new_zeroed() };
    let (message, written, argument, mut memory) = sent(&request::SUBMIT_CHAIN, address(&chain));
    assert_eq!(memory.read(bars.as_ptr() as u64, 72).unwrap(), bars.as_bytes());
    assert_eq!(memory.read(fences.as_ptr() as u64, 16).unwrap(), fences.as_bytes());
    let place = at + std::mem::offset_of!(Request, out_fence) as u64;
    memory.write(place, &77_u64.to_le_bytes()).unwrap();
    let reply = answered(&argument, &memory);
    write_back(&message, written, wire::answer(&reply, Kind::Ioctl, 9).unwrap(), address(&chain)).unwrap();
    assert_eq!((requests[0].out_fence, requests[1].out_fence), (77, 0));
}

#[test]
fn pointer_that_leads_nowhere_goes_without_bytes() {
    let version = drm::Version { name: 8, name_len: 3, ..FromZeros::new_zeroed() };
    let (_, _, argument, memory) = sent(&drm::VERSION, address(&version));
    assert_eq!(argument, version.as_bytes());
    assert!(memory.read(8, 1).is_err());
    assert_eq!(write(&mut room(), &drm::VERSION, 0, 1, 8).unwrap_err(), Failure(libc::EFAULT));
}

#[test]
fn constant_may_be_written_with_what_it_holds_and_nothing_else() {
    static COUNTERS: [u64; 2] = [1, 2];
    let at = COUNTERS.as_ptr() as u64;
    let ask = stats::GetStats { counters: at, count: 2, scope: 0 };
    let (message, written, argument, mut memory) = sent(&stats::GET_STATS, address(&ask));
    for (value, result) in [(2_u64, Ok(())), (3, Err(Failure(libc::EFAULT)))] {
        memory.write(at + 8, &value.to_le_bytes()).unwrap();
        let reply = answered(&argument, &memory);
        let reply = wire::answer(&reply, Kind::Ioctl, 9).unwrap();
        assert_eq!(write_back(&message, written, reply, address(&ask)), result);
    }
}

#[test]
fn answer_that_does_not_fit_its_question_is_refused() {
    let init = drm_ane::BoInit::default();
    let (message, written, argument, _) = sent(&drm_ane::BO_INIT, address(&init));
    let mut other = Segments::new();
    other.push(0x1000, vec![0; 8]);
    other.write(0x1000, &[1]).unwrap();
    for reply in [answered(&argument[1..], &Segments::new()), answered(&argument, &other)] {
        let whole = wire::answer(&reply, Kind::Ioctl, 9).unwrap();
        assert_eq!(write_back(&message, written, whole, address(&init)), Err(Failure(libc::EIO)));
        for length in 0..whole.body.len() {
            let cut = Answer { body: &whole.body[..length], ..whole };
            assert_eq!(write_back(&message, written, cut, address(&init)), Err(Failure(libc::EIO)));
        }
    }
}

#[test]
fn argument_of_every_ioctl_has_room() {
    for ioctl in ane_uapi::ioctl::IOCTLS.iter().chain(ane_uapi::ioctl::DRM_IOCTLS) {
        assert!(usize::from(ioctl.decoded().size) <= LARGEST, "{}", ioctl.c_name);
    }
}
