//! Extents of what an operation makes.

use super::array::{broadcast, is_rank};
use super::fault::Fault;
use super::operation::{Convolution, Cut, Operation, Window};

/// The extents of the result; refuses operands that the operation makes no sense of.
pub(super) fn infer(operation: &Operation, operands: &[&[usize]]) -> Result<Vec<usize>, Fault> {
    let given = operands.len();
    let count = |wanted: &'static str, fits: bool| {
        if fits { Ok(()) } else { Err(Fault::Operands { wanted, given }) }
    };
    match operation {
        Operation::Join(_) | Operation::Product => count("2", given == 2)?,
        Operation::Select => count("3", given == 3)?,
        Operation::Convolution(_) | Operation::Linear(_) => count("2 or 3", matches!(given, 2 | 3))?,
        Operation::Concat(_) => count("at least 1", given > 0)?,
        _ => count("1", given == 1)?,
    }
    let first = operands[0];
    is_rank(first.len())?;
    if let Operation::Reshape(dims) | Operation::Expand(dims) = operation {
        is_rank(dims.len())?;
    }
    match operation {
        Operation::Map(_) => Ok(first.to_vec()),
        Operation::Join(_) => broadcast(first, operands[1]),
        Operation::Select => broadcast(&broadcast(first, operands[1])?, operands[2]),
        Operation::Convolution(convolution) => self::convolution(convolution, operands),
        Operation::Product => product(first, operands[1]),
        Operation::Linear(_) => {
            let dims = product(first, operands[1])?;
            match operands.get(2) {
                Some(&bias) if broadcast(&dims, bias)? != dims => {
                    Err(Fault::Broadcast { first: dims, second: bias.to_vec() })
                }
                _ => Ok(dims),
            }
        }
        Operation::Reduce(reduce) => {
            let mut dims = first.to_vec();
            for &axis in &reduce.axes {
                *extent(&mut dims, axis, first)? = 1;
            }
            Ok(dims)
        }
        Operation::Normalise(normalise) => {
            let mut dims = first.to_vec();
            for &axis in &normalise.axes {
                extent(&mut dims, axis, first)?;
            }
            Ok(dims)
        }
        Operation::Window(window) => self::window(window, first),
        Operation::Reshape(dims) => {
            let all = |dims: &[usize]| dims.iter().try_fold(1_usize, |all, &extent| all.checked_mul(extent));
            match (all(first), all(dims)) {
                (Some(values), Some(wanted)) if values == wanted => Ok(dims.clone()),
                (values, _) => {
                    Err(Fault::Length { dims: dims.clone(), values: values.unwrap_or(usize::MAX) })
                }
            }
        }
        Operation::Permute(order) => {
            let mut seen = vec![false; first.len()];
            for &axis in order {
                match seen.get_mut(axis) {
                    Some(seen) if !*seen => *seen = true,
                    _ => return Err(wrong("axis", axis, first)),
                }
            }
            rank("order", order.len(), first)?;
            Ok(order.iter().map(|&axis| first[axis]).collect())
        }
        Operation::Cut(cuts) => {
            rank("cuts", cuts.len(), first)?;
            cuts.iter().zip(first).map(|(&cut, &extent)| part(cut, extent, first)).collect()
        }
        &Operation::Concat(axis) => {
            let mut dims = first.to_vec();
            let mut all = 0_usize;
            for &operand in operands {
                let mut same = operand.to_vec();
                let own = *extent(&mut same, axis, first)?;
                same[axis] = first[axis];
                if same != first {
                    return Err(Fault::Broadcast { first: first.to_vec(), second: operand.to_vec() });
                }
                all = all.saturating_add(own);
            }
            dims[axis] = all;
            Ok(dims)
        }
        Operation::Expand(dims) => {
            if broadcast(first, dims)? == *dims && dims.len() == first.len() {
                Ok(dims.clone())
            } else {
                Err(Fault::Broadcast { first: first.to_vec(), second: dims.clone() })
            }
        }
        Operation::Pad { sides, .. } => {
            rank("sides", sides.len(), first)?;
            let padded = |((before, behind), extent): (&(usize, usize), &usize)| {
                extent.checked_add(*before)?.checked_add(*behind)
            };
            let dims: Option<Vec<usize>> = sides.iter().zip(first).map(padded).collect();
            dims.ok_or_else(|| Fault::Elements { dims: first.to_vec() })
        }
        Operation::Take { axis, indices } => {
            let mut dims = first.to_vec();
            let own = extent(&mut dims, *axis, first)?;
            if let Some(&index) = indices.iter().find(|&&index| index >= *own) {
                return Err(wrong("index", index, first));
            }
            *own = indices.len();
            Ok(dims)
        }
        Operation::Stretch(factors) => {
            rank("factors", factors.len(), first)?;
            let longer = |(&factor, &extent): (&usize, &usize)| match extent.checked_sub(1) {
                Some(gaps) if factor > 0 => gaps.checked_mul(factor)?.checked_add(1),
                _ => None,
            };
            let dims: Option<Vec<usize>> = factors.iter().zip(first).map(longer).collect();
            dims.ok_or_else(|| Fault::Elements { dims: first.to_vec() })
        }
    }
}

