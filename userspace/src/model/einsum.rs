//! Sums of products of tensors, as an equation such as `bhqd,bhkd->bhqk` says: what has a letter on the left alone is summed up.
//!
//! Tensors are taken two at a time. Letters that both have and that are still wanted become one batch axis of a matrix product,
//! those that both have and nobody wants its inner axis, and the others rows and columns.

use std::collections::BTreeMap;

use super::layers::Layers;
use super::network::array::RANK_MAX;
use super::network::operation::{Post, Reduce, ReduceKind};
use super::network::{Operation, ValueId};
use super::problem::Why;
use crate::container::excerpt;

/// A tensor with a letter for each axis.
struct Lettered {
    letters: Vec<char>,
    value: ValueId,
}

pub(super) fn einsum(layers: &mut impl Layers, equation: &str, values: &[ValueId]) -> Result<ValueId, Why> {
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let refused = |why: &str| Err(Why::Mode(format!("equation {:?} {why}", excerpt(&equation))));
    let (from, to) =
        equation.split_once("->").map_or((equation.as_str(), None), |(from, to)| (from, Some(to)));
    // An equation may be as long as a file: its length is looked at before its letters.
    if from.split(',').count() != values.len() {
        return refused(&format!("is not one of {} tensors", values.len()));
    }
    if from.split(',').any(|letters| letters.chars().nth(RANK_MAX).is_some()) {
        return refused(&format!("names more than {RANK_MAX} axes of a tensor"));
    }
    let operands: Vec<Vec<char>> = from.split(',').map(|letters| letters.chars().collect()).collect();
    let mut later = BTreeMap::new();
    operands.iter().flatten().for_each(|&c| *later.entry(c).or_insert(0_usize) += 1);
    let to: Vec<char> = match to {
        Some(to) => to.chars().collect(),
        // Those that stand there once, by the alphabet.
        None => later.iter().filter(|&(_, &count)| count == 1).map(|(&c, _)| c).collect(),
    };
    let is_plain = operands.iter().chain([&to]).all(|letters| {
        letters.iter().enumerate().all(|(at, c)| c.is_ascii_alphabetic() && !letters[..at].contains(c))
    });
    let fits = operands.iter().zip(values).all(|(letters, &value)| letters.len() == layers.dims(value).len());
    if !is_plain || !fits {
        return refused("does not name each axis once");
    }
    if to.iter().any(|c| !later.contains_key(c)) {
        return refused("has a letter on the right alone");
    }
    let mut rest = operands.into_iter().zip(values).map(|(letters, &value)| Lettered { letters, value });
    let Some(mut made) = rest.next() else { return refused("has no tensor") };
    forget(&mut later, &made);
    for next in rest {
        let next = &next;
        forget(&mut later, next);
        let wanted: Vec<char> = to.iter().chain(later.keys()).copied().collect();
        for c in made.letters.iter().filter(|c| next.letters.contains(c)) {
            let [a, b] = [&made, next].map(|one| extents(layers, one, &[*c]));
            if a != b {
                return refused(&format!("has {a:?} and {b:?} elements along {c:?}"));
            }
        }
        made = product(layers, &made, next, &wanted)?;
    }
    let made = summed(layers, &made, &to)?;
    let order = to.iter().filter_map(|c| made.letters.iter().position(|other| other == c)).collect();
    layers.add(Operation::Permute(order), &[made.value])
}

/// Counts letters of a tensor no more, which is no later one.
fn forget(later: &mut BTreeMap<char, usize>, tensor: &Lettered) {
    for c in &tensor.letters {
        if let Some(count) = later.get_mut(c) {
            *count -= 1;
        }
    }
    later.retain(|_, count| *count > 0);
}

/// The tensor without the axes that are not wanted.
fn summed(layers: &mut impl Layers, of: &Lettered, wanted: &[char]) -> Result<Lettered, Why> {
    let (kept, dropped): (Vec<usize>, Vec<usize>) =
        (0..of.letters.len()).partition(|&axis| wanted.contains(&of.letters[axis]));
    let letters = kept.iter().map(|&axis| of.letters[axis]).collect();
    if dropped.is_empty() {
        return Ok(Lettered { letters, value: of.value });
    }
    let extents = layers.dims(of.value);
    let sum = Reduce { kind: ReduceKind::Sum, axes: dropped, square: false, epsilon: 0.0, post: Post::None };
    let sum = layers.add(Operation::Reduce(sum), &[of.value])?;
    let value = layers.reshape(sum, kept.iter().map(|&axis| extents[axis]).collect())?;
    Ok(Lettered { letters, value })
}

/// The product of two tensors with the axes that are wanted.
fn product(layers: &mut impl Layers, a: &Lettered, b: &Lettered, wanted: &[char]) -> Result<Lettered, Why> {
    let a = summed(layers, a, &[wanted, &b.letters].concat())?;
    let b = summed(layers, b, &[wanted, &a.letters].concat())?;
    let chosen = |of: &Lettered, is_chosen: &dyn Fn(&char) -> bool| -> Vec<char> {
        of.letters.iter().copied().filter(is_chosen).collect()
    };
    let batch = chosen(&a, &|c| b.letters.contains(c) && wanted.contains(c));
    let inner = chosen(&a, &|c| b.letters.contains(c) && !wanted.contains(c));
    let rows = chosen(&a, &|c| !b.letters.contains(c));
    let columns = chosen(&b, &|c| !a.letters.contains(c));
    let batches = extents(layers, &a, &batch);
    let (heights, widths) = (extents(layers, &a, &rows), extents(layers, &b, &columns));
    let left = matrices(layers, &a, [&batch, &rows, &inner])?;
    let right = matrices(layers, &b, [&batch, &inner, &columns])?;
    let product = layers.add(Operation::Product, &[left, right])?;
    let value = layers.reshape(product, [batches, heights, widths].concat())?;
    Ok(Lettered { letters: [batch, rows, columns].concat(), value })
}

fn extents(layers: &impl Layers, of: &Lettered, letters: &[char]) -> Vec<usize> {
    let dims = layers.dims(of.value);
    letters.iter().filter_map(|c| of.letters.iter().position(|other| other == c).map(|at| dims[at])).collect()
}

/// A tensor with three axes, each of which is several of its own.
fn matrices(layers: &mut impl Layers, of: &Lettered, groups: [&Vec<char>; 3]) -> Result<ValueId, Why> {
    let dims = groups.map(|group| extents(layers, of, group).iter().product());
    let wanted = groups.into_iter().flatten();
    let order = wanted.filter_map(|c| of.letters.iter().position(|other| other == c)).collect();
    let turned = layers.add(Operation::Permute(order), &[of.value])?;
    layers.reshape(turned, dims.into())
}
