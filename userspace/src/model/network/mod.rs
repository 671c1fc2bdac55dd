//! A model as a list of layers over tensors of any rank, whatever format it came in.
//!
//! Readers of formats add layers with [`Network::add`], which infers extents and computes at once what depends on
//! constants alone. [`evaluate`] is the meaning of each operation, in double precision.

pub mod array;
pub(crate) mod compose;
pub mod evaluate;
pub mod operation;
mod shape;
mod simplify;

use thiserror::Error;

pub use array::Array;
pub use operation::Operation;

/// A tensor of a [`Network`].
pub type ValueId = usize;

/// What elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Numbers, which the engine has as halves.
    Real,
    /// Whole numbers, known before the run.
    Integer,
    /// 0 or 1.
    Bool,
}

/// A tensor.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name in the model.
    pub name: String,
    /// Extent of each axis.
    pub dims: Vec<usize>,
    /// What its elements are.
    pub kind: Kind,
    /// Its elements, where they are known before the run.
    pub constant: Option<Array>,
}

/// A layer.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the model, or that of its result.
    pub name: String,
    /// What it does.
    pub operation: Operation,
    /// Of what.
    pub inputs: Vec<ValueId>,
    /// What it makes.
    pub output: ValueId,
}

/// Layers in the order of their execution.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Tensors.
    pub values: Vec<Value>,
    /// Layers.
    pub nodes: Vec<Node>,
    /// Names of inputs, and what they fill.
    pub inputs: Vec<(String, ValueId)>,
    /// Names of outputs, and what they hold.
    pub outputs: Vec<(String, ValueId)>,
    /// Elements of all constants.
    known: u64,
}

/// Most elements of all constants together: 1 GB of doubles.
const KNOWN_MAX: u64 = 1 << 27;

/// Why a layer makes no sense.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// More elements than are computed here, or than the engine has room for.
    #[error("a tensor of {dims:?} has more than 2^26 elements")]
    Elements {
        /// Its extents.
        dims: Vec<usize>,
    },
    /// Too many axes.
    #[error("a tensor has {rank} axes, of which there may be 12")]
    Rank {
        /// How many.
        rank: usize,
    },
    /// Extents and elements that do not agree.
    #[error("{values} elements do not make a tensor of {dims:?}")]
    Length {
        /// The extents.
        dims: Vec<usize>,
        /// How many elements there are.
        values: usize,
    },
    /// Extents that cannot be stretched to each other.
    #[error("tensors of {first:?} and {second:?} do not go together")]
    Broadcast {
        /// One.
        first: Vec<usize>,
        /// The other.
        second: Vec<usize>,
    },
    /// A number that is wrong for its place.
    #[error("{what} of {value} does not fit a tensor of {dims:?}")]
    Wrong {
        /// What it is.
        what: &'static str,
        /// The number.
        value: i64,
        /// The tensor.
        dims: Vec<usize>,
    },
    /// Another number of operands.
    #[error("takes {wanted} operands, here are {given}")]
    Operands {
        /// How many.
        wanted: &'static str,
        /// How many there are.
        given: usize,
    },
    /// An empty tensor.
    #[error("a tensor of {dims:?} has no element")]
    Empty {
        /// Its extents.
        dims: Vec<usize>,
    },
    /// All constants together.
    #[error("constants of the model have more than 2^27 elements together")]
    Constants,
    /// More work before the run than anybody waits for.
    #[error("computing it before the run takes {products} products; 2^32 are the most")]
    Work {
        /// How many.
        products: u64,
    },
    /// A run-time operand of whole numbers.
    #[error("an operand of whole numbers is not known before the run, and the engine computes in halves")]
    Integers,
}

impl Network {
    /// A tensor that the client fills.
    ///
    /// # Errors
    ///
    /// [`Fault`] of its extents.
    pub fn input(&mut self, name: &str, dims: Vec<usize>, kind: Kind) -> Result<ValueId, Fault> {
        check_extents(&dims)?;
        if kind == Kind::Integer {
            return Err(Fault::Integers);
        }
        let value = self.value(name, dims, kind, None);
        self.inputs.push((name.to_owned(), value));
        Ok(value)
    }

    /// A tensor of whole numbers that is filled before the run: whatever reads it is refused.
    pub fn unknown(&mut self, name: &str, dims: Vec<usize>) -> ValueId {
        self.value(name, dims, Kind::Integer, None)
    }

    /// Gives what a layer makes another name.
    pub fn rename(&mut self, value: ValueId, name: &str) {
        let is_input = self.inputs.iter().any(|&(_, input)| input == value);
        if let Some(value) = self.values.get_mut(value).filter(|_| !is_input) {
            name.clone_into(&mut value.name);
        }
    }

    /// A tensor of which everything is known.
    pub fn constant(&mut self, name: &str, array: Array, kind: Kind) -> ValueId {
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
        let operands: Vec<&[usize]> =
            inputs.iter().map(|&input| self.values[input].dims.as_slice()).collect();
        let dims = shape::infer(&operation, &operands)?;
        let constants: Option<Vec<&Array>> =
            inputs.iter().map(|&input| self.values[input].constant.as_ref()).collect();
        if let Some(constants) = constants {
            self.has_room(&dims)?;
            let array = evaluate::evaluate(&operation, &constants)?;
            return Ok(self.constant(name, array, kind));
        }
        check_extents(&dims)?;
        if inputs.iter().any(|&input| self.is_unknown_integer(input)) {
            return Err(Fault::Integers);
        }
        if let Some(same) = self.nothing_to_do(&operation, inputs, &dims, kind) {
            return Ok(same);
        }
        let output = self.value(name, dims, kind, None);
        self.nodes.push(Node { name: name.to_owned(), operation, inputs: inputs.to_vec(), output });
        Ok(output)
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
    fn has_room(&self, dims: &[usize]) -> Result<(), Fault> {
        let all = self.known.saturating_add(array::elements(dims)? as u64);
        if all > KNOWN_MAX { Err(Fault::Constants) } else { Ok(()) }
    }

    fn is_unknown_integer(&self, value: ValueId) -> bool {
        let value = &self.values[value];
        value.kind == Kind::Integer && value.constant.is_none()
    }

    fn value(&mut self, name: &str, dims: Vec<usize>, kind: Kind, constant: Option<Array>) -> ValueId {
        self.known += constant.as_ref().map_or(0, |array| array.values().len() as u64);
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

fn check_extents(dims: &[usize]) -> Result<(), Fault> {
    match array::elements(dims)? {
        0 => Err(Fault::Empty { dims: dims.to_vec() }),
        _ => Ok(()),
    }
}
