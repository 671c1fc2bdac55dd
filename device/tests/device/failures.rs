//! Requests that do not run to their end: faults, descriptors that say nothing, deadlines, aborts, resets.

use ane_device::Options;
use ane_device::engine::EngineError;
use ane_device::engine::plan::verdict::Verdict;
use ane_device::event::{Happening, RUNNING};
use ane_device::inject::Injection;
use ane_device::options::{FaultPolicy, Hang};
use ane_device::refusal::{Category, Why};
use ane_device::time::Ticks;
use ane_device::tm::deadline::DEADLINE;
use ane_device::tm::error::ErrorCode;
use ane_uapi::hw::dart::error::HwError;
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::{EngineOffset, Iova};
use ane_uapi::hw::status::EngineStatus;
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::{common, l2, tile_destination};
use ane_uapi::hw::tm::{self, RequestInfo};
use ane_uapi::hw::tq::{self, QueueId};

use crate::machine::*;

/// The error of a task whose TileCfg is zero.
pub(crate) fn hang() -> EngineError {
    EngineError::Refused(Verdict {
        category: Category::WouldHang,
        address: 0x28,
        bits: 0x7fff,
        value: 0,
        why: "engine hangs on zero",
    })
}

/// Code and registers after one request whose first descriptor has these words.
fn outcome(words: &[u32], tasks: u16) -> [u32; 3] {
    let mut machine = Machine::new();
    machine.store(COPY, words);
    let info = RequestInfo::of(4 * words.len() as u32, tasks.into()).unwrap();
    machine.submit(QueueId::LINUX, COPY, info, Nid::LINUX);
    machine.run();
    assert!(machine.ane.engine_mut().ran.is_empty(), "nothing runs");
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    assert!(machine.manager(&tm::STATUS).idle());
    machine.errors()
}

const fn errors(code: ErrorCode, register: u32, value: u32) -> [u32; 3] {
    [0x8040_0400 | code as u32, register >> 2 << 16, value]
}

#[test]
fn each_bad_descriptor_ends_its_request_with_code_register_and_value() {
    let of = |change: fn(&mut Header)| {
        let mut header = header(0, 1);
        change(&mut header);
        words(&header, &[])
    };
    let with = |address, value| words(&header(0, 1), &[(address, value)]);
    let mut nowhere = descriptor(0, 1);
    nowhere[10] = 0x0000_0100;
    let cases: [(Vec<u32>, [u32; 3]); 9] = [
        (descriptor(0, 1)[..9].to_vec(), errors(ErrorCode::DescriptorShort, 0, 0)),
        (nowhere, errors(ErrorCode::NoRegister, 0x100, 0)),
        (of(|header| header.identity.set_nid(0)), errors(ErrorCode::WrongNetworkId, 0, 0)),
        (of(|header| header.identity.set_nid(0x41)), errors(ErrorCode::WrongNetworkId, 0, 0x41)),
        (of(|header| header.kernels.set_kbe1(true)), errors(ErrorCode::Unexplained, 0x2_0024, 0x800)),
        (with(common::IN_DIM.offset(), 0x8000), errors(ErrorCode::Unexplained, 0, 0x8000)),
        (with(common::CFG.offset(), 0x70), errors(ErrorCode::UnknownCode, 0x34, 0x70)),
        (with(common::CH_CFG.offset(), 3), errors(ErrorCode::UnknownCode, 8, 3)),
        (
            // It stores.
            words(
                &header(0, 1),
                &[(l2::RESULT_CFG.offset(), 2), (tile_destination::BASE_ADDR.offset(), 0xffff_ffc0)],
            ),
            errors(ErrorCode::AddressTooHigh, 0x17804, 0xffff_ffc0),
        ),
    ];
    for (words, expected) in cases {
        assert_eq!(outcome(&words, 1), expected);
    }
}

#[test]
fn chain_that_ends_before_its_last_task_is_refused_before_that_task_runs() {
    assert_eq!(outcome(&descriptor(0, 1), 2), errors(ErrorCode::ChainEnds, 0, 2));
}

#[test]
fn error_in_a_later_task_names_that_task() {
    let mut machine = Machine::new();
    machine.store_chain(3);
    machine.store(Iova(TASKS.0 + 0x600), &words(&header(2, 3), &[(common::IN_DIM.offset(), 0x8000)]));
    machine.submit(QueueId::LINUX, COPY, info(3), Nid::LINUX);
    machine.run();
    assert_eq!(machine.ane.engine_mut().ran.len(), 2);
    assert_eq!(machine.errors(), [0x8040_0414, 2, 0x8000]);
    assert_eq!(machine.drain(), [failed(0x40, 2)]);
}

