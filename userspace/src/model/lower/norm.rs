//! Norms: a mean, a deviation, and one pass that applies both (td 8.3).

use super::held::{Group, Held, groups, looped};
use super::{Lower, Why, shape};
use crate::build::Lines;
use crate::model::network::operation::Normalise;

impl Lower<'_> {
    pub(super) fn normalise(&mut self, normalise: &Normalise, x: Held) -> Result<Held, Why> {
        let is_taken = |axis: &usize| normalise.axes.contains(axis) && x.dims[*axis] > 1;
        let column = match x.column {
            Some(column) if is_taken(&column) => Some(column),
            _ => (0..x.dims.len()).filter(is_taken).max_by_key(|&axis| x.dims[axis]),
        };
        let (kept, taken): (Vec<usize>, Vec<usize>) = (0..x.dims.len()).partition(|axis| !is_taken(axis));
        let x = self.by_column(&x, column)?;
        // Axes that are taken together come last, so that they are one plane.
        let order = [kept.as_slice(), &taken].concat();
        let x = x.permuted(&order);
        let result = self.fresh(&x.dims, x.column)?;
        let x = if planes(&x, &result, kept.len()).1.len() > 1 {
            let copy = self.fresh(&x.dims, x.column)?;
            self.copy_into(&copy, &x)?;
            copy
        } else {
            x
        };
        let (all, rows) = planes(&x, &result, kept.len());
        let rows = rows.into_iter().next().unwrap_or(Group { extent: 1, strides: vec![0; 2] });
        let epsilon = self.halves(&[normalise.epsilon])[0];
        let channels = (0..all.len()).max_by_key(|&at| all[at].extent);
        let rest: Vec<_> = (0..all.len()).filter(|&at| Some(at) != channels).map(|at| &all[at]).collect();
        let (c, plane) = channels.map_or((1, vec![0; 2]), |at| (all[at].extent, all[at].strides.clone()));
        for places in looped(&rest, 2)? {
            let lines = |of: usize| Lines { base: places[of], plane: plane[of], row: rows.strides[of] };
            let whole = shape(c, rows.extent, x.width());
            let source = self.view(&x, whole, lines(0))?;
            let place = self.view(&result, whole, lines(1))?;
            self.graph.normalise_planes(place, source, epsilon)?;
        }
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
        Ok(result.permuted(&back))
    }
}

/// The lines that are kept apart, and those that are taken together beside the columns, of which the first axis is `first`.
fn planes(x: &Held, result: &Held, first: usize) -> (Vec<Group>, Vec<Group>) {
    let without = |skipped: std::ops::Range<usize>| {
        let skip: Vec<usize> = skipped.chain(x.column).collect();
        groups(&x.dims, &skip, &[x, result])
    };
    (without(first..x.dims.len()), without(0..first))
}
