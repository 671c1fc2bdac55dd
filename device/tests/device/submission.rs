//! Requests from the first register write to the acknowledged event, as the Linux driver makes them.

use ane_device::engine::EngineError;
use ane_device::event::Happening;
use ane_device::time::Ticks;
use ane_device::tm::events::Line;
use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::td::{BASE, common, tile_destination, tile_source};
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId};

use crate::machine::*;

/// Requirement: TM-10
#[test]
fn request_of_the_linux_driver_runs_without_firmware_and_is_reported() {
    let mut machine = Machine::new();
    machine.submit_chain(1);
    assert!(!machine.manager(&tm::STATUS).idle());
    machine.run();
    assert!(machine.manager(&tm::STATUS).idle());
    assert_eq!(machine.ane.engine_mut().ran, [Ran { queue: 4, nid: 0x40, stream: 0, index: 0, tid: 0 }]);
    assert_eq!(machine.manager(&tm::COMMITTED).nid(), 0x40);
    assert_eq!(machine.drain(), [done(0x40, 1)]);
    assert!(machine.manager(&tm::INTERRUPT_ACK).events());
    machine.set(tm::TASK_MANAGER.base, &tm::INTERRUPT_ACK, 2);
    assert!(!machine.manager(&tm::INTERRUPT_ACK).events());
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 0);
    assert_eq!(machine.error_code(), 0);
    assert_eq!(machine.get(QueueId::LINUX.base(), &tq::FREE_SPACE).slots(), 2);
}

#[test]
fn device_without_an_engine_ends_a_request_in_the_error_that_says_so() {
    let mut machine = Machine::new();
    machine.ane.engine_mut().outcomes.push_back(Err(EngineError::NotExecuting));
    machine.submit_chain(2);
    machine.run();
    assert!(machine.manager(&tm::STATUS).idle());
    assert_eq!(machine.errors(), [0x8040_0421, 0, 0]);
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    assert!(machine.ane.dump().contains("task queue 4, nid 0x40, task 0: this device executes no tasks"));
}

/// Requirement: TM-07
#[test]
fn address_size_and_push_start_the_queue_that_the_push_names() {
    for queue in QueueId::ALL {
        let mut machine = Machine::new();
        machine.store_chain(1);
        machine.submit(queue, COPY, info(1), Nid::LINUX);
        machine.run();
        assert_eq!(machine.ane.engine_mut().ran[0].queue, queue.number());
    }
}

/// Requirement: TM-08
#[test]
fn nothing_starts_before_the_push() {
    let mut machine = Machine::new();
    machine.store_chain(1);
    machine.stage(QueueId::LINUX, COPY, info(1), Nid::LINUX);
    machine.run();
    assert!(machine.ane.engine_mut().ran.is_empty());
    assert!(machine.manager(&tm::STATUS).idle());
    machine.push(QueueId::LINUX);
    machine.run();
    assert_eq!(machine.ane.engine_mut().ran.len(), 1);
}

/// Requirement: TM-11
#[test]
fn seven_writes_besides_the_bars_start_a_request() {
    let mut machine = Machine::new();
    machine.submit_chain(1);
    assert_eq!(machine.writes, 7);
}

#[test]
fn request_brings_along_32_base_addresses() {
    assert_eq!(BarIndex::COUNT, 0x20);
    assert_eq!(tq::BAR1.info.count, 0x20);
    assert_eq!(tq::BAR2.info.count, 0x20);
}

#[test]
fn each_of_eight_queues_holds_a_waiting_request() {
    let mut machine = Machine::new();
    machine.set(tm::TASK_MANAGER.base, &tm::QUEUE_ENABLE, 0);
    machine.store_chain(1);
    for queue in QueueId::ALL {
        machine.submit(queue, COPY, info(1), Nid::LINUX);
        assert_eq!(machine.get(queue.base(), &tq::FREE_SPACE).slots(), 1);
    }
    machine.run();
    assert!(machine.ane.engine_mut().ran.is_empty(), "queues are off");
    machine.set(tm::TASK_MANAGER.base, &tm::QUEUE_ENABLE, 0x1000);
    machine.run();
    let order: Vec<_> = machine.ane.engine_mut().ran.iter().map(|ran| ran.queue).collect();
    assert_eq!(order, [7, 6, 5, 4, 3, 2, 1, 0], "the most urgent first");
}

/// Requirement: TD-07
#[test]
fn tasks_of_a_chain_run_in_their_order() {
    let mut machine = Machine::new();
    machine.submit_chain(5);
    machine.run();
    let tids: Vec<_> = machine.ane.engine_mut().ran.iter().map(|ran| (ran.index, ran.tid)).collect();
    assert_eq!(tids, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]);
    assert_eq!(machine.drain(), [done(0x40, 5)]);
}

#[test]
fn one_call_runs_at_most_one_task() {
    let mut machine = Machine::new();
    machine.submit_chain(3);
    for done in 1..=3 {
        let work = machine.ane.work(machine.now);
        assert_eq!((machine.ane.engine_mut().ran.len(), work.pending), (done, done < 3));
    }
}

/// Requirement: TM-13
#[test]
fn first_descriptor_comes_from_the_copy_and_later_ones_from_bar_0() {
    let mut machine = Machine::new();
    machine.store_chain(2);
    let junk = vec![u32::MAX; 157];
    machine.store(TASKS, &junk);
    machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
    machine.run();
    assert_eq!(machine.ane.engine_mut().ran.len(), 2);
}

