//! Elements in another order or number. What strides say costs nothing; the rest is copies.

use super::held::{COLUMNS_ALIGN, HALF, Held};
use super::{Lower, Why};
use crate::model::network::array::elements;
use crate::model::network::operation::Cut;
use crate::model::network::{Array, Fault, ValueId};

/// Most elements that may lie one to a line, where a reshape wants it: 64 bytes each.
const LINES_MAX: usize = 1 << 20;

impl Lower<'_> {
    pub(super) fn reshape(&mut self, x: Held, dims: &[usize]) -> Result<Held, Why> {
        if let Some(held) = regrouped(&x, dims) {
            return Ok(held);
        }
        // Lines of the column's group are split or joined: with another axis as columns all of them are lines.
        let long =
            |dims: &[usize], first: usize, end: usize| (first..end).filter(|&axis| dims[axis] > 1).count();
        let divided = spans(&x.dims, dims)
            .into_iter()
            .filter(|&(a, b, c, d)| long(&x.dims, a, b) > 1 || long(dims, c, d) > 1);
        let axes: Vec<usize> = divided.flat_map(|(first, end, ..)| first..end).collect();
        let moved = self.column_beside(&x, &axes)?;
        if moved.column.is_none() && x.dims.iter().product::<usize>() > LINES_MAX {
            return Err(Why::Mode(format!(
                "more than {LINES_MAX} elements would lie one to a line of 64 bytes on the way"
            )));
        }
        if let Some(held) = regrouped(&moved, dims) {
            return Ok(held);
        }
        // Axes that are to be joined do not follow each other: a copy's do.
        let copy = self.fresh(&moved.dims, moved.column)?;
        self.copy_into(&copy, &moved)?;
        regrouped(&copy, dims).ok_or_else(|| Why::Mode("the order of its axes cannot be joined".to_owned()))
    }

    pub(super) fn cut(&mut self, x: Held, cuts: &[Cut]) -> Result<Held, Why> {
        // Lines first, which cost nothing; what is left of the columns may need others in their place.
        let column = x.column;
        let mut held = x;
        for (axis, &cut) in cuts.iter().enumerate().filter(|(axis, _)| Some(*axis) != column) {
            held = self.cut_lines(held, axis, cut)?;
        }
        let Some(column) = column else { return Ok(held) };
        let cut = cuts[column];
        if cut == Cut::all(held.dims[column]) {
            return Ok(held);
        }
        if cut.step == 1
            && cut.start.is_multiple_of(COLUMNS_ALIGN)
            && cut.count > 1
            && held.column == Some(column)
        {
            // Lines that begin at a multiple of 64 bytes.
            held.base += 2 * cut.start as u64;
            held.dims[column] = cut.count;
            return Ok(held);
        }
        let held = self.column_beside(&held, &[column])?;
        self.cut_lines(held, column, cut)
    }

    /// Part of an axis that does not lie in columns, unless it has to be copied for that.
    fn cut_lines(&mut self, held: Held, axis: usize, cut: Cut) -> Result<Held, Why> {
        if cut == Cut::all(held.dims[axis]) {
            return Ok(held);
        }
        if cut.step > 0 || cut.count <= 1 {
            return Ok(held.part(axis, Cut { step: cut.step.max(1), ..cut }));
        }
        let at = |index: usize| cut.start - index * cut.step.unsigned_abs();
        let indices: Vec<usize> = (0..cut.count).map(at).collect();
        self.take(held, axis, &indices)
    }

    /// Runs of elements with one step between them, each copied at once.
    pub(super) fn take(&mut self, x: Held, axis: usize, indices: &[usize]) -> Result<Held, Why> {
        let x = self.column_beside(&x, &[axis])?;
        let mut dims = x.dims.clone();
        dims[axis] = indices.len();
        let runs = runs(indices);
        if let [run] = runs[..]
            && run.step > 0
        {
            return Ok(x.part(axis, run));
        }
        if runs.len() as u64 > super::TASKS_MAX {
            return Err(Why::Tasks { tasks: runs.len() as u64, most: super::TASKS_MAX });
        }
        let result = self.fresh(&dims, x.column)?;
        let mut start = 0;
        for run in runs {
            let place = result.part(axis, Cut { start, step: 1, count: run.count });
            let mut part = x.part(axis, Cut { step: run.step.max(1), ..run });
            if run.step == 0 {
                part.strides[axis] = 0;
            }
            self.copy_into(&place, &part)?;
            start += run.count;
        }
        Ok(result)
    }

    pub(super) fn concat(&mut self, values: &[ValueId], axis: usize) -> Result<Held, Why> {
        let held: Vec<Option<&Held>> = values.iter().map(|&value| self.held[value].as_ref()).collect();
        // The columns that the most parts have, unless parts would have to be put together there.
        let own = held.iter().flatten().find_map(|held| held.column.filter(|&column| column != axis));
        let dims = self.network.dims(values[0]).to_vec();
        let longest =
            (0..dims.len()).filter(|&other| other != axis && dims[other] > 1).max_by_key(|&at| dims[at]);
        let column = own.or(longest);
        let mut whole = dims;
        whole[axis] = values.iter().map(|&value| self.network.dims(value)[axis]).sum();
        let result = self.fresh(&whole, column)?;
        let mut start = 0;
        for &value in values {
            let part = self.operand_by(value, column)?;
            let count = part.dims[axis];
            if count > 0 {
                self.copy_into(&result.part(axis, Cut { start, step: 1, count }), &part)?;
            }
            start += count;
        }
        Ok(result)
    }

    /// Lines are repeated by a stride of 0, and a single column by the planar engine.
    pub(super) fn expand(&mut self, x: Held, dims: &[usize]) -> Result<Held, Why> {
        let mut held = x;
        let stretched: Vec<usize> = (0..dims.len()).filter(|&axis| held.dims[axis] != dims[axis]).collect();
        if held.column.is_none()
            && let Some(&last) = stretched.last()
        {
            let mut wide = held.dims.clone();
            wide[last] = dims[last];
            let result = self.fresh(&wide, Some(last))?;
            self.fill_from(&result, &held)?;
            held = result;
        }
        for axis in stretched {
            if held.dims[axis] != dims[axis] {
                held.dims[axis] = dims[axis];
                held.strides[axis] = 0;
            }
        }
        Ok(held)
    }

    pub(super) fn pad(&mut self, x: Held, sides: &[(usize, usize)], value: f64) -> Result<Held, Why> {
        let padded: Vec<usize> = (0..sides.len()).filter(|&axis| sides[axis] != (0, 0)).collect();
        let mut held = self.column_beside(&x, &padded)?;
        if held.column.is_none() && x.column.is_some() {
            // Every axis is padded: one after the other, so that lines stay long.
            for &axis in &padded {
                let mut one = vec![(0, 0); sides.len()];
                one[axis] = sides[axis];
                held = if padded.len() == 1 { held } else { self.pad(x.clone(), &one, value)? };
                if padded.len() > 1 {
                    let mut rest = sides.to_vec();
                    rest[axis] = (0, 0);
                    return self.pad(held, &rest, value);
                }
            }
        }
        let longer = |(&extent, &(before, behind)): (&usize, &(usize, usize))| {
            extent.checked_add(before).and_then(|extent| extent.checked_add(behind))
        };
        let dims: Option<Vec<usize>> = held.dims.iter().zip(sides).map(longer).collect();
        let dims = dims.ok_or_else(|| Fault::Elements { dims: held.dims.clone() })?;
        elements(&dims)?;
        let result = self.fresh(&dims, held.column)?;
        self.fill(&result, value)?;
        let mut place = result.clone();
        for (axis, &(before, _)) in sides.iter().enumerate().filter(|(axis, _)| Some(*axis) != held.column) {
            place = place.part(axis, Cut { start: before, step: 1, count: held.dims[axis] });
        }
        self.copy_into(&place, &held)?;
        Ok(result)
    }

    /// Zeros, with the operand's lines in them as far apart as the factors say.
    pub(super) fn stretch(&mut self, x: Held, factors: &[usize]) -> Result<Held, Why> {
        let longer: Vec<usize> =
            (0..factors.len()).filter(|&axis| factors[axis] != 1 && x.dims[axis] > 1).collect();
        let held = self.column_beside(&x, &longer)?;
        let dims: Vec<usize> =
            held.dims.iter().zip(factors).map(|(extent, factor)| (extent - 1) * factor + 1).collect();
        let result = self.fresh(&dims, held.column)?;
        self.fill(&result, 0.0)?;
        let mut place = result.clone();
        for &axis in &longer {
            place =
                place.part(axis, Cut { start: 0, step: factors[axis].cast_signed(), count: held.dims[axis] });
        }
        self.copy_into(&place, &held)?;
        Ok(result)
    }

    /// Every element becomes this value.
    fn fill(&mut self, place: &Held, value: f64) -> Result<(), Why> {
        let value = self.array(&Array::scalar(value), None)?.with_rank(place.dims.len());
        self.fill_from(place, &value)
    }

    /// Every element becomes that of an operand which stretches.
    fn fill_from(&mut self, place: &Held, value: &Held) -> Result<(), Why> {
        self.each(place, &[value], true, |graph, place, sources| graph.stretch_into(place, sources[0]))
    }
}

