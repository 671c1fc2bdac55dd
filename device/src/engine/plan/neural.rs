//! Neural tasks: convolution, channel sum and maximum, pass-through (docs/execution.md, *Neural tasks*).

use ane_uapi::hw::td::common::{self, TaskClass};
use ane_uapi::hw::td::l2;
use ane_uapi::hw::td::neural::{self, NonlinearMode, OpMode};

use super::coefficients::{self, Kernel};
use super::geometry;
use super::inferred::Inferred;
use super::operand::{Shape, Sink, Source};
use super::verdict::{Registers, Verdict};
use super::{sink, source, task};
use crate::engine::madd::{Convolution, Reads};

/// PaddingMode of every maximum task.
const PADDING_MODE_MAXIMUM: u8 = 1;

/// BinaryPoint values that programs use.
const BINARY_POINTS: [u8; 2] = [0, 28];

/// The most multiply-accumulates of one task: four times the largest layer of the networks of the 2010s. Anything
/// larger is cut into tasks by the 2 MB on-chip buffer. The bound keeps a task from holding the device for long.
pub const MACS_MAX: u64 = 1 << 33;

/// What the array does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Multiplies and accumulates with coefficients.
    Convolve(Kernel),
    /// Sums channels.
    Sum,
    /// Takes the largest of some channels.
    Maximum,
    /// Passes the input through.
    PassThrough,
}

/// The nonlinearity, and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonlinearity {
    /// None.
    None,
    /// ReLU.
    Relu,
    /// The table that channel 0 of kernel DMA brings.
    Table,
}

/// A pass of the neural engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeuralPass {
    /// Where the input comes from.
    pub source: Source,
    /// Where the result goes.
    pub sink: Sink,
    /// Negative inputs count as zero.
    pub input_relu: bool,
    /// Shapes and taps.
    pub convolution: Convolution,
    /// What the array does.
    pub operation: Operation,
    /// What multiplies the accumulator, fp16.
    pub post_scale: u16,
    /// What comes behind.
    pub nonlinearity: Nonlinearity,
}

impl NeuralPass {
    /// Multiplications with a coefficient, those with one included; none of a pass-through or a maximum.
    pub const fn macs(&self) -> u64 {
        match self.operation {
            Operation::Convolve(_) | Operation::Sum => self.steps(),
            Operation::Maximum | Operation::PassThrough => 0,
        }
    }

    /// Operands that the array takes in, each as often as it does.
    pub const fn steps(&self) -> u64 {
        let outputs = self.output().elements();
        match self.operation {
            Operation::Convolve(_) | Operation::Sum | Operation::Maximum => {
                outputs.saturating_mul(geometry::taps(&self.convolution) as u64)
            }
            Operation::PassThrough => outputs,
        }
    }

    /// Extents of the result before any transposition.
    pub const fn output(&self) -> Shape {
        Shape {
            channels: self.convolution.outputs,
            height: self.convolution.out_height,
            width: self.convolution.out_width,
        }
    }
}

/// Plans a neural task.
pub(super) fn plan(registers: Registers<'_>) -> Result<(NeuralPass, Inferred), Verdict> {
    task::check(registers, false)?;
    registers.runs(
        registers.get(&common::PATCH_CFG).into_bits() == 0,
        &common::PATCH_CFG,
        "",
        "neural task with a patch hangs the engine",
    )?;
    let cfg = registers.get(&common::CFG);
    registers.defined(
        !cfg.src2_in_memory(),
        &common::CFG,
        "src2_in_memory",
        "neural task has no source 2",
    )?;
    let source_cfg = registers.get(&l2::SOURCE_CFG);
    registers.defined(
        !source_cfg.src2_in_memory(),
        &l2::SOURCE_CFG,
        "src2_in_memory",
        "neural task has no source 2",
    )?;
    coefficients::check_engines(registers)?;
    let input = task::input(registers)?;
    let output = task::output(registers)?;
    let reads = geometry::reads(registers, input, output)?;
    let mac = registers.get(&neural::MAC_CFG);
    let has_kernel = !mac.unity_kernel();
    let (convolution, mut inferred) = geometry::convolution(registers, input, output, reads, has_kernel)?;
    let macs = output.elements().saturating_mul(geometry::taps(&convolution).into());
    registers.supported(
        macs <= MACS_MAX,
        &common::OUT_DIM,
        "",
        "task has more than 2^33 multiply-accumulates",
    )?;
    registers.defined(
        mac.into_bits() & neural::MAC_CFG.info.unknown == 0,
        &neural::MAC_CFG,
        "",
        "no source explains bit 5 of a neural task",
    )?;
    let operation = operation(registers, &convolution)?;
    let nonlinearity = nonlinearity(registers, has_kernel)?;
    if let Operation::Convolve(Kernel { has_bias: true, .. }) = operation {
        inferred = inferred.with(Inferred::BIAS);
    }
    let l2_cfg = registers.get(&l2::L2_CFG);
    let padding_mode = if operation == Operation::Maximum { PADDING_MODE_MAXIMUM } else { 0 };
    registers.defined(
        l2_cfg.padding_mode() == padding_mode,
        &l2::L2_CFG,
        "padding_mode",
        "it is 1 on channel maxima and 0 on other neural tasks",
    )?;
    let pass = NeuralPass {
        source: source::source1(registers, TaskClass::Neural, input)?,
        sink: sink::sink(registers, output, cfg.transpose(), 1)?,
        input_relu: l2_cfg.input_relu(),
        convolution,
        operation,
        post_scale: post_scale(registers)?,
        nonlinearity,
    };
    Ok((pass, inferred))
}

