//! Sleep, on the real device: what resuming has to bring back, by what happens if it does not.

use std::time::Duration;

use ane_driver::bus::{Bus, Operation};
use ane_uapi::hw::dart::regs::{self, ErrorStatus, Window};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::{self, Push, QueueEnable, RequestInfo};
use ane_uapi::hw::tq::{self, QueueId, Slot};

use super::rig::{assert_sum, result, sum, work_for, wound};

#[test]
fn device_that_was_resumed_without_its_tables_faults_at_its_first_transfer() {
    let (mut rig, clock) = wound();
    let file = rig.open();
    let Some(loaded) = sum(&mut rig, file) else { return };
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    clock.advance(Duration::from_secs(1));
    rig.settle();
    // Queues on, and the request of before once more: all that a driver needs, but for windows 0, 1 and 2.
    let manager = |offset: u32| EngineOffset(tm::TASK_MANAGER.base.0 + offset);
    let queue = QueueId::LINUX;
    let nid = EngineOffset(queue.base().0 + Slot::First.registers(tq::Pairing::ByPlace).nid);
    let info = RequestInfo::of(loaded.first_size, loaded.task_count).unwrap();
    let writes = [
        Operation::Write(
            manager(tm::QUEUE_ENABLE.offset()),
            QueueEnable::new().with_enable(true).into_bits(),
        ),
        Operation::Write(queue.register(&tq::STATUS), 1),
        Operation::Write(nid, 0x101),
        Operation::Write(manager(tm::REQUEST_ADDRESS.offset()), 0x4000),
        Operation::Write(manager(tm::REQUEST_INFO.offset()), info.into_bits()),
        Operation::Write(manager(tm::PUSH.offset()), Push::of(queue).into_bits()),
    ];
    let bus = rig.driver.bus_mut();
    bus.batch(&writes, &mut []).unwrap();
    let _ = bus.event(Duration::from_millis(20));
    let at = EngineOffset(Window::Dart0.base().0 + regs::ERROR_STATUS.offset());
    let status = ErrorStatus::from_bits(bus.read(at).unwrap());
    assert!(status.fault() && (status.stream_blocked() || status.stream_disabled() || status.no_ttbr()));
}

#[test]
fn device_that_slept_while_clients_came_and_went_serves_whoever_is_there() {
    let (mut rig, clock) = wound();
    let first = rig.open();
    let Some(loaded) = sum(&mut rig, first) else { return };
    clock.advance(Duration::from_secs(1));
    work_for(&mut rig, Duration::from_millis(5));
    let second = rig.open();
    let Some(others) = sum(&mut rig, second) else { return };
    assert_eq!(result(&rig.run(&others)), Ok(()));
    assert_sum(&mut rig, &others);
    assert_eq!(result(&rig.run(&loaded)), Ok(()));
    assert_sum(&mut rig, &loaded);
}
