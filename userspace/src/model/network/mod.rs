//! A model as a list of layers over tensors of any rank, whatever format it came in.
//!
//! Readers of formats add layers with [`Network::add`], which infers extents and computes at once what depends on
//! constants alone. [`evaluate`] is the meaning of each operation, in double precision.

pub mod array;
pub(crate) mod compose;
pub mod evaluate;
mod fault;
pub mod operation;
pub(super) mod part;
mod shape;
mod simplify;

pub use array::Array;
pub use fault::Fault;
pub use operation::Operation;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::limits::OPERATIONS_MAX;

/// A tensor of a [`Network`].
pub type ValueId = usize;

/// The kind of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Numbers, which the engine has as halves.
    Real,
    /// Whole numbers, known before the run.
    Integer,
    /// 0 or 1.
    Bool,
}

#[derive(Clone, Debug)]
pub struct Value {
    /// Its name in the model.
    pub name: String,
    /// Extent of each axis.
    pub dims: Vec<usize>,
    /// The kind of its elements.
    pub kind: Kind,
    /// Its elements, where they are known before the run.
    pub constant: Option<Array>,
}

#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the model, or that of its result.
    pub name: String,
    pub operation: Operation,
    pub inputs: Vec<ValueId>,
    pub output: ValueId,
}

/// Layers in the order of their execution.
#[derive(Clone, Debug, Default)]
pub struct Network {
    pub values: Vec<Value>,
    pub nodes: Vec<Node>,
    /// Names of inputs, and what they fill.
    pub inputs: Vec<(String, ValueId)>,
    /// Names of outputs, and what they hold.
    pub outputs: Vec<(String, ValueId)>,
    /// Whole numbers that the run computes, and the halves that hold them exactly.
    wholes: BTreeMap<ValueId, ValueId>,
    /// The halves that hold inputs of whole numbers.
    whole_inputs: BTreeSet<ValueId>,
    /// Remarks of the model's reader.
    pub notes: Vec<String>,
    /// Whether the client fills the result of a layer.
    is_cut: bool,
    /// Elements of constants that the model has, or the user gives.
    stored: u64,
    /// Elements of all other constants, places that layers pick, and what each value counts for beside its elements.
    computed: u64,
    /// Products of all layers that were computed, and what readers did with constants.
    work: Cell<u64>,
}

/// Most elements of the model's own constants together: 4 GB of doubles. (Chosen) Several may be one part of a file, so the size
/// of files is no bound.
const STORED_MAX: u64 = 1 << 29;

/// Most elements of all other constants together: 1 GB of doubles.
const COMPUTED_MAX: u64 = 1 << 27;

/// Products that take as long as a look at an element: to convert it, or to find where it belongs.
const LOOK: u64 = 4;

/// The number of elements that take as much memory as a value and its layer without their elements and their names, and bytes of a
/// name that count for one: values and layers have it each.
const VALUE: u64 = 48;
const NAME: u64 = 4;

impl Network {
    /// A tensor that the client fills.
    ///
    /// # Errors
    ///
    /// [`Fault`] of its extents.
    pub fn input(&mut self, name: &str, dims: Vec<usize>, kind: Kind) -> Result<ValueId, Fault> {
        if array::elements(&dims)? == 0 {
            return Err(Fault::Empty { dims });
        }
        if kind == Kind::Integer {
            return Err(Fault::Integers);
        }
        let value = self.value(name, dims, kind, None);
        self.inputs.push((name.to_owned(), value));
        Ok(value)
    }

    /// A tensor of whole numbers that the client fills, with halves. It has to be read as halves, or bound before the run.
    ///
    /// # Errors
    ///
    /// [`Fault`] of its extents.
    pub fn whole_input(&mut self, name: &str, dims: Vec<usize>) -> Result<ValueId, Fault> {
        let halves = self.input(name, dims, Kind::Real)?;
        self.whole_inputs.insert(halves);
        Ok(self.whole(halves))
    }

    /// Names of inputs that are whole numbers in the model.
    pub fn whole_inputs(&self) -> impl Iterator<Item = &str> {
        let is_whole = |&&(_, value): &&(String, ValueId)| self.whole_inputs.contains(&value);
        self.inputs.iter().filter(is_whole).map(|(name, _)| name.as_str())
    }

    /// The tensor that the client fills in place of a result.
    ///
    /// # Errors
    ///
    /// [`Fault`] of its extents.
    pub(super) fn cut(&mut self, name: &str, result: ValueId) -> Result<ValueId, Fault> {
        self.is_cut = true;
        if self.inputs.iter().any(|(input, value)| input == name && *value == result) {
            return Ok(result);
        }
        let Value { dims, kind, .. } = &self.values[result];
        match (dims.clone(), *kind) {
            (dims, Kind::Integer) => self.whole_input(name, dims),
            (dims, kind) => self.input(name, dims, kind),
        }
    }