fn operation(registers: Registers<'_>, convolution: &Convolution) -> Result<Operation, Verdict> {
    let mac = registers.get(&neural::MAC_CFG);
    // The decoder has refused other numbers.
    let mode = OpMode::try_from(mac.op_mode()).ok();
    let operation = match (mode, mac.unity_kernel()) {
        (Some(OpMode::MultiplyAccumulate), false) => {
            Operation::Convolve(coefficients::kernel(registers, convolution)?)
        }
        (Some(OpMode::MultiplyAccumulate), true) => Operation::Sum,
        (Some(OpMode::Maximum), true) => Operation::Maximum,
        (Some(OpMode::PassThrough), true) => {
            registers.defined(
                matches!(convolution.reads, Reads::Unicast { channels: 1 }),
                &common::GROUP_CONV_CFG,
                "unicast_cin",
                "pass-through takes one channel to one",
            )?;
            Operation::PassThrough
        }
        _ => {
            registers.defined(
                false,
                &neural::MAC_CFG,
                "op_mode",
                "no program does this with coefficients",
            )?;
            Operation::PassThrough
        }
    };
    let bias_mode = mac.bias_mode() && mac.unity_kernel();
    registers.defined(!bias_mode, &neural::MAC_CFG, "bias_mode", "there are no coefficients to lead")?;
    registers.defined(
        !mac.matrix_bias_en(),
        &neural::MAC_CFG,
        "matrix_bias_en",
        "its effect is not known",
    )?;
    registers.defined(
        !mac.post_scale_mode(),
        &neural::MAC_CFG,
        "post_scale_mode",
        "its effect is not known",
    )?;
    registers.defined(
        BINARY_POINTS.contains(&mac.binary_point()),
        &neural::MAC_CFG,
        "binary_point",
        "only 0 and 28 are known",
    )?;
    if operation != Operation::PassThrough {
        let bias = registers.get(&neural::MATRIX_VECTOR_BIAS);
        registers.defined(bias.value() == 0, &neural::MATRIX_VECTOR_BIAS, "", "its effect is not known")?;
        let bias = registers.get(&neural::ACC_BIAS);
        registers.defined(bias.into_bits() == 0, &neural::ACC_BIAS, "", "its effect is not known")?;
    }
    Ok(operation)
}

fn nonlinearity(registers: Registers<'_>, has_kernel: bool) -> Result<Nonlinearity, Verdict> {
    let mac = registers.get(&neural::MAC_CFG);
    match NonlinearMode::try_from(mac.nonlinear_mode()) {
        Ok(NonlinearMode::Relu) => Ok(Nonlinearity::Relu),
        Ok(NonlinearMode::Table) => {
            let field = "nonlinear_mode";
            registers.defined(
                !has_kernel,
                &neural::MAC_CFG,
                field,
                "where a table lies beside coefficients is not known",
            )?;
            registers.defined(
                mac.compiler_set(),
                &neural::MAC_CFG,
                "compiler_set",
                "tables give other values without this bit, and why is not known",
            )?;
            coefficients::check_table(registers)?;
            Ok(Nonlinearity::Table)
        }
        // The decoder has refused the fourth number.
        Ok(NonlinearMode::None) | Err(_) => Ok(Nonlinearity::None),
    }
}

fn post_scale(registers: Registers<'_>) -> Result<u16, Verdict> {
    let post_scale = registers.get(&neural::POST_SCALE);
    registers.defined(post_scale.shift() == 0, &neural::POST_SCALE, "shift", "its effect is not known")?;
    Ok(post_scale.scale())
}
