//! Null tasks over the socket: pass-throughs of one element, from submission to event.

use ane::build::Built;
use ane_driver::bus::vhost_user::VhostUser;
use ane_driver::bus::{Bus, Operation};
use ane_tests::null_task::program;
use ane_tests::runner::{Outcome, Runner, event_lines};
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::tm::{self, Push, RequestInfo};
use ane_uapi::hw::tq::{self, Pairing, QueueId, QueueStatus, RequestNid, Slot};
use half::f16;

/// Requests that fit into the queues: two each.
pub(crate) const REQUESTS: usize = QueueId::COUNT as usize * 2;

/// A driver with such a program in the device's memory.
pub(crate) struct NullTasks {
    runner: Runner<VhostUser>,
    /// All requests that the queues hold, in one batch.
    flood: Vec<Operation>,
}

impl NullTasks {
    /// Loads the program, and runs it each way once.
    pub(crate) fn load(bus: VhostUser, tasks: usize) -> Self {
        let built = program(tasks);
        let mut runner = Runner::new(bus);
        runner.load(&built.program());
        let value = [f16::from_f32(3.0)];
        runner.fill(built.surface("x").expect("input"), &value);
        let mut loaded = Self { runner, flood: Vec::new() };
        loaded.trip();
        let output = built.surface("y").expect("output");
        assert_eq!(loaded.runner.take(output), value, "a null task copies");

        // The sets of base addresses stay as they are from now on.
        let (prepare, flood) = loaded.flood(&built);
        for batch in prepare.chunks(128) {
            loaded.runner.guest.bus.batch(batch, &mut []).expect("queues can be set up");
        }
        loaded.flood = flood;
        loaded.flood_trip();
        loaded
    }

    /// One request, from the writes that submit it to its event.
    pub(crate) fn trip(&mut self) {
        assert_eq!(self.runner.run(), Outcome::Done);
    }

    /// As many requests as the queues hold, to the event of the last.
    pub(crate) fn flood_trip(&mut self) {
        let mut taken = [0; REQUESTS];
        self.runner.guest.bus.batch(&self.flood, &mut taken).expect("requests can be submitted");
        for _ in 0..REQUESTS {
            assert_eq!(self.runner.wait(), Outcome::Done);
        }
    }

    /// The writes that set up every queue, and those that submit a request on each set of each.
    fn flood(&self, built: &Built) -> (Vec<Operation>, Vec<Operation>) {
        let program = built.program();
        let info = RequestInfo::of(program.first_task_bytes, program.task_count).expect("a length");
        // The events of the flood before have to go, or there is no room for new ones.
        let [done, _] = event_lines();
        let (mut prepare, mut flood) = (Vec::new(), vec![Operation::Read(done); REQUESTS]);
        for queue in QueueId::ALL {
            let q = |offset, value| Operation::Write(EngineOffset(queue.base().0 + offset), value);
            prepare.push(q(tq::STATUS.offset(), QueueStatus::new().with_in_use(true).into_bits()));
            for slot in Slot::ALL.map(|slot| slot.registers(Pairing::ByPlace)) {
                prepare.extend((0..32).map(|bar| q(slot.bars + 4 * u32::from(bar), self.runner.bar(bar).0)));
                flood.push(q(slot.nid, RequestNid::of(Nid::LINUX).into_bits()));
                let t =
                    |offset, value| Operation::Write(EngineOffset(tm::TASK_MANAGER.base.0 + offset), value);
                flood.extend([
                    t(tm::REQUEST_ADDRESS.offset(), self.runner.first().0),
                    t(tm::REQUEST_INFO.offset(), info.into_bits()),
                    t(tm::PUSH.offset(), Push::of(queue).into_bits()),
                ]);
            }
        }
        (prepare, flood)
    }
}
