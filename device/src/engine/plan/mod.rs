//! Planning: the registers of a task become the description of one pass, or the reason why there is none.
//!
//! The engine has no instructions; the state of 140 registers decides its work. A [`Plan`] is that state
//! understood: operands with their shapes and places, the operation, and where the result goes. It is made
//! once for each set of values ([`cache`]), and holds no address of memory, so that the same task of
//! another request has the same plan. docs/execution.md lists the tasks that are executed, refused, or
//! known to hang; these files follow it section by section.
//!
//! * [`verdict`]: why a task is not executed.
//! * [`operand`]: shapes and places; `source` and `sink` read them from the registers.
//! * `task`: what every task has to satisfy.
//! * [`neural`], with `geometry`, [`coefficients`] and `kernel_dma`; [`planar`].
//! * [`inferred`]: what is executed without being established; `established` refuses it for those who ask.

pub mod cache;
pub mod coefficients;
mod established;
mod geometry;
pub mod inferred;
mod kernel_dma;
pub mod neural;
pub mod operand;
pub mod planar;
mod sink;
mod source;
mod task;
pub mod verdict;

use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::header::Header;
use ane_uapi::hw::td::l2::{self, ResultCfg, SourceCfg};
use ane_uapi::hw::td::words::ChipBytes;
use ane_uapi::register::{Bits, Reg};

use self::inferred::Inferred;
use self::neural::NeuralPass;
pub use self::operand::Window;
use self::operand::{ChipPlace, Origin, Shape, Sink, Source};
use self::planar::PlanarPass;
use self::verdict::{Registers, Result};
use crate::sram::TILE_L2_BYTES;
use crate::td::register_file::RegisterFile;

/// Bytes of the on-chip buffer.
const L2_BYTES: u64 = TILE_L2_BYTES as u64;

/// The most elements of all groups and depths of a task.
const REPEATED_ELEMENTS_MAX: u64 = 1 << 27;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The computation and its operands.
    pub pass: Pass,
    /// The parts of it that no source establishes.
    pub inferred: Inferred,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pass {
    Neural(NeuralPass),
    Planar(PlanarPass),
}

impl Pass {
    pub const fn source1(&self) -> &Source {
        match self {
            Self::Neural(pass) => &pass.source,
            Self::Planar(pass) => &pass.source1,
        }
    }

    /// Source 2, where there is one.
    pub const fn source2(&self) -> Option<&Source> {
        match self {
            Self::Neural(_) => None,
            Self::Planar(pass) => pass.source2.as_ref(),
        }
    }

    pub const fn sink(&self) -> &Sink {
        match self {
            Self::Neural(pass) => &pass.sink,
            Self::Planar(pass) => &pass.sink,
        }
    }

    /// Extents of the result before any transposition.
    pub const fn output(&self) -> Shape {
        match self {
            Self::Neural(pass) => pass.output(),
            Self::Planar(pass) => pass.output(),
        }
    }

    /// Refuses a result that is passed on and that nobody takes: no source says what becomes of it. `is_passed` is true if the
    /// task before passed its result on to this one.
    ///
    /// # Errors
    ///
    /// The registers that say so.
    pub fn check_handover(&self, registers: &RegisterFile, is_passed: bool, is_last: bool) -> Result<()> {
        let (task, source, sink) = (Registers(registers), self.source1(), self.sink());
        task.defined(
            !is_passed || matches!(source.origin, Origin::Passed),
            &l2::SOURCE_CFG,
            SourceCfg::SOURCE_TYPE,
            "the task before has passed its result on, and this one does not take it",
        )?;
        task.defined(
            !(is_last && sink.is_passed_on),
            &l2::RESULT_CFG,
            ResultCfg::RESULT_TYPE,
            "result is passed on, and no task follows that takes it",
        )
    }

    /// How often it is done: for each group, and in each group for each depth.
    pub const fn batches(&self) -> u32 {
        match self {
            Self::Neural(pass) => pass.groups.saturating_mul(pass.depths),
            Self::Planar(pass) => pass.batches,
        }
    }
}

/// Understands a task.
///
/// # Errors
///
/// The first register that keeps it from being executed. A register on which silicon was seen to hang comes
/// before others of its group, and not before all of the task.
pub fn plan(header: &Header, registers: &RegisterFile) -> Result<Plan> {
    let task = Registers(registers);
    task::check_header(header)?;
    match task::class(task)? {
        TaskClass::Neural => {
            let (pass, inferred) = neural::plan(task)?;
            Ok(Plan { pass: Pass::Neural(pass), inferred })
        }
        class => {
            let (pass, inferred) = planar::plan(task, class)?;
            Ok(Plan { pass: Pass::Planar(pass), inferred })
        }
    }
}

/// Refuses a tensor that does not lie in the on-chip buffer.
fn chip_fits(task: Registers<'_>, place: ChipPlace, shape: Shape, register: &Reg<ChipBytes>) -> Result<()> {
    task.defined(place.end(shape) <= L2_BYTES, register, Bits::ALL, "tensor leaves the 2 MiB on-chip buffer")
}
