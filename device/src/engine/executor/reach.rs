//! The things that a pass reaches beside its own tensors: the device, its task, and the flag that calls it off.
//!
//! A pass takes the device with [`Reach::device`]. On the device's own thread it has the device from its beginning to its
//! end. A long pass runs on the engine's thread and is lent the device (`lend`): for a *turn* of a transfer at most, and not while
//! it computes. Between two turns registers are read and written, tables and memory may change, and the task may be
//! called off; then the device is not lent again and `device` fails.
//!
//! Every transfer goes through [`Reach::each`], in pieces with a number. So this file is the only one that knows of turns, and of transfers
//! that wait at their fault: those go on with the same piece.

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::hw::td::{self, tile_destination};
use ane_uapi::register::Reg;
use vm_memory::GuestMemory;

use super::lend::{Borrower, Pause};
use super::operands::{SOURCE1, SOURCE2};
use crate::dart::{Circuit, Dart, Dma, Origin as Purpose};
use crate::engine::cancel::{Cancel, Limited, Pace, TURN, VECTOR, Watch};
use crate::engine::kept_state::Chip;
use crate::engine::plan::operand::MemoryPlace;
use crate::engine::{EngineError, Ports, Result, TaskContext};
use crate::kernel_memory::KernelMemory;
use crate::sram::Sram;
use crate::td::register_file::RegisterFile;
use crate::trace::{self, Event, Timeline, What};

/// Questions of a computation that is expected to be short: ten milliseconds at most, and as many as one has that is just
/// not long and stays with the vectors (Chosen).
const TRIED: usize = 32;

/// The parts of the device that a pass works with.
pub(super) struct Device<'a, M> {
    pub(super) memory: &'a M,
    pub(super) dart: &'a mut Dart,
    pub(super) l2: &'a mut Sram,
    pub(super) kernel: &'a mut KernelMemory,
    pub(super) timeline: &'a mut Timeline,
    pub(super) chip: &'a mut Chip,
}

/// How a pass has the device.
enum Hold<'a, M> {
    /// All the time, on the device's thread; where others wait for it, only as long as it computes for a short time.
    Owned { device: Device<'a, M>, others_wait: bool },
    /// In turns, on the engine's thread.
    Lent(&'a mut Borrower<M>),
}

impl<M: GuestMemory> Hold<'_, M> {
    #[inline]
    fn device(&mut self) -> Result<Device<'_, M>> {
        match self {
            Self::Owned { device: Device { memory, dart, l2, kernel, timeline, chip }, .. } => {
                Ok(Device { memory, dart, l2, kernel, timeline, chip })
            }
            Self::Lent(borrower) => borrower.device(),
        }
    }
}

/// The things that a pass reaches.
pub(super) struct Reach<'a, M> {
    pub(super) task: &'a TaskContext<'a>,
    pub(super) registers: &'a RegisterFile,
    cancel: &'a dyn Cancel,
    /// Whether the task is still wanted.
    watch: &'a Watch<'a>,
    /// The steps of this thread, and those that are left of its turn.
    pace: Pace<'a>,
    hold: Hold<'a, M>,
}

