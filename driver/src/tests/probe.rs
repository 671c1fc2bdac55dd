//! Bringing a device up, and giving it back.

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId};

use super::*;
use crate::ProbeError;
use crate::bus::ArenaId;
use crate::tests::users::OWNER;
use crate::tm::manager;

fn probe(spoil: impl FnOnce(&mut Fake)) -> Result<(), ProbeError> {
    let mut bus = Fake::new(64);
    spoil(&mut bus);
    Driver::probe(bus).map(|_| ())
}

#[test]
fn device_that_is_not_this_hardware_is_refused_by_name() {
    assert!(matches!(probe(|bus| bus.config.chip.set(0x9999)), Err(ProbeError::Chip(0x9999))));
    assert!(matches!(
        probe(|bus| bus.config.queue_count.set(7)),
        Err(ProbeError::TooFew { what: "task queues", found: 7, needed: 8 })
    ));
    assert!(matches!(
        probe(|bus| bus.config.context_count.set(1)),
        Err(ProbeError::TooFew { what: "contexts", found: 1, needed: 8 })
    ));
    assert!(matches!(
        probe(|bus| bus.config.aperture_size.set(1 << 32)),
        Err(ProbeError::Aperture { base: 0, .. })
    ));
    assert!(matches!(probe(|bus| bus.is_gone = true), Err(ProbeError::Bus(_))));
    assert!(probe(|_| {}).is_ok());
}

#[test]
fn queues_get_priorities_that_fall_with_their_number_and_run() {
    let (driver, _) = driver();
    let read = |at: ane_uapi::hw::space::EngineOffset| driver.bus().registers[&at.0];
    let priorities: Vec<u32> = QueueId::ALL.map(|queue| read(queue.register(&tq::PRTY))).to_vec();
    assert_eq!(priorities, [0x1f, 0x1e, 6, 5, 4, 3, 2, 1]);
    assert_eq!(read(manager(&tm::QUEUE_ENABLE)), 0x1000);
    assert_eq!(read(manager(&tm::INTERRUPT_ENABLE)), 0x400_0000);
    assert_eq!(read(manager(&tm::LINE_ENABLE)), 2);
}

#[test]
fn removed_device_has_everything_switched_off_and_no_arena() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    driver.arena(file).unwrap();
    assert!(driver.bus().arenas.contains_key(&ArenaId::of(ContextId::BASE)));
    let bus = driver.remove();
    assert!(bus.arenas.is_empty());
    assert_eq!(bus.registers[&manager(&tm::QUEUE_ENABLE).0], 0);
    assert_eq!(bus.registers[&manager(&tm::LINE_ENABLE).0], 0);
}

#[test]
fn device_that_goes_away_makes_every_call_enodev_and_comes_back() {
    let (mut driver, clock) = driver();
    let file = open(&mut driver);
    driver.bus_mut().is_gone = true;
    driver.progress(std::time::Duration::ZERO);
    let mut get = ane_uapi::ioctl::param::GetParam { param: 0, reserved: 0, value: 0 };
    let number = &ane_uapi::ioctl::param::GET_PARAM;
    assert_eq!(ioctl(&mut driver, file, number, &mut get, &mut Segments::new()), Err(Errno::ENODEV));
    assert!(driver.open(Credentials { process: 2, user: OWNER }).is_err());
    driver.bus_mut().is_gone = false;
    clock.advance(std::time::Duration::from_millis(20));
    driver.progress(std::time::Duration::ZERO);
    assert_eq!(ioctl(&mut driver, file, number, &mut get, &mut Segments::new()), Ok(()));
}