/// Neighbouring axes of one list that have as many elements as neighbouring axes of the other.
fn spans(from: &[usize], to: &[usize]) -> Vec<(usize, usize, usize, usize)> {
    let mut spans = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < from.len() || j < to.len() {
        let (first_i, first_j) = (i, j);
        let mut a = from.get(i).copied().unwrap_or(1);
        let mut b = to.get(j).copied().unwrap_or(1);
        i = (i + 1).min(from.len());
        j = (j + 1).min(to.len());
        while a != b {
            if a < b && i < from.len() {
                a *= from[i];
                i += 1;
            } else if j < to.len() {
                b *= to[j];
                j += 1;
            } else {
                break;
            }
        }
        spans.push((first_i, i, first_j, j));
    }
    spans
}

/// The same lines under other axes, if strides allow it.
/// The axis that has the columns after a reshape if `axis` has them before it and nothing is moved.
pub(super) fn last_of(from: &[usize], to: &[usize], axis: usize) -> Option<usize> {
    let (a, b, c, d) = spans(from, to).into_iter().find(|&(a, b, ..)| (a..b).contains(&axis))?;
    let is_alone = (a..b).all(|other| other == axis || from[other] == 1);
    let last = (c..d).rev().find(|&axis| to[axis] != 1)?;
    (is_alone && (to[last] == from[axis] || to[last].is_multiple_of(COLUMNS_ALIGN))).then_some(last)
}

