//! The companion blocks behind the whole device.

use ane_device::Options;
use ane_device::ane::companions::NotInstalled;
use ane_device::dart::Circuit;
use ane_device::pe_mmu::{Mapping, Message, Range, Rejected, Why};
use ane_device::refusal;
use ane_device::time::Ticks;
use ane_device::trace::{Clock, Timeline, What};
use ane_uapi::hw::pe_mmu::{self as regs, PE_MMU};
use ane_uapi::hw::space::EngineOffset;

use crate::machine::{Machine, PAGE, RESULT, SOURCE, Scripted};

fn machine(attributes: &str) -> Machine {
    let options = Options { pe_mmu: Some(attributes.parse().unwrap()), ..Options::default() };
    Machine::with(&options, Scripted { copies: 16, ..Scripted::default() })
}

const fn one(va: u32, pa: u32) -> Mapping {
    Mapping { va: va as u64, pa: pa as u64, size: PAGE as u64 }
}

#[test]
fn device_without_pe_mmu_has_neither_its_registers_nor_its_messages() {
    let mut machine = Machine::new();
    let at = PE_MMU.base;
    let absent = refusal::Why::Absent { block: "pe_mmu" };
    assert_eq!(machine.try_read(at).unwrap_err().why, absent);
    assert_eq!(machine.try_write(at, 0).unwrap_err().why, absent);
    assert_eq!(machine.ane.install(Message::Map(Vec::new())), Err(NotInstalled::Absent));
}

#[test]
fn task_reads_where_a_region_leads_once_the_message_is_installed() {
    let mut machine = machine("page=0x4000,fabric-ns=40");
    let other = ane_uapi::hw::space::Iova(SOURCE.0 + 4 * PAGE);
    machine.store(SOURCE, &[1, 2, 3, 4]);
    machine.store(other, &[5, 6, 7, 8]);
    machine.ane.install(Message::Map(vec![one(SOURCE.0, other.0)])).unwrap();
    assert_eq!(machine.ane.fabric_ps(), 40_000);
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.load(RESULT), 5);
    machine.ane.install(Message::Unmap(vec![Range { va: SOURCE.0.into(), size: PAGE.into() }])).unwrap();
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.load(RESULT), 1);
    let low = |register: u32| EngineOffset(PE_MMU.base.0 + register);
    assert_eq!(machine.read(low(regs::MAPS.offset())), 1);
    assert_eq!(machine.read(low(regs::FALLBACKS.offset())), 6 - 1);
}

#[test]
fn refused_message_says_which_entry_and_why() {
    let mut machine = machine("");
    let bad = Mapping { va: u64::MAX, pa: 0, size: 2 };
    let refused = Rejected { entry: 1, why: Why::Wraps };
    let message = Message::Map(vec![one(0, 0), bad]);
    assert_eq!(machine.ane.install(message), Err(NotInstalled::Rejected(refused)));
}

#[test]
fn trace_shows_fallbacks_and_the_wait_of_a_task() {
    let mut machine = machine("overhead-ns=500");
    machine.ane.set_timeline(Timeline::on(Clock::new(|| 0), 100));
    machine.submit_chain(1);
    machine.run();
    let seen: Vec<_> = machine.ane.timeline_mut().drain().map(|record| record.event.what).collect();
    let circuit = Circuit::TileFetch1;
    assert!(seen.contains(&What::Fallback { circuit, address: u64::from(SOURCE.0), bytes: 16 }));
    // The descriptor, the source and the result.
    assert!(seen.contains(&What::TranslationWait { picoseconds: 1_500_000 }));
}

#[test]
fn reset_empties_the_table() {
    let mut machine = machine("");
    machine.ane.install(Message::Map(vec![one(SOURCE.0, RESULT.0)])).unwrap();
    machine.ane.reset(Ticks(5));
    assert_eq!(machine.ane.dart().before().unwrap().mmu().regions(), 0);
}

#[test]
fn time_of_the_fabric_is_told_and_counted_from_the_last_reset() {
    let mut machine = machine("fabric-ns=40");
    for messages in 1..=3_u64 {
        machine.ane.install(Message::Map(vec![one(SOURCE.0, RESULT.0)])).unwrap();
        let line = format!("fabric    {} picoseconds for messages to PE_MMU\n", messages * 40_000);
        assert!(machine.ane.dump().contains(&line), "{}", machine.ane.dump());
    }
    machine.ane.reset(Ticks(5));
    assert_eq!(machine.ane.fabric_ps(), 0);
    assert!(!Machine::new().ane.dump().contains("fabric"), "without PE_MMU there is none");
}

#[test]
fn fault_behind_pe_mmu_ends_the_task_like_any_other() {
    let mut machine = machine("");
    machine.ane.install(Message::Map(vec![one(SOURCE.0, 0x1000_0000)])).unwrap();
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.ane.counters().requests_failed, 1);
}

/// Writes the mover's parameters and a command, in a core's window.
fn mover(machine: &mut Machine, parameters: [u32; 4], command: u32) {
    for (register, value) in (0..).zip(parameters) {
        machine.write(EngineOffset(0x1f1_0000 + 4 * register), value);
    }
    machine.write(EngineOffset(0x1f1_0010), command);
}

