//! Today's Linux driver against the device, in process: every access of it in order, and what comes of each way to fail.

use std::ops::RangeInclusive;

use ane_device::engine::cancel::Never;
use ane_device::options::FaultPolicy;
use ane_device::platform::{Platform, Range};
use ane_device::time::Ticks;
use ane_device::{Ane, Options};
use ane_tests::linux::rig::{self, value};
use ane_tests::linux::{Errno, MANAGER, Mmio, PUSH, RETIRE, Step};
use ane_uapi::hw::dart::pte::PteFormat;
use half::f16;
use vm_memory::GuestMemoryMmap;

/// An engine in this process. Each access takes a microsecond of the time that both sides see.
struct EmbeddedPlatform {
    ane: Ane<GuestMemoryMmap>,
    platform: Platform,
    microseconds: u64,
}

const fn ticks(microseconds: u64) -> Ticks {
    Ticks::from_nanoseconds(1_000 * microseconds)
}

impl Mmio for EmbeddedPlatform {
    fn read(&mut self, range: Range, offset: u32) -> u32 {
        self.microseconds += 1;
        let time = ticks(self.microseconds);
        let at = (range, offset.into(), 4);
        self.platform.read(&mut self.ane, at, &|| time, &Never) as u32
    }

    fn write(&mut self, range: Range, offset: u32, value: u32) {
        self.microseconds += 1;
        let now = ticks(self.microseconds);
        self.platform.write(&mut self.ane, (range, offset.into(), 4), value.into(), now);
        // The device works between two accesses.
        self.platform.work(&mut self.ane, now, &Never);
    }

    fn now(&mut self) -> u64 {
        self.microseconds
    }
}

type EmbeddedRig = rig::LinuxRig<EmbeddedPlatform>;

fn options() -> Options {
    Options {
        pte_format: PteFormat::T8020,
        fault_policy: FaultPolicy::Stall,
        check: true,
        ..Options::default()
    }
}

/// A driver in this process with a program of so many channels loaded.
fn rig(channels: u32, options: &Options) -> EmbeddedRig {
    let memory = rig::memory();
    let ane = Ane::new(options, memory.clone()).unwrap();
    EmbeddedRig::new(
        EmbeddedPlatform { ane, platform: Platform::default(), microseconds: 0 },
        memory,
        channels,
    )
}

fn ane(rig: &mut EmbeddedRig) -> &mut Ane<GuestMemoryMmap> {
    &mut rig.linux.mmio.ane
}

fn hazards(rig: &mut EmbeddedRig) -> u64 {
    ane(rig).counters().hazards
}

fn dart_line(rig: &EmbeddedRig) -> bool {
    rig.linux.mmio.platform.lines(&rig.linux.mmio.ane).dart
}

#[test]
fn submission_ends_on_both_lines_with_the_bits_of_the_program() {
    let mut rig = rig(8, &options());
    let (ended, first) = rig.linux.submit(&rig.job);
    assert_eq!(ended, Ok(()));
    rig.check();
    let (ended, second) = rig.linux.submit(&rig.job);
    assert_eq!(ended, Ok(()));
    assert!(second.stamp > first.stamp, "stamps rise: {} then {}", first.stamp, second.stamp);
    // Staging and push, lines drained twice, one round of polling, and the retirement: no access is without use.
    assert_eq!((first.accesses, second.accesses), (70, 70));
}

#[test]
fn fault_is_contained_and_ends_in_an_error_without_a_cycle_of_the_power() {
    for (name, is_input) in [("input", true), ("output", false)] {
        let mut rig = rig(8, &options());
        let buffer = if is_input { rig.input.clone() } else { rig.output.clone() };
        rig.linux.space.free(&buffer, 1, 2);
        rig.linux.invalidate_all();
        let (ended, seen) = rig.linux.submit(&rig.job);
        assert_eq!((ended, seen.contained, seen.cycles), (Err(Errno::Io), 2, 0), "{name}");
        assert!(!dart_line(&rig), "no fault is left");
        // Bytes away from the fault are as they would have been.
        let kept = rig.linux.space.read(&rig.output, 3 * 0x4000, 2);
        assert_eq!(f16::from_le_bytes([kept[0], kept[1]]), value(3 * 0x2000).max(f16::ZERO));
        rig.linux.space.restore(&buffer, 1, 2);
        rig.linux.invalidate_all();
        rig.next_is_good();
    }
}

