//! Some layers of a network as a network of their own.

use std::collections::BTreeMap;

use super::{Network, Node, ValueId};

/// Layers that follow each other: what they read of others are inputs, and each of their results is an output.
#[derive(Debug, Default)]
pub(in crate::model) struct Part {
    pub(in crate::model) network: Network,
    /// The values of the whole network that fill the inputs, in their order.
    pub(in crate::model) filled_by: Vec<ValueId>,
    /// The place of each value of the whole network in this one.
    places: BTreeMap<ValueId, ValueId>,
}

impl Part {
    /// The layers from `first` on, as many as have no more than so many surfaces, inputs and outputs, and whose results have no more
    /// than so many elements. It has one layer at least.
    pub(in crate::model) fn of(whole: &Network, first: usize, surfaces: usize, elements: usize) -> Self {
        let mut part = Self::default();
        let mut left = elements;
        for node in whole.nodes.iter().skip(first) {
            let taken = part.filled_by.len() + part.network.outputs.len();
            let more = part.missing(whole, node) + 1;
            // A value of a network has a bounded number of elements.
            let count = whole.dims(node.output).iter().product();
            if !part.network.nodes.is_empty() && (taken + more > surfaces || count > left) {
                break;
            }
            left = left.saturating_sub(count);
            part.push(whole, node);
        }
        part
    }

    /// A value of the whole network: a constant as it is, anything else as an input if no layer here makes it.
    pub(in crate::model) fn value(&mut self, whole: &Network, value: ValueId) -> ValueId {
        if let Some(&place) = self.places.get(&value) {
            return place;
        }
        let of = &whole.values[value];
        let place = self.network.value(&of.name, of.dims.clone(), of.kind, of.constant.clone());
        if of.constant.is_none() {
            self.network.inputs.push((format!("input{}", self.filled_by.len()), place));
            self.filled_by.push(value);
        }
        self.places.insert(value, place);
        place
    }

    /// Has a value of this network as an output.
    pub(in crate::model) fn output(&mut self, place: ValueId) {
        self.network.outputs.push((format!("output{}", self.network.outputs.len()), place));
    }

    /// Inputs that a layer would add.
    fn missing(&self, whole: &Network, node: &Node) -> usize {
        let is_missing =
            |&&input: &&ValueId| whole.values[input].constant.is_none() && !self.places.contains_key(&input);
        node.inputs.iter().filter(is_missing).count()
    }

    fn push(&mut self, whole: &Network, node: &Node) {
        let inputs = node.inputs.iter().map(|&input| self.value(whole, input)).collect();
        let of = &whole.values[node.output];
        let output = self.network.value(&of.name, of.dims.clone(), of.kind, None);
        self.places.insert(node.output, output);
        self.network.nodes.push(Node { inputs, output, ..node.clone() });
        self.output(output);
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::{Join, JoinKind, Map};
    use super::super::{Array, Kind, Operation};
    use super::*;

    /// `x`, then so many layers, each of which adds the one before to `x`.
    fn chain(layers: usize) -> Network {
        let mut network = Network::default();
        let x = network.input("x", vec![2], Kind::Real).unwrap();
        let mut last = x;
        for layer in 0..layers {
            let add = Operation::Join(Join { kind: JoinKind::Add, relu: false });
            last = network.add(&format!("layer{layer}"), add, &[last, x], Kind::Real).unwrap();
        }
        network.outputs.push(("y".to_owned(), last));
        network
    }

    #[test]
    fn parts_have_each_layer_once_and_no_more_surfaces_than_they_may() {
        let whole = chain(23);
        let mut first = 0;
        while first < whole.nodes.len() {
            let part = Part::of(&whole, first, 8, usize::MAX);
            assert!(part.filled_by.len() + part.network.nodes.len() <= 8);
            assert_eq!(part.network.inputs.len(), part.filled_by.len());
            assert_eq!(part.network.outputs.len(), part.network.nodes.len());
            let names = |nodes: &[Node]| nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>();
            let expected = &whole.nodes[first..][..part.network.nodes.len()];
            assert_eq!(names(&part.network.nodes), names(expected));
            first += part.network.nodes.len();
        }
        assert_eq!(first, 23);
        assert_eq!(Part::of(&whole, 0, 8, 4).network.nodes.len(), 2, "each result has two elements");
        // The result of the layer before, and `x`.
        assert_eq!(Part::of(&whole, 5, 8, usize::MAX).filled_by, [whole.nodes[4].output, whole.inputs[0].1]);
    }

    #[test]
    fn constants_are_no_inputs_and_one_layer_is_taken_whatever_it_reads() {
        let mut whole = chain(1);
        let constant = whole.constant("c", Array::list([1.0, 2.0]), Kind::Real);
        let x = whole.inputs[0].1;
        let joined = whole.add("joined", Operation::Concat(0), &[x, constant, x], Kind::Real).unwrap();
        whole.add("relu", Operation::Map(Map::Relu), &[joined], Kind::Real).unwrap();
        let part = Part::of(&whole, 1, 0, 0);
        assert_eq!((part.filled_by, part.network.nodes.len()), (vec![x], 1));
        assert_eq!(part.network.nodes[0].name, whole.values[joined].name);
    }
}
