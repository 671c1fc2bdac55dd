//! The faults in the DART's windows. A window holds one fault at a time, and catches the next once this one is cleared.

use ane_uapi::hw::dart::error::FaultAddress;
use ane_uapi::hw::dart::regs::{self, ErrorStatus, Window};
use ane_uapi::hw::fault::IoDartErrorInfo;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::status::EngineStatus;
use ane_uapi::hw::tm;
use ane_uapi::hw::tq::{self, QueueId};
use ane_uapi::wire::ctrl::Status;
use ane_uapi::wire::event::Event;

use super::Hardware;
use super::power::AT_WORK;
use crate::bus::{Bus, BusError, Operation};
use crate::tm::manager;

/// A fault that a window has caught.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caught {
    pub(crate) window: u16,
    /// When, in ticks of the device's clock; zero if that is not known.
    pub(crate) timestamp: u64,
    /// The engine's status word at that moment.
    pub(crate) engine_status: EngineStatus,
    pub(crate) info: IoDartErrorInfo,
}

const fn at(window: Window, offset: u32) -> EngineOffset {
    EngineOffset(window.base().0.saturating_add(offset))
}

impl<B: Bus> Hardware<B> {
    /// The fault that an event tells of, which is cleared in its window.
    pub(crate) fn caught(&mut self, event: &Event) -> Caught {
        let [status, ..] = event.words.map(|word| word.get());
        let source = event.source.get();
        if let Some(window) = Window::ALL.iter().copied().find(|&window| window as u16 == source) {
            let clear = Operation::Write(at(window, regs::ERROR_STATUS.offset()), status);
            match self.bus.batch(&[clear], &mut []) {
                // A dead device takes no writes, and says so itself.
                Err(BusError::Refused { status: Status::Dead, .. }) => {}
                cleared => drop(self.note(cleared)),
            }
        }
        Caught {
            window: source,
            timestamp: event.timestamp.get(),
            engine_status: EngineStatus::from_bits(event.engine_status.get()),
            info: event.info,
        }
    }

    /// The faults in the windows that no event told of, which are cleared there.
    pub(crate) fn find_faults(&mut self) -> Vec<Caught> {
        let mut found = Vec::new();
        for window in Window::CARRYING_DMA {
            let registers = [
                regs::ERROR_STATUS.offset(),
                regs::ERROR_ADDRESS_LOW.offset(),
                regs::ERROR_ADDRESS_HIGH.offset(),
            ]
            .map(|offset| at(window, offset));
            let mut values = [0; 3];
            let read = self.bus.batch(&registers.map(Operation::Read), &mut values);
            if self.note(read).is_none() {
                break;
            }
            let [status, low, high] = values;
            let status = ErrorStatus::from_bits(status);
            if !status.fault() {
                continue;
            }
            let cleared = self.bus.batch(&[Operation::Write(registers[0], status.into_bits())], &mut []);
            self.note(cleared);
            let address = FaultAddress::from_halves(low, high);
            // Only the event had the master. The engine was at work: the fault ended a request.
            let info = IoDartErrorInfo::new(status, address, [0; 4]);
            found.push(Caught { window: window as u16, timestamp: 0, engine_status: AT_WORK, info });
        }
        found
    }

    /// The state of the task manager, in a line.
    pub(crate) fn activity(&mut self) -> String {
        let mut reads = vec![Operation::Read(manager(&tm::STATUS)), Operation::Read(manager(&tm::COMMITTED))];
        reads.extend(QueueId::ALL.map(|queue| Operation::Read(queue.register(&tq::FREE_SPACE))));
        let mut values = [0; 2 + QueueId::ALL.len()];
        match self.bus.batch(&reads, &mut values) {
            Ok(_) => {
                let [status, committed, free @ ..] = values;
                format!("manager status {status:#x}, last started {committed:#x}, free sets {free:?}")
            }
            Err(why) => format!("registers cannot be read: {why}"),
        }
    }
}
