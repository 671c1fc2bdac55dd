//! Layers that the engine does in one pass are made one: what follows a convolution and what is known joins it.
//!
//! * `norms`: means, deviations and what they are applied to.
//! * `products`: what follows a matrix product. `operands`: what its operand was multiplied with.
//! * `reductions`: what stands around a reduction.

mod norms;
mod operands;
mod products;
mod reductions;

use super::array::Array;
use super::operation::{Join, JoinKind, Map, Operation};
use super::{Network, ValueId};

/// Who makes each value, and how often it is read.
struct Uses {
    made_by: Vec<Option<usize>>,
    reads: Vec<usize>,
}

impl Uses {
    fn of(network: &Network) -> Self {
        let mut uses =
            Self { made_by: vec![None; network.values.len()], reads: vec![0; network.values.len()] };
        for (index, node) in network.nodes.iter().enumerate() {
            uses.made_by[node.output] = Some(index);
            node.inputs.iter().for_each(|&input| uses.reads[input] += 1);
        }
        network.outputs.iter().for_each(|&(_, value)| uses.reads[value] += 1);
        uses
    }

    /// The layer that makes a value which only one layer reads.
    fn alone(&self, value: ValueId) -> Option<usize> {
        if self.reads[value] == 1 { self.made_by[value] } else { None }
    }
}

impl Network {
    /// Joins layers, and leaves out those whose results are not read.
    pub fn simplify(&mut self) {
        let mut uses = Uses::of(self);
        let mut joined = vec![false; self.nodes.len()];
        for (at, joined) in joined.iter_mut().enumerate() {
            self.divides_by_reduction(at, &uses);
            self.becomes_norm(at, &uses);
            let into = self.joins_producer(at, &uses).or_else(|| self.joins_reduction(at, &uses));
            let Some(into) = into else {
                self.gives_relu(at, &uses);
                continue;
            };
            let (output, name) = (self.nodes[at].output, self.nodes[at].name.clone());
            uses.reads[self.nodes[into].output] = 0;
            uses.made_by[output] = Some(into);
            self.nodes[into].output = output;
            self.nodes[into].name = name;
            *joined = true;
        }
        let mut left = joined.iter();
        self.nodes.retain(|_| left.next() == Some(&false));
        self.products_take_operands();
        self.drop_unread();
    }

    /// Takes layer `at` into the one that makes its operand, which is returned.
    fn joins_producer(&mut self, at: usize, uses: &Uses) -> Option<usize> {
        let node = &self.nodes[at];
        match node.operation {
            Operation::Map(map) => {
                let producer = uses.alone(node.inputs[0])?;
                let takes = match map {
                    Map::Affine { scale, offset } => self.product_takes_affine(producer, scale, offset),
                    _ => self.takes_activation(producer, map),
                };
                takes.then_some(producer)
            }
            Operation::Join(Join { kind: kind @ (JoinKind::Add | JoinKind::Multiply), relu }) => {
                let (first, second) = (node.inputs[0], node.inputs[1]);
                let (x, constant) = match (self.known(first).is_some(), self.known(second).is_some()) {
                    (false, true) => (first, second),
                    (true, false) => (second, first),
                    _ => return None,
                };
                let producer = uses.alone(x)?;
                let constant = self.known(constant)?.clone();
                let stays = self.dims(x) == self.dims(node.output);
                let joins = stays
                    && (self.joins_convolution(producer, x, &constant, kind, relu)
                        || !relu && self.product_takes(producer, kind, &constant));
                joins.then_some(producer)
            }
            _ => None,
        }
    }

    /// The lower bound of a clip at 0 that is a layer by itself becomes the ReLU of the layer before; the upper one stays.
    fn gives_relu(&mut self, at: usize, uses: &Uses) {
        let node = &self.nodes[at];
        let Operation::Map(Map::Clip(0.0, high)) = node.operation else { return };
        if let Some(producer) = uses.alone(node.inputs[0])
            && self.takes_activation(producer, Map::Relu)
        {
            self.nodes[at].operation = Operation::Map(Map::Clip(f64::NEG_INFINITY, high));
        }
    }

