//! The container: what each range does, at every width, for every chip.

use ane_device::Options;
use ane_device::chip::every_instance;
use ane_device::counters::Report;
use ane_device::inject::Injection;
use ane_device::refusal::{Category, Why};
use ane_device::time::Ticks;
use ane_uapi::hw::chip::Soc;
use ane_uapi::hw::mmio_map::{self, RANGES, Region};
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId};

use crate::machine::*;

/// Writes the first and the last word of a range and reads them back.
fn stores(machine: &mut Machine, region: Region) {
    let range = region.range();
    for (at, value) in [(range.start.0, 0x1234_5678), (range.end.0 - 4, 0x8765_4321)] {
        machine.write(EngineOffset(at), value);
        assert_eq!(machine.read(EngineOffset(at)), value, "{at:#x}");
    }
}

/// Requirement: MMIO-02
#[test]
fn tunables_are_stored_and_have_no_effect() {
    let mut machine = Machine::new();
    stores(&mut machine, Region::Tunables);
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

/// Requirement: MMIO-03
#[test]
fn coprocessor_ranges_are_stored_and_begin_where_the_reset_vector_is() {
    let mut machine = Machine::new();
    assert_eq!(Region::Asc.range().start, mmio_map::RVBAR);
    stores(&mut machine, Region::Asc);
    stores(&mut machine, Region::AscData);
}

/// Requirement: MMIO-04
#[test]
fn clocks_run_with_the_time_and_cannot_be_written() {
    let mut machine = Machine::new();
    for low in mmio_map::CLOCKS {
        let high = EngineOffset(low.0 + 4);
        machine.now = Ticks(0x1_0000_0005);
        assert_eq!((machine.read(low), machine.read(high)), (5, 1));
        machine.write(low, 77);
        machine.now = Ticks(0x2_0000_0009);
        assert_eq!((machine.read(low), machine.read(high)), (9, 2));
    }
}

/// Requirement: MMIO-05
#[test]
fn mailbox_is_stored_and_runs_no_command() {
    let mut machine = Machine::new();
    stores(&mut machine, Region::Mailbox);
    machine.run();
    assert!(machine.manager(&tm::STATUS).idle());
    assert!(machine.events().is_empty());
}

/// Requirement: MMIO-07
#[test]
fn doorbell_begins_with_the_version_code_of_the_chip_and_stores_the_rest() {
    for (soc, version) in [(Soc::T8103, 0x8103), (Soc::T6002, 0x6002), (Soc::T8112, 0x8112)] {
        let mut machine = Machine::with_options(&Options { chip: soc, ..Options::default() });
        machine.write(mmio_map::VERSION, 0);
        assert_eq!(machine.read(mmio_map::VERSION), version);
        machine.write(EngineOffset(0x184_0048), 5);
        assert_eq!(machine.read(EngineOffset(0x184_0048)), 5);
    }
}

/// Requirement: MMIO-08
#[test]
fn acknowledgements_with_the_coprocessor_are_stored() {
    stores(&mut Machine::new(), Region::AckGpio);
}

/// Requirement: MMIO-10
#[test]
fn power_tunables_outlive_a_reset_of_the_engine_and_other_words_do_not() {
    let mut machine = Machine::new();
    let retained = [Region::PowerData, Region::SystemTunables, Region::SocTunables];
    for region in retained.into_iter().chain([Region::AckGpio, Region::DmaConfiguration]) {
        stores(&mut machine, region);
    }
    machine.ane.reset(machine.now);
    for region in retained {
        assert_eq!(machine.read(region.range().start), 0x1234_5678, "{region:?}");
    }
    assert_eq!(machine.read(Region::AckGpio.range().start), 0);
    assert_eq!(machine.read(Region::DmaConfiguration.range().start), 0);
}

/// Requirement: MMIO-11
#[test]
fn performance_reports_count_the_bytes_that_dma_moved() {
    let mut machine = Machine::new();
    machine.ane.engine_mut().copies = 0x1230;
    machine.store(Iova(SOURCE.0 + 0x122c), &[0x3e8b_2222]);
    machine.submit_chain(2);
    machine.run();
    assert_eq!(machine.load(Iova(RESULT.0 + 0x122c)), 0x3e8b_2222);
    assert_eq!(machine.read(Report::BytesRead.offset()), 2 * (0x274 + 0x1230));
    assert_eq!(machine.read(Report::BytesWritten.offset()), 2 * 0x1230);
    assert_eq!(machine.read(Report::Tasks.offset()), 2);
    assert_eq!(machine.read(Report::Requests.offset()), 1);
    let behind = EngineOffset(Report::BankConflicts.offset().0 + 8);
    assert_eq!(machine.try_read(behind).unwrap_err().why, Why::NoRegister { block: "performance" });
}

/// Requirement: MMIO-12
#[test]
fn computation_engine_answers_from_0x1c04000_to_0x1c28000() {
    let mut machine = Machine::new();
    let mut answered = 0;
    for at in (0x1c0_4000..0x1c2_8000).step_by(4) {
        match machine.try_read(EngineOffset(at)) {
            Ok(_) => answered += 1,
            Err(refusal) => assert_eq!(refusal.category, Category::Undefined, "{refusal}"),
        }
    }
    // Six blocks and as many echoes of the common one, DMA configuration, manager without its trigger, queues.
    assert_eq!(answered, (140 - 16) + 6 * 16 + 0x1000 + (5 - 2 + 10 + 1 + 1 + 3 + 3) + 8 * 76);
}

/// Requirement: MMIO-14
#[test]
fn kernel_memory_has_64_kb_that_read_as_written() {
    let mut machine = Machine::new();
    assert_eq!(Region::KernelMemory.range().len(), 0x1_0000);
    stores(&mut machine, Region::KernelMemory);
    machine.ane.reset(machine.now);
    assert_eq!(machine.read(Region::KernelMemory.range().start), 0x1234_5678, "nothing clears it");
}

/// Requirement: MMIO-15
#[test]
fn tile_l2_has_2_mb_that_read_as_written() {
    let mut machine = Machine::new();
    assert_eq!(Region::TileL2.range().len(), 0x20_0000);
    stores(&mut machine, Region::TileL2);
    machine.ane.reset(machine.now);
    assert_eq!(machine.read(Region::TileL2.range().start), 0x1234_5678, "nothing clears it");
}

/// Requirement: MMIO-16
#[test]
fn every_width_agrees_with_whole_words_over_the_whole_container() {
    let mut machine = Machine::new();
    // A different word at every place that stores one.
    for at in (0..EngineOffset::CONTAINER).step_by(0x404) {
        let _ = machine.try_write(EngineOffset(at & !3), at.wrapping_mul(0x9e37_79b9) & 0x0101_0101);
    }
    // But for the one that reading takes a tile out of, and that therefore comes only whole.
    let places = (0..EngineOffset::CONTAINER).step_by(0x404).map(|at| at & !3).filter(|&at| at != 0x1f1_2334);
    for at in places {
        let word = machine.try_read(EngineOffset(at));
        for byte in 0..4 {
            let part = machine.ane.read_wide(EngineOffset(at + byte), 1, machine.now);
            match (word, part) {
                (Ok(word), Ok(part)) => assert_eq!(part, u64::from(word >> (8 * byte) & 0xff), "{at:#x}"),
                (Err(_), Err(_)) => {}
                (word, part) => panic!("{at:#x}: {word:?}, {part:?}"),
            }
        }
        let half = machine.ane.read_wide(EngineOffset(at + 2), 2, machine.now);
        assert_eq!(half.ok(), word.ok().map(|word| u64::from(word >> 16)), "{at:#x}");
        assert!(machine.ane.read_wide(EngineOffset(at + 1), 4, machine.now).is_err());
        assert!(machine.ane.read_wide(EngineOffset(at + 1), 2, machine.now).is_err());
    }
}

#[test]
fn eight_bytes_are_two_words_the_lower_first() {
    let mut machine = Machine::new();
    let at = Region::TileL2.range().start;
    machine.ane.write_wide(at, 8, 0x0123_4567_89ab_cdef, machine.now).unwrap();
    assert_eq!((machine.read(at), machine.read(EngineOffset(at.0 + 4))), (0x89ab_cdef, 0x0123_4567));
    assert_eq!(machine.ane.read_wide(at, 8, machine.now), Ok(0x0123_4567_89ab_cdef));
    machine.ane.write_wide(EngineOffset(at.0 + 3), 1, 0xff, machine.now).unwrap();
    machine.ane.write_wide(EngineOffset(at.0 + 4), 2, 0xdead_beef, machine.now).unwrap();
    assert_eq!(machine.ane.read_wide(at, 8, machine.now), Ok(0x0123_beef_ffab_cdef));
}

/// Requirement: MMIO-17
#[test]
fn write_to_the_coprocessor_while_work_runs_is_a_hazard_and_the_work_goes_on() {
    let mut machine = Machine::new();
    machine.write(mmio_map::RVBAR, 1);
    assert_eq!(machine.ane.counters().hazards, 0);
    machine.submit_chain(2);
    machine.ane.work(machine.now);
    machine.write(mmio_map::RVBAR, 2);
    assert_eq!(machine.ane.counters().hazards, 1);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 2)]);
}

