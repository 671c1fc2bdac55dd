//! Neural tasks: convolution, channel sum and maximum, pass-through (docs/execution.md, *Neural tasks*).

use ane_uapi::hw::td::common::{self, GroupConvCfg, TaskClass};
use ane_uapi::hw::td::l2;
use ane_uapi::hw::td::neural::{self, AccBias, MacCfg, NonlinearMode, OpMode, PostScale};
use ane_uapi::register::Bits;

use super::coefficients::{Kernel, Padding};
use super::geometry;
use super::inferred::Inferred;
use super::operand::{ELEMENTS_MAX, Element, Shape, Sink, Source};
use super::source::Wanted;
use super::task::Repeats;
use super::verdict::{Registers, Result};
use super::{kernel_dma, planar, sink, source, task};
use crate::engine::madd::{Convolution, Reads};
use crate::engine::numerics::double::{self, ONE};

/// PaddingMode of every maximum task.
const PADDING_MODE_MAXIMUM: u8 = 1;

/// BinaryPoint of programs that work on halves, and on bytes.
const BINARY_POINT_HALVES: u8 = 28;
const BINARY_POINT_BYTES: u8 = 0;

/// The most multiply-accumulates of one task: four times the largest layer of the networks of the 2010s. Anything
/// larger is cut into tasks by the 2 MB on-chip buffer. The bound keeps a task from holding the device for long.
pub const MACS_MAX: u64 = 1 << 33;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonlinearity {
    None,
    Relu,
    /// The table that channel 0 of kernel DMA brings, in front of its coefficients if it has any.
    Table,
}

/// A pass of the neural engine.
///
/// Shapes are those of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeuralPass {
    pub source: Source,
    pub sink: Sink,
    /// Negative inputs count as zero.
    pub input_relu: bool,
    /// Shapes and taps.
    pub convolution: Convolution,
    /// How often the pass is done, each time with the group strides added to the bases and with the next coefficients.
    pub groups: u32,
    /// How often that is done, each time with the depth strides added.
    pub depths: u32,
    /// Columns of the result that are outputs side by side.
    pub output_step: u32,
    /// Extents of the result before any transposition.
    pub output: Shape,
    pub operation: Operation,
    /// The number that is added to every accumulator, fp16.
    pub acc_bias: u16,
    /// The factor of the accumulator, fp16.
    pub post_scale: u16,
    /// The steps after the accumulator.
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
        let outputs = self.made();
        match self.operation {
            Operation::Convolve(_) | Operation::Sum | Operation::Maximum => {
                outputs.saturating_mul(geometry::taps(&self.convolution) as u64)
            }
            Operation::PassThrough => outputs,
        }
    }

    /// Extents of the result before any transposition.
    pub const fn output(&self) -> Shape {
        self.output
    }

    /// Elements that the array makes, which an output step may make more than there are in the result.
    pub const fn made(&self) -> u64 {
        let Convolution { outputs, out_height, out_width, .. } = self.convolution;
        (outputs as u64).saturating_mul(out_height as u64).saturating_mul(out_width as u64)
    }
}

