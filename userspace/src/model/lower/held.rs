//! Tensors of any rank over a tensor of the builder: one axis lies in columns, the others are found by strides.

use super::{Lower, Why, shape};
use crate::build::{Graph, Limit, Lines, Shape, Tensor};
use crate::model::network::Fault;
use crate::model::network::array::{Array, Walk, strides};
use crate::model::network::operation::Cut;

/// Bytes of an element.
pub(super) const HALF: u64 = 2;

/// Columns between places where a line may begin: 64 bytes.
pub(super) const COLUMNS_ALIGN: usize = 32;

/// A tensor of a model, where it lies.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) tensor: Tensor,
    /// The tensor of the builder as a whole.
    pub(super) whole: Shape,
    pub(super) dims: Vec<usize>,
    /// Bytes from one element to the next along each axis but that of the columns.
    pub(super) strides: Vec<u64>,
    pub(super) base: u64,
    /// The axis that lies in columns; lines have one element if there is none.
    pub(super) column: Option<usize>,
}

/// The key of a tensor: it differs for another tensor, and for one whose axes lie in another way.
pub(super) type Place = (Tensor, Vec<usize>, Vec<u64>, u64, Option<usize>);

impl Held {
    pub(super) fn place(&self) -> Place {
        (self.tensor, self.dims.clone(), self.strides.clone(), self.base, self.column)
    }

    /// The last axis, if it is longer than 1.
    pub(super) fn last_column(dims: &[usize]) -> Option<usize> {
        dims.len().checked_sub(1).filter(|&axis| dims[axis] > 1)
    }

    /// How lines lie that follow each other in the order of the axes: the builder's shape, and strides in lines.
    pub(super) fn packed(dims: &[usize], column: Option<usize>) -> Result<(Shape, Vec<u64>), Why> {
        let others: Vec<usize> = lines(dims, column);
        let extents: Vec<usize> = others.iter().map(|&axis| dims[axis]).collect();
        let all: usize = extents.iter().product();
        let w = column.map_or(1, |axis| dims[axis]);
        let mut steps = vec![0; dims.len()];
        for (&axis, stride) in others.iter().zip(strides(&extents)) {
            steps[axis] = stride as u64;
        }
        let long: Vec<usize> = extents.iter().copied().filter(|&extent| extent > 1).collect();
        let whole = match *long.as_slice() {
            // One image is channels, rows and columns as everybody has them, be it of one channel.
            _ if dims.len() == 4 && dims[0] == 1 && column == Self::last_column(dims) => {
                shape(dims[1], dims[2], w)
            }
            [] => shape(1, 1, w),
            [only] => shape(only, 1, w),
            [.., last] => shape(all / last, last, w),
        };
        if all as u64 > Limit::Channels.max() * Limit::Rows.max() {
            return Err(Fault::Elements { dims: dims.to_vec() }.into());
        }
        Ok((whole, steps))
    }

    /// All of a tensor of the builder whose lines are packed.
    pub(super) fn whole(tensor: Tensor, whole: Shape, dims: &[usize], column: Option<usize>) -> Self {
        let line = Lines::of(whole).row;
        let steps = Self::packed(dims, column).map(|(_, steps)| steps).unwrap_or_default();
        let strides = steps.into_iter().map(|step| step * line).collect();
        Self { tensor, whole, dims: dims.to_vec(), strides, base: 0, column }
    }

    /// A tensor of a graph, or a part of one, as one image of channels, rows and columns.
    pub(super) fn of_tensor(graph: &mut Graph, tensor: Tensor) -> Result<Self, Why> {
        let (tensor, whole, shape, Lines { base, plane, row }) = graph.lines_of(tensor)?;
        let dims = vec![1, shape.c as usize, shape.h as usize, shape.w as usize];
        let column = Self::last_column(&dims);
        Ok(Self { tensor, whole, dims, strides: vec![0, plane, row, 0], base, column })
    }

    /// Whether it is all of a tensor of this shape, line after line.
    pub(super) fn is_whole(&self, whole: Shape) -> bool {
        let plain = Self::whole(self.tensor, self.whole, &self.dims, self.column);
        let same = |axis: usize| self.dims[axis] == 1 || self.strides[axis] == plain.strides[axis];
        self.whole == whole && self.base == 0 && (0..self.dims.len()).all(same)
    }

