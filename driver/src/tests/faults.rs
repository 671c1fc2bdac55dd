//! Faults that a test makes up.

use std::cell::Cell;
use std::time::Duration;

use ane_uapi::hw::dart::error::FaultAddress;
use ane_uapi::hw::dart::regs::{self, ErrorStatus, Window};
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::ioctl::fault::{FAULT_BENIGN, GET_FAULT, GetFault, RECOVER, RECOVER_RESUME, Recover};
use ane_uapi::ioctl::param::State;
use ane_uapi::wire::event::{Event, EventKind};
use zerocopy::FromZeros;

use super::*;

/// The event of a fault of stream 0, caught by the second window while the engine's status word was `status`.
fn event(status: u32) -> Event {
    let held = ErrorStatus::new().with_fault(true).with_no_l3_entry(true);
    let mut event = Event::new_zeroed();
    event.kind.set(EventKind::Dart as u16);
    event.source.set(Window::Dart1 as u16);
    event.words[0].set(held.into_bits());
    event.engine_status.set(status);
    event.info = IoDartErrorInfo::new(held, FaultAddress::from_halves(0x8000, 0), [1, 2, 3, 4]);
    event
}

fn fetch(driver: &mut Driver<Fake>, file: FileId) -> Result<GetFault, Errno> {
    let mut get = GetFault::new_zeroed();
    ioctl(driver, file, &GET_FAULT, &mut get, &mut Segments::new()).map(|()| get)
}

thread_local! {
    static LINES: Cell<usize> = const { Cell::new(0) };
}

/// Counts the lines that a thread logs.
struct Counting;

impl log::Log for Counting {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &log::Record<'_>) {
        LINES.set(LINES.get() + 1);
    }

    fn flush(&self) {}
}

#[test]
fn faults_without_end_leave_a_few_lines_every_ten_seconds() {
    log::set_logger(&Counting).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let (mut driver, clock) = driver();
    let file = open(&mut driver);
    driver.arena(file).unwrap();
    let mut flood = || {
        LINES.set(0);
        for _ in 0..500 {
            // One of the client's context, whose latch it takes back itself; and one that is no context's.
            let mut stray = event(0xa1);
            stray.info.sid.set(9);
            driver.bus_mut().events.extend([event(0xa1), stray]);
            driver.progress(Duration::ZERO);
            let mut recover = Recover { flags: RECOVER_RESUME, ..Recover::new_zeroed() };
            ioctl(&mut driver, file, &RECOVER, &mut recover, &mut Segments::new()).unwrap();
        }
        LINES.get()
    };
    // Two dumps, and five faults that are no context's.
    assert_eq!(flood(), 7);
    clock.advance(Duration::from_secs(9));
    assert_eq!(flood(), 0);
    clock.advance(Duration::from_secs(1));
    assert_eq!(flood(), 7);
}

/// Requirement: FAULT-21
#[test]
fn benign_fault_is_kept_and_neither_latches_nor_dumps_nor_parks() {
    for status in [0x20, 0xa0] {
        let (mut driver, _) = driver();
        let file = open(&mut driver);
        driver.arena(file).unwrap();
        driver.bus_mut().events.push_back(event(status));
        driver.progress(Duration::ZERO);
        assert!(!driver.is_latched() && driver.last_dump().is_none());
        let kept = fetch(&mut driver, file).unwrap();
        assert_eq!((kept.flags, kept.fence, kept.window), (FAULT_BENIGN, 0, 1));
        assert_eq!((kept.engine_status, kept.info.address.get()), (status, 0x8000));
    }
}

#[test]
fn any_other_status_word_makes_the_fault_real() {
    for status in [0, 0x21, 0xa1, 0x1a0, u32::MAX] {
        let (mut driver, _) = driver();
        let file = open(&mut driver);
        driver.arena(file).unwrap();
        driver.bus_mut().events.push_back(event(status));
        driver.progress(Duration::ZERO);
        assert!(driver.is_latched() && driver.last_dump().is_some(), "{status:#x}");
        assert_eq!(driver.state_of(file), State::Parked);
    }
}

#[test]
fn fault_is_cleared_in_its_window_so_that_the_next_can_be_caught() {
    let (mut driver, _) = driver();
    driver.bus_mut().events.push_back(event(0xa1));
    driver.progress(Duration::ZERO);
    let at = Window::Dart1.base().0 + regs::ERROR_STATUS.offset();
    assert_eq!(driver.bus().registers.get(&at), Some(&event(0).words[0].get()));
}

#[test]
fn fault_that_is_no_requests_goes_to_every_file_of_its_context() {
    let (mut driver, clock) = driver();
    let (file, other) = (open(&mut driver), open(&mut driver));
    driver.arena(file).unwrap();
    driver.arena(other).unwrap();
    driver.bus_mut().events.push_back(event(0xa1));
    driver.progress(Duration::ZERO);
    clock.advance(Duration::from_millis(50));
    driver.progress(Duration::ZERO);
    assert_eq!(fetch(&mut driver, file).map(|fault| fault.fence), Ok(0));
    assert!(fetch(&mut driver, other).is_err(), "another context's");
}

#[test]
fn storm_of_faults_keeps_a_bounded_number_of_them() {
    let (mut driver, _) = driver();
    let file = open(&mut driver);
    driver.arena(file).unwrap();
    driver.bus_mut().events.extend((0..1000).map(|_| event(0xa1)));
    for _ in 0..10 {
        driver.progress(Duration::ZERO);
    }
    let kept = std::iter::from_fn(|| fetch(&mut driver, file).ok()).count();
    assert_eq!(kept, ane_uapi::ioctl::param::FAULTS_MAX as usize);
}