    /// Forgets inputs that no output depends on: those of whole numbers, and where a result was cut all of them.
    pub(super) fn forget_unread(&mut self) {
        let mut needed: BTreeSet<ValueId> = self.outputs.iter().map(|&(_, value)| value).collect();
        for node in self.nodes.iter().rev() {
            if needed.contains(&node.output) {
                needed.extend(&node.inputs);
            }
        }
        let may_go = |value: &ValueId| self.is_cut || self.whole_inputs.contains(value);
        self.inputs.retain(|(_, value)| needed.contains(value) || !may_go(value));
    }

    /// A tensor of whole numbers that is filled before the run: whatever reads it is refused.
    pub fn unknown(&mut self, name: &str, dims: Vec<usize>) -> ValueId {
        self.value(name, dims, Kind::Integer, None)
    }

    /// Whole numbers that `halves` holds exactly.
    ///
    /// They may be moved, and read as halves again with [`halves_of`](Self::halves_of). Everything else is refused:
    /// a sum of whole numbers need not fit into a half, and a quotient is another than that of halves.
    pub fn whole(&mut self, halves: ValueId) -> ValueId {
        let Value { name, dims, .. } = self.values[halves].clone();
        let whole = self.unknown(&name, dims);
        self.wholes.insert(whole, halves);
        whole
    }

    /// The halves that hold whole numbers which the run computes.
    pub fn halves_of(&self, value: ValueId) -> Option<ValueId> {
        self.wholes.get(&value).copied()
    }

    /// Gives what a layer makes another name.
    pub fn rename(&mut self, value: ValueId, name: &str) {
        // Values are numbered as they are made, and so are inputs.
        let is_input = self.inputs.binary_search_by_key(&value, |&(_, input)| input).is_ok();
        if let Some(value) = self.values.get_mut(value).filter(|_| !is_input) {
            name.clone_into(&mut value.name);
        }
    }

    /// A tensor of which everything is known before the run.
    pub fn constant(&mut self, name: &str, array: Array, kind: Kind) -> ValueId {
        self.computed += array.values().len() as u64;
        self.value(name, array.dims().to_vec(), kind, Some(array))
    }

    /// A constant of these extents, with the result of `value` at each place in the dense order.
    ///
    /// # Errors
    ///
    /// [`Fault`] where there is no room for so many elements.
    pub fn filled(
        &mut self,
        name: &str,
        dims: Vec<usize>,
        kind: Kind,
        value: impl FnMut(usize) -> f64,
    ) -> Result<ValueId, Fault> {
        self.has_room(&dims)?;
        Ok(self.constant(name, Array::from_fn(dims, value)?, kind))
    }

    /// A constant that the model has itself, or the user gives: a reader asks `has_room_to_store` first.
    pub fn stored(&mut self, name: &str, array: Array, kind: Kind) -> ValueId {
        self.stored += array.values().len() as u64;
        self.value(name, array.dims().to_vec(), kind, Some(array))
    }

    /// A layer; its result is a constant if all operands are.
    ///
    /// # Errors
    ///
    /// [`Fault`] of what it makes no sense of.
    pub fn add(
        &mut self,
        name: &str,
        operation: Operation,
        inputs: &[ValueId],
        kind: Kind,
    ) -> Result<ValueId, Fault> {
        self.is_within_bounds()?;
        let operands: Vec<&[usize]> =
            inputs.iter().map(|&input| self.values[input].dims.as_slice()).collect();
        let dims = shape::infer(&operation, &operands)?;
        // What has no element is no part of what is put together.
        let parts: Vec<ValueId> = match operation {
            Operation::Concat(_) => {
                inputs.iter().copied().filter(|&input| !self.values[input].dims.contains(&0)).collect()
            }
            _ => Vec::new(),
        };
        let inputs = if parts.is_empty() { inputs } else { &parts };
        let constants: Option<Vec<&Array>> =
            inputs.iter().map(|&input| self.values[input].constant.as_ref()).collect();
        if let Some(constants) = constants {
            self.has_room(&dims)?;
            self.count_work(evaluate::work(&operation, &operands, &dims))?;
            let array = evaluate::evaluate(&operation, &constants)?;
            return Ok(self.constant(name, array, kind));
        }
        if array::elements(&dims)? == 0 {
            // The run computes no element of it, so all of it is known.
            return Ok(self.constant(name, Array::new(dims, Vec::new())?, kind));
        }
        if inputs.iter().any(|&input| self.is_unknown_integer(input)) {
            return self.moved(name, operation, inputs);
        }
        if let Some(same) = self.nothing_to_do(&operation, inputs, &dims, kind) {
            return Ok(same);
        }
        if self.nodes.len() >= OPERATIONS_MAX {
            return Err(Fault::Operations);
        }
        // Places that are picked stay as long as constants do, and may be as many.
        if let Operation::Take { indices, .. } = &operation {
            self.has_room(&[indices.len()])?;
            self.computed += indices.len() as u64;
        }
        let output = self.value(name, dims, kind, None);
        self.nodes.push(Node { name: name.to_owned(), operation, inputs: inputs.to_vec(), output });
        Ok(output)
    }

