//! A pass under way, from one stage to the next.
//!
//! Operands and coefficients are brought, the room for the result is looked at, the engines compute, the result is given;
//! then all of it again for each other batch. If a task has several batches, all transfers of all batches are checked
//! before the first batch, and what each batch leaves on chip is worked out then: a batch may read what one before it leaves there, or
//! makes unknown.
//!
//! Where the front has others to serve ([`Executor::compute_beside`]) a pass may take several turns. What is computed for
//! long is away meanwhile (`beside`), and transfers are moved for so many steps at a time ([`TURN`]): they need
//! the DART and guest memory, which are the device's, and so stay on its thread. Between two turns the pass has packed
//! tensors of its own and nothing else, and memory, tables and registers may change, as under a pass of the silicon.

use std::task::{Poll, ready};

use ane_uapi::hw::td::activation::BYTES;
use ane_uapi::hw::td::common;
use vm_memory::GuestMemory;

use super::bench::Bench;
use super::beside::Came;
use super::compute::{self, Misfit};
use super::operands::{SOURCE1, SOURCE2, result_leaves};
use super::{Executor, extents, sizes};
use crate::engine::EngineError;
#[cfg(doc)]
use crate::engine::cancel::TURN;
use crate::engine::cancel::{Limited, Watch};
use crate::engine::plan::neural::{NeuralPass, Nonlinearity, Operation};
use crate::engine::plan::{Pass, Plan};
use crate::trace::What;

/// Questions of a pass that is tried where it was begun: ten milliseconds at most, and as many as one has that is just
/// not long and stays with the vectors (Chosen).
const TRIED: usize = 32;

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The transfers of a batch are checked, if there are several batches.
    Look(Transfer),
    /// A source comes.
    Source1,
    Source2,
    /// Coefficients come.
    Coefficients,
    /// The activation table comes.
    Table,
    /// The room for the result is looked at.
    Room,
    Compute,
    /// It is computed beside.
    Away,
    Give,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    Source1,
    Source2,
    Result,
}

/// A pass, and how far it is.
pub(super) struct Underway {
    pub(super) plan: Plan,
    stage: Stage,
    batch: u32,
    /// The next piece of the stage's transfer.
    next: u32,
    table: Option<[u8; BYTES]>,
}

impl Underway {
    pub(super) const fn new(plan: Plan) -> Self {
        let is_one = plan.pass.batches() == 1;
        let stage = if is_one { Stage::Source1 } else { Stage::Look(Transfer::Source1) };
        Self { plan, stage, batch: 0, next: 0, table: None }
    }

    /// True while it is computed beside.
    pub(super) const fn is_away(&self) -> bool {
        matches!(self.stage, Stage::Away)
    }

    /// Goes to the next stage; false if there is none.
    fn advance(&mut self) -> bool {
        self.next = 0;
        let is_last = self.batch.saturating_add(1) >= self.plan.pass.batches();
        let is_neural = matches!(self.plan.pass, Pass::Neural(_));
        self.stage = match self.stage {
            Stage::Look(Transfer::Source1) => Stage::Look(Transfer::Source2),
            Stage::Look(Transfer::Source2) => Stage::Look(Transfer::Result),
            Stage::Look(Transfer::Result) if is_last => {
                self.batch = 0;
                Stage::Source1
            }
            Stage::Look(Transfer::Result) => {
                self.batch = self.batch.saturating_add(1);
                Stage::Look(Transfer::Source1)
            }
            Stage::Source1 if is_neural => Stage::Coefficients,
            Stage::Source1 => Stage::Source2,
            Stage::Coefficients => Stage::Table,
            Stage::Source2 | Stage::Table => Stage::Room,
            Stage::Room => Stage::Compute,
            Stage::Compute | Stage::Away => Stage::Give,
            Stage::Give if is_last => return false,
            Stage::Give => {
                self.batch = self.batch.saturating_add(1);
                Stage::Source1
            }
        };
        true
    }
}

