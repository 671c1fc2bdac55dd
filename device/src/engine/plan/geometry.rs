//! Geometry: which inputs each output of a neural task reads.

use ane_uapi::hw::td::common::{self, Channels, ConvCfg, Extent, GroupConvCfg};
use ane_uapi::register::Bits;

use super::inferred::Inferred;
use super::operand::Shape;
use super::verdict::{Registers, Result};
use crate::engine::madd::{Convolution, Reads};

/// Channels that each output reads. Those of a group are all that there are: Cin and Cout count one group's channels, and
/// the task is done once for each.
pub(super) fn reads(task: Registers<'_>, input: Shape, output: Shape) -> Result<Reads> {
    let register = &common::GROUP_CONV_CFG;
    let cfg = task.get(register);
    if !cfg.unicast_en() {
        return Ok(Reads::Dense);
    }
    let channels = u32::from(cfg.unicast_cin());
    task.defined(channels != 0, register, GroupConvCfg::UNICAST_CIN, "outputs read no channels")?;
    let read = u64::from(channels).saturating_mul(output.channels.into());
    task.runs(
        read <= input.channels.into(),
        &common::C_OUT,
        Channels::CHANNELS,
        "outputs read more channels than there are",
    )?;
    Ok(Reads::Unicast { channels })
}

/// Columns that a kernel may have, with those that an output step adds.
const KERNEL_MAX: u32 = 31;

/// Coefficients of one output.
pub(super) const fn taps(convolution: &Convolution) -> u32 {
    let channels = match convolution.reads {
        Reads::Dense => convolution.channels,
        Reads::Grouped { groups } => match convolution.channels.checked_div(groups) {
            Some(channels) => channels,
            None => 0,
        },
        Reads::Unicast { channels } => channels,
    };
    // 17 bits and twice five.
    channels.saturating_mul(convolution.kernel_height).saturating_mul(convolution.kernel_width)
}

/// The largest output step that any program has.
const STEP_MAX: u32 = 2;

/// The largest stride of any program that was seen.
const SEEN_STRIDE_MAX: u8 = 2;

/// Kernel, strides, padding and output step.
///
/// With an output step of two, the array makes two neighbouring columns of the result at a time: each is an output of its
/// own, and its coefficients are as wide as both need, with zeros where the other one reads.
pub(super) fn convolution(
    task: Registers<'_>,
    input: Shape,
    output: Shape,
    reads: Reads,
    has_kernel: bool,
) -> Result<(Convolution, Inferred)> {
    let register = &common::CONV_CFG;
    let cfg = task.get(register);
    let step = u32::from(cfg.ox());
    task.defined((1..=STEP_MAX).contains(&step), register, ConvCfg::OX, "only steps of 1 and 2 are known")?;
    let more = step.saturating_sub(1);
    let mut convolution = Convolution {
        channels: input.channels,
        height: input.height,
        width: input.width,
        outputs: output.channels,
        out_height: output.height,
        out_width: output.width,
        kernel_height: cfg.kh().into(),
        kernel_width: cfg.kw().into(),
        stride_y: cfg.sy().into(),
        stride_x: cfg.sx().into(),
        pad_y: cfg.py().into(),
        pad_x: cfg.px().into(),
        reads,
        lanes: 1 << u32::from(cfg.ocg_size()),
    };
    task.defined(cfg.kw() != 0, register, ConvCfg::KW, "kernel has no columns")?;
    task.defined(cfg.kh() != 0, register, ConvCfg::KH, "kernel has no rows")?;
    task.defined(cfg.sx() != 0, register, ConvCfg::SX, "stride is zero")?;
    task.defined(cfg.sy() != 0, register, ConvCfg::SY, "stride is zero")?;
    if !has_kernel {
        let is_plain = [cfg.kw(), cfg.kh(), cfg.sx(), cfg.sy()] == [1; 4] && cfg.px() == 0 && cfg.py() == 0;
        task.defined(is_plain, register, Bits::ALL, "only 1x1 with stride 1 is known without coefficients")?;
        task.defined(step == 1, register, ConvCfg::OX, "only a step of 1 is known without coefficients")?;
        let is_same = (input.height, input.width) == (output.height, output.width);
        task.defined(is_same, &common::OUT_DIM, Bits::ALL, "output is not as large as the input")?;
        return Ok((convolution, Inferred::NONE));
    }
    let pads_x = trailing(input.width, output.width, cfg.kw(), cfg.sx(), cfg.px());
    let pads_y = trailing(input.height, output.height, cfg.kh(), cfg.sy(), cfg.py());
    let too_wide = "padding is as wide as the kernel";
    task.defined(cfg.px() < cfg.kw(), register, ConvCfg::PX, too_wide)?;
    task.defined(cfg.py() < cfg.kh(), register, ConvCfg::PY, too_wide)?;
    task.defined(pads_x < i64::from(cfg.kw()), &common::OUT_DIM, Extent::WIDTH, too_wide)?;
    task.defined(pads_y < i64::from(cfg.kh()), &common::OUT_DIM, Extent::HEIGHT, too_wide)?;
    let mut inferred = Inferred::NONE;
    // Rows and columns that no output reads, a whole stride or more of them, are padding below zero.
    let is_cut = [(pads_x, cfg.sx()), (pads_y, cfg.sy())]
        .iter()
        .any(|(pads, stride)| pads.saturating_add((*stride).into()) <= 0);
    // Leading padding, what the size of the output makes of the trailing one, and stride 2 are compilers' (delta 3.2).
    if is_cut {
        inferred = inferred.with(Inferred::PADDING);
    }
    if cfg.sx() > SEEN_STRIDE_MAX || cfg.sy() > SEEN_STRIDE_MAX {
        inferred = inferred.with(Inferred::STRIDE);
    }
    if step > 1 {
        task.defined(cfg.sx() == 1, register, ConvCfg::SX, "no program has a stride beside an output step")?;
        inferred = inferred.with(Inferred::OUTPUT_STEP);
        convolution.outputs = output.channels.saturating_mul(step);
        convolution.out_width = output.width.div_ceil(step);
        convolution.kernel_width = convolution.kernel_width.saturating_add(more);
        convolution.stride_x = step;
        if let Reads::Unicast { channels } = reads {
            // Neighbouring columns read the same channels.
            convolution.reads = Reads::Grouped { groups: output.channels };
            convolution.channels = channels.saturating_mul(output.channels);
        }
        convolution.lanes = convolution.lanes.saturating_mul(step);
        let register = &common::CONV_CFG;
        task.supported(
            convolution.kernel_width <= KERNEL_MAX,
            register,
            ConvCfg::KW,
            "kernel is too wide for its step",
        )?;
    }
    Ok((convolution, inferred))
}

/// Columns or rows behind the input that the last output reaches; less than zero if it does not reach the end.
fn trailing(input: u32, output: u32, kernel: u8, stride: u8, pad: u8) -> i64 {
    let last = i64::from(output).saturating_sub(1).saturating_mul(stride.into());
    last.saturating_add(kernel.into()).saturating_sub(pad.into()).saturating_sub(input.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_padding_follows_from_the_size_of_the_output() {
        assert_eq!(trailing(56, 56, 3, 1, 1), 1);
        assert_eq!(trailing(56, 54, 3, 1, 0), 0);
        assert_eq!(trailing(224, 112, 7, 2, 3), 2);
        assert_eq!(trailing(5, 2, 1, 2, 0), -2);
    }
}