#[test]
fn every_refusal_is_counted_by_its_category() {
    let mut machine = Machine::new();
    for (at, category) in [
        (0x0000_1000, Category::WouldHang),
        (0x0187_4000, Category::Undefined),
        (0x01f4_0000, Category::Unimplemented),
        (0x0200_0000, Category::Unsupported),
    ] {
        assert_eq!(machine.try_read(EngineOffset(at)).unwrap_err().category, category, "{at:#x}");
        assert_eq!(machine.ane.counters().refused[category as usize], 1);
    }
}

#[test]
fn bits_that_nobody_explains_are_kept_and_counted_or_refused_when_strict() {
    let at = EngineOffset(QueueId::LINUX.base().0 + tq::PRTY.offset());
    let mut machine = Machine::new();
    machine.write(at, 0x105);
    assert_eq!(machine.read(at), 0x105);
    assert_eq!(machine.ane.counters().refused[Category::Undefined as usize], 1);
    let mut strict = Machine::with_options(&Options { strict: true, ..Options::default() });
    let refusal = strict.try_write(at, 0x105).unwrap_err();
    assert_eq!(refusal.why, Why::UnexplainedBits { register: "PRTY", bits: 0x100, value: 0x105 });
    assert_eq!(strict.read(at), 5, "as the driver left it");
}

