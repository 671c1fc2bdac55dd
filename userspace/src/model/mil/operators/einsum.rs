//! Sums of products of two tensors, as an equation such as `bhqd,bhkd->bhqk` says.

use super::{Call, Made, mode, one};
use crate::model::layers::Layers;
use crate::model::network::{Operation, ValueId};
use crate::model::problem::Why;

pub(super) fn call(call: &mut Call<'_>) -> Made {
    if call.operator != "einsum" {
        return Ok(None);
    }
    let (values, equation) = (call.several("values")?, call.text("equation", "")?);
    let equation: Vec<char> = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let equation: String = equation.into_iter().collect();
    let parts = equation.split_once("->").and_then(|(from, to)| Some((from.split_once(',')?, to)));
    let (Some(((first, second), to)), &[a, b]) = (parts, values.as_slice()) else {
        return Err(mode(format!("equation {equation:?} of {} tensors is not mapped", values.len())));
    };
    let [first, second, to] = [first, second, to].map(|axes| axes.chars().collect::<Vec<char>>());
    let is_plain = [&first, &second, &to].iter().all(|axes| {
        axes.iter().enumerate().all(|(at, c)| c.is_ascii_alphabetic() && !axes[..at].contains(c))
    });
    if !is_plain || first.len() != call.rank(a) || second.len() != call.rank(b) {
        return Err(mode(format!("equation {equation:?} does not name each axis once")));
    }
    let (has_a, has_b, has_to) =
        (|c: &char| first.contains(c), |c: &char| second.contains(c), |c: &char| to.contains(c));
    let alone =
        first.iter().find(|c| !has_b(c) && !has_to(c)).or(second.iter().find(|c| !has_a(c) && !has_to(c)));
    if alone.is_some() || to.iter().any(|c| !has_a(c) && !has_b(c)) {
        return Err(mode(format!("equation {equation:?} has an axis of one tensor alone")));
    }
    let chosen = |axes: &[char], wanted: &dyn Fn(&char) -> bool| {
        axes.iter().copied().filter(wanted).collect::<Vec<char>>()
    };
    let batch = chosen(&to, &|c| has_a(c) && has_b(c));
    let rows = chosen(&to, &|c| has_a(c) && !has_b(c));
    let columns = chosen(&to, &|c| !has_a(c) && has_b(c));
    let inner = chosen(&first, &|c| has_b(c) && !has_to(c));
    let extents = |call: &Call<'_>, of: &[char], axes: &[char], x: ValueId| -> Vec<usize> {
        let dims = call.dims(x);
        axes.iter().filter_map(|c| of.iter().position(|other| other == c).map(|at| dims[at])).collect()
    };
    let shared =
        |call: &Call<'_>, axes: &[char]| extents(call, &first, axes, a) == extents(call, &second, axes, b);
    if !shared(call, &batch) || !shared(call, &inner) {
        return Err(mode(format!(
            "equation {equation:?} does not go with {:?} and {:?}",
            call.dims(a),
            call.dims(b)
        )));
    }
    let batches = extents(call, &first, &batch, a);
    let (heights, widths) = (extents(call, &first, &rows, a), extents(call, &second, &columns, b));
    let count = |list: &[usize]| list.iter().product::<usize>();
    let depth = count(&extents(call, &first, &inner, a));
    // Both as matrices of one batch axis, whichever axes these have.
    let all = count(&batches);
    let left = arranged(call, a, &first, &[&batch, &rows, &inner], vec![all, count(&heights), depth])?;
    let right = arranged(call, b, &second, &[&batch, &inner, &columns], vec![all, depth, count(&widths)])?;
    let product = call.add(Operation::Product, &[left, right])?;
    let apart = call.reshape(product, [batches, heights, widths].concat())?;
    let made = [batch, rows, columns].concat();
    let order = to.iter().filter_map(|c| made.iter().position(|other| other == c)).collect();
    one(call.add(Operation::Permute(order), &[apart])?)
}

fn arranged(
    call: &mut Call<'_>,
    x: ValueId,
    axes: &[char],
    groups: &[&Vec<char>],
    dims: Vec<usize>,
) -> Result<ValueId, Why> {
    let wanted = groups.iter().flat_map(|group| group.iter());
    let order = wanted.filter_map(|c| axes.iter().position(|other| other == c)).collect();
    let turned = call.add(Operation::Permute(order), &[x])?;
    call.reshape(turned, dims)
}
