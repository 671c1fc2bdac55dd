//! Behaviour that no source establishes, which `--strict` refuses.

use ane_uapi::hw::td::common::{self, ChCfg, Channels, ConvCfg, GroupConvCfg, PlanarMap};
use ane_uapi::hw::td::l2::{self, L2Cfg};
use ane_uapi::hw::td::neural::{self, AccBias, KernelCfg, MacCfg};
use ane_uapi::hw::td::planar::{self, PeCfg};
use ane_uapi::register::{Bits, Reg, Word};

use super::Plan;
use super::inferred::Inferred;
use super::verdict::{Registers, Result};
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;

/// Refuses a task for each of these that is inferred in it: the register, its bits, and the beginning of the reason.
macro_rules! refuse {
    ($task:ident; $( $inferred:ident, $register:expr, $bits:expr, $what:literal; )*) => { $(
        let why = concat!($what, " inferred, and only what is established was asked for");
        $task.without(Inferred::$inferred, &$register, $bits, why)?;
    )* };
}

impl Plan {
    /// Refuses what no source establishes.
    ///
    /// # Errors
    ///
    /// The register and the field that ask for it.
    pub fn established(&self, registers: &RegisterFile) -> Result<()> {
        let task = Task { registers: Registers(registers), inferred: self.inferred };
        let conv = task.registers.get(&common::CONV_CFG);
        let stride = if conv.sx() > 2 { ConvCfg::SX } else { ConvCfg::SY };
        let map = task.registers.get(&common::PLANAR_MAP);
        let depth = if map.src1_depth() { PlanarMap::SRC1_DEPTH } else { PlanarMap::SRC2_DEPTH };
        refuse! { task;
            STRIDE, common::CONV_CFG, stride, "stride 3 is";
            PADDING, common::OUT_DIM, Bits::ALL, "padding below zero is";
            BIAS, neural::MAC_CFG, MacCfg::BIAS_MODE, "bias row beside a post-scale is";
            DEPTH, common::IN_DEPTH, Bits::ALL, "a depth above 1 is";
            OUTPUT_STEP, common::CONV_CFG, ConvCfg::OX, "an output step above 1 is";
            ACC_BIAS, neural::ACC_BIAS, AccBias::VALUE, "AccBias beside a post-scale or below 2^-16 is";
            MAGNITUDE, planar::PE_CFG, PeCfg::MAGNITUDE, "place of the magnitude is";
            SOURCE_RELU, l2::L2_CFG, L2Cfg::INPUT_RELU, "ReLU on source 1 is";
            UNSIGNED, common::CH_CFG, Bits::ALL, "bytes without a sign are";
            SPARSE, neural::KERNEL_CFG, KernelCfg::SPARSE, "order of these sparse coefficients is";
            DEPTH_BROADCAST, common::PLANAR_MAP, depth, "a broadcast along depth is";
            SOURCE2_BYTES, common::CH_CFG, ChCfg::SECOND_FMT, "a source 2 of bytes is";
            RAGGED, common::C_OUT, Channels::CHANNELS, "a plane that is not full is";
            REDUCTION_BIAS, planar::BIAS_SCALE, Bits::ALL, "place of bias, scale and ReLU of a reduction is";
            SECOND_RELU, l2::L2_CFG, L2Cfg::SRC2_RELU, "ReLU on source 2 is";
            BINARY_POINT, neural::MAC_CFG, MacCfg::BINARY_POINT, "that this binary point has no effect is";
            OVERLAP, common::OUT_DIM, Bits::ALL, "pass-through of other extents than one row is";
            GROUP_PADDING, common::GROUP_CONV_CFG, GroupConvCfg::NUM_GROUPS, "padding of groups is";
        }
        Ok(())
    }
}

/// A task, and the behaviour that is inferred in it.
struct Task<'a> {
    registers: Registers<'a>,
    inferred: Inferred,
}

impl Task<'_> {
    /// Refuses the task if `what` is inferred in it.
    fn without<T: Word>(
        &self,
        what: Inferred,
        register: &Reg<T>,
        bits: Bits<T>,
        why: &'static str,
    ) -> Result<()> {
        if self.inferred.contains(what) {
            Err(self.registers.verdict(register, bits, Category::Unsupported, why))
        } else {
            Ok(())
        }
    }
}