/// Requirement: TD-08
#[test]
fn descriptor_of_another_request_is_refused_and_a_linked_one_inherits() {
    let mut machine = Machine::new();
    machine.store_chain(2);
    let mut second = header(1, 2);
    second.identity.set_nid(0x77);
    machine.store(Iova(TASKS.0 + 0x300), &words(&second, &[]));
    machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
    machine.run();
    assert_eq!(machine.error_code(), 0, "linked");
    second.identity.set_lnid(false);
    machine.store(Iova(TASKS.0 + 0x300), &words(&second, &[]));
    machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
    machine.run();
    assert_eq!(machine.error_code(), ErrorCode::WrongNetworkId as u32);
}

#[test]
fn descriptor_may_cross_pages_that_are_not_neighbours_in_memory() {
    let mut machine = Machine::new();
    let across = Iova(COPY.0 + PAGE - 0x100);
    machine.store(across, &descriptor(0, 1));
    machine.submit(QueueId::LINUX, across, info(1), Nid::LINUX);
    machine.run();
    assert_eq!(machine.error_code(), 0);
}

#[test]
fn fault_at_each_fetch_of_a_chain_names_task_and_address() {
    for task in 0..3u16 {
        let mut machine = Machine::new();
        machine.store_chain(3);
        let address = match task {
            0 => COPY.0,
            task => TASKS.0 + 0x300 * u32::from(task),
        };
        machine.ane.inject(Injection::FaultAt(Iova(address)));
        machine.submit(QueueId::LINUX, COPY, info(3), Nid::LINUX);
        machine.run();
        assert_eq!(machine.ane.engine_mut().ran.len(), usize::from(task));
        assert_eq!(machine.errors(), [0x8040_0411, u32::from(task), address]);
        let events = machine.events();
        let Happening::Dart(fault) = events[0].what else { panic!("{events:?}") };
        assert_eq!((fault.window, fault.info.address.get()), (Window::Dart0, address));
        assert_eq!(fault.info.error(), Ok(HwError::NoL3Entry));
        assert_eq!(fault.words[0], fault.info.hw_status.get());
        assert!(!events[0].engine_status.is_benign());
    }
}

#[test]
fn unmapped_descriptor_faults_and_a_page_mapped_meanwhile_lets_the_next_request_pass() {
    let mut machine = Machine::new();
    machine.store_chain(1);
    map(machine.ane.memory(), COPY.0 / PAGE, false);
    machine.submit(QueueId::LINUX, COPY, info(1), Nid::LINUX);
    machine.run();
    assert_eq!(machine.error_code(), ErrorCode::DescriptorFault as u32);
    let status = EngineOffset(Window::Dart0.base().0 + regs::ERROR_STATUS.offset());
    let held = machine.read(status);
    assert_ne!(held, 0);
    machine.write(status, held);
    map(machine.ane.memory(), COPY.0 / PAGE, true);
    machine.invalidate();
    machine.submit(QueueId::LINUX, COPY, info(1), Nid::LINUX);
    machine.run();
    assert_eq!(machine.drain(), [failed(0x40, 0), done(0x40, 1)]);
}

#[test]
fn link_beyond_what_the_engine_can_address_faults() {
    for (offset, error) in [(0xe000_0000, HwError::OutsideAperture), (0xffff_fffc, HwError::HighAddress)] {
        let mut machine = Machine::new();
        let mut first = header(0, 2);
        first.next.set_offset(offset);
        machine.store(COPY, &words(&first, &[]));
        machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
        machine.run();
        assert_eq!(machine.error_code(), ErrorCode::DescriptorFault as u32);
        let Happening::Dart(fault) = machine.events()[0].what else { panic!() };
        assert_eq!(fault.info.error(), Ok(error));
    }
}

#[test]
fn link_that_is_no_word_is_refused() {
    let mut machine = Machine::new();
    let mut first = header(0, 2);
    first.next.set_offset(0x302);
    machine.store(COPY, &words(&first, &[]));
    machine.submit(QueueId::LINUX, COPY, info(2), Nid::LINUX);
    machine.run();
    assert_eq!(machine.errors(), [0x8040_0410, 1, TASKS.0 + 0x302]);
}