#[test]
fn sixteen_pages_are_contained_and_the_seventeenth_costs_a_cycle_of_the_power() {
    for (pages, cycles) in [(16, 0), (17, 1)] {
        let mut rig = rig(40, &options());
        let input = rig.input.clone();
        rig.linux.space.free(&input, 1, pages);
        rig.linux.invalidate_all();
        let (ended, seen) = rig.linux.submit(&rig.job);
        assert_eq!((ended, seen.cycles), (Err(Errno::Io), cycles), "{pages} pages");
        rig.linux.space.restore(&input, 1, pages);
        rig.linux.invalidate_all();
        rig.next_is_good();
    }
}

#[test]
fn stream_that_bypasses_translation_takes_addresses_of_memory() {
    let mut rig = rig(8, &options());
    let mut direct = rig.job.clone();
    direct.first = rig.linux.space.place(direct.first);
    for bar in direct.bars.iter_mut().filter(|bar| **bar != 0) {
        *bar = rig.linux.space.place(*bar);
    }
    rig.linux.control_streams(0x1100);
    let (ended, seen) = rig.linux.submit(&direct);
    assert_eq!((ended, seen.contained, seen.cycles), (Ok(()), 0, 0));
    rig.check();
    // A device address is no memory there, and a page in the tables does not help.
    let (ended, _) = rig.linux.submit(&rig.job);
    assert_ne!(ended, Ok(()));
    rig.linux.control_streams(0x80);
    rig.next_is_good();
}

#[test]
fn base_address_of_zero_is_never_contained_and_leaves_no_fault_behind() {
    let mut rig = rig(8, &options());
    let mut job = rig.job.clone();
    let input = job.bars.iter().position(|&bar| bar == rig.input.iova).expect("the input has a BAR");
    job.bars[input] = 0;
    let (ended, seen) = rig.linux.submit(&job);
    assert_eq!((ended, seen.contained, seen.cycles), (Err(Errno::Io), 0, 1));
    assert!(!dart_line(&rig));
    rig.next_is_good();
}

#[test]
fn wedged_engine_times_out_and_comes_back_with_its_power() {
    let mut rig = rig(8, &options());
    ane(&mut rig).inject("wedge".parse().unwrap());
    let before = rig.linux.mmio.microseconds;
    let (ended, seen) = rig.linux.submit(&rig.job);
    assert_eq!((ended, seen.cycles), (Err(Errno::TimedOut), 1));
    let waited = rig.linux.mmio.microseconds - before;
    assert!(RangeInclusive::new(1_000_000, 1_010_000).contains(&waited), "{waited} us");
    rig.next_is_good();
}

#[test]
fn task_that_is_refused_is_no_event_to_this_driver() {
    let mut rig = rig(8, &options());
    let mut job = rig.job.clone();
    // A bootstrap of zeros: no descriptor, and another network id.
    let blank = rig.linux.space.buffer(0x4000);
    rig.linux.invalidate_all();
    job.first = blank.iova;
    let (ended, seen) = rig.linux.submit(&job);
    assert_eq!((ended, seen.cycles), (Err(Errno::TimedOut), 1));
    rig.next_is_good();
}

#[test]
fn first_descriptor_of_many_pages_is_fetched_whole() {
    let mut rig = rig(8, &options());
    let mut job = rig.job.clone();
    job.first_bytes = 0x4_0000;
    let long = rig.linux.space.buffer(0x4_0000);
    rig.linux.space.free(&long, 15, 1);
    rig.linux.invalidate_all();
    job.first = long.iova;
    // Its last page is missed, so it was asked for; what is in it is no descriptor.
    let (ended, seen) = rig.linux.submit(&job);
    assert_eq!((ended, seen.cycles), (Err(Errno::TimedOut), 1));
    let shown = ane(&mut rig).dump();
    assert!(shown.contains("requests  0 done"), "{shown}");
    rig.next_is_good();
}

