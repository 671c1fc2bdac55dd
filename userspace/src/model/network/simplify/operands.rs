//! A factor or an addend for each element that a product sums up becomes part of the product.
//!
//! `(x * factor + addend) * matrix` is `x * (factor * matrix) + addend * matrix`. Norms end with a factor and an addend, and in most
//! transformers only products read them.

use crate::model::network::array::Array;
use crate::model::network::evaluate::{both, evaluate};
use crate::model::network::operation::{Join, JoinKind, Linear, Operation};
use crate::model::network::{Fault, Kind, Network, Node, ValueId};

/// A factor or an addend of `x`.
struct Applied {
    x: ValueId,
    kind: JoinKind,
    constant: Array,
}

/// The constants of a product that takes in a factor or an addend of its operand.
struct Taken {
    matrix: Array,
    bias: Option<Array>,
}

/// The array's sums are infinite from here on.
const END: f64 = 32768.0;

impl Network {
    /// Has products take factors and addends of their operands, where nothing else reads these. They are read no more.
    pub(super) fn products_take_operands(&mut self) {
        let mut readers = vec![Vec::new(); self.values.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|&input| readers[input].push(at));
        }
        // The last first: behind a norm, an addend follows a factor.
        for at in (0..self.nodes.len()).rev() {
            let made = self.nodes[at].output;
            let is_output = self.outputs.iter().any(|&(_, output)| output == made);
            if is_output || readers[made].is_empty() {
                continue;
            }
            let Some(applied) = self.applied(&self.nodes[at]) else { continue };
            if self.count_matrices(&readers[made]).is_err() {
                continue;
            }
            let all: Option<Vec<Taken>> =
                readers[made].iter().map(|&reader| self.taken(&self.nodes[reader], made, &applied)).collect();
            let Some(all) = all else { continue };
            let products = std::mem::take(&mut readers[made]);
            for (&product, taken) in products.iter().zip(all) {
                self.takes_operand(product, applied.x, taken);
            }
            readers[applied.x].retain(|&reader| reader != at);
            readers[applied.x].extend(products);
        }
    }

    /// Counts the work on another matrix of each of these products, for which there has to be room.
    fn count_matrices(&self, products: &[usize]) -> Result<(), Fault> {
        let elements = |&product: &usize| {
            let known = self.nodes[product].inputs.iter().filter_map(|&input| self.known(input));
            known.map(|array| array.values().len()).sum::<usize>()
        };
        let all: usize = products.iter().map(elements).sum();
        self.has_room(&[all])?;
        self.count_work(all as u64)
    }

    fn applied(&self, node: &Node) -> Option<Applied> {
        let Operation::Join(Join { kind: kind @ (JoinKind::Add | JoinKind::Multiply), relu: false }) =
            node.operation
        else {
            return None;
        };
        let (first, second) = (node.inputs[0], node.inputs[1]);
        let (x, constant) = match (self.known(first), self.known(second)) {
            (None, Some(constant)) => (first, constant),
            (Some(constant), None) => (second, constant),
            _ => return None,
        };
        (self.dims(x) == self.dims(node.output)).then(|| Applied { x, kind, constant: constant.clone() })
    }

    /// A product with a known matrix that has in it what `operand` was multiplied with, or had added.
    fn taken(&self, node: &Node, operand: ValueId, applied: &Applied) -> Option<Taken> {
        let bias = match node.operation {
            Operation::Product => None,
            Operation::Linear(Linear { scale: 1.0, .. }) => match node.inputs.get(2) {
                Some(&bias) => Some(self.known(bias)?),
                None => None,
            },
            _ => return None,
        };
        let (side, matrix) = match (self.known(node.inputs[0]), self.known(node.inputs[1])) {
            (None, Some(matrix)) if node.inputs[0] == operand => (1, matrix),
            (Some(matrix), None) if node.inputs[1] == operand => (0, matrix),
            _ => return None,
        };
        // One value for each element along the axis that is summed up, the last of an operand on the left.
        let dims = self.dims(operand);
        let summed = dims.len() - 2 + side;
        let missing = dims.len().checked_sub(applied.constant.dims().len())?;
        let given = applied.constant.dims().iter().enumerate();
        let fits = given.clone().all(|(axis, &extent)| extent == 1 || axis + missing == summed);
        if !fits || matrix.dims().len() < 2 {
            return None;
        }
        let each = applied.constant.values();
        let values = (0..dims[summed]).map(|at| each[if each.len() == 1 { 0 } else { at }]).collect();
        let shape = |is_row: bool| if is_row { vec![1, dims[summed]] } else { vec![dims[summed], 1] };
        let list = Array::new(shape(side == 1), values).ok()?;
        if applied.kind == JoinKind::Multiply {
            let factors = list.reshaped(shape(side == 0)).ok()?;
            let matrix = both(matrix, &factors, |weight, factor| weight * factor).ok()?;
            return is_within(&matrix).then(|| Taken { matrix, bias: bias.cloned() });
        }
        let operands = if side == 1 { [&list, matrix] } else { [matrix, &list] };
        let sums = evaluate(&Operation::Product, &operands).ok()?;
        let bias = match bias {
            Some(bias) => both(bias, &sums, |bias, sum| bias + sum).ok()?,
            None => sums,
        };
        is_within(&bias).then(|| Taken { matrix: matrix.clone(), bias: Some(bias) })
    }

    fn takes_operand(&mut self, at: usize, x: ValueId, taken: Taken) {
        let name = self.nodes[at].name.clone();
        let matrix = self.constant(&format!("{name} weights"), taken.matrix, Kind::Real);
        let bias = taken.bias.map(|bias| self.constant(&format!("{name} bias"), bias, Kind::Real));
        let side = usize::from(self.known(self.nodes[at].inputs[1]).is_some());
        let node = &mut self.nodes[at];
        node.inputs = if side == 1 { vec![x, matrix] } else { vec![matrix, x] };
        node.inputs.extend(bias);
        if node.operation == Operation::Product {
            node.operation = Operation::Linear(Linear::NONE);
        }
    }
}

fn is_within(array: &Array) -> bool {
    array.values().iter().all(|value| value.abs() < END)
}