    /// Brings what is known of values of `kind` that were added from `first` on to their type, as a layer in it does.
    pub(in crate::model) fn round_known(
        &mut self,
        first: ValueId,
        made: &[ValueId],
        kind: Kind,
        nearest: impl Fn(f64) -> f64,
    ) {
        for &value in made.iter().filter(|&&value| value >= first) {
            let Some(Value { kind: own, constant: Some(array), .. }) = self.values.get_mut(value) else {
                continue;
            };
            if *own != kind {
                continue;
            }
            // Elements that were only moved have nothing to round, and are shared.
            if array.values().iter().any(|&element| nearest(element) != element) {
                *array = array.map(&nearest);
            }
        }
    }

    /// Refuses known whole numbers that doubles do not hold exactly, where they are computed with.
    ///
    /// # Errors
    ///
    /// [`Fault::Inexact`].
    pub(in crate::model) fn is_exact(&self, values: impl IntoIterator<Item = ValueId>) -> Result<(), Fault> {
        let of = |value: ValueId| self.values.get(value).filter(|value| value.kind == Kind::Integer);
        let known = values.into_iter().filter_map(of).filter_map(|value| value.constant.as_ref());
        match known.filter_map(|array| array.magnitudes().inexact).next() {
            Some(value) => Err(Fault::Inexact { value }),
            None => Ok(()),
        }
    }

    /// Extents of a tensor.
    pub fn dims(&self, value: ValueId) -> &[usize] {
        &self.values[value].dims
    }

    /// The elements of a tensor, where they are known.
    pub fn known(&self, value: ValueId) -> Option<&Array> {
        self.values[value].constant.as_ref()
    }

    /// Refuses a constant for which there is no room beside the others.
    pub(in crate::model) fn has_room(&self, dims: &[usize]) -> Result<(), Fault> {
        let all = self.computed.saturating_add(array::elements(dims)? as u64);
        if all > COMPUTED_MAX { Err(Fault::Computed) } else { Ok(()) }
    }

    /// Whether constants for which nobody asked [`has_room`](Self::has_room) fit: of those there is one for a layer, or few.
    ///
    /// # Errors
    ///
    /// [`Fault::Computed`] where they do not.
    pub(in crate::model) fn is_within_bounds(&self) -> Result<(), Fault> {
        self.has_room(&[0])
    }

    /// Refuses so many elements in the model for which there is no room beside the others.
    pub(in crate::model) fn has_room_to_store(&self, elements: usize) -> Result<(), Fault> {
        let all = self.stored.saturating_add(elements as u64);
        if all > STORED_MAX { Err(Fault::Stored) } else { Ok(()) }
    }

    /// Counts work on constants before it is done, as products; refuses what nobody waits for.
    ///
    /// # Errors
    ///
    /// [`Fault::Work`], [`Fault::WorkTogether`].
    pub(in crate::model) fn count_work(&self, products: u64) -> Result<(), Fault> {
        if products > evaluate::PRODUCTS_MAX {
            return Err(Fault::Work { products });
        }
        let all = self.work.get().saturating_add(products);
        if all > evaluate::PRODUCTS_MAX {
            return Err(Fault::WorkTogether);
        }
        self.work.set(all);
        Ok(())
    }

    /// Counts looks at elements of constants as work, one for each axis along which a place is found.
    ///
    /// # Errors
    ///
    /// As [`count_work`](Self::count_work).
    pub(in crate::model) fn count_looks(&self, looks: usize) -> Result<(), Fault> {
        self.count_work(LOOK.saturating_mul(looks as u64))
    }

    /// Whole numbers that the run computes in another order.
    fn moved(&mut self, name: &str, operation: Operation, inputs: &[ValueId]) -> Result<ValueId, Fault> {
        use Operation::{Cut, Expand, Permute, Reshape, Take};
        let only_moves = matches!(operation, Reshape(_) | Permute(_) | Cut(_) | Expand(_) | Take { .. });
        let &[whole] = inputs else { return Err(Fault::Integers) };
        let halves = self.halves_of(whole).filter(|_| only_moves).ok_or(Fault::Integers)?;
        let moved = self.add(name, operation, &[halves], self.values[halves].kind)?;
        Ok(self.whole(moved))
    }