pub(super) fn plan(task: Registers<'_>) -> Result<(NeuralPass, Inferred)> {
    task::check(task, false)?;
    task.runs(
        task.get(&common::PATCH_CFG).into_bits() == 0,
        &common::PATCH_CFG,
        Bits::ALL,
        "neural task with a patch hangs the engine",
    )?;
    let cfg = task.get(&common::CFG);
    kernel_dma::check_engines(task)?;
    let mac = task.get(&neural::MAC_CFG);
    let has_kernel = !mac.unity_kernel();
    let stored = task::input(task)?;
    let (input, output) = extents(task, stored, task::output(task)?);
    let reads = geometry::reads(task, input, output)?;
    let (mut convolution, mut inferred) = geometry::convolution(task, input, output, reads, has_kernel)?;
    let larger = if stored.elements() > output.elements() { stored } else { output };
    let (repeats, deep) = task::repeats(task, larger)?;
    inferred = inferred.with(deep).with(task::bytes(task, false));
    let made = u64::from(convolution.outputs).saturating_mul(convolution.out_width.into());
    let made = made.saturating_mul(convolution.out_height.into());
    task.supported(
        made <= ELEMENTS_MAX,
        &common::OUT_DIM,
        Bits::ALL,
        "output has more than 2^26 elements with its step",
    )?;
    let macs =
        made.saturating_mul(geometry::taps(&convolution).into()).saturating_mul(repeats.count().into());
    task.supported(
        macs <= MACS_MAX,
        &common::OUT_DIM,
        Bits::ALL,
        "task has more than 2^33 multiply-accumulates",
    )?;
    task.defined(
        mac.into_bits() & neural::MAC_CFG.info.unknown == 0,
        &neural::MAC_CFG,
        Bits::ALL,
        "no source explains bit 5 of a neural task",
    )?;
    let has_table = mac.nonlinear_mode() == NonlinearMode::Table as u8;
    let operation = operation(task, &mut convolution, repeats, has_table)?;
    let nonlinearity = nonlinearity(task, has_kernel)?;
    if let Operation::Convolve(kernel) = operation {
        if kernel.sparse.is_some_and(|sparse| sparse.is_inferred) {
            inferred = inferred.with(Inferred::SPARSE);
        }
        if kernel.ragged() != 0 {
            inferred = inferred.with(Inferred::RAGGED);
        }
        if kernel.padding == Padding::Groups {
            inferred = inferred.with(Inferred::GROUP_PADDING);
        }
    }
    let (acc_bias, post_scale) = (acc_bias(task, operation)?, post_scale(task)?);
    if let Operation::Convolve(Kernel { has_bias: true, .. }) = operation
        && post_scale != ONE
    {
        inferred = inferred.with(Inferred::BIAS);
    }
    if acc_bias != 0 && (post_scale != ONE || !is_in_units(acc_bias)) {
        inferred = inferred.with(Inferred::ACC_BIAS);
    }
    inferred = inferred.with(guesses(task, operation, (stored, task::output(task)?)));
    let l2_cfg = task.get(&l2::L2_CFG);
    task.defined(!l2_cfg.src2_relu(), &l2::L2_CFG, l2::L2Cfg::SRC2_RELU, "task has no source 2")?;
    let padding_mode = if operation == Operation::Maximum { PADDING_MODE_MAXIMUM } else { 0 };
    task.defined(
        l2_cfg.padding_mode() == padding_mode,
        &l2::L2_CFG,
        l2::L2Cfg::PADDING_MODE,
        "it is 1 on channel maxima and 0 on other neural tasks",
    )?;
    let pass = NeuralPass {
        source: source::source1(
            task,
            TaskClass::Neural,
            Wanted { shape: stored, is_transposed: false, repeats },
        )?,
        sink: sink::sink(task, output, cfg.transpose(), repeats)?,
        input_relu: l2_cfg.input_relu(),
        convolution,
        groups: repeats.groups,
        depths: repeats.depths,
        output_step: task.get(&common::CONV_CFG).ox().into(),
        output,
        operation,
        acc_bias,
        post_scale,
        nonlinearity,
    };
    planar::check_repeats_on_chip(task, repeats.count(), [Some(pass.source), None], pass.sink)?;
    Ok((pass, inferred))
}

/// Extents of what is read of the input, and of the output. A pass-through whose output has other extents than its input
/// passes what both have (delta 14; measured). Its input is fetched whole all the same (inferred).
fn extents(task: Registers<'_>, input: Shape, output: Shape) -> (Shape, Shape) {
    if task.get(&neural::MAC_CFG).op_mode() != OpMode::PassThrough as u8 {
        return (input, output);
    }
    let (height, width) = (input.height.min(output.height), input.width.min(output.width));
    (Shape { height, width, ..input }, Shape { height, width, ..output })
}

/// What the operation depends on, and no source establishes.
fn guesses(task: Registers<'_>, operation: Operation, (input, output): (Shape, Shape)) -> Inferred {
    if operation == Operation::PassThrough {
        let is_seen = [input, output].iter().all(|shape| (shape.channels, shape.height) == (1, 1));
        let is_same = (input.height, input.width) == (output.height, output.width);
        return if is_seen || is_same { Inferred::NONE } else { Inferred::OVERLAP };
    }
    let element = task::element(task.get(&common::CH_CFG).in_fmt());
    let seen = if element == Element::Half { BINARY_POINT_HALVES } else { BINARY_POINT_BYTES };
    let point = task.get(&neural::MAC_CFG).binary_point();
    if point == seen { Inferred::NONE } else { Inferred::BINARY_POINT }
}

