//! Matrix products: a known matrix is a convolution's weights, two computed ones are a rewrite and a product (td 7.3).

use super::held::{Held, groups, looped};
use super::{Lower, Why, shape};
use crate::build::{Convolution, Lines, Weights};
use crate::model::network::array::{Walk, stretched};
use crate::model::network::{Array, ValueId};

impl Lower<'_> {
    /// `a * b`, of extents `dims`.
    pub(super) fn product(&mut self, a: ValueId, b: ValueId, dims: Vec<usize>) -> Result<Held, Why> {
        let rank = dims.len();
        match (self.network.known(a).cloned(), self.network.known(b).cloned()) {
            (_, Some(weights)) => {
                let x = self.operand(a)?.with_rank(rank);
                // Column `n` of the matrix makes element `n` of the last axis.
                self.by_weights(&x, &weights, (rank - 1, rank - 1), &dims, true)
            }
            (Some(weights), None) => {
                let x = self.operand(b)?.with_rank(rank);
                self.by_weights(&x, &weights, (rank - 2, rank - 2), &dims, false)
            }
            (None, None) => self.computed(a, b, &dims),
        }
    }

    /// Axis `from` of `x` times a known matrix becomes axis `to`.
    fn by_weights(
        &mut self,
        x: &Held,
        weights: &Array,
        (from, to): (usize, usize),
        dims: &[usize],
        columns_are_outputs: bool,
    ) -> Result<Held, Why> {
        let rank = dims.len();
        // With a matrix for each batch, a batch is found by its strides, which columns have not.
        let many = weights.dims().iter().rev().skip(2).any(|&extent| extent != 1);
        let mut taken = vec![from];
        if many {
            taken.extend(0..rank - 2);
        }
        let x = self.column_beside(x, &taken)?;
        let result = self.fresh(dims, x.column)?;
        let (outputs, inputs) = (dims[to], x.dims[from]);
        let matrix_dims = [vec![1; rank - weights.dims().len()], weights.dims().to_vec()].concat();
        let batches = &dims[..rank - 2];
        // One matrix for all, or one for each batch.
        let count = if many { batches.iter().product() } else { 1 };
        if count as u64 > super::TASKS_MAX {
            return Err(Why::Tasks { tasks: count as u64, most: super::TASKS_MAX });
        }
        let steps = stretched(&matrix_dims[..rank - 2], batches);
        let mut walk = Walk::new(batches, 0, &steps);
        for batch in 0..count {
            let matrix = &weights.values()[if many { walk.next_place() } else { 0 } * outputs * inputs..];
            let at = |output: usize, input: usize| {
                if columns_are_outputs {
                    matrix[input * outputs + output]
                } else {
                    matrix[output * inputs + input]
                }
            };
            let ordered: Vec<f64> = (0..outputs)
                .flat_map(|output| (0..inputs).map(move |input| (output, input)))
                .map(|(o, i)| at(o, i))
                .collect();
            let halves = self.halves(&ordered);
            let convolution = Convolution::new(super::extent(outputs), (1, 1), Weights::Half(&halves));
            let (x, place) = if many {
                (batch_of(&x, batches, batch), batch_of(&result, batches, batch))
            } else {
                (x.clone(), result.clone())
            };
            let mut skip = vec![from];
            skip.extend(x.column);
            let all = groups(&place.dims, &skip, &[&x, &place]);
            let rows = (0..all.len()).max_by_key(|&at| all[at].extent);
            let rest: Vec<_> = (0..all.len()).filter(|&at| Some(at) != rows).map(|at| &all[at]).collect();
            let (h, row) = rows.map_or((1, vec![0; 2]), |at| (all[at].extent, all[at].strides.clone()));
            for places in looped(&rest, 2)? {
                let source = Lines { base: places[0], plane: x.strides[from], row: row[0] };
                let to_lines = Lines { base: places[1], plane: place.strides[to], row: row[1] };
                let source = self.view(&x, shape(inputs, h, x.width()), source)?;
                let to_place = self.view(&place, shape(outputs, h, x.width()), to_lines)?;
                self.graph.convolution_into(to_place, source, &convolution)?;
            }
        }
        Ok(result)
    }

    /// Both are computed: rows of the first become coefficients.
    fn computed(&mut self, a: ValueId, b: ValueId, dims: &[usize]) -> Result<Held, Why> {
        let rank = dims.len();
        let (rows, columns) = (rank - 2, rank - 1);
        let a = self.operand(a)?.with_rank(rank);
        let b = self.operand(b)?.with_rank(rank);
        let a = self.by_column(&a, Some(columns))?;
        let b = self.by_column(&b, Some(columns))?;
        let inner = a.dims[columns];
        let result = self.fresh(dims, Some(columns))?;
        let all = groups(dims, &[rows, columns], &[&a, &b, &result]);
        let heads = (0..all.len()).max_by_key(|&at| all[at].extent);
        let rest: Vec<_> = (0..all.len()).filter(|&at| Some(at) != heads).map(|at| &all[at]).collect();
        let (h, row) = heads.map_or((1, vec![0; 3]), |at| (all[at].extent, all[at].strides.clone()));
        for places in looped(&rest, 3)? {
            let lines =
                |of: usize, held: &Held| Lines { base: places[of], plane: held.strides[rows], row: row[of] };
            let x = self.view(&a, shape(dims[rows], h, inner), lines(0, &a))?;
            let y = self.view(&b, shape(inner, h, dims[columns]), lines(1, &b))?;
            let place = self.view(&result, shape(dims[rows], h, dims[columns]), lines(2, &result))?;
            self.graph.matmul_into(place, x, y)?;
        }
        Ok(result)
    }
}

/// One batch of a tensor that stretches over `batches`; the columns are not among them.
fn batch_of(held: &Held, batches: &[usize], mut at: usize) -> Held {
    let mut one = held.clone();
    for axis in (0..batches.len()).rev() {
        let index = at % batches[axis];
        at /= batches[axis];
        if one.dims[axis] != 1 {
            one.base += index as u64 * one.strides[axis];
            one.dims[axis] = 1;
        }
    }
    one
}
