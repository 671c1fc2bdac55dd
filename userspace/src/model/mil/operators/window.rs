//! Pooling.

use super::linear::sides;
use super::{Call, Made, mode, one};
use crate::model::onnx::operators::Setting::{Integer, Integers};

pub(super) fn call(call: &mut Call<'_>) -> Made {
    let operator = match call.operator {
        "max_pool" => "MaxPool",
        "avg_pool" => "AveragePool",
        "l2_pool" => "LpPool",
        _ => return Ok(None),
    };
    let x = call.x()?;
    let kernel = call.list("kernel_sizes")?.ok_or_else(|| mode("operand \"kernel_sizes\" is missing"))?;
    let mut settings = sides(call, kernel.len())?;
    settings.push(("kernel_shape", Integers(kernel)));
    settings.push(("ceil_mode", Integer(call.truth("ceil_mode")?.into())));
    if operator == "AveragePool" {
        let leaves_out = call.truth("exclude_padding_from_average")?;
        settings.push(("count_include_pad", Integer((!leaves_out).into())));
    }
    one(call.onnx_one(operator, &[x], &settings)?)
}
