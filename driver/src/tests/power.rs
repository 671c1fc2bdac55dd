//! Sleeping after a second, and waking with everything in place.

use std::time::Duration;

use ane_uapi::hw::status::EngineStatus;
use ane_uapi::hw::tm;

use super::*;
use crate::AUTOSUSPEND;
use crate::tm::manager;

/// Requirement: FAULT-22
#[test]
fn engine_that_is_powered_and_idle_for_a_second_loses_its_power() {
    let (mut driver, clock) = driver();
    assert_eq!(driver.status(), EngineStatus::POWERED_IDLE);
    clock.advance(AUTOSUSPEND - Duration::from_nanos(1));
    let after = driver.progress(Duration::ZERO).after;
    assert_eq!(after, Some(Duration::from_nanos(1)));
    assert!(driver.status().is_powered_idle());
    clock.advance(Duration::from_nanos(1));
    driver.progress(Duration::ZERO);
    assert_eq!(driver.status(), EngineStatus::from_bits(0x20));
    assert_eq!(driver.bus().registers[&manager(&tm::QUEUE_ENABLE).0], 0);
}

#[test]
fn engine_that_wakes_has_back_what_it_was_brought_up_with() {
    let (mut driver, clock) = driver();
    let file = open(&mut driver);
    driver.arena(file).unwrap();
    let before = driver.bus().registers.clone();
    clock.advance(AUTOSUSPEND);
    driver.progress(Duration::ZERO);
    // Without power nothing of it is left.
    driver.bus_mut().registers.clear();
    assert!(driver.hardware.wake());
    let after = driver.bus().registers.clone();
    let is_state = |(at, _): &(u32, u32)| at & 0xfff != 0x20 && at & 0xfff != 0x34;
    let state = |registers: std::collections::BTreeMap<u32, u32>| {
        let idle = manager(&tm::STATUS).0;
        registers
            .into_iter()
            .filter(is_state)
            .filter(|(at, value)| *at != idle && *value != 0)
            .collect::<Vec<_>>()
    };
    assert_eq!(state(after), state(before));
    assert!(driver.status().is_powered_idle());
}
