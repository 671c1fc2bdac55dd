//! The planar and the neural engine's own registers.

use ane_uapi::hw::td::common::TaskClass;
use ane_uapi::hw::td::neural::{self, KernelCfg, KernelFormat, MacCfg, NonlinearMode, OpMode, PostScale};
use ane_uapi::hw::td::planar::{self, BiasScale, EpsilonPreScale, FinalScale, PeCfg, SecondSource};

use super::super::pass::{Coefficients, Neural, Nonlinearity, Planar};
use super::PlacedPass;
use crate::task::Descriptor;

pub(super) fn planar(placed: &PlacedPass<'_>, planar: &Planar, descriptor: &mut Descriptor) {
    let &Planar { class, element, reduce } = planar;
    // A normalising task subtracts the first row of source 2.
    let negates_second = element.negate_second || class == TaskClass::PlanarNormalise;
    let second = match (placed.second, negates_second) {
        (None, _) => SecondSource::Absent,
        (Some(_), false) => SecondSource::AsIs,
        (Some(_), true) => SecondSource::Negated,
    };
    let pe_cfg = PeCfg::new()
        .with_reduction(reduce.reduction as u8)
        .with_operation(element.operation as u8)
        .with_relu(element.relu)
        .with_post_function(reduce.post as u8)
        .with_negate_src1(element.negate_first)
        .with_second_source(second as u8);
    let bias_scale = BiasScale::new().with_bias(element.bias.to_bits()).with_scale(element.scale.to_bits());
    let pre_scale = EpsilonPreScale::new()
        .with_epsilon(reduce.epsilon.to_bits())
        .with_pre_scale(element.pre_scale.to_bits());
    descriptor
        .set(&planar::PE_CFG, pe_cfg)
        .set(&planar::BIAS_SCALE, bias_scale)
        .set(&planar::EPSILON_PRE_SCALE, pre_scale)
        .set(&planar::FINAL_SCALE, FinalScale::new().with_scale(element.final_scale.to_bits()));
}

pub(super) fn neural(neural: &Neural, descriptor: &mut Descriptor) {
    let unity = !neural.coefficients.multiply();
    let (format, bias, runtime) = match neural.coefficients {
        Coefficients::Packed { format, bias, .. } => (format, bias, false),
        Coefficients::Runtime(_) => (KernelFormat::Fp16, false, true),
        // Compilers leave this there.
        Coefficients::Unity | Coefficients::Table { .. } => (KernelFormat::Uint8, false, false),
    };
    let nonlinear = match neural.tail.nonlinearity {
        Nonlinearity::None => NonlinearMode::None,
        Nonlinearity::Relu => NonlinearMode::Relu,
        Nonlinearity::Table(_) => NonlinearMode::Table,
    };
    // Compilers have 28 wherever the array works on halves, with coefficients or without, and 0 where it passes its input through.
    let binary_point = if matches!(neural.op_mode, OpMode::PassThrough) { 0 } else { 28 };
    let mac_cfg = MacCfg::new()
        .with_op_mode(neural.op_mode as u8)
        .with_unity_kernel(unity)
        .with_bias_mode(bias)
        .with_binary_point(binary_point)
        .with_nonlinear_mode(nonlinear as u8)
        .with_compiler_set(true);
    let kernel_cfg = KernelCfg::new().with_format(format as u8).with_palette_bits(8).with_runtime(runtime);
    descriptor
        .set(&neural::KERNEL_CFG, kernel_cfg)
        .set(&neural::MAC_CFG, mac_cfg)
        .set(&neural::POST_SCALE, PostScale::new().with_scale(neural.tail.post_scale.to_bits()));
}