#[test]
fn tables_outlive_a_cycle_of_the_base_and_not_one_of_the_system() {
    let mut rig = rig(8, &options());
    rig.next_is_good();
    let word =
        |rig: &mut EmbeddedRig, offset: u32, value: u32| rig.linux.mmio.write(Range::Power, offset, value);
    for target in [0, 15] {
        word(&mut rig, 0xc008, target);
    }
    let kept = rig.linux.mmio.read(Range::Dart(0), 0x200);
    assert_eq!((kept, rig.linux.mmio.read(Range::Engine, MANAGER + 0xc)), (rig.linux.space.table_base(), 0));
    rig.linux.enable();
    rig.next_is_good();
    for target in [0, 15] {
        word(&mut rig, 0x470, target);
    }
    assert_eq!(rig.linux.mmio.read(Range::Dart(0), 0x200), 0);
}

#[test]
fn engine_without_power_answers_nothing_and_checking_mode_says_so() {
    let mut rig = rig(8, &options());
    let before = hazards(&mut rig);
    rig.linux.mmio.write(Range::Power, 0xc008, 0);
    assert_eq!(rig.linux.mmio.read(Range::Engine, MANAGER + 0x54), u32::MAX);
    rig.linux.mmio.write(Range::Engine, MANAGER + 0xc, 0x1000);
    assert_eq!(hazards(&mut rig), before + 2);
    rig.linux.mmio.write(Range::Power, 0xc008, 15);
    assert_eq!(rig.linux.mmio.read(Range::Engine, MANAGER + 0xc), 0, "what was written was lost");
}