impl Executor {
    /// Goes on with a pass, to its end or that of its turn.
    pub(super) fn go_on<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        underway: &mut Underway,
    ) -> Poll<Result<(), EngineError>> {
        loop {
            ready!(self.stage(bench, underway))?;
            if !underway.advance() {
                return Poll::Ready(Ok(()));
            }
            if bench.pace.has_had_its_turn() {
                return Poll::Pending;
            }
        }
    }

    /// Carries a stage out, or as much of it as there is a turn for.
    #[inline]
    fn stage<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        underway: &mut Underway,
    ) -> Poll<Result<(), EngineError>> {
        let Underway { plan, stage, batch, next, table } = underway;
        let (pass, batch) = (&plan.pass, *batch);
        match *stage {
            Stage::Look(transfer) => self.look(bench, pass, transfer, batch, next),
            Stage::Source1 => {
                bench.count_batch()?;
                self.take(bench, pass.source1(), SOURCE1, batch, next)
            }
            Stage::Source2 => match pass.source2() {
                Some(source) => self.take(bench, source, SOURCE2, batch, next),
                None => Poll::Ready(Ok(())),
            },
            Stage::Coefficients => match pass {
                Pass::Neural(NeuralPass { operation: Operation::Convolve(kernel), depths, .. }) => {
                    let group = batch.checked_div(*depths).unwrap_or(0);
                    self.fetch_kernel(bench, kernel, group, next)
                }
                _ => Poll::Ready(Ok(())),
            },
            Stage::Table => {
                if let Pass::Neural(NeuralPass { nonlinearity: Nonlinearity::Table, operation, .. }) = pass
                    && batch == 0
                {
                    let kernel = match operation {
                        Operation::Convolve(kernel) => Some(kernel),
                        Operation::Sum | Operation::Maximum | Operation::PassThrough => None,
                    };
                    *table = Some(self.fetch_table(bench, kernel)?);
                }
                Poll::Ready(Ok(()))
            }
            // That of several batches was looked at.
            Stage::Room if pass.batches() != 1 => Poll::Ready(Ok(())),
            Stage::Room => self.check_result(bench, pass.sink(), batch, next),
            Stage::Compute => self.compute(bench, underway),
            Stage::Away => self.come_back(bench, pass),
            Stage::Give => self.give(bench, pass.sink(), batch, next),
        }
    }

    /// Looks at a transfer of one of several batches, and foresees what it leaves on chip.
    fn look<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &Pass,
        transfer: Transfer,
        batch: u32,
        next: &mut u32,
    ) -> Poll<Result<(), EngineError>> {
        match transfer {
            Transfer::Source1 => {
                if batch == 0 && *next == 0 {
                    self.foreseen.copy(&self.unknown);
                }
                bench.count_batch()?;
                self.check_source(bench, pass.source1(), SOURCE1, batch, next)
            }
            Transfer::Source2 => match pass.source2() {
                Some(source) => self.check_source(bench, source, SOURCE2, batch, next),
                None => Poll::Ready(Ok(())),
            },
            Transfer::Result => {
                ready!(self.check_result(bench, pass.sink(), batch, next))?;
                result_leaves(&mut self.foreseen, pass.sink(), batch);
                Poll::Ready(Ok(()))
            }
        }
    }

    /// Computes, or sends the pass away for that.
    ///
    /// How long a pass takes is not known before where operands may keep it from the vectors. What is not long as far as is
    /// known is tried here, and what takes too long all the same begins once more beside.
    #[inline]
    fn compute<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        underway: &mut Underway,
    ) -> Poll<Result<(), EngineError>> {
        let (pass, table) = (&underway.plan.pass, underway.table.as_ref());
        if self.beside.is_some() {
            if !self.compute.is_long(pass) {
                let limited = Limited::new(bench.ports.cancel, TRIED);
                let watch = Watch::new(&limited, bench.task.queue);
                let computed = self.compute.run(pass, table, &watch);
                if limited.is_called_off() {
                    return Poll::Ready(Err(EngineError::Cancelled));
                }
                if !watch.is_over() {
                    bench.count_elements(compute::elements(pass));
                    return Poll::Ready(self.computed(bench, pass, computed));
                }
            }
            if self.send_away(bench, underway) {
                underway.stage = Stage::Away;
                return Poll::Pending;
            }
        }
        let computed = self.compute.run(pass, table, bench.watch);
        Poll::Ready(self.computed(bench, pass, computed))
    }

    /// Has a pass computed beside; false if there is nobody to do it.
    #[cold]
    fn send_away<M: GuestMemory>(&mut self, bench: &Bench<'_, '_, M>, underway: &Underway) -> bool {
        let Some(beside) = &mut self.beside else { return false };
        if !beside.start() {
            return false;
        }
        // Should the pass be given up, then the next one has engines all the same.
        let another = self.compute.another();
        let mut compute = std::mem::replace(&mut self.compute, another);
        let (queue, pass, table) = (bench.task.queue, underway.plan.pass, underway.table);
        beside.send(Box::new(move |over| {
            let computed = compute.run(&pass, table.as_ref(), &Watch::new(over, queue));
            (compute, computed)
        }));
        true
    }

    /// Takes up the pass that was away, if it is back.
    #[cold]
    fn come_back<M: GuestMemory>(
        &mut self,
        bench: &mut Bench<'_, '_, M>,
        pass: &Pass,
    ) -> Poll<Result<(), EngineError>> {
        let Some(beside) = &mut self.beside else { return Poll::Ready(Err(EngineError::Cancelled)) };
        if bench.ports.cancel.is_cancelled(bench.task.queue) {
            beside.give_up();
            return Poll::Ready(Err(EngineError::Cancelled));
        }
        match beside.came() {
            Came::Back((compute, computed)) => {
                self.compute = compute;
                Poll::Ready(self.computed(bench, pass, computed))
            }
            Came::NotYet => Poll::Pending,
            Came::Never => Poll::Ready(Err(EngineError::Cancelled)),
        }
    }

    /// Notes a pass that was computed.
    fn computed<M: GuestMemory>(
        &self,
        bench: &mut Bench<'_, '_, M>,
        pass: &Pass,
        computed: Result<(), Misfit>,
    ) -> Result<(), EngineError> {
        let (class, numerics, macs, why, register) = match pass {
            Pass::Neural(neural) => (
                common::TaskClass::Neural,
                Some(self.compute.numerics()),
                neural.macs(),
                "array does not take a pass of these sizes",
                &common::CONV_CFG.info,
            ),
            Pass::Planar(planar) => (
                planar.planar.class.task_class(),
                None,
                0,
                "planar engine does not take a pass of these sizes",
                &common::IN_DIM.info,
            ),
        };
        computed.map_err(|Misfit| sizes(bench.registers, register, why))?;
        bench.still_wanted()?;
        bench.note(What::Pass { class, shape: extents(pass.output()), numerics, macs });
        Ok(())
    }
}