#[test]
fn chain_that_links_to_itself_ends_by_its_count() {
    let mut machine = Machine::new();
    let mut first = header(0, 2);
    first.identity.set_lnid(true);
    machine.store(Iova(TASKS.0 + 0x300), &words(&first, &[]));
    machine.store(COPY, &words(&first, &[]));
    machine.submit(QueueId::LINUX, COPY, info(u16::MAX), Nid::LINUX);
    machine.run();
    assert_eq!(machine.ane.engine_mut().ran.len(), usize::from(u16::MAX));
    assert_eq!(machine.drain(), [done(0x40, u16::MAX)]);
}

#[test]
fn chain_that_links_to_itself_ends_by_the_time_that_it_would_take() {
    let mut machine = Machine::new();
    let mut first = header(0, 2);
    first.identity.set_lnid(true);
    machine.store(Iova(TASKS.0 + 0x300), &words(&first, &[]));
    machine.store(COPY, &words(&first, &[]));
    machine.ane.engine_mut().cost = Ticks(DEADLINE.0 / 100);
    machine.submit(QueueId::LINUX, COPY, info(u16::MAX), Nid::LINUX);
    machine.run();
    assert_eq!(machine.ane.engine_mut().ran.len(), 100);
    assert_eq!(machine.error_code(), ErrorCode::Deadline as u32);
    let told = machine.ane.task_manager().last_failure().unwrap().to_string();
    assert!(told.ends_with("request would have taken two seconds or more on the chip"), "{told}");
}

#[test]
fn task_that_hangs_is_aborted_at_the_deadline_and_the_next_request_runs() {
    let mut machine = Machine::new();
    machine.ane.engine_mut().outcomes.push_back(Err(hang()));
    machine.submit_chain(1);
    let start = machine.now;
    machine.run();
    let deadline = Ticks(start.0 + DEADLINE.0);
    assert_eq!(machine.ane.work(machine.now).at, Some(deadline));
    assert!(!machine.manager(&tm::STATUS).idle());
    machine.now = Ticks(deadline.0 - 1);
    machine.run();
    assert_eq!(machine.error_code(), 0);
    machine.now = deadline;
    machine.run();
    assert_eq!(machine.errors(), [0x8040_0430, 0x28 << 14, 0]);
    assert!(machine.manager(&tm::STATUS).idle());
    let events = machine.events();
    assert!(events.iter().any(|event| matches!(
        event.what,
        Happening::QueueAborted { queue: QueueId::LINUX, errors: [0x8040_0430, _, 0], nid: 0x40 }
    )));
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.drain(), [failed(0x40, 0), done(0x40, 1)]);
}

#[test]
fn task_that_would_hang_ends_at_once_when_asked_to_report() {
    let options = Options { hang: Hang::Report, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.ane.engine_mut().outcomes.push_back(Err(hang()));
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.errors(), [0x8040_0422, 0x28 << 14, 0]);
}

#[test]
fn slow_host_aborts_no_program() {
    let mut machine = Machine::new();
    machine.submit_chain(4);
    for _ in 0..4 {
        machine.ane.work(machine.now);
        // As long as the model took for that task.
        machine.now = Ticks(machine.now.0 + 3 * DEADLINE.0);
    }
    assert_eq!(machine.drain(), [done(0x40, 4)]);
}

#[test]
fn stuck_queue_on_demand_is_aborted_at_its_deadline() {
    let mut machine = Machine::new();
    machine.ane.inject("stuck-queue:4".parse().unwrap());
    machine.submit_chain(1);
    machine.run();
    assert!(machine.ane.engine_mut().ran.is_empty());
    machine.now = Ticks(machine.now.0 + DEADLINE.0);
    machine.run();
    assert_eq!(machine.errors(), [0x8040_0430, 0, 0]);
}

#[test]
fn abort_that_is_ignored_on_demand_leaves_the_queue_as_it_is_until_the_next() {
    let mut machine = Machine::new();
    machine.ane.inject("stuck-queue:4".parse().unwrap());
    machine.ane.inject("ignored-abort".parse().unwrap());
    machine.submit_chain(1);
    machine.run();
    let queue = QueueId::LINUX.base();
    machine.set(queue, &tq::STATUS, 0);
    assert_eq!(machine.drain(), []);
    assert!(!machine.manager(&tm::STATUS).idle());
    machine.set(queue, &tq::STATUS, 1);
    machine.set(queue, &tq::STATUS, 0);
    assert_eq!(machine.drain(), [failed(0x40, 0)]);
    assert!(machine.manager(&tm::STATUS).idle());
}