#[test]
fn mover_copies_between_the_memories_that_the_container_shows() {
    let mut machine = Machine::new();
    let word = |machine: &mut Machine, at| machine.read(EngineOffset(at));
    machine.write(EngineOffset(0x1d0_0000), 0x1234_5678);
    // To scratch, to configuration space, and to instruction RAM.
    for (destination, direction, seen) in
        [(0x100, 3, 0x1d0_1000), (0x10, 1, 0x1f2_0100), (0x4001, 1, 0x1c3_4010)]
    {
        mover(&mut machine, [0, destination, 1, direction], 0x40);
        machine.now = machine.now.saturating_add(Ticks(10));
        assert_eq!(word(&mut machine, seen), 0x1234_5678, "{seen:#x}");
    }
    assert_eq!(word(&mut machine, 0x1f1_0014), 0x408);
    assert_eq!(word(&mut machine, 0x1f1_8010), 3);
}

#[test]
fn xmov_port_takes_its_parameters_from_configuration_space() {
    let mut machine = Machine::new();
    machine.write(EngineOffset(0x1d0_0000), 0xfeed_f00d);
    for (word, value) in (88..).zip([0, 0x200, 0xc000_0001]) {
        machine.write(EngineOffset(0x1f2_0000 + 4 * word), value);
    }
    machine.write(EngineOffset(0x1f3_0000), 0x4000_0000);
    assert_eq!(machine.read(EngineOffset(0x1d0_2000)), 0xfeed_f00d);
    assert_eq!(machine.read(EngineOffset(0x1f3_0000)), 0);
}

#[test]
fn queued_command_runs_when_its_time_has_come_though_nobody_asks() {
    let mut machine = Machine::new();
    machine.write(EngineOffset(0x1d0_0000), 7);
    mover(&mut machine, [0, 0x1000, 0xffff, 0], 0x40);
    mover(&mut machine, [0, 0x200, 1, 3], 0x40);
    let work = machine.ane.work(machine.now);
    let due = work.at.unwrap();
    assert!(!work.pending && due > machine.now);
    assert_eq!(machine.read(EngineOffset(0x1d0_2000)), 0);
    machine.now = due;
    assert_eq!(machine.ane.work(machine.now).at, None);
    assert_eq!(machine.read(EngineOffset(0x1d0_2000)), 7);
}

#[test]
fn profile_and_settings_of_the_mover_are_the_devices_options() {
    let options = Options { mover: "isa,contended".parse().unwrap(), check: true, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    assert_eq!(machine.read(EngineOffset(0x1f1_0014)), 0x428);
    assert_eq!(machine.read(EngineOffset(0x1f1_8000)), 0b101);
    assert_eq!(machine.read(EngineOffset(0x1f1_8004)), 0b01);
}

#[test]
fn parts_of_the_movers_registers_are_refused_and_of_its_memories_are_not() {
    let mut machine = Machine::new();
    let now = machine.now;
    let whole = machine.ane.write_wide(EngineOffset(0x1f1_0010), 1, 0x40, now).unwrap_err();
    assert_eq!(whole.why, refusal::Why::NotAWord { bytes: 1 });
    machine.ane.write_wide(EngineOffset(0x1f2_0001), 1, 0xab, now).unwrap();
    assert_eq!(machine.read(EngineOffset(0x1f2_0000)), 0xab00);
    let none = machine.try_read(EngineOffset(0x1f1_0040)).unwrap_err();
    assert_eq!(none.why, refusal::Why::NoRegister { block: "mover" });
}

#[test]
fn part_of_a_word_that_is_written_on_chip_is_all_that_is_known_of_it() {
    let mut machine = Machine::new();
    let now = machine.now;
    for (at, bytes) in [(0x1d0_2000, 8), (0x1d0_2012, 2), (0x1d0_2021, 1)] {
        machine.ane.write_wide(EngineOffset(at), bytes, 0x40, now).unwrap();
    }
    let written = &machine.ane.engine_mut().on_chip.written;
    assert_eq!(*written, [(0x2000, 4), (0x2004, 4), (0x2012, 2), (0x2021, 1)]);
}

#[test]
fn tile_is_taken_out_by_reading_and_by_writing_its_mask() {
    let mut machine = Machine::new();
    for bytes in [32, 48, 64] {
        machine.write(EngineOffset(0x1f1_8044), bytes);
    }
    machine.read(EngineOffset(0x1f1_0034));
    machine.write(EngineOffset(0x1f1_0034), 0);
    assert_eq!(machine.read(EngineOffset(0x1f1_0030)), 64);
}

#[test]
fn reset_ends_what_the_mover_does_and_leaves_its_memories() {
    let mut machine = Machine::new();
    machine.write(EngineOffset(0x1f2_0000), 9);
    mover(&mut machine, [0, 0x1000, 0xffff, 0], 0x40);
    mover(&mut machine, [0, 0x1000, 0xffff, 0], 0x40);
    machine.ane.reset(machine.now);
    assert_eq!(machine.read(EngineOffset(0x1f1_0014)), 0x408);
    assert_eq!(machine.read(EngineOffset(0x1f2_0000)), 9);
}