/// True if an fp16 number is a multiple of 2^-16, so that no rounding changes it.
fn is_in_units(number: u16) -> bool {
    (double::decode(number) * 65536.0).fract() == 0.0
}

fn operation(
    task: Registers<'_>,
    convolution: &mut Convolution,
    repeats: Repeats,
    has_table: bool,
) -> Result<Operation> {
    let mac = task.get(&neural::MAC_CFG);
    // The decoder has refused other numbers.
    let mode = OpMode::try_from(mac.op_mode()).ok();
    let operation = match (mode, mac.unity_kernel()) {
        (Some(OpMode::MultiplyAccumulate), false) => {
            Operation::Convolve(kernel_dma::kernel(task, convolution, repeats, has_table)?)
        }
        (Some(OpMode::MultiplyAccumulate), true) => Operation::Sum,
        (Some(OpMode::Maximum), true) => Operation::Maximum,
        (Some(OpMode::PassThrough), true) => {
            task.defined(
                matches!(convolution.reads, Reads::Unicast { channels: 1 }),
                &common::GROUP_CONV_CFG,
                GroupConvCfg::UNICAST_CIN,
                "pass-through takes one channel to one",
            )?;
            Operation::PassThrough
        }
        _ => {
            task.defined(false, &neural::MAC_CFG, MacCfg::OP_MODE, "no program does this with coefficients")?;
            Operation::PassThrough
        }
    };
    let bias_mode = mac.bias_mode() && mac.unity_kernel();
    task.defined(!bias_mode, &neural::MAC_CFG, MacCfg::BIAS_MODE, "there are no coefficients to lead")?;
    task.defined(!mac.matrix_bias_en(), &neural::MAC_CFG, MacCfg::MATRIX_BIAS_EN, "its effect is not known")?;
    task.defined(
        !mac.post_scale_mode(),
        &neural::MAC_CFG,
        MacCfg::POST_SCALE_MODE,
        "its effect is not known",
    )?;
    task.defined(
        [BINARY_POINT_BYTES, BINARY_POINT_HALVES].contains(&mac.binary_point()),
        &neural::MAC_CFG,
        MacCfg::BINARY_POINT,
        "only 0 and 28 are known",
    )?;
    if operation != Operation::PassThrough {
        let bias = task.get(&neural::MATRIX_VECTOR_BIAS);
        task.defined(bias.value() == 0, &neural::MATRIX_VECTOR_BIAS, Bits::ALL, "its effect is not known")?;
    }
    Ok(operation)
}

/// The number that is added to every accumulator; a pass-through does not add it.
fn acc_bias(task: Registers<'_>, operation: Operation) -> Result<u16> {
    let register = &neural::ACC_BIAS;
    let bias = task.get(register);
    if operation == Operation::PassThrough || bias.into_bits() == 0 {
        return Ok(0);
    }
    task.defined(bias.into_bits() >> 16 == 0, register, AccBias::SHIFT, "its effect is not known")?;
    let sums = operation != Operation::Maximum;
    task.defined(sums, register, AccBias::VALUE, "no maximum has an accumulator bias")?;
    let has_row = matches!(operation, Operation::Convolve(Kernel { has_bias: true, .. }));
    task.defined(!has_row, register, AccBias::VALUE, "no program has it beside a bias row")?;
    Ok(bias.value())
}

fn nonlinearity(task: Registers<'_>, has_kernel: bool) -> Result<Nonlinearity> {
    let mac = task.get(&neural::MAC_CFG);
    match NonlinearMode::try_from(mac.nonlinear_mode()) {
        Ok(NonlinearMode::Relu) => Ok(Nonlinearity::Relu),
        Ok(NonlinearMode::Table) => {
            task.defined(
                mac.compiler_set(),
                &neural::MAC_CFG,
                MacCfg::COMPILER_SET,
                "tables give other values without this bit, and why is not known",
            )?;
            if !has_kernel {
                kernel_dma::check_table(task)?;
            }
            Ok(Nonlinearity::Table)
        }
        // The decoder has refused the fourth number.
        Ok(NonlinearMode::None) | Err(_) => Ok(Nonlinearity::None),
    }
}

fn post_scale(task: Registers<'_>) -> Result<u16> {
    let post_scale = task.get(&neural::POST_SCALE);
    task.defined(post_scale.shift() == 0, &neural::POST_SCALE, PostScale::SHIFT, "its effect is not known")?;
    Ok(post_scale.scale())
}