#[test]
fn lost_interrupt_on_demand_leaves_the_event_to_be_polled() {
    let mut machine = Machine::new();
    machine.ane.inject("lost-interrupt".parse().unwrap());
    machine.submit_chain(1);
    machine.run();
    assert!(machine.events().is_empty());
    assert_eq!(machine.drain(), [done(0x40, 1)]);
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.events().len(), 1);
}

#[test]
fn corrupted_completion_on_demand_names_another_request() {
    let mut machine = Machine::new();
    machine.ane.inject("corrupted-completion".parse().unwrap());
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.drain(), [done(0xbf, 1)]);
}

#[test]
fn slow_dma_on_demand_delays_each_transfer_and_too_slow_is_stuck() {
    let mut machine = Machine::new();
    machine.ane.inject("slow-dma:100".parse().unwrap());
    machine.ane.engine_mut().copies = 16;
    machine.submit_chain(2);
    for done in 1..=2 {
        // The delay begins when the task has ended, which the device hears of in the step behind it.
        assert!(machine.ane.work(machine.now).pending);
        // Each task fetches its descriptor, reads and writes.
        let at = machine.ane.work(machine.now).at.unwrap();
        assert_eq!(at, Ticks(machine.now.0 + 3 * 2400));
        assert_eq!(machine.ane.work(Ticks(at.0 - 1)).at, Some(at));
        machine.now = at;
        machine.ane.work(machine.now);
        assert_eq!(machine.ane.counters().tasks_done, done);
    }
    assert_eq!(machine.drain(), [done(0x40, 2)]);
    machine.ane.inject("slow-dma:3000000".parse().unwrap());
    machine.submit_chain(1);
    machine.run();
    machine.now = Ticks(machine.now.0 + DEADLINE.0);
    machine.run();
    assert_eq!(machine.error_code(), ErrorCode::Deadline as u32);
}

/// A task with slow transfers for which the model took longer than the deadline, once the device knows that it has ended.
fn slow_after_a_long_computation(turns: u32) -> Machine {
    let mut machine = Machine::new();
    machine.ane.inject("slow-dma:100".parse().unwrap());
    machine.ane.engine_mut().copies = 16;
    machine.ane.engine_mut().turns = turns;
    machine.submit_chain(1);
    for _ in 0..=turns {
        assert!(machine.ane.work(machine.now).pending);
        machine.now = Ticks(machine.now.0 + 3 * DEADLINE.0);
    }
    machine
}

#[test]
fn delay_of_slow_dma_begins_when_the_model_has_computed() {
    for turns in [0, 1] {
        let mut machine = slow_after_a_long_computation(turns);
        let at = machine.ane.work(machine.now).at;
        assert_eq!(at, Some(Ticks(machine.now.0 + 3 * 2400)), "{turns}");
        machine.now = at.unwrap();
        machine.run();
        assert_eq!(machine.drain(), [done(0x40, 1)], "{turns}");
    }
}

#[test]
fn failure_of_a_request_with_slow_transfers_is_late_too() {
    let mut machine = Machine::new();
    machine.ane.inject("slow-dma:100".parse().unwrap());
    machine.ane.engine_mut().outcomes.push_back(Err(EngineError::NotExecuting));
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.error_code(), 0);
    machine.now = Ticks(machine.now.0 + 2400);
    machine.run();
    assert_eq!(machine.error_code(), ErrorCode::NotExecuting as u32);
}

#[test]
fn taking_a_queue_back_aborts_what_it_has_and_no_other_queue() {
    let mut machine = Machine::new();
    machine.submit_chain(3);
    machine.submit(QueueId::ALL[2], COPY, info(1), Nid::LINUX);
    machine.ane.work(machine.now);
    machine.set(QueueId::LINUX.base(), &tq::STATUS, 0);
    assert_eq!(machine.errors(), [0x8040_0431, 1, 0]);
    assert_eq!(machine.drain(), [failed(0x40, 1)]);
    assert_eq!(machine.get(QueueId::LINUX.base(), &tq::FREE_SPACE).slots(), 2);
    machine.run();
    let queues: Vec<_> = machine.ane.engine_mut().ran.iter().map(|ran| ran.queue).collect();
    assert_eq!(queues, [4, 2]);
}

