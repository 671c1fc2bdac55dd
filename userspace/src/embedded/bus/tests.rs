use ane_device::Options;
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::wire::ctrl::Status;
use vm_memory::{GuestMemoryBackend, GuestMemoryRegion};

use super::*;
use crate::embedded::open;

fn bus() -> InProcess {
    open(&Options::default(), 1 << 20).unwrap()
}

#[test]
fn batch_ends_at_the_refused_operation_and_keeps_what_was_read() {
    let mut values = [0; 3];
    let [known, outside] = [0x1c2_4000, 0x200_0000].map(|at| Operation::Read(EngineOffset(at)));
    let outcome = bus().batch(&[known, outside, known], &mut values);
    let expected = matches!(
        outcome,
        Err(BusError::Refused {
            status: Status::OutsideContainer,
            done: 1,
            index: Some(1),
            detail: 0x200_0000
        })
    );
    assert!(expected, "{outcome:?}");
    assert_eq!(values[1..], [0, 0]);
}

#[test]
fn waiting_for_an_event_ends_when_there_is_nothing_to_do() {
    let start = Instant::now();
    let mut bus = bus();
    assert!(bus.is_pending());
    assert!(bus.event(Duration::from_secs(60)).unwrap().is_none());
    assert!(!bus.is_pending());
    assert!(start.elapsed() < Duration::from_secs(30));
}

/// First addresses of what the device reaches.
fn reached(bus: &mut InProcess) -> Vec<PhysAddr> {
    bus.device_mut().ane().memory().iter().map(|region| PhysAddr(region.start_addr().0)).collect()
}

#[test]
fn device_reaches_the_arena_of_a_context_until_it_is_retired() {
    let mut bus = bus();
    let [first, second] = [0, 1].map(|number| ArenaId::of(ContextId::new(number).unwrap()));
    let arenas = [first, second].map(|id| bus.arena(id).unwrap().stretches()[0].at);
    assert_eq!(reached(&mut bus), [MEMORY_BASE, arenas[0], arenas[1]]);
    bus.retire(first).unwrap();
    assert_eq!(reached(&mut bus), [MEMORY_BASE, arenas[1]]);
}
