//! Another axis as columns: one pass of the neural engine, which exchanges channels and columns (td 8.1).

use super::held::{Held, groups, looped};
use super::{Lower, Why, shape};
use crate::build::{Lines, Tail};

impl Lower<'_> {
    /// The same tensor with this axis as columns; with none, each line has one element.
    pub(super) fn by_column(&mut self, held: &Held, column: Option<usize>) -> Result<Held, Why> {
        let column = column.filter(|&axis| held.dims[axis] > 1);
        if held.column == column {
            return Ok(held.clone());
        }
        // Several layers may want the same.
        let key = (held.place(), column);
        if let Some(turned) = self.turned.get(&key) {
            return Ok(turned.clone());
        }
        let result = self.fresh(&held.dims, column)?;
        let skip: Vec<usize> = [held.column, column].into_iter().flatten().collect();
        let all = groups(&held.dims, &skip, &[held, &result]);
        // The longest becomes rows.
        let rows = (0..all.len()).max_by_key(|&at| all[at].extent);
        let rest: Vec<_> = (0..all.len()).filter(|&at| Some(at) != rows).map(|at| &all[at]).collect();
        let (h, row) = rows.map_or((1, vec![0; 2]), |at| (all[at].extent, all[at].strides.clone()));
        let (from, to) = (held.column, column);
        let (w, c) = (held.width(), result.width());
        let plane = |held: &Held, axis: Option<usize>| axis.map_or(0, |axis| held.strides[axis]);
        for places in looped(&rest, 2)? {
            let source = Lines { base: places[0], plane: plane(held, to), row: row[0] };
            let place = Lines { base: places[1], plane: plane(&result, from), row: row[1] };
            let source = self.view(held, shape(c, h, w), source)?;
            let place = self.view(&result, shape(w, h, c), place)?;
            self.graph.pass_through_into(place, source, Tail::NONE.transposed())?;
        }
        self.turned.insert(key, result.clone());
        Ok(result)
    }

    /// The same tensor with any axis but these as columns, the longest if there is a choice.
    pub(super) fn column_beside(&mut self, held: &Held, axes: &[usize]) -> Result<Held, Why> {
        match held.column {
            Some(column) if axes.contains(&column) => {
                let others = (0..held.dims.len()).filter(|axis| !axes.contains(axis) && held.dims[*axis] > 1);
                let longest = others.max_by_key(|&axis| held.dims[axis]);
                self.by_column(held, longest)
            }
            _ => Ok(held.clone()),
        }
    }
}
