//! Over the socket: the device answers while it computes.

use std::time::{Duration, Instant};

use ane_driver::bus::vhost_user::{Settings, VhostUser};
use ane_driver::bus::{ArenaId, Bus, Operation};
use ane_tests::control::Control;
use ane_tests::daemon::{Daemon, LIMIT};
use ane_tests::long_task::{convolution, endless};
use ane_tests::runner::{Outcome, Runner};
use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::dart::regs::{self, Window};
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::error::ErrorCode;
use ane_uapi::hw::tm::{self, ManagerStatus};
use ane_uapi::hw::tq::{self, QueueId, QueueStatus};

/// How long a register may take that is read while a task runs.
const SOON: Duration = Duration::from_millis(50);

const STATUS: EngineOffset = EngineOffset(tm::TASK_MANAGER.base.0 + tm::STATUS.offset());
const FAULT: EngineOffset = EngineOffset(Window::Dart0.base().0 + regs::ERROR_STATUS.offset());

fn queue(id: QueueId) -> EngineOffset {
    EngineOffset(id.base().0 + tq::STATUS.offset())
}

/// A guest of a daemon that is at something endless.
fn busy(daemon: &Daemon) -> Runner<VhostUser> {
    let settings = Settings { memory_bytes: 64 << 20, timeout: LIMIT, ..Settings::default() };
    let mut runner = Runner::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    runner.load(&endless().program());
    runner.submit();
    // The array has its operands, and computes.
    std::thread::sleep(Duration::from_millis(200));
    runner
}

fn is_busy(runner: &mut Runner<VhostUser>) -> bool {
    !ManagerStatus::from_bits(runner.guest.bus.read(STATUS).expect("register can be read")).idle()
}

#[test]
fn registers_of_every_block_are_read_and_written_while_a_task_runs() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let mut runner = busy(&daemon);
    let other = QueueId::ALL.into_iter().find(|&id| id != QueueId::LINUX).expect("there are eight");
    let in_use = QueueStatus::new().with_in_use(true).into_bits();
    let mut took = [Duration::MAX; 8];
    for took in &mut took {
        let start = Instant::now();
        let mut values = [0; 3];
        let reads = [STATUS, FAULT, queue(QueueId::LINUX)].map(Operation::Read);
        assert_eq!(runner.guest.bus.batch(&reads, &mut values).expect("batch is answered"), 3);
        *took = start.elapsed();
        assert!(!ManagerStatus::from_bits(values[0]).idle(), "the task runs");
    }
    // The machine may be busy with something else for most of them.
    assert!(took.iter().min().is_some_and(|&least| least < SOON), "{took:?}");
    runner.guest.bus.write(queue(other), in_use).expect("write is answered");
    assert_eq!(runner.guest.bus.read(queue(other)).expect("read is answered") & in_use, in_use);
    assert!(is_busy(&mut runner), "the task still runs");
    // And what takes it back ends it at once.
    runner.guest.bus.write(queue(QueueId::LINUX), 0).expect("write is answered");
    let outcome = runner.wait();
    assert!(
        matches!(outcome, Outcome::Failed { code, .. } if code == ErrorCode::Aborted as u8),
        "{outcome:?}"
    );
    assert!(!is_busy(&mut runner));
    let counters = Control::connect(&daemon.control()).ask("counters").expect("are told");
    assert!(counters.contains(&"tasks-done 0".to_owned()), "{counters:?}");
}

#[test]
fn memory_comes_and_goes_while_a_task_runs_and_the_task_goes_on() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let mut runner = busy(&daemon);
    let id = ArenaId::of(ContextId::new(7).expect("there are eight"));
    for _ in 0..3 {
        runner.guest.bus.arena(id).expect("the device is told of it");
        runner.guest.bus.retire(id).expect("the device is told of it");
    }
    assert!(is_busy(&mut runner), "the task still runs");
}

/// Waits until the daemon has disconnected a frontend, and has another one run something.
fn is_disconnected_and_the_next_is_served(mut daemon: Daemon) {
    daemon.wait_for("was cut short");
    let settings = Settings { memory_bytes: 64 << 20, timeout: LIMIT, ..Settings::default() };
    let mut next = Runner::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    next.load(&convolution(1, 1, 8, 1.0).program());
    next.submit();
    let outcome = next.wait();
    assert!(matches!(outcome, Outcome::Done), "{outcome:?}");
    let counters = Control::connect(&daemon.control()).ask("counters").expect("are told");
    assert!(counters.contains(&"tasks-done 1".to_owned()), "{counters:?}");
    assert!(daemon.is_running());
}

#[test]
fn frontend_that_cuts_its_memory_short_while_a_pass_computes_ends_its_own_session_and_no_device() {
    let daemon = Daemon::start(&["--numerics", "exact"]);
    let settings = Settings { memory_bytes: 64 << 20, timeout: LIMIT, ..Settings::default() };
    let mut runner = Runner::new(VhostUser::connect(&daemon.socket(), settings).expect("device can be had"));
    // A second or two of products; then the sums go to memory that is not there.
    runner.load(&convolution(8, 8, 32, 1.0).program());
    runner.submit();
    std::thread::sleep(Duration::from_millis(100));
    assert!(is_busy(&mut runner), "the task runs");
    let file = runner.guest.bus.memory().region().file_offset().expect("it is a memfd").file();
    file.set_len(0).expect("it is not sealed");
    // It keeps the connection: the device ends it.
    std::mem::forget(runner);
    is_disconnected_and_the_next_is_served(daemon);
}
