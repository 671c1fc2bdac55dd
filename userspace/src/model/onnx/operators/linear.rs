//! Matrix products and convolutions.

use super::window::{AutoPad, Sides, sides};
use super::{Call, Made, one, point};
use crate::model::einsum::einsum;
use crate::model::layers::Layers;
use crate::model::network::array::{ELEMENTS_MAX, broadcast};
use crate::model::network::operation::{Convolution, Cut, JoinKind, Linear};
use crate::model::network::{Array, Fault, Kind, Operation, ValueId};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_, '_>) -> Made {
    match call.node.operator.as_str() {
        "MatMul" => {
            let (a, b) = (call.x(0)?, call.x(1)?);
            one(product(call, a, b)?)
        }
        "Gemm" => gemm(call),
        "Einsum" => {
            let (equation, values) = (call.text("equation", "")?, call.inputs.iter().flatten().copied());
            let values: Vec<ValueId> = values.collect();
            one(einsum(call, &equation, &values)?)
        }
        "Conv" => one(convolution(call)?),
        "ConvTranspose" => transposed(call),
        "CumSum" => running_sum(call),
        _ => Ok(None),
    }
}

/// Factors so many times as small leave room in the array, which is infinite from 2^15 on, for every half.
pub(super) const WITHIN: f64 = 2.0;

/// A list is a row on the left and a column on the right.
pub(super) fn product(call: &mut Call<'_, '_>, a: ValueId, b: ValueId) -> Result<ValueId, Why> {
    product_as(call, Operation::Product, a, b)
}

/// The same with a matrix whose elements are `scale` times as small as they should be, so that sums stay within the array's range.
pub(super) fn scaled_product(
    call: &mut Call<'_, '_>,
    a: ValueId,
    matrix: ValueId,
    scale: f64,
) -> Result<ValueId, Why> {
    product_as(call, Operation::Linear(Linear { scale, ..Linear::NONE }), a, matrix)
}

fn product_as(call: &mut Call<'_, '_>, operation: Operation, a: ValueId, b: ValueId) -> Result<ValueId, Why> {
    let (dims_a, dims_b) = (call.dims(a), call.dims(b));
    let left = if dims_a.len() == 1 { call.reshape(a, vec![1, dims_a[0]])? } else { a };
    let right = if dims_b.len() == 1 { call.reshape(b, vec![dims_b[0], 1])? } else { b };
    let result = call.add(operation, &[left, right])?;
    let mut dims = call.dims(result);
    if dims_b.len() == 1 {
        dims.pop();
    }
    if dims_a.len() == 1 {
        let at = dims.len() - if dims_b.len() == 1 { 1 } else { 2 };
        dims.remove(at);
    }
    call.reshape(result, dims)
}

fn gemm(call: &mut Call<'_, '_>) -> Made {
    let (mut a, mut b) = (call.x(0)?, call.x(1)?);
    if call.integer("transA", 0)? != 0 {
        a = call.add(Operation::Permute(vec![1, 0]), &[a])?;
    }
    if call.integer("transB", 0)? != 0 {
        b = call.add(Operation::Permute(vec![1, 0]), &[b])?;
    }
    let mut result = call.add(Operation::Product, &[a, b])?;
    let (alpha, beta) = (call.single("alpha", 1.0)?, call.single("beta", 1.0)?);
    if alpha != 1.0 {
        result = call.affine(result, alpha, 0.0)?;
    }
    if let Some(c) = call.optional(2) {
        let (own, made) = (call.dims(c), call.dims(result));
        if broadcast(&own, &made).as_ref() != Ok(&made) {
            return Err(Call::mode(format!("C of {own:?} does not stretch to the product, {made:?}")));
        }
        let c = if beta == 1.0 { c } else { call.affine(c, beta, 0.0)? };
        result = call.join(JoinKind::Add, result, c)?;
    }
    one(result)
}

