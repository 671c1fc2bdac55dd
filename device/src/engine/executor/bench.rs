//! What one pass works with: its task, its registers, and the way to memory.
//!
//! Each transfer says first what it is for, so that checking mode can tell, and is noted on the timeline.

use std::task::{Poll, ready};

use ane_uapi::hw::bar::BarIndex;
use ane_uapi::hw::space::EngineOffset;
use ane_uapi::hw::td::words::DmaBytes;
use ane_uapi::hw::td::{self, tile_destination};
use ane_uapi::register::Reg;
use vm_memory::GuestMemory;

use super::operands::{SOURCE1, SOURCE2};
use crate::dart::{Circuit, Origin as Purpose};
use crate::engine::cancel::{Pace, VECTOR, Watch};
use crate::engine::plan::operand::MemoryPlace;
use crate::engine::tile::{Fault, Tile};
use crate::engine::{EngineError, Ports, TaskContext};
use crate::td::register_file::RegisterFile;
use crate::timing::phases::Span;
use crate::timing::{Cost, Machine, Spent};
use crate::trace::{self, Event, Stamp, What};

/// What a pass works with: the task, its registers, and the way out.
pub(super) struct Bench<'t, 'p, M> {
    pub(super) task: &'t TaskContext<'t>,
    pub(super) registers: &'t RegisterFile,
    pub(super) ports: Ports<'p, M>,
    /// Whether the task is still wanted.
    pub(super) watch: &'t Watch<'t>,
    /// What this thread did of it since it last asked.
    pub(super) pace: Pace<'t>,
}

impl<M: GuestMemory> Bench<'_, '_, M> {
    /// Address of a tensor of batch `batch`.
    pub(super) fn base(&self, register: &Reg<DmaBytes>, place: &MemoryPlace, batch: u32) -> u64 {
        let base = u64::from(self.registers.base(register, 0).0);
        base.saturating_add(place.displacement(batch))
    }

    /// Ends a task that was called off.
    pub(super) fn still_wanted(&self) -> Result<(), EngineError> {
        if self.watch.is_over() { Err(EngineError::Cancelled) } else { Ok(()) }
    }

    /// Counts a batch of a task, which may be small and many; ends one that was called off.
    pub(super) fn count_batch(&mut self) -> Result<(), EngineError> {
        const BATCH: usize = 256;
        self.pace.spend(BATCH);
        self.still_wanted()
    }

    /// Counts elements that were computed or moved beside memory.
    pub(super) fn count_elements(&mut self, elements: u64) {
        self.pace.spend(usize::try_from(elements).unwrap_or(usize::MAX) / VECTOR);
    }

    /// One direction of tile DMA for this task, which moves so many bytes; with room for a row, and from piece `next` on.
    pub(super) fn tile(
        &mut self,
        circuit: Circuit,
        register: &Reg<DmaBytes>,
        (row, next): (&mut Vec<u16>, &mut u32),
        bytes: u64,
        transfer: impl FnOnce(&mut Tile<'_, '_, '_, M>) -> Poll<Result<(), Fault>>,
    ) -> Poll<Result<(), EngineError>> {
        self.say_purpose(register);
        let mut dma = self.ports.dart.dma(self.ports.memory, self.task.stream, circuit);
        let outcome = ready!(transfer(&mut Tile { dma: &mut dma, row, pace: &mut self.pace, next }));
        self.still_wanted()?;
        self.note_transfer(circuit, bytes, &outcome);
        Poll::Ready(Ok(outcome?))
    }

    /// Notes a transfer on the timeline, or its fault; what was only looked at is not one.
    pub(super) fn note_transfer(&mut self, circuit: Circuit, bytes: u64, outcome: &Result<(), Fault>) {
        match outcome {
            Err(fault) => self.note(What::Fault { circuit, address: fault.address.get() }),
            Ok(()) if bytes != 0 => self.note(What::Transfer { circuit, bytes }),
            Ok(()) => {}
        }
    }

    /// Notes what the task has done since the last note.
    pub(super) fn note(&mut self, what: What) {
        let TaskContext { queue, nid, index, .. } = *self.task;
        self.ports.timeline.span(Event { task: trace::Task { queue, nid, index }, what });
    }

    /// Notes where the task's virtual time went.
    pub(super) fn note_phases(&mut self, machine: &Machine, cost: &Cost, spent: &Spent) {
        let TaskContext { queue, nid, index, .. } = *self.task;
        let task = trace::Task { queue, nid, index };
        let beginning = self.ports.usage.cycles;
        let at = |cycles: u64| Stamp(machine.nanoseconds(beginning.saturating_add(cycles)));
        let timeline = &mut *self.ports.timeline;
        cost.spans(spent, |Span { part, start, end }| {
            let what = What::Modelled { part, cycles: end.saturating_sub(start) };
            timeline.place(at(start), at(end), Event { task, what });
        });
    }

    /// Says what the transfers that follow are for: task, register and BAR.
    pub(super) fn say_purpose(&mut self, register: &Reg<DmaBytes>) {
        let header = self.task.header;
        let bar = match register.offset() {
            at if at == SOURCE1.base.offset() => Some(header.operands.rbase0()),
            at if at == SOURCE2.base.offset() => Some(header.operands.rbase1()),
            at if at == tile_destination::BASE_ADDR.offset() => Some(header.operands.wbase()),
            _ => Some(header.kernels.kbase0()),
        };
        let bar = bar.and_then(|bar| BarIndex::new(bar.into()).ok());
        self.ports.dart.set_origin(Purpose {
            task: Some(self.task.index.into()),
            register: Some(EngineOffset(td::BASE.0.saturating_add(register.offset()))),
            bar: bar.map(|bar| self.task.bars.get(bar)),
        });
    }
}