#[test]
fn queue_is_taken_back_for_the_request_that_is_first_and_for_no_other() {
    let mut machine = Machine::new();
    let queue = QueueId::LINUX;
    let (first, second) = (Nid::LINUX, Nid::new(0x41).unwrap());
    let take_back = |machine: &mut Machine, nid: Nid| {
        let at = EngineOffset(queue.base().0 + tq::TAKE_BACK.offset());
        machine.write(at, tq::RequestNid::of(nid).into_bits());
        machine.get(queue.base(), &tq::STATUS).in_use()
    };
    machine.store_chain(1);
    machine.submit(queue, COPY, info(1), first);
    // The first is first before it has started, and while it runs; then the second is.
    assert!(take_back(&mut machine, second), "it is not there");
    machine.run();
    assert_eq!(machine.drain().len(), 1);
    assert_eq!(machine.errors(), [0; 3]);
    machine.submit(queue, COPY, info(1), second);
    assert!(take_back(&mut machine, first), "it has ended");
    assert!(machine.drain().is_empty());
    assert!(!take_back(&mut machine, second));
    assert_eq!(machine.drain(), [failed(0x41, 0)]);
    assert_eq!(machine.get(queue.base(), &tq::FREE_SPACE).slots(), 2);
}

#[test]
fn reset_while_a_request_runs_leaves_nothing_of_it() {
    let mut machine = Machine::new();
    machine.submit_chain(3);
    machine.ane.work(machine.now);
    machine.ane.reset(machine.now);
    assert!(machine.manager(&tm::STATUS).idle());
    assert!(machine.events().is_empty());
    assert_eq!(machine.errors(), [0; 3]);
    machine.run();
    assert_eq!(machine.ane.engine_mut().ran.len(), 1);
    machine.probe();
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

#[test]
fn dead_device_refuses_every_access_until_it_is_reset() {
    let options = Options { fault_policy: FaultPolicy::Panic, ..Options::default() };
    let mut machine = Machine::with_options(&options);
    machine.ane.inject(Injection::FaultAfter(0));
    machine.submit_chain(1);
    machine.run();
    let events = machine.events();
    assert!(events.iter().any(|event| matches!(event.what, Happening::Dead(_))));
    let status = EngineOffset(tm::TASK_MANAGER.base.0 + tm::STATUS.offset());
    assert_eq!(machine.try_read(status).unwrap_err().why, Why::Dead);
    assert_eq!(machine.try_write(status, 0).unwrap_err().why, Why::Dead);
    assert!(machine.ane.dump().contains("(dead)"));
    machine.ane.reset(machine.now);
    machine.probe();
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.drain(), [done(0x40, 1)]);
}

#[test]
fn transfer_of_a_task_through_a_window_without_tables_faults_there() {
    let mut machine = Machine::new();
    machine.ane.engine_mut().copies = 64;
    let ttbr = EngineOffset(Window::Dart2.base().0 + regs::TTBR.offset());
    machine.write(ttbr, 0);
    machine.submit_chain(1);
    machine.run();
    assert_eq!(machine.errors(), [0x8040_0420, 0, RESULT.0]);
    let Happening::Dart(fault) = machine.events()[0].what else { panic!() };
    assert_eq!((fault.window, fault.info.error()), (Window::Dart2, Ok(HwError::NoTableBase)));
}

#[test]
fn memory_may_be_replaced_between_two_tasks() {
    let mut machine = Machine::new();
    machine.submit_chain(2);
    machine.ane.work(machine.now);
    machine.ane.replace_memory(memory());
    machine.run();
    // The new memory holds no second descriptor, and zeros belong to no request.
    assert_eq!(machine.errors(), [0x8040_0416, 1, 0]);
}

/// Requirement: FAULT-19
#[test]
fn event_of_a_fault_has_the_engines_status_beside_the_descriptor() {
    let mut machine = Machine::new();
    let nowhere = Iova(PAGES * PAGE);
    machine.submit(QueueId::LINUX, nowhere, info(1), Nid::LINUX);
    machine.run();
    let idle = machine.ane.status();
    let (status, latched) = machine
        .events()
        .into_iter()
        .find_map(|event| match event.what {
            Happening::Dart(latched) => Some((event.engine_status, latched)),
            _ => None,
        })
        .unwrap();
    assert_eq!(status, RUNNING, "as it was when the fault was captured");
    assert_eq!(idle, EngineStatus::POWERED_IDLE, "and not as it is when the descriptor is read");
    assert_eq!(latched.info.hw_status.get(), latched.words[0], "the descriptor has the window's status only");
}