    /// Elements of a line.
    pub(super) fn width(&self) -> usize {
        self.column.map_or(1, |axis| self.dims[axis])
    }

    pub(super) fn permuted(&self, order: &[usize]) -> Self {
        Self {
            dims: order.iter().map(|&axis| self.dims[axis]).collect(),
            strides: order.iter().map(|&axis| self.strides[axis]).collect(),
            column: self.column.and_then(|column| order.iter().position(|&axis| axis == column)),
            ..self.clone()
        }
    }

    /// The same with axes of extent 1 in front.
    pub(super) fn with_rank(&self, rank: usize) -> Self {
        let missing = rank.saturating_sub(self.dims.len());
        let front = |list: &[u64]| [vec![0; missing], list.to_vec()].concat();
        Self {
            dims: [vec![1; missing], self.dims.clone()].concat(),
            strides: front(&self.strides),
            column: self.column.map(|axis| axis + missing),
            ..self.clone()
        }
    }

    /// Part of an axis that does not lie in columns, by a step above zero.
    pub(super) fn part(&self, axis: usize, cut: Cut) -> Self {
        let mut held = self.clone();
        held.base += cut.start as u64 * held.strides[axis];
        // A step that leads to no second element may be of any size.
        if cut.count > 1 {
            held.strides[axis] *= cut.step.unsigned_abs() as u64;
        }
        held.dims[axis] = cut.count;
        held
    }

    /// The stride along an axis of a result: 0 where this operand stretches.
    fn stride_over(&self, axis: usize, extent: usize) -> u64 {
        if self.dims[axis] == 1 && extent != 1 { 0 } else { self.strides[axis] }
    }
}

/// Axes that do not lie in columns.
fn lines(dims: &[usize], column: Option<usize>) -> Vec<usize> {
    (0..dims.len()).filter(|&axis| Some(axis) != column).collect()
}

/// An array's elements line by line.
pub(super) fn by_lines(array: &Array, column: Option<usize>) -> Result<Vec<f64>, Why> {
    let mut order = lines(array.dims(), column);
    order.extend(column);
    let own = strides(array.dims());
    let dims: Vec<usize> = order.iter().map(|&axis| array.dims()[axis]).collect();
    let steps: Vec<isize> = order.iter().map(|&axis| own[axis].cast_signed()).collect();
    let mut walk = Walk::new(&dims, 0, &steps);
    Ok((0..array.values().len()).map(|_| array.values()[walk.next_place()]).collect())
}

/// Neighbouring axes as one, as far as all operands allow it.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) extent: usize,
    pub(super) strides: Vec<u64>,
}

impl Group {
    /// Channels of so many rows, which divide it.
    pub(super) fn dealt(&self, rows: usize) -> (Self, Self) {
        let strides = self.strides.iter().map(|stride| stride * rows as u64).collect();
        (Self { extent: self.extent / rows, strides }, Self { extent: rows, strides: self.strides.clone() })
    }
}

/// The axes of `dims` but those in `skip`, as few as there can be.
pub(super) fn groups(dims: &[usize], skip: &[usize], operands: &[&Held]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for axis in (0..dims.len()).filter(|axis| !skip.contains(axis) && dims[*axis] != 1) {
        let extent = dims[axis];
        let strides: Vec<u64> = operands.iter().map(|held| held.stride_over(axis, extent)).collect();
        match groups.last_mut() {
            Some(last)
                if last
                    .strides
                    .iter()
                    .zip(&strides)
                    .all(|(outer, inner)| *outer == inner * extent as u64) =>
            {
                last.extent *= extent;
                last.strides = strides;
            }
            _ => groups.push(Group { extent, strides }),
        }
    }
    groups
}

/// The part of each operand that one pass takes.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Extents of channels and rows.
    pub(super) c: usize,
    pub(super) h: usize,
    /// Of each operand, from where on, and the strides of channels and rows.
    pub(super) lines: Vec<Lines>,
}

