//! Convolutions of one tap whose weights are computed: a matrix product for each group.

use super::Call;
use crate::model::layers::Layers;
use crate::model::network::operation::Cut;
use crate::model::network::{Fault, Operation, ValueId};
use crate::model::problem::Why;

pub(super) fn convolution(
    call: &mut Call<'_, '_>,
    groups: usize,
    stride: &[usize],
    padding: &[(usize, usize)],
) -> Result<ValueId, Why> {
    let (x, weights) = (call.x(0)?, call.x(1)?);
    let (dims, shape) = (call.dims(x), call.dims(weights));
    let apart = || Fault::Broadcast { first: dims.clone(), second: shape.clone() };
    let (&[batches, channels, ..], &[outputs, reads, ..]) = (dims.as_slice(), shape.as_slice()) else {
        return Err(apart().into());
    };
    let fits = groups > 0 && reads.checked_mul(groups) == Some(channels) && outputs.is_multiple_of(groups);
    if !fits || shape.len() != dims.len() || stride.contains(&0) {
        return Err(apart().into());
    }
    let mut sides = vec![(0, 0); 2];
    sides.extend(padding);
    let padded = call.add(Operation::Pad { sides, value: 0.0 }, &[x])?;
    let met = |(&extent, &step): (&usize, &usize)| Cut {
        start: 0,
        step: step.cast_signed(),
        count: extent.div_ceil(step),
    };
    let extents = call.dims(padded);
    let cuts: Vec<Cut> = extents[..2]
        .iter()
        .map(|&extent| Cut::all(extent))
        .chain(extents[2..].iter().zip(stride).map(met))
        .collect();
    let taken = call.add(Operation::Cut(cuts), &[padded])?;
    let moving = call.dims(taken)[2..].to_vec();
    let columns = call.reshape(taken, vec![batches, groups, reads, moving.iter().product()])?;
    let rows = call.reshape(weights, vec![groups, outputs / groups, reads])?;
    let products = call.add(Operation::Product, &[rows, columns])?;
    call.reshape(products, [&[batches, outputs], moving.as_slice()].concat())
}