#[test]
fn engine_that_is_touched_while_a_dart_holds_a_fault_is_reported() {
    let mut rig = rig(8, &options());
    let input = rig.input.clone();
    rig.linux.space.free(&input, 0, 1);
    rig.linux.invalidate_all();
    let before = hazards(&mut rig);
    rig.linux.play(&rig.job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    assert_eq!(rig.linux.mmio.read(Range::Dart(1), 0x40) >> 31, 1);
    assert_eq!(hazards(&mut rig), before, "a DART may be looked at");
    rig.linux.mmio.read(Range::Engine, MANAGER + 0x54);
    assert_eq!(hazards(&mut rig), before + 1);
    assert!(dart_line(&rig), "the line is a level");
}

#[test]
fn unmapped_operands_that_are_absorbed_read_as_zeros_and_are_written_nowhere() {
    let absorbing = Options { fault_policy: FaultPolicy::Absorb, ..options() };
    let mut rig = rig(8, &absorbing);
    let (input, output) = (rig.input.clone(), rig.output.clone());
    rig.linux.space.write(&input, 0, &1_u16.to_le_bytes());
    rig.linux.space.write(&output, 0, &[0xff; 0x8000]);
    rig.linux.space.free(&input, 0, 1);
    rig.linux.space.free(&output, 1, 1);
    rig.linux.invalidate_all();
    let (ended, seen) = rig.linux.submit(&rig.job);
    assert_eq!((ended, seen.contained, seen.cycles), (Ok(()), 0, 0));
    assert_eq!(rig.linux.space.read(&output, 0, 0x4000), vec![0; 0x4000], "zeros came in");
    assert_eq!(rig.linux.space.read(&output, 0x4000, 0x4000), vec![0xff; 0x4000], "nothing was written");
    assert!(!ane(&mut rig).take_reports().is_empty(), "checking mode says so");
}

#[test]
fn driver_that_reads_every_word_of_every_range_harms_nothing() {
    let mut rig = rig(8, &options());
    for _ in 0..2 {
        for range in Range::ALL {
            for offset in (0..range.bar_bytes()).step_by(4) {
                rig.linux.mmio.read(range, offset);
            }
        }
        rig.next_is_good();
    }
}

#[test]
fn dump_of_every_word_beside_the_events_changes_nothing_about_a_request_that_has_ended() {
    let mut rig = rig(8, &options());
    let job = rig.job.clone();
    rig.linux.play(&job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    for range in Range::ALL {
        // A read of an event takes it.
        let is_event =
            |&offset: &u32| range == Range::Engine && (MANAGER + 0x14..MANAGER + 0x3c).contains(&offset);
        for offset in (0..range.bar_bytes()).step_by(4).filter(|offset| !is_event(offset)) {
            rig.linux.mmio.read(range, offset);
        }
    }
    for line in [0, 0x14] {
        rig.linux
            .play(&[
                Step::Expect(MANAGER + 0x14 + line, 1),
                Step::Expect(MANAGER + 0x18 + line, job.done_word()),
            ])
            .unwrap();
        // The other words of the event; the last one takes it.
        for word in [0x1c, 0x20, 0x24] {
            rig.linux.mmio.read(Range::Engine, MANAGER + word + line);
        }
        rig.linux.play(&[Step::Expect(MANAGER + 0x14 + line, 0)]).unwrap();
    }
    rig.check();
    rig.linux.play(&RETIRE).unwrap();
    rig.next_is_good();
}

#[test]
fn islands_that_go_and_come_in_any_order_leave_an_engine_that_can_be_set_up_again() {
    const SYSTEM: u32 = 0x470;
    const BELOW: [u32; 7] = [0xc000, 0xc008, 0xc010, 0xc018, 0xc020, 0xc028, 0xc030];
    let mut rig = rig(8, &options());
    let orders: [fn(&mut Vec<u32>); 3] = [|_| {}, |all| all.reverse(), |all| all.rotate_left(3)];
    for off in orders {
        for on in orders {
            for with_system in [false, true] {
                let order = |change: fn(&mut Vec<u32>)| {
                    let mut all = BELOW.to_vec();
                    all.extend(Some(SYSTEM).filter(|_| with_system));
                    change(&mut all);
                    all
                };
                order(off).into_iter().for_each(|word| rig.linux.mmio.write(Range::Power, word, 0));
                // Writes of a driver to DARTs and engine meanwhile have no effect.
                rig.linux.mmio.write(Range::Engine, MANAGER + 8, 0x405);
                rig.linux.mmio.write(Range::Dart(0), 0x20, 1 << 20);
                order(on).into_iter().for_each(|word| rig.linux.mmio.write(Range::Power, word, 15));
                for word in order(on) {
                    assert_eq!(rig.linux.mmio.read(Range::Power, word), 0xff, "{word:#x}");
                }
                if with_system {
                    rig.linux.attach_darts();
                }
                rig.linux.enable();
                rig.next_is_good();
            }
        }
    }
}

#[test]
fn request_that_runs_when_its_engine_loses_the_power_ends_without_an_event() {
    let mut rig = rig(8, &options());
    let input = rig.input.clone();
    rig.linux.space.free(&input, 0, 1);
    rig.linux.invalidate_all();
    rig.linux.play(&rig.job.staging()).unwrap();
    rig.linux.play(&[PUSH]).unwrap();
    assert_eq!(rig.linux.mmio.read(Range::Dart(1), 0x40) >> 31, 1, "a transfer waits");
    // apple-dart's handler writes the ones; the transfer of the engine that goes off is never tried again.
    let held = rig.linux.mmio.read(Range::Dart(1), 0x40);
    rig.linux.mmio.write(Range::Dart(1), 0x40, held);
    for target in [0, 15] {
        rig.linux.mmio.write(Range::Power, 0xc008, target);
    }
    assert!(!dart_line(&rig));
    rig.linux.space.restore(&input, 0, 1);
    rig.linux.invalidate_all();
    rig.linux.enable();
    rig.linux.play(&[0x14, 0x28].map(|count| Step::Expect(MANAGER + count, 0))).unwrap();
    rig.next_is_good();
}

#[test]
fn events_that_nobody_reads_are_kept_and_do_not_stop_requests() {
    let mut rig = rig(8, &options());
    let job = rig.job.clone();
    for pushed in 1..=80_u32 {
        rig.linux.play(&job.staging()).unwrap();
        rig.linux.play(&[PUSH]).unwrap();
        // Never more than a driver takes for possible.
        rig.linux.play(&[0x14, 0x28].map(|count| Step::Expect(MANAGER + count, pushed.min(64)))).unwrap();
        rig.linux.play(&RETIRE).unwrap();
    }
    // The next submission reads the lines empty before its push.
    rig.next_is_good();
}

#[test]
fn access_of_any_width_and_place_is_answered() {
    let mut rig = rig(8, &options());
    let time = ticks(rig.linux.mmio.microseconds);
    for range in Range::ALL {
        for bytes in [1, 2, 4, 8] {
            for offset in (0..u64::from(range.bar_bytes()) + 16).step_by(509).chain([u64::MAX, u64::MAX - 7])
            {
                let EmbeddedPlatform { ane, platform, .. } = &mut rig.linux.mmio;
                platform.read(ane, (range, offset, bytes), &|| time, &Never);
                platform.write(ane, (range, offset, bytes), 0x0123_4567_89ab_cdef, time);
            }
        }
    }
}