/// Divides groups over passes: two become channels and rows, the others are gone through.
///
/// `natural` is the whole tensor of the first operand: where all is one group, it is divided as that is. Of channels there
/// are at most `most`, where rows can take the rest.
pub(super) fn pieces(
    groups: &[Group],
    operands: usize,
    natural: Shape,
    most: usize,
) -> Result<Vec<Piece>, Why> {
    let none = Group { extent: 1, strides: vec![0; operands] };
    let mut by_extent: Vec<usize> = (0..groups.len()).collect();
    by_extent.sort_by_key(|&at| std::cmp::Reverse(groups[at].extent));
    let mut chosen: Vec<usize> = by_extent.into_iter().take(2).collect();
    chosen.sort_unstable();
    let (channels, rows) = match *chosen.as_slice() {
        [] => (none.clone(), none),
        [only] => divided(&groups[only], natural, most),
        [first, second, ..] => {
            let (first, second) = (&groups[first], &groups[second]);
            let is_beyond = first.extent > most && second.extent <= most;
            let turns = is_beyond && first.extent as u64 <= Limit::Rows.max();
            let (channels, rows) = if turns { (second, first) } else { (first, second) };
            (channels.clone(), rows.clone())
        }
    };
    let rest: Vec<&Group> =
        (0..groups.len()).filter(|at| !chosen.contains(at)).map(|at| &groups[at]).collect();
    looped(&rest, operands)?
        .into_iter()
        .map(|bases| {
            let lines = (0..operands)
                .map(|of| Lines { base: bases[of], plane: channels.strides[of], row: rows.strides[of] })
                .collect();
            Ok(Piece { c: channels.extent, h: rows.extent, lines })
        })
        .collect()
}

/// The first place of each operand, for each step over `groups`.
pub(super) fn looped(groups: &[&Group], operands: usize) -> Result<Vec<Vec<u64>>, Why> {
    let all = groups.iter().fold(1_u64, |all, group| all.saturating_mul(group.extent as u64));
    if all > super::TASKS_MAX {
        return Err(Why::Tasks { tasks: all, most: super::TASKS_MAX });
    }
    let mut places = vec![vec![0; operands]];
    for group in groups {
        let mut longer = Vec::new();
        for place in &places {
            for at in 0..group.extent as u64 {
                longer.push((0..operands).map(|of| place[of] + at * group.strides[of]).collect());
            }
        }
        places = longer;
    }
    Ok(places)
}

/// The fewest rows, at most `rows_max`, that leave so many of all lines as channels.
pub(super) fn fewest_rows(all: usize, channels_max: usize, rows_max: u64) -> Option<usize> {
    (1..=rows_max as usize).find(|rows| all.is_multiple_of(*rows) && all / rows <= channels_max)
}

/// One group as channels and rows.
fn divided(group: &Group, natural: Shape, channels_max: usize) -> (Group, Group) {
    let all = group.extent;
    let (c, h) = (natural.c as usize, natural.h as usize);
    let fewest = |channels_max: usize| fewest_rows(all, channels_max, Limit::Rows.max());
    let is_natural = c * h == all;
    let rows = if is_natural && c <= channels_max {
        h
    } else if let Some(rows) = fewest(channels_max) {
        rows
    } else if is_natural {
        h
    } else {
        fewest(Limit::Channels.max() as usize).unwrap_or(1)
    };
    group.dealt(rows)
}

impl Lower<'_> {
    /// A tensor to be computed, whose lines follow each other in the order of the axes.
    pub(super) fn fresh(&mut self, dims: &[usize], column: Option<usize>) -> Result<Held, Why> {
        let column = column.filter(|&axis| dims[axis] > 1);
        let (whole, _) = Held::packed(dims, column)?;
        let tensor = self.graph.intermediate("tensor", whole)?;
        Ok(Held::whole(tensor, whole, dims, column))
    }

    /// Part of a tensor, as one pass sees it.
    pub(super) fn view(&mut self, held: &Held, shape: Shape, lines: Lines) -> Result<Tensor, Why> {
        let lines = Lines { base: held.base + lines.base, ..lines };
        Ok(self.graph.lines(held.tensor, shape, lines)?)
    }
}