/// Requirement: DMA-08
#[test]
fn fetching_a_descriptor_writes_the_registers_that_then_read_back() {
    let mut machine = Machine::new();
    let values = [
        (common::C_IN.offset(), 64),
        (tile_source::BASE_ADDR1.offset(), 0x140),
        (tile_destination::ROW_STRIDE.offset(), 0x80),
    ];
    machine.store(COPY, &words(&header(0, 1), &values));
    machine.submit(QueueId::LINUX, COPY, info(1), Nid::LINUX);
    machine.run();
    let mut shown = |address: u32| machine.read(EngineOffset(BASE.0 + address));
    assert_eq!(shown(tile_source::BASE_ADDR1.offset()), SOURCE.0 + 0x140);
    assert_eq!(shown(tile_destination::BASE_ADDR.offset()), RESULT.0);
    assert_eq!(shown(tile_destination::ROW_STRIDE.offset()), 0x80);
    for echo in [0x4000, 0x8000, 0xc000, 0x1_3000, 0x1_7000, 0x1_f000] {
        assert_eq!(shown(echo + common::C_IN.offset()), 64, "{echo:#x}");
    }
}

#[test]
fn registers_keep_their_values_from_task_to_task() {
    let mut machine = Machine::new();
    machine.store(COPY, &words(&header(0, 2), &[(common::C_IN.offset(), 64)]));
    // The second task writes nothing but its output channels.
    let mut short = header(1, 2).encode()[..10].to_vec();
    short.extend([common::C_OUT.offset(), 32]);
    machine.store(Iova(TASKS.0 + 0x300), &short);
    let mut first = header(0, 2);
    first.length.set_next_size(11);
    machine.store(COPY, &words(&first, &[(common::C_IN.offset(), 64)]));
    machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
    machine.run();
    let registers = machine.ane.registers();
    assert_eq!((registers.get(&common::C_IN).channels(), registers.get(&common::C_OUT).channels()), (64, 32));
    assert_eq!(machine.error_code(), 0);
}

/// Requirement: TM-16
#[test]
fn end_of_a_request_raises_an_interrupt_with_its_time() {
    let mut machine = Machine::new();
    machine.submit_chain(1);
    machine.now = Ticks(0x1_2345_6789);
    machine.run();
    let events = machine.events();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].at, Ticks(0x1_2345_6789));
    assert!(events[0].engine_status.is_powered_idle());
    let Happening::TaskManager { line: Line::First, waiting: 1, entry } = events[0].what else { panic!() };
    assert_eq!((entry.info.nid(), entry.time), (0x40, 0x2345_6789));
    machine.drain();
    assert_eq!(machine.manager(&tm::EVENT_TIME).ticks(), 0x2345_6789);
}

/// Requirement: MMIO-18
#[test]
fn timestamps_come_from_the_clock_that_registers_show_and_never_go_back() {
    let mut machine = Machine::new();
    let mut last = 0;
    for step in 0..5u64 {
        machine.now = Ticks(10_000 + step * 777);
        let clock = machine.read(ane_uapi::hw::mmio_map::CLOCKS[2]);
        machine.submit_chain(1);
        machine.run();
        machine.drain();
        let time = machine.manager(&tm::EVENT_TIME).ticks();
        assert_eq!(time, clock);
        assert!(time > last);
        last = time;
    }
}

#[test]
fn interrupts_that_are_off_leave_the_event_in_the_registers() {
    let mut machine = Machine::new();
    machine.set(tm::TASK_MANAGER.base, &tm::LINE_ENABLE, 0);
    machine.submit_chain(1);
    machine.run();
    assert!(machine.events().is_empty());
    assert_eq!(machine.manager(&tm::EVENT_COUNT).events(), 1);
    machine.set(tm::TASK_MANAGER.base, &tm::LINE_ENABLE, 2);
    assert_eq!(machine.events().len(), 1);
}

#[test]
fn second_request_waits_in_the_second_set_and_runs_with_its_own_stream() {
    let mut machine = Machine::new();
    let third = ane_uapi::hw::dart::stream::StreamId::ALL[3];
    machine.program_window(ane_uapi::hw::dart::regs::Window::Dart0, third);
    machine.submit_chain(2);
    machine.ane.work(machine.now);
    let base = QueueId::LINUX.base();
    let second = tq::Slot::Second.registers(tq::Pairing::ByPlace);
    machine.try_write(EngineOffset(base.0 + second.bars), TASKS.0).unwrap();
    machine.set(base, &tq::STREAM, 3);
    machine.try_write(EngineOffset(base.0 + second.nid), 0x40 << 8 | 1).unwrap();
    machine.push(QueueId::LINUX);
    machine.set(base, &tq::STREAM, 0);
    assert_eq!(machine.get(base, &tq::FREE_SPACE).slots(), 0);
    machine.run();
    let streams: Vec<_> = machine.ane.engine_mut().ran.iter().map(|ran| ran.stream).collect();
    assert_eq!(streams, [0, 0, 3, 3]);
    assert_eq!(machine.drain(), [done(0x40, 2), done(0x40, 2)]);
}

#[test]
fn push_that_names_nothing_runnable_is_an_error_event() {
    let mut machine = Machine::new();
    machine.push(QueueId::LINUX);
    assert_eq!(machine.errors(), [0x8000_0401, 0, 0]);
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 1);
    machine.push(QueueId::LINUX);
    assert_eq!(machine.errors(), [0x8000_0402, 0, 0]);
    machine.set(QueueId::LINUX.base(), &tq::REQ_NID1, 1);
    machine.push(QueueId::LINUX);
    assert_eq!(machine.errors(), [0x8000_0404, 0, 0]);
    machine.set(QueueId::LINUX.base(), &tq::REQ_NID1, 0x4001);
    machine.push(QueueId::LINUX);
    assert_eq!(machine.errors(), [0x8040_0405, 0, 0]);
    assert_eq!(machine.drain(), [failed(0, 0), failed(0, 0), failed(0, 0), failed(0x40, 0)]);
    assert_eq!(machine.events().len(), 4);
}