pub(super) fn convolution(call: &mut Call<'_, '_>) -> Result<ValueId, Why> {
    let (x, weights) = (call.x(0)?, call.x(1)?);
    let (dims, kernel) = (call.dims(x), call.dims(weights));
    let moving = kernel.get(2..).unwrap_or_default();
    has_kernel(call, moving)?;
    let Sides { stride, dilation, padding } = sides(call, dims.get(2..).unwrap_or_default(), moving)?;
    let groups = usize::try_from(call.integer("group", 1)?).unwrap_or(0);
    let bias = call.optional(2);
    let known = bias.filter(|&bias| call.network.known(bias).is_some());
    let is_product = call.network.known(weights).is_none() && moving.iter().all(|&taps| taps == 1);
    let sums = if is_product {
        point::convolution(call, groups, &stride, &padding)?
    } else {
        call.known(1)?;
        let convolution = Convolution { stride, dilation, padding, groups, activation: None };
        let operands: Vec<ValueId> = [Some(x), Some(weights), known].into_iter().flatten().collect();
        call.add(Operation::Convolution(convolution), &operands)?
    };
    // A bias that the run computes, or of a product, is added by a task of its own.
    let Some(bias) = bias.filter(|_| known.is_none() || is_product) else { return Ok(sums) };
    let (made, own) = (call.dims(sums), call.dims(bias));
    if own != made[1..2] {
        return Err(Fault::Broadcast { first: made, second: own }.into());
    }
    let mut each = vec![1; made.len()];
    each[1] = made[1];
    let bias = call.reshape(bias, each)?;
    call.join(JoinKind::Add, sums, bias)
}

/// Refuses an attribute for the kernel's extents that says others than the weights have.
fn has_kernel(call: &Call<'_, '_>, kernel: &[usize]) -> Result<(), Why> {
    let is_same = |told: &i64, &extent: &usize| usize::try_from(*told) == Ok(extent);
    match call.integers("kernel_shape")? {
        Some(told)
            if told.len() != kernel.len()
                || !told.iter().zip(kernel).all(|(told, own)| is_same(told, own)) =>
        {
            Err(Call::mode(format!("kernel_shape is {told:?}, and the weights have a kernel of {kernel:?}")))
        }
        _ => Ok(()),
    }
}

/// Zeros between the elements of the operand, and a convolution with the kernel turned round.
fn transposed(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let known = call.known(1)?.clone();
    let (dims, shape) = (call.dims(x), known.dims().to_vec());
    let moving = dims.len().saturating_sub(2);
    let groups = usize::try_from(call.integer("group", 1)?).unwrap_or(0);
    if moving == 0 || shape.len() != dims.len() || groups == 0 || !shape[0].is_multiple_of(groups) {
        return Err(Call::mode("the weights do not go with the operand"));
    }
    has_kernel(call, &shape[2..])?;
    let list = |call: &Call<'_, '_>, name: &str, otherwise: i64| {
        let list = call.integers(name)?.unwrap_or_else(|| vec![otherwise; moving]);
        let numbers: Option<Vec<usize>> = list.iter().map(|&value| usize::try_from(value).ok()).collect();
        numbers.filter(|list| list.len() == moving).ok_or_else(|| Call::mode(format!("{name} is {list:?}")))
    };
    let (stride, dilation) = (list(call, "strides", 1)?, list(call, "dilations", 1)?);
    let mut more = list(call, "output_padding", 0)?;
    let auto = AutoPad::of(call)?;
    let pads = auto.pads(call, moving)?;
    let wanted = call.integers("output_shape")?;
    for (name, list) in [("strides", &stride), ("dilations", &dilation), ("output_padding", &more)] {
        bounded(name, list.iter().map(|&value| value as u64))?;
    }
    for (name, list) in [("pads", Some(&pads)), ("output_shape", wanted.as_ref())] {
        bounded(name, list.into_iter().flatten().map(|value| value.unsigned_abs()))?;
    }
    let mut padding = Vec::new();
    let mut cuts = vec![];
    for axis in 0..moving {
        let reach = shape[axis + 2].saturating_sub(1) * dilation[axis];
        let mut whole = (stride[axis] * dims[axis + 2].saturating_sub(1) + reach + 1 + more[axis]) as i64;
        let extent =
            wanted.as_ref().and_then(|wanted| wanted.get(wanted.len().checked_sub(moving)? + axis)).copied();
        if let Some(longer) = extent {
            // A result that is to be longer has its zeros behind.
            let missing = (longer - whole).max(0);
            more[axis] += missing as usize;
            whole += missing;
        }
        let (before, behind) = match (&wanted, auto) {
            (Some(_), _) => halves(whole - extent.unwrap_or(whole), auto == AutoPad::SameUpper),
            (None, AutoPad::SameUpper | AutoPad::SameLower) => {
                halves(whole - (dims[axis + 2] * stride[axis]) as i64, auto == AutoPad::SameUpper)
            }
            (None, AutoPad::NotSet | AutoPad::Valid) => {
                (pads.get(axis).copied().unwrap_or(0), pads.get(axis + moving).copied().unwrap_or(0))
            }
        };
        // The padding of the convolution; a number below zero is cut off its result.
        let (before, behind) = (reach as i64 - before, reach as i64 + more[axis] as i64 - behind);
        padding.push((before.max(0) as usize, behind.max(0) as usize));
        cuts.push((before.min(0).unsigned_abs() as usize, behind.min(0).unsigned_abs() as usize));
    }
    let turned = turned(&known, groups)?;
    let weights = call.constant(turned, Kind::Real);
    let mut factors = vec![1, 1];
    factors.extend(&stride);
    let apart = call.add(Operation::Stretch(factors), &[x])?;
    let convolution = Convolution { stride: vec![1; moving], dilation, padding, groups, activation: None };
    let mut operands = vec![apart, weights];
    operands.extend(call.optional(2));
    let mut result = call.add(Operation::Convolution(convolution), &operands)?;
    for (axis, (before, behind)) in cuts.into_iter().enumerate().filter(|(_, cut)| *cut != (0, 0)) {
        let count = call.dims(result)[axis + 2].saturating_sub(before + behind);
        result = call.cut(result, axis + 2, Cut { start: before, step: 1, count })?;
    }
    one(result)
}