    /// Has a layer end with a function of each element, if it can and does not yet.
    fn takes_activation(&mut self, producer: usize, map: Map) -> bool {
        match &mut self.nodes[producer].operation {
            Operation::Convolution(convolution)
                if convolution.activation.is_none() && map.ends_convolution() =>
            {
                convolution.activation = Some(map);
            }
            Operation::Join(join) if map == Map::Relu && is_planar(join.kind) && !join.relu => {
                join.relu = true
            }
            Operation::Product | Operation::Linear(_) => return self.product_takes_activation(producer, map),
            _ => return false,
        }
        true
    }

    /// A factor or an addend for each channel becomes part of weights and bias.
    fn joins_convolution(
        &mut self,
        producer: usize,
        x: ValueId,
        factors: &Array,
        kind: JoinKind,
        relu: bool,
    ) -> bool {
        let Operation::Convolution(mut convolution) = self.nodes[producer].operation.clone() else {
            return false;
        };
        let inputs = self.nodes[producer].inputs.clone();
        let outputs = self.dims(x)[1];
        let rank = self.dims(x).len();
        let Some(weights) = self.known(inputs[1]) else { return false };
        let Some(each) = per_channel(factors, outputs, rank) else { return false };
        let old_bias = match inputs.get(2) {
            Some(&bias) => match self.known(bias) {
                Some(bias) => bias.values().to_vec(),
                None => return false,
            },
            None => vec![0.0; outputs],
        };
        if convolution.activation.is_some() || self.has_room(weights.dims()).is_err() {
            return false;
        }
        let (weights, bias) = match kind {
            JoinKind::Multiply => {
                let taps: usize = weights.dims()[1..].iter().product();
                let scaled = weights.values().iter().enumerate();
                let scaled = scaled.map(|(at, weight)| weight * each[at / taps.max(1)]).collect();
                let Ok(weights) = Array::new(weights.dims().to_vec(), scaled) else { return false };
                (
                    Some(weights),
                    old_bias.iter().zip(&each).map(|(bias, factor)| bias * factor).collect::<Vec<_>>(),
                )
            }
            _ => (None, old_bias.iter().zip(&each).map(|(bias, addend)| bias + addend).collect()),
        };
        convolution.activation = relu.then_some(Map::Relu);
        let name = self.nodes[producer].name.clone();
        let weights = match weights {
            Some(weights) => self.constant(&format!("{name} weights"), weights, super::Kind::Real),
            None => inputs[1],
        };
        let has_bias = inputs.len() == 3 || bias.iter().any(|&value| value != 0.0);
        let mut operands = vec![inputs[0], weights];
        if has_bias {
            operands.push(self.constant(&format!("{name} bias"), Array::list(bias), super::Kind::Real));
        }
        self.nodes[producer].operation = Operation::Convolution(convolution);
        self.nodes[producer].inputs = operands;
        true
    }

    fn drop_unread(&mut self) {
        let mut wanted = vec![false; self.values.len()];
        self.outputs.iter().for_each(|&(_, value)| wanted[value] = true);
        let mut kept = Vec::new();
        for node in std::mem::take(&mut self.nodes).into_iter().rev() {
            if wanted[node.output] {
                node.inputs.iter().for_each(|&input| wanted[input] = true);
                kept.push(node);
            }
        }
        kept.reverse();
        self.nodes = kept;
    }
}

/// Whether the planar engine does it in one pass, so that ReLU can go with it.
const fn is_planar(kind: JoinKind) -> bool {
    use JoinKind::{Add, Maximum, Minimum, Multiply, Subtract};
    matches!(kind, Add | Subtract | Multiply | Maximum | Minimum)
}

/// The value for each channel of an array that is the same over everything else.
fn per_channel(array: &Array, channels: usize, rank: usize) -> Option<Vec<f64>> {
    if let Some(value) = array.only() {
        return Some(vec![value; channels]);
    }
    let missing = rank.checked_sub(array.dims().len())?;
    let fits = |(axis, &extent): (usize, &usize)| extent == if axis + missing == 1 { channels } else { 1 };
    array.dims().iter().enumerate().all(fits).then(|| array.values().to_vec())
}