fn wrong(what: &'static str, value: usize, dims: &[usize]) -> Fault {
    Fault::Wrong { what, value: value as i64, dims: dims.to_vec() }
}

fn rank(what: &'static str, given: usize, dims: &[usize]) -> Result<(), Fault> {
    if given == dims.len() { Ok(()) } else { Err(wrong(what, given, dims)) }
}

fn extent<'a>(dims: &'a mut [usize], axis: usize, of: &[usize]) -> Result<&'a mut usize, Fault> {
    dims.get_mut(axis).ok_or_else(|| wrong("axis", axis, of))
}

fn part(cut: Cut, extent: usize, dims: &[usize]) -> Result<usize, Fault> {
    if cut.count == 0 {
        return Ok(0);
    }
    let steps = (cut.count - 1) as i128 * cut.step as i128;
    let last = cut.start as i128 + steps;
    let inside = |at: i128| (0..extent as i128).contains(&at);
    if cut.step != 0 && inside(cut.start as i128) && inside(last) {
        Ok(cut.count)
    } else {
        Err(wrong("slice from", cut.start, dims))
    }
}

fn product(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Fault> {
    let apart = || Fault::Broadcast { first: a.to_vec(), second: b.to_vec() };
    let (Some((batch_a, &[m, k])), Some((batch_b, &[inner, n]))) =
        (a.split_last_chunk::<2>(), b.split_last_chunk::<2>())
    else {
        return Err(apart());
    };
    if k != inner {
        return Err(apart());
    }
    let mut dims = broadcast(batch_a, batch_b)?;
    dims.extend([m, n]);
    Ok(dims)
}

fn convolution(convolution: &Convolution, operands: &[&[usize]]) -> Result<Vec<usize>, Fault> {
    let (x, weights) = (operands[0], operands[1]);
    let Convolution { stride, dilation, padding, groups, .. } = convolution;
    let moving = x.len().saturating_sub(2);
    let sound = moving >= 1
        && weights.len() == x.len()
        && [stride.len(), dilation.len(), padding.len()] == [moving; 3]
        && *groups > 0
        && weights[1].checked_mul(*groups) == Some(x[1])
        && weights[0].is_multiple_of(*groups);
    let bias = operands.get(2).is_none_or(|bias| *bias == [weights[0]]);
    if !sound || !bias {
        return Err(Fault::Broadcast { first: x.to_vec(), second: weights.to_vec() });
    }
    let mut dims = vec![x[0], weights[0]];
    for axis in 0..moving {
        let positions = convolution.positions(axis, x[axis + 2], weights[axis + 2]);
        dims.push(positions.ok_or_else(|| wrong("kernel", weights[axis + 2], x))?);
    }
    Ok(dims)
}

fn window(window: &Window, x: &[usize]) -> Result<Vec<usize>, Fault> {
    let moving = window.kernel.len();
    let lists = [window.stride.len(), window.dilation.len(), window.padding.len(), window.positions.len()];
    if moving == 0 || x.len() < moving || lists != [moving; 4] || window.counted.len() != moving {
        return Err(wrong("window axes", moving, x));
    }
    let mut dims = x.to_vec();
    for axis in 0..moving {
        let at = x.len() - moving + axis;
        let (kernel, stride) = (window.kernel[axis], window.stride[axis]);
        // The window at each position has to reach an element that is there.
        let first = window.positions[axis].saturating_sub(1).saturating_mul(stride);
        let sound = kernel > 0
            && stride > 0
            && window.dilation[axis] > 0
            && window.positions[axis] > 0
            && first < x[at].saturating_add(window.padding[axis].0)
            && window.padding[axis].0 < kernel.saturating_mul(window.dilation[axis]);
        if !sound {
            return Err(wrong("window", kernel, x));
        }
        dims[at] = window.positions[axis];
    }
    Ok(dims)
}