/// Refuses numbers which no tensor has room for; of the others, products and sums are numbers of 64 bits.
fn bounded(name: &str, mut list: impl Iterator<Item = u64>) -> Result<(), Why> {
    match list.find(|&value| value > ELEMENTS_MAX) {
        Some(value) => Err(Call::mode(format!("{name} of {value} is larger than any tensor"))),
        None => Ok(()),
    }
}

fn halves(all: i64, more_behind: bool) -> (i64, i64) {
    let all = all.max(0);
    if more_behind { (all / 2, all - all / 2) } else { (all - all / 2, all / 2) }
}

/// `[C, M / groups, ..]` as `[M, C / groups, ..]`, each kernel turned round.
fn turned(weights: &Array, groups: usize) -> Result<Array, Why> {
    let dims = weights.dims();
    let (inputs, each) = (dims[0] / groups, dims[1]);
    let taps: usize = dims[2..].iter().product();
    let mut shape = vec![each.saturating_mul(groups), inputs];
    shape.extend(&dims[2..]);
    let array = Array::from_fn(shape, |at| {
        let (rest, tap) = (at / taps, at % taps);
        let (output, input) = (rest / inputs, rest % inputs);
        let (group, output) = (output / each, output % each);
        weights.values()[((group * inputs + input) * each + output) * taps + taps - 1 - tap]
    })?;
    Ok(array)
}

/// A product with a triangle of ones, which are halves for the array: so it has room for every element.
fn running_sum(call: &mut Call<'_, '_>) -> Made {
    let x = call.x(0)?;
    let dims = call.dims(x);
    let axis = call.axis(call.list(1)?.first().copied().unwrap_or(0), dims.len())?;
    let (is_open, is_back) = (call.integer("exclusive", 0)? != 0, call.integer("reverse", 0)? != 0);
    let extent = dims[axis];
    call.network.count_looks(extent.saturating_mul(extent))?;
    let ones = call.network.filled(call.name, vec![extent, extent], Kind::Real, |at| {
        let (from, to) = (at / extent, at % extent);
        let (from, to) = if is_back { (to, from) } else { (from, to) };
        if (is_open && from < to) || (!is_open && from <= to) { 1.0 / WITHIN } else { 0.0 }
    })?;
    let order: Vec<usize> =
        (0..dims.len()).filter(|&other| other != axis).chain(std::iter::once(axis)).collect();
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    let last = call.add(Operation::Permute(order), &[x])?;
    let sums = scaled_product(call, last, ones, WITHIN)?;
    one(call.add(Operation::Permute(back), &[sums])?)
}
