//! The state that a request takes along when it gives way, and gets back when it goes on.
//!
//! Between two tasks, and from one request to the next, four things last: the registers that descriptors write, tile L2,
//! kernel memory, and what the engine knows (which bytes on chip are unknown, what the task before passed on, what its work hides of the next one's). A
//! real engine has one of each. Here they change hands whole, so nothing is copied, and the next request finds the chip as after
//! power-on: not a byte of a request that is to go on is in reach of another one.

use ane_uapi::hw::dart::stream::StreamId;
use vm_memory::GuestMemory;

use super::Ane;
use crate::engine::{Engine, Kept};
use crate::kernel_memory::KernelMemory;
use crate::sram::Sram;
use crate::td::register_file::RegisterFile;
use crate::tm::running::Running;
use crate::trace::{Event, Task, What};

/// The state that lasts from task to task.
pub(super) struct Chip {
    registers: RegisterFile,
    l2: Sram,
    kernel: KernelMemory,
    engine: Kept,
}

impl<M: GuestMemory, E: Engine<M>> Ane<M, E> {
    /// Takes all of it off the chip, which is as after power-on then.
    fn take_off(&mut self) -> Chip {
        Chip {
            registers: std::mem::take(&mut self.registers),
            l2: std::mem::replace(&mut self.l2, Sram::tile_l2()),
            kernel: std::mem::take(&mut self.kernel),
            engine: self.engine.put_aside(),
        }
    }

    /// The chip forgets what requests have left on it, as if it had been without power.
    ///
    /// False if a request runs, waits or is put aside: it may need what is there, and nothing is forgotten. Commands that the mover
    /// has been given and not yet done are done as before.
    pub fn forget_requests(&mut self) -> bool {
        let is_idle = self.tm.is_idle() && self.thread_task.is_none() && self.aside.is_empty();
        if is_idle {
            drop(self.take_off());
        }
        is_idle
    }

    /// The running request of this stream gives way: the chip is as after power-on.
    pub(super) fn put_aside(&mut self, stream: StreamId) {
        let chip = self.take_off();
        // The task manager has one such request of each stream at most.
        self.drop_aside(stream);
        self.aside.push((stream, chip));
    }

    /// If the running request had given way and was just started again, it gets back what it had.
    #[inline]
    pub(super) fn take_up(&mut self) {
        let Some(running) = self.tm.running_mut().filter(|running| running.is_back) else { return };
        running.is_back = false;
        let Running { request, task: index, .. } = running;
        let (stream, task) = (request.stream, Task { queue: request.queue, nid: request.nid, index: *index });
        let what = What::RequestBegin { tasks: request.info.tasks() };
        self.timeline.mark(Event { task, what });
        let Some(at) = self.aside.iter().position(|(of, _)| *of == stream) else { return };
        let (_, Chip { registers, l2, kernel, engine }) = self.aside.swap_remove(at);
        (self.registers, self.l2, self.kernel) = (registers, l2, kernel);
        self.engine.take_up(engine);
    }

    /// The request of this stream that gave way is no more.
    pub(super) fn drop_aside(&mut self, stream: StreamId) {
        self.aside.retain(|(of, _)| *of != stream);
    }
}
