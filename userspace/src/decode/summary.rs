//! One line that says what a task does.

use ane_uapi::hw::td::common::{self, TaskClass};
use ane_uapi::hw::td::neural::{self, NonlinearMode, OpMode};
use ane_uapi::hw::td::planar::{self, Operation, PostFunction, Reduction, SecondSource};

use super::registers::RegisterFile;

/// The operation of the task, from the register file as it stands when the task runs.
pub(super) fn summary(file: &RegisterFile) -> String {
    let class = file.or_reset(&common::CFG).class();
    let what = match TaskClass::try_from(class) {
        Ok(TaskClass::Neural) => neural(file),
        Ok(TaskClass::PlanarCopy) => "planar copy".to_owned(),
        Ok(TaskClass::PlanarBinary) => format!("planar {}", operation(file)),
        Ok(TaskClass::PlanarNormalise) => "planar normalise, (a - b) * s".to_owned(),
        Ok(TaskClass::PlanarReduce) => format!("planar {}", reduction(file)),
        Ok(TaskClass::PlanarBinaryReduce) => format!("planar {}, then {}", operation(file), reduction(file)),
        Err(_) => format!("task class {class}, which no source explains"),
    };
    format!("{what}; {}", shapes(file))
}

fn neural(file: &RegisterFile) -> String {
    let mac = file.or_reset(&neural::MAC_CFG);
    let conv = file.or_reset(&common::CONV_CFG);
    let what = match (OpMode::try_from(mac.op_mode()), mac.unity_kernel()) {
        (Ok(OpMode::MultiplyAccumulate), false) => format!("{}x{} convolution", conv.kw(), conv.kh()),
        (Ok(OpMode::MultiplyAccumulate), true) => "channel sum".to_owned(),
        (Ok(OpMode::Maximum), _) => "channel maximum".to_owned(),
        (Ok(OpMode::PassThrough), _) => "pass-through".to_owned(),
        (Err(_), _) => format!("operation mode {}, which no source explains", mac.op_mode()),
    };
    let then = match NonlinearMode::try_from(mac.nonlinear_mode()) {
        Ok(NonlinearMode::None) => "",
        Ok(NonlinearMode::Relu) => ", then relu",
        Ok(NonlinearMode::Table) => ", then an activation table",
        Err(_) => ", then a nonlinearity that no source explains",
    };
    format!("neural {what}{then}")
}

fn operation(file: &RegisterFile) -> String {
    let cfg = file.or_reset(&planar::PE_CFG);
    let a = if cfg.negate_src1() { "-a" } else { "a" };
    let b = match SecondSource::try_from(cfg.second_source()) {
        Ok(SecondSource::Absent) => None,
        Ok(SecondSource::AsIs) => Some("b"),
        Ok(SecondSource::Negated) => Some("-b"),
        Err(_) => Some("b (selector unknown)"),
    };
    let then = if cfg.relu() { ", then relu" } else { "" };
    let what = match (Operation::try_from(cfg.operation()), b) {
        (Ok(Operation::Add), None) => a.to_owned(),
        (Ok(Operation::Add), Some("-b")) => format!("{a} - b"),
        (Ok(Operation::Add), Some(b)) => format!("{a} + {b}"),
        (Ok(Operation::SumSquared), None) => format!("({a})^2"),
        (Ok(Operation::SumSquared), Some(b)) => format!("({a} + {b})^2"),
        (Ok(Operation::Multiply), b) => format!("{a} * {}", b.unwrap_or("nothing")),
        (Ok(Operation::Maximum), b) => format!("max({a}, {})", b.unwrap_or("nothing")),
        (Ok(Operation::Minimum), b) => format!("min({a}, {})", b.unwrap_or("nothing")),
        (Err(_), _) => format!("operation {}, which no source explains", cfg.operation()),
    };
    format!("{what}{then}")
}

fn reduction(file: &RegisterFile) -> String {
    let cfg = file.or_reset(&planar::PE_CFG);
    let what = match Reduction::try_from(cfg.reduction()) {
        Ok(Reduction::Sum) => "sum over rows and columns",
        Ok(Reduction::Maximum) => "maximum over rows and columns",
        Err(_) => "reduction that no source explains",
    };
    match PostFunction::try_from(cfg.post_function()) {
        Ok(PostFunction::None) => what.to_owned(),
        Ok(post) => format!("{what}, then {}", post.name()),
        Err(_) => format!("{what}, then a function that no source explains"),
    }
}

fn shapes(file: &RegisterFile) -> String {
    let input = file.or_reset(&common::IN_DIM);
    let output = file.or_reset(&common::OUT_DIM);
    format!(
        "{}x{}x{} -> {}x{}x{} (CxHxW)",
        file.or_reset(&common::C_IN).channels(),
        input.height(),
        input.width(),
        file.or_reset(&common::C_OUT).channels(),
        output.height(),
        output.width(),
    )
}
