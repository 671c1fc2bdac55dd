//! Matrix products: a known matrix is a convolution's weights, two computed ones are a rewrite and a product (td 7.3).

use std::rc::Rc;

use super::held::{Held, groups, looped};
use super::{Lower, Why, maps, shape};
use crate::build::{Convolution, Lines, Tail, Weights};
use crate::model::network::array::{Walk, stretched};
use crate::model::network::operation::Linear;
use crate::model::network::{Array, ValueId};

/// A known matrix, and what the array does behind the sums of its products.
struct Known<'a> {
    matrix: &'a Array,
    /// Stretches to the result.
    bias: Option<&'a Array>,
    /// Multiplies the sums, before the bias is added.
    scale: f64,
    tail: Tail,
    /// The axis of the operand that is summed up, and in whose place the outputs are.
    axis: usize,
    /// The outputs become columns, if that is no more work.
    turns: bool,
}

/// Most weights of all products together. (Chosen) To pack as many takes about a minute; the steps of a recurrent layer have the
/// same, which are packed for each step.
const WEIGHTS_MAX: u64 = 1 << 34;

/// What the halves of a matrix follow from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MatrixKey {
    at: *const f64,
    ordered: Vec<usize>,
    steps: Vec<isize>,
}

impl Lower<'_> {
    /// The product of the first two operands, and what follows it.
    pub(super) fn product(
        &mut self,
        linear: &Linear,
        inputs: &[ValueId],
        output: ValueId,
    ) -> Result<Held, Why> {
        let network = self.network;
        let dims = network.dims(output);
        let tail = match linear.activation {
            Some(map) => maps::tail(map).ok_or(Why::Operation)?,
            None => Tail::NONE,
        };
        let (a, b) = (inputs[0], inputs[1]);
        // Columns of a matrix on the right make the elements of the last axis, rows of one on the left those of the axis before.
        let (operand, matrix, axis) = match (network.known(a), network.known(b)) {
            (_, Some(matrix)) => (a, matrix, dims.len() - 1),
            (Some(matrix), None) => (b, matrix, dims.len() - 2),
            (None, None) => {
                let post_scale = self.halves(&[linear.scale])[0];
                return self.computed(inputs, dims, Tail { post_scale, ..tail });
            }
        };
        let bias = match inputs.get(2) {
            Some(&bias) => Some(network.known(bias).ok_or_else(|| self.not_known(inputs, 2))?),
            None => None,
        };
        let x = self.operand(operand)?.with_rank(dims.len());
        let turns = self.is_wanted_as_columns(output, axis);
        self.by_weights(&x, &Known { matrix, bias, scale: linear.scale, tail, axis, turns }, dims)
    }

    /// `x` times a known matrix.
    fn by_weights(&mut self, x: &Held, known: &Known<'_>, dims: &[usize]) -> Result<Held, Why> {
        let (rank, axis, matrix) = (dims.len(), known.axis, known.matrix);
        // With a matrix for each batch, a batch is found by its strides, which columns have not.
        let many = matrix.dims().iter().rev().skip(2).any(|&extent| extent != 1);
        let mut taken = vec![axis];
        if many {
            taken.extend(0..rank - 2);
        }
        let x = self.column_beside(x, &taken)?;
        let (outputs, inputs) = (dims[axis], x.dims[axis]);
        let turns =
            known.turns && !many && outputs > 1 && self.graph.turns_at_once(inputs, outputs, x.width());
        let result = self.fresh(dims, if turns { Some(axis) } else { x.column })?;
        let batches = &dims[..rank - 2];
        // One matrix for all, or one for each batch.
        let count = if many { batches.iter().product() } else { 1 };
        if count as u64 > super::TASKS_MAX {
            return Err(Why::Tasks { tasks: count as u64, most: super::TASKS_MAX });
        }
        let weights =
            [count, outputs, inputs].iter().fold(1, |all: u64, &each| all.saturating_mul(each as u64));
        self.weights = self.weights.saturating_add(weights);
        if self.weights > WEIGHTS_MAX {
            return Err(Why::Mode("all products together have more than 2^34 weights".to_owned()));
        }
        // For each batch the outputs, and for each output what it reads.
        let ordered = [batches, &[outputs, inputs]].concat();
        let mut steps = stretched(
            matrix.dims(),
            &if axis == rank - 1 { [batches, &[inputs, outputs]].concat() } else { ordered.clone() },
        );
        if axis == rank - 1 {
            steps.swap(rank - 2, rank - 1);
        }
        // The array adds the bias before it multiplies, and some functions have a factor of their own.
        let scale = known.scale;
        let post_scale = self.halves(&[scale * known.tail.post_scale.to_f64()])[0];
        // Constants stay where they are for as long as there is a network.
        let key = MatrixKey { at: matrix.values().as_ptr(), ordered: ordered.clone(), steps: steps.clone() };
        let mut weights = Walk::new(&ordered, 0, &steps);
        let biases = [batches, &[outputs]].concat();
        let bias_steps = known.bias.map(|bias| {
            let steps = stretched(bias.dims(), dims);
            [&steps[..rank - 2], &[steps[axis]]].concat()
        });
        let mut bias = bias_steps.as_ref().map(|steps| Walk::new(&biases, 0, steps));
        for batch in 0..count {
            let halves = match &self.matrix {
                Some((same, halves)) if *same == key => Rc::clone(halves),
                _ => {
                    let each = |_| matrix.values()[weights.next_place()];
                    let ordered: Vec<f64> = (0..outputs * inputs).map(each).collect();
                    self.halves_of_parts(&ordered, scale).into()
                }
            };
            if !many {
                self.matrix = Some((key.clone(), Rc::clone(&halves)));
            }
            let bias: Option<Vec<f64>> = known.bias.zip(bias.as_mut()).map(|(known, walk)| {
                (0..outputs).map(|_| known.values()[walk.next_place()] / scale).collect()
            });
            let bias = bias.map(|bias| self.halves(&bias));
            let convolution = Convolution {
                bias: bias.as_deref(),
                tail: Tail { transpose: turns, post_scale, ..known.tail },
                ..Convolution::new(super::extent(outputs), (1, 1), Weights::Half(&halves))
            };
            let (x, place) = if many {
                (batch_of(&x, batches, batch), batch_of(&result, batches, batch))
            } else {
                (x.clone(), result.clone())
            };
            let mut skip = vec![axis];
            skip.extend(x.column);
            let all = groups(&place.dims, &skip, &[&x, &place]);
            let rows = (0..all.len()).max_by_key(|&at| all[at].extent);
            let rest: Vec<_> = (0..all.len()).filter(|&at| Some(at) != rows).map(|at| &all[at]).collect();
            let (h, row) = rows.map_or((1, vec![0; 2]), |at| (all[at].extent, all[at].strides.clone()));
            for places in looped(&rest, 2)? {
                let source = Lines { base: places[0], plane: x.strides[axis], row: row[0] };
                let channels = if turns { x.column } else { Some(axis) };
                let plane = channels.map_or(0, |axis| place.strides[axis]);
                let to_lines = Lines { base: places[1], plane, row: row[1] };
                let source = self.view(&x, shape(inputs, h, x.width()), source)?;
                let (c, w) = if turns { (x.width(), outputs) } else { (outputs, x.width()) };
                let to_place = self.view(&place, shape(c, h, w), to_lines)?;
                self.graph.convolution_into(to_place, source, &convolution)?;
            }
        }
        Ok(result)
    }

    /// Both are computed: rows of the first become coefficients.
    fn computed(&mut self, inputs: &[ValueId], dims: &[usize], tail: Tail) -> Result<Held, Why> {
        let rank = dims.len();
        let (rows, columns) = (rank - 2, rank - 1);
        let a = self.operand(inputs[0])?.with_rank(rank);
        let b = self.operand(inputs[1])?.with_rank(rank);
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
            self.graph.matmul_into(place, x, y, tail)?;
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