#[test]
fn read_only_registers_keep_their_state_when_written() {
    let mut machine = Machine::new();
    for register in
        [tm::STATUS.offset(), tm::COMMITTED.offset(), tm::ERROR.offset(), tm::EVENT_COUNT.offset()]
    {
        let at = EngineOffset(tm::TASK_MANAGER.base.0 + register);
        let before = machine.read(at);
        machine.write(at, u32::MAX);
        assert_eq!(machine.read(at), before, "{register:#x}");
    }
}

#[test]
fn every_range_of_the_map_is_answered_or_refused_with_a_reason() {
    let mut machine = Machine::new();
    for range in RANGES {
        let refused = machine.try_read(range.start).err().map(|refusal| refusal.category);
        let expected = match range.region {
            Region::Nothing => Some(Category::Undefined),
            Region::MaddConfiguration => None,
            // Devices have one only if they were started with it.
            Region::PeMmu => Some(Category::Unimplemented),
            _ => None,
        };
        assert_eq!(refused, expected, "{}", range.name);
    }
}

/// Requirement: CHIP-06
#[test]
fn t6002_builds_four_devices() {
    let options = Options { chip: Soc::T6002, ..Options::default() };
    let machines: Vec<_> = every_instance(&options).map(|one| Machine::with_options(&one)).collect();
    let names: Vec<_> = machines.iter().map(|machine| machine.ane.identity().to_string()).collect();
    assert_eq!(names, ["t6002 ane0 (eos0)", "t6002 ane1 (eos1)", "t6002 ane2 (eos2)", "t6002 ane3 (eos3)"]);
}

/// Requirement: CHIP-07
#[test]
fn fault_of_one_instance_leaves_the_other_three_alone() {
    let options = Options { chip: Soc::T6002, ..Options::default() };
    let mut machines: Vec<_> = every_instance(&options).map(|one| Machine::with_options(&one)).collect();
    machines[1].ane.inject(Injection::FaultAfter(0));
    for machine in &mut machines {
        machine.submit_chain(1);
        machine.run();
    }
    let codes: Vec<_> = machines.iter_mut().map(|machine| machine.error_code()).collect();
    assert_eq!(codes, [0, 0x11, 0, 0]);
}

/// Requirement: CHIP-08
#[test]
fn work_stays_on_the_instance_that_it_was_given_to() {
    let options = Options { chip: Soc::T6001, ..Options::default() };
    let mut machines: Vec<_> = every_instance(&options).map(|one| Machine::with_options(&one)).collect();
    machines[0].submit_chain(3);
    for machine in &mut machines {
        machine.run();
    }
    assert_eq!(machines[0].ane.counters().tasks_done, 3);
    assert_eq!(machines[1].ane.counters().tasks_done, 0);
    assert!(machines[1].ane.status().is_powered_idle());
}
