//! Behaviour that no source establishes, which `--strict` refuses.

use ane_uapi::hw::td::{common, l2, neural, planar};
use ane_uapi::register::{Bits, Reg, Word};

use super::Plan;
use super::inferred::Inferred;
use super::verdict::{Registers, Result};
use crate::refusal::Category;
use crate::td::register_file::RegisterFile;

/// The end of each reason.
macro_rules! inferred {
    ($what:literal) => {
        concat!($what, " inferred, and only what is established was asked for")
    };
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
        let stride = if conv.sx() > 2 { common::ConvCfg::SX } else { common::ConvCfg::SY };
        task.without(Inferred::STRIDE, &common::CONV_CFG, stride, inferred!("stride 3 is"))?;
        task.without(Inferred::PADDING, &common::OUT_DIM, Bits::ALL, inferred!("padding below zero is"))?;
        task.without(
            Inferred::BIAS,
            &neural::MAC_CFG,
            neural::MacCfg::BIAS_MODE,
            inferred!("bias row beside a post-scale is"),
        )?;
        task.without(Inferred::DEPTH, &common::IN_DEPTH, Bits::ALL, inferred!("a depth above 1 is"))?;
        task.without(
            Inferred::OUTPUT_STEP,
            &common::CONV_CFG,
            common::ConvCfg::OX,
            inferred!("an output step above 1 is"),
        )?;
        task.without(
            Inferred::ACC_BIAS,
            &neural::ACC_BIAS,
            neural::AccBias::VALUE,
            inferred!("AccBias beside a post-scale is"),
        )?;
        task.without(
            Inferred::MAGNITUDE,
            &planar::PE_CFG,
            planar::PeCfg::MAGNITUDE,
            inferred!("place of the magnitude is"),
        )?;
        task.without(
            Inferred::SOURCE_RELU,
            &l2::L2_CFG,
            l2::L2Cfg::INPUT_RELU,
            inferred!("ReLU on source 1 is"),
        )?;
        task.without(Inferred::UNSIGNED, &common::CH_CFG, Bits::ALL, inferred!("bytes without a sign are"))?;
        task.without(
            Inferred::SPARSE,
            &neural::KERNEL_CFG,
            neural::KernelCfg::SPARSE,
            inferred!("order of these sparse coefficients is"),
        )?;
        let map = task.registers.get(&common::PLANAR_MAP);
        let field =
            if map.src1_depth() { common::PlanarMap::SRC1_DEPTH } else { common::PlanarMap::SRC2_DEPTH };
        task.without(
            Inferred::DEPTH_BROADCAST,
            &common::PLANAR_MAP,
            field,
            inferred!("a broadcast along depth is"),
        )?;
        task.without(
            Inferred::SOURCE2_BYTES,
            &common::CH_CFG,
            common::ChCfg::SECOND_FMT,
            inferred!("a source 2 of bytes is"),
        )?;
        task.without(
            Inferred::RAGGED,
            &common::C_OUT,
            common::Channels::CHANNELS,
            inferred!("a plane that is not full is"),
        )?;
        task.without(
            Inferred::GROUP_PADDING,
            &common::GROUP_CONV_CFG,
            common::GroupConvCfg::NUM_GROUPS,
            inferred!("padding of groups is"),
        )
    }
}

/// A task, and what of it is inferred.
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