    fn is_unknown_integer(&self, value: ValueId) -> bool {
        let value = &self.values[value];
        value.kind == Kind::Integer && value.constant.is_none()
    }

    fn value(&mut self, name: &str, dims: Vec<usize>, kind: Kind, constant: Option<Array>) -> ValueId {
        self.computed += VALUE + name.len() as u64 / NAME;
        self.values.push(Value { name: name.to_owned(), dims, kind, constant });
        self.values.len() - 1
    }

    /// The operand, where the operation leaves it as it is.
    fn nothing_to_do(
        &self,
        operation: &Operation,
        inputs: &[ValueId],
        dims: &[usize],
        kind: Kind,
    ) -> Option<ValueId> {
        let &first = inputs.first()?;
        let same = self.values[first].dims == dims && self.values[first].kind == kind;
        let idle = match operation {
            Operation::Reshape(_) | Operation::Expand(_) => true,
            Operation::Permute(order) => order.is_sorted(),
            Operation::Cut(cuts) => cuts.iter().all(|cut| cut.step == 1 || cut.count == 1),
            Operation::Concat(_) => inputs.len() == 1,
            Operation::Pad { .. } | Operation::Stretch(_) => true,
            &Operation::Map(operation::Map::Affine { scale, offset }) => scale == 1.0 && offset == 0.0,
            _ => false,
        };
        (same && idle).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_the_model_have_room_up_to_their_bound() {
        let mut network = Network { stored: STORED_MAX - 2, ..Network::default() };
        assert_eq!(network.has_room_to_store(3), Err(Fault::Stored));
        assert_eq!(network.has_room_to_store(2), Ok(()));
        network.stored("two", Array::list([1.0, 2.0]), Kind::Real);
        assert_eq!(network.has_room_to_store(1), Err(Fault::Stored));
    }

    #[test]
    fn computed_constants_have_room_up_to_their_bound() {
        let mut network = Network { computed: COMPUTED_MAX - 2, ..Network::default() };
        assert_eq!(network.filled("three", vec![3], Kind::Real, |_| 0.0), Err(Fault::Computed));
        assert_eq!(network.is_within_bounds(), Ok(()));
        let two = network.filled("two", vec![2], Kind::Real, |_| 0.0).unwrap();
        // What it counts for beside its elements leaves no room for a layer.
        let next = network.add("next", Operation::Map(operation::Map::Relu), &[two], Kind::Real);
        assert_eq!(next, Err(Fault::Computed));
    }

    #[test]
    fn values_count_without_elements_and_by_their_names() {
        let (name, room, mut layers) = ("n".repeat(1 << 20), 1 << 20, 0_u64);
        let mut network = Network { computed: COMPUTED_MAX - room, ..Network::default() };
        let x = network.input("x", vec![1], Kind::Real).unwrap();
        while network.add(&name, Operation::Map(operation::Map::Relu), &[x], Kind::Real).is_ok() {
            layers += 1;
        }
        assert!(layers.abs_diff(room * NAME / name.len() as u64) <= 1, "{layers}");
    }

    #[test]
    fn layers_have_time_up_to_the_bound_of_their_work() {
        let most = evaluate::PRODUCTS_MAX;
        let mut network = Network::default();
        assert_eq!(network.count_work(most + 1), Err(Fault::Work { products: most + 1 }));
        let four = network.constant("four", Array::list([1.0; 4]), Kind::Real);
        let sum = || {
            Operation::Reduce(operation::Reduce {
                kind: operation::ReduceKind::Sum,
                axes: vec![0],
                square: false,
                epsilon: 0.0,
                post: operation::Post::None,
            })
        };
        network.work.set(most - 7);
        // The sum of four elements counts the four that it reads.
        network.add("sum", sum(), &[four], Kind::Real).unwrap();
        assert_eq!(network.work.get(), most - 3);
        assert_eq!(network.add("sum", sum(), &[four], Kind::Real), Err(Fault::WorkTogether));
        let relu = Operation::Map(operation::Map::Relu);
        assert_eq!(network.add("relu", relu.clone(), &[four], Kind::Real), Err(Fault::WorkTogether));
        // The run's layers are no work here.
        let x = network.input("x", vec![4], Kind::Real).unwrap();
        network.add("relu", relu, &[x], Kind::Real).unwrap();
        assert_eq!(network.work.get(), most - 3);
    }
}
