//! The engine proper: what executes a decoded task.
//!
//! By the time a task gets here its descriptor was fetched and understood word by word, the base addresses
//! are in place, and the register file holds the whole state of the pass. An engine reads that state, moves
//! data through the ports it is handed, and says how long the pass would have taken.
//!
//! * [`plan`] understands the registers; [`executor`] carries the plan out, task by task.
//! * `tile`, [`kernel_fetcher`](Executor) and `l2` move operands, coefficients and results; [`transpose`] turns them.
//! * [`madd`] is the multiply-accumulate array of the neural engine, in the arithmetic of [`numerics`], and
//!   [`table`] the activation tables behind it; [`planar`] is the planar engine.
//! * [`cancel`] ends a pass that is no longer wanted.
//! * `pool` has the threads of both engines; `kernels` holds what of the arithmetic is written for one kind of processor.

pub mod cancel;
pub mod executor;
mod kept_state;
mod kernel_fetcher;
mod kernels;
mod l2;
pub mod madd;
pub mod numerics;
pub mod plan;
pub mod planar;
mod pool;
mod room;
pub mod table;
mod tile;
pub mod transpose;

use std::task::Poll;

use ane_uapi::hw::bar::BarTable;
use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::nid::Nid;
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::tq::QueueId;
use thiserror::Error;

use self::cancel::Cancel;
pub use self::executor::Executor;
pub use self::kept_state::Kept;
pub use self::kernels::Tier;
use self::plan::inferred::Inferred;
use self::plan::verdict::Verdict;
use crate::dart::Dart;
use crate::kernel_memory::KernelMemory;
use crate::sram::{Known, Sram};
use crate::td::register_file::RegisterFile;
use crate::time::Ticks;
use crate::timing::usage::Usage;
use crate::trace::Timeline;

/// The task, but for its registers.
#[derive(Clone, Copy, Debug)]
pub struct TaskContext<'a> {
    pub header: &'a Header,
    pub queue: QueueId,
    pub nid: Nid,
    pub stream: StreamId,
    /// Index of the task in its request, from 0.
    pub index: u16,
    /// How many tasks the request has.
    pub tasks: u16,
    /// The request's base addresses.
    pub bars: &'a BarTable,
}

/// The parts of the device that an engine may use besides the registers.
pub struct Ports<'a, M> {
    pub memory: &'a M,
    /// The way to it.
    pub dart: &'a mut Dart,
    pub l2: &'a mut Sram,
    pub kernel: &'a mut KernelMemory,
    /// Where what happens is noted.
    pub timeline: &'a mut Timeline,
    /// Where virtual time is counted.
    pub usage: &'a mut Usage,
    /// Tells whether the task is called off.
    pub cancel: &'a dyn Cancel,
}

impl<M> Ports<'_, M> {
    /// The same, for a shorter time.
    pub fn again(&mut self) -> Ports<'_, M> {
        let Self { memory, dart, l2, kernel, timeline, usage, cancel } = self;
        Ports { memory, dart, l2, kernel, timeline, usage, cancel: *cancel }
    }
}

/// Why a task did not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EngineError {
    #[error("this device executes no tasks")]
    NotExecuting,
    /// The window holds the rest.
    #[error("transfer faulted at {address:#x}")]
    Fault {
        /// Low half of the address that faulted.
        address: u32,
    },
    /// The registers do not describe a pass that is executed, or one on which a real engine hangs.
    #[error(transparent)]
    Refused(#[from] Verdict),
    /// Its result is in no state to speak of.
    #[error("task was called off while it ran")]
    Cancelled,
}

pub type Result<T, E = EngineError> = std::result::Result<T, E>;

/// A task that ran to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The time that it would have taken on the chip.
    pub cost: Ticks,
    /// The behaviour in it that no source establishes.
    pub inferred: Inferred,
}

pub trait Engine<M> {
    /// Runs one task to its end. While that is [`Poll::Pending`] the same call again goes on with it, or tells of its end;
    /// or [`give_up`](Self::give_up) does without.
    ///
    /// # Errors
    ///
    /// Why it did not run. Nothing was written to memory then, unless a transfer faulted midway or
    /// the task was called off. Where the DART has a transfer wait at its fault the same call again goes on from there.
    fn run(
        &mut self,
        task: &TaskContext<'_>,
        registers: &RegisterFile,
        ports: Ports<'_, M>,
    ) -> Poll<Result<Done>>;

    /// True if a task that is pending computes on another thread, so that there is nothing to do before that thread asks for
    /// something; otherwise it had its turn, and can go on.
    fn is_elsewhere(&self) -> bool {
        true
    }

    /// Where it keeps which bytes of tile L2 are known, to be told of what others write there.
    fn known(&mut self) -> Option<&mut dyn Known> {
        None
    }

    /// Drops the task that is pending, if there is one.
    fn give_up(&mut self) {}

    /// Forgets what it knows of earlier tasks.
    fn reset(&mut self) {}

    /// Gives away what it keeps between tasks, of a request that gives way between two; knows of no earlier task then.
    fn put_aside(&mut self) -> Kept {
        Kept::default()
    }

    /// Takes that back before the request's next task.
    fn take_up(&mut self, _: Kept) {}
}