fn regrouped(x: &Held, dims: &[usize]) -> Option<Held> {
    let mut held = Held { dims: dims.to_vec(), strides: vec![0; dims.len()], column: None, ..x.clone() };
    for (a, b, c, d) in spans(&x.dims, dims) {
        let from: Vec<usize> = (a..b).filter(|&axis| x.dims[axis] != 1).collect();
        let to: Vec<usize> = (c..d).filter(|&axis| dims[axis] != 1).collect();
        if let Some(column) = x.column.filter(|column| from.contains(column)) {
            let line = |columns: usize| HALF * columns as u64;
            match (from.as_slice(), to.as_slice()) {
                (&[_], &[axis]) => {
                    debug_assert_eq!(x.dims[column], dims[axis], "spans have as many elements");
                    held.column = Some(axis);
                }
                // A line is divided into lines, each of which begins at a multiple of 64 bytes.
                (&[_], [outer @ .., axis]) if dims[*axis].is_multiple_of(COLUMNS_ALIGN) => {
                    held.column = Some(*axis);
                    let mut stride = line(dims[*axis]);
                    for &axis in outer.iter().rev() {
                        held.strides[axis] = stride;
                        stride *= dims[axis] as u64;
                    }
                }
                _ => return None,
            }
            continue;
        }
        if let (&[one], &[other]) = (from.as_slice(), to.as_slice()) {
            held.strides[other] = x.strides[one];
            continue;
        }
        let follow =
            from.windows(2).all(|pair| x.strides[pair[0]] == x.strides[pair[1]] * x.dims[pair[1]] as u64);
        if !follow {
            return None;
        }
        let mut stride = from.last().map_or(0, |&axis| x.strides[axis]);
        for &axis in to.iter().rev() {
            held.strides[axis] = stride;
            stride *= dims[axis] as u64;
        }
    }
    Some(held)
}

/// Indices as runs, each with one step that is not below zero.
fn runs(indices: &[usize]) -> Vec<Cut> {
    let mut runs: Vec<Cut> = Vec::new();
    for &index in indices {
        if let Some(run) = runs.last_mut() {
            let last = run.start.cast_signed() + run.step * (run.count.cast_signed() - 1);
            let step = index.cast_signed() - last;
            if (run.count == 1 && step >= 0) || (run.count > 1 && step == run.step) {
                *run = Cut { step, count: run.count + 1, ..*run };
                continue;
            }
        }
        runs.push(Cut { start: index, step: 1, count: 1 });
    }
    runs
}