impl<'a, M: GuestMemory> Reach<'a, M> {
    /// The reach of a pass on the device's thread. If requests wait for that thread, a computation that takes long is not ended there.
    pub(super) fn owned(
        (task, registers): (&'a TaskContext<'a>, &'a RegisterFile),
        watch: &'a Watch<'a>,
        ports: Ports<'a, M>,
        chip: &'a mut Chip,
        others_wait: bool,
    ) -> Self {
        let Ports { memory, dart, l2, kernel, timeline, cancel, .. } = ports;
        let hold = Hold::Owned { device: Device { memory, dart, l2, kernel, timeline, chip }, others_wait };
        Self { task, registers, cancel, watch, pace: Pace::new(watch), hold }
    }

    /// The reach of a pass on the engine's thread.
    pub(super) fn lent(
        (task, registers): (&'a TaskContext<'a>, &'a RegisterFile),
        (cancel, watch): (&'a dyn Cancel, &'a Watch<'a>),
        borrower: &'a mut Borrower<M>,
    ) -> Self {
        let pace = Pace::with_turn(watch, TURN);
        Self { task, registers, cancel, watch, pace, hold: Hold::Lent(borrower) }
    }

    /// The device, which may have to be waited for.
    ///
    /// # Errors
    ///
    /// The task was called off.
    #[inline]
    pub(super) fn device(&mut self) -> Result<Device<'_, M>> {
        self.hold.device()
    }

    /// Moves so many pieces of a transfer, one after the other; `register` says what they are for.
    ///
    /// # Errors
    ///
    /// The error of the first piece that failed, or that the task was called off.
    pub(super) fn each(
        &mut self,
        circuit: Circuit,
        register: &Reg<DmaBytes>,
        pieces: u32,
        mut one: impl FnMut(&mut Dma<'_, M>, &mut Pace<'_>, u32) -> Result<()>,
    ) -> Result<()> {
        let mut next = 0;
        while next < pieces && !self.pace.is_over() {
            self.end_turn();
            let purpose = purpose(self.task, register);
            let Self { task, pace, hold, .. } = self;
            let device = hold.device()?;
            device.dart.set_origin(purpose);
            let mut dma = device.dart.dma(device.memory, task.stream, circuit);
            let mut outcome = Ok(());
            while outcome.is_ok() && next < pieces && !pace.is_over() && !pace.has_had_its_turn() {
                outcome = one(&mut dma, pace, next);
                if outcome.is_ok() {
                    next = next.saturating_add(1);
                }
            }
            self.still_wanted()?;
            if let Err(error) = outcome {
                self.fault(circuit, error)?;
            }
        }
        self.still_wanted()
    }

    /// Notes a fault. A transfer that waits at it gives the device back, and goes on when it has the device again.
    #[cold]
    fn fault(&mut self, circuit: Circuit, error: EngineError) -> Result<()> {
        let EngineError::Fault { address } = error else { return Err(error) };
        self.note(What::Fault { circuit, address })?;
        let is_stalled = self.device()?.dart.is_stalled();
        match &mut self.hold {
            Hold::Lent(borrower) if is_stalled => {
                borrower.give_back(Pause::AtFault(address));
                self.pace.begin_turn(TURN);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Gives the device back if the turn is over, and asks for it again.
    fn end_turn(&mut self) {
        if let Hold::Lent(borrower) = &mut self.hold
            && self.pace.has_had_its_turn()
        {
            borrower.give_back(Pause::Turn);
            self.pace.begin_turn(TURN);
        }
    }

    /// Computes something that may be computed once more. The computation does not need the device and, if it is long,
    /// gives it back meanwhile. A computation that is expected to be short is tried on this thread. `None` if it takes
    /// too long for the device's thread.
    ///
    /// # Errors
    ///
    /// The task was called off.
    #[inline]
    pub(super) fn compute<R>(
        &mut self,
        is_long: bool,
        mut work: impl FnMut(&Watch<'_>) -> R,
    ) -> Result<Option<R>> {
        if let Hold::Lent(_) | Hold::Owned { others_wait: true, .. } = &self.hold
            && !is_long
        {
            let limited = Limited::new(self.cancel, TRIED);
            let watch = Watch::new(&limited, self.task.queue);
            let made = work(&watch);
            if limited.is_called_off() {
                return Err(EngineError::Cancelled);
            }
            if !watch.is_over() {
                return Ok(Some(made));
            }
        }
        match &mut self.hold {
            Hold::Owned { others_wait: true, .. } => return Ok(None),
            Hold::Owned { others_wait: false, .. } => {}
            Hold::Lent(borrower) => {
                borrower.give_back(Pause::Computes);
                self.pace.begin_turn(TURN);
            }
        }
        let made = work(self.watch);
        self.still_wanted()?;
        Ok(Some(made))
    }

    /// Does something with the pass's own tensors, for which the device is not kept if that is long.
    ///
    /// # Errors
    ///
    /// The task was called off.
    pub(super) fn aside(&mut self, is_long: bool, work: impl FnOnce(&Watch<'_>)) -> Result<()> {
        if let Hold::Lent(borrower) = &mut self.hold
            && is_long
        {
            borrower.give_back(Pause::Computes);
            self.pace.begin_turn(TURN);
        }
        work(self.watch);
        self.still_wanted()
    }

    /// Address of a tensor of batch `batch`.
    pub(super) fn base(&self, register: &Reg<DmaBytes>, place: &MemoryPlace, batch: u32) -> u64 {
        let base = u64::from(self.registers.base(register, 0).0);
        base.saturating_add(place.displacement(batch))
    }

    /// Ends a task that was called off.
    pub(super) fn still_wanted(&self) -> Result<()> {
        if self.watch.is_over() { Err(EngineError::Cancelled) } else { Ok(()) }
    }

    /// Counts a batch of a task, which may be small and many; ends one that was called off.
    pub(super) fn count_batch(&mut self) -> Result<()> {
        const BATCH: usize = 256;
        self.pace.spend(BATCH);
        self.end_turn();
        self.still_wanted()
    }

    /// Counts elements that were computed or moved beside memory.
    pub(super) fn count_elements(&mut self, elements: u64) {
        self.pace.spend(usize::try_from(elements).unwrap_or(usize::MAX) / VECTOR);
    }

    /// Notes a transfer on the timeline.
    pub(super) fn note_transfer(&mut self, circuit: Circuit, bytes: u64) -> Result<()> {
        if bytes == 0 { Ok(()) } else { self.note(What::Transfer { circuit, bytes }) }
    }

    /// Notes what the task has done since the last note.
    pub(super) fn note(&mut self, what: What) -> Result<()> {
        let TaskContext { queue, nid, index, .. } = *self.task;
        self.device()?.timeline.span(Event { task: trace::Task { queue, nid, index }, what });
        Ok(())
    }
}

/// The purpose of a transfer, for the reports of checking mode: task, register and BAR.
fn purpose(task: &TaskContext<'_>, register: &Reg<DmaBytes>) -> Purpose {
    let header = task.header;
    let bar = match register.offset() {
        at if at == SOURCE1.base.offset() => Some(header.operands.rbase0()),
        at if at == SOURCE2.base.offset() => Some(header.operands.rbase1()),
        at if at == tile_destination::BASE_ADDR.offset() => Some(header.operands.wbase()),
        _ => Some(header.kernels.kbase0()),
    };
    let bar = bar.and_then(|bar| BarIndex::new(bar.into()).ok());
    Purpose {
        task: Some(task.index.into()),
        register: Some(EngineOffset(td::BASE.0.saturating_add(register.offset()))),
        bar: bar.map(|bar| task.bars.get(bar)),
    }
}
