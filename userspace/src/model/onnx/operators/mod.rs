//! Operators, by the families of the standard's own list.

mod argument;
mod arrange;
mod attention;
mod circular;
mod earlier_versions;
mod elementwise;
mod ends;
mod known_parts;
mod linear;
mod lookup;
mod normal;
mod point;
mod power;
mod quantized;
mod recurrent;
mod reduce;
mod resize;
mod response;
mod single_elements;
mod whole;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::attribute::Attribute;
use super::message::{Node, is_standard};
use super::tensor;
use crate::model::layers::Layers;
use crate::model::network::compose::Compose;
use crate::model::network::operation::Cut;
use crate::model::network::{Array, Kind, Network, Operation, ValueId, array};
use crate::model::problem::Why;

/// A node that is mapped.
pub(super) struct Call<'a, 'b> {
    pub(super) network: &'a mut Network,
    pub(super) node: &'a Node<'b>,
    pub(super) name: &'a str,
    /// `None` where an operand is left out.
    pub(super) inputs: Vec<Option<ValueId>>,
    /// How many results it has.
    pub(super) outputs: usize,
    /// How many of them are read, all up to the last that is.
    pub(super) wanted: usize,
    /// The version of the standard's operators.
    pub(super) opset: i64,
    /// The standard's number of the type of elements, where a tensor of the model says it.
    pub(super) types: &'a HashMap<ValueId, u64>,
    /// Attributes that were looked at.
    pub(super) seen: RefCell<BTreeSet<String>>,
}

/// Attributes that change no number that is computed here: what training does, and how numbers outside of halves are cast.
const IDLE: &[&str] = &[
    "momentum",
    "precision",
    "ratio",
    "round_mode",
    "saturate",
    "seed",
    "stash_type",
    "storage_order",
    "dtype",
    "cubic_coeff_a",
    "exclude_outside",
    "extrapolation_value",
    "num_outputs",
];

/// Operators that compute other whole numbers than they are given. The rest compare, choose or move them, and a number that only says
/// "to the end" is as good as another. [`ends`] says when it may be computed with.
const COMPUTING: &[&str] = &[
    "Abs",
    "CumSum",
    "Add",
    "Div",
    "Einsum",
    "Gemm",
    "MatMul",
    "Mean",
    "Mod",
    "Mul",
    "Neg",
    "Pow",
    "Range",
    "ReduceL1",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Sub",
    "Sum",
];

/// The version of operators in whose form readers of other formats ask.
pub(super) const OPSET_OF_OTHERS: i64 = 18;

/// Whether operators of a domain are those of the standard. Of onnxruntime's own domain, these are.
pub(super) fn is_known(domain: &str, operator: &str) -> bool {
    is_standard(domain) || (domain == "com.microsoft" && operator == "Gelu")
}

/// The results of a node.
pub(super) fn call(call: &mut Call<'_, '_>) -> Result<Vec<ValueId>, Why> {
    let families = [
        whole::call,
        elementwise::call,
        power::call,
        arrange::call,
        single_elements::call,
        lookup::call,
        circular::call,
        reduce::call,
        argument::call,
        linear::call,
        quantized::call,
        window::call,
        response::call,
        normal::call,
        attention::call,
        recurrent::call,
        resize::call,
    ];
    earlier_versions::operands(call)?;
    let is_computing = COMPUTING.contains(&call.node.operator.as_str()) && !ends::stays_one(call);
    if is_computing {
        call.network.is_exact(call.inputs.iter().flatten().copied())?;
    }
    for family in families {
        if let Some(values) = family(call)? {
            call.all_seen()?;
            if is_computing {
                call.network.is_exact(values.iter().copied())?;
            }
            return Ok(values);
        }
    }
    Err(Why::Operation)
}

/// Whether there is such an operator here, for whatever operands.
pub(super) fn is_mapped(node: &Node<'_>) -> bool {
    let (mut network, types) = (Network::default(), HashMap::new());
    let mut without_operands = Call {
        network: &mut network,
        node,
        name: "",
        inputs: Vec::new(),
        outputs: node.outputs.len(),
        wanted: node.outputs.len(),
        opset: OPSET_OF_OTHERS,
        types: &types,
        seen: RefCell::default(),
    };
    is_known(&node.domain, &node.operator) && !matches!(call(&mut without_operands), Err(Why::Operation))
}

/// An attribute that another format's reader gives an operator.
#[derive(Clone, Debug)]
pub(crate) enum Setting {
    Integer(i64),
    Integers(Vec<i64>),
    Single(f64),
    Text(&'static str),
    Texts(Vec<&'static str>),
}

/// The results of an operator on operands, for readers of other formats that have it under another name.
pub(crate) fn apply(
    network: &mut Network,
    name: &str,
    operator: &str,
    inputs: Vec<Option<ValueId>>,
    settings: &[(&str, Setting)],
    outputs: usize,
) -> Result<Vec<ValueId>, Why> {
    let attribute = |setting: &Setting| match setting.clone() {
        Setting::Integer(integer) => Attribute::Integer(integer),
        Setting::Integers(integers) => Attribute::Integers(integers),
        Setting::Single(single) => Attribute::Single(single as f32),
        Setting::Text(text) => Attribute::Text(text.to_owned()),
        Setting::Texts(texts) => Attribute::Texts(texts.into_iter().map(str::to_owned).collect()),
    };
    let attributes =
        settings.iter().map(|(name, setting)| ((*name).to_owned(), attribute(setting))).collect();
    let node = Node { operator: operator.to_owned(), attributes, ..Node::default() };
    let types = &HashMap::new();
    let (wanted, opset, seen) = (outputs, OPSET_OF_OTHERS, RefCell::default());
    call(&mut Call { network, node: &node, name, inputs, outputs, wanted, opset, types, seen })
}

/// The results of a family's function for a node; `None` if the node belongs to another family.
type Made = Result<Option<Vec<ValueId>>, Why>;

fn one(value: ValueId) -> Made {
    Ok(Some(vec![value]))
}

/// Most numbers of a list that is an operand: one for each axis, or for each result.
const LIST_MAX: usize = 1 << 16;

impl Layers for Call<'_, '_> {
    fn network(&self) -> &Network {
        self.network
    }

    fn add_as(&mut self, operation: Operation, inputs: &[ValueId], kind: Kind) -> Result<ValueId, Why> {
        Ok(self.network.add(self.name, operation, inputs, kind)?)
    }
}

impl Call<'_, '_> {
    fn x(&self, index: usize) -> Result<ValueId, Why> {
        self.optional(index).ok_or(Why::Missing { operand: index })
    }

    fn optional(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    fn attribute(&self, name: &str) -> Option<&Attribute<'_>> {
        self.seen.borrow_mut().insert(name.to_owned());
        self.node.attributes.get(name)
    }

    /// Refuses a node with an attribute that its operator was not asked for: what it changes would be left out.
    fn all_seen(&self) -> Result<(), Why> {
        let seen = self.seen.borrow();
        let names = self.node.attributes.keys();
        let other = names.into_iter().find(|name| !seen.contains(*name) && !IDLE.contains(&name.as_str()));
        other.map_or(Ok(()), |name| Err(Self::mode(format!("attribute {name:?} is not mapped"))))
    }

    /// What `of` takes from an attribute, where the node has it; refused if it is of another type than `wanted`.
    fn of_type<T>(
        &self,
        name: &str,
        wanted: &Attribute<'_>,
        of: impl FnOnce(&Attribute<'_>) -> Option<T>,
    ) -> Result<Option<T>, Why> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let (has, wants) = (attribute.kind(), wanted.kind());
        let told = || Self::mode(format!("attribute {name:?} is {has}; this operator takes {wants}"));
        of(attribute).map(Some).ok_or_else(told)
    }

    fn integer(&self, name: &str, otherwise: i64) -> Result<i64, Why> {
        let value = self.of_type(name, &Attribute::Integer(0), |attribute| attribute.integer())?;
        Ok(value.unwrap_or(otherwise))
    }

    fn single(&self, name: &str, otherwise: f32) -> Result<f64, Why> {
        Ok(self.optional_single(name)?.unwrap_or(otherwise).into())
    }

    fn optional_single(&self, name: &str) -> Result<Option<f32>, Why> {
        self.of_type(name, &Attribute::Single(0.0), |attribute| match attribute {
            Attribute::Single(single) => Some(*single),
            Attribute::Empty => Some(0.0),
            _ => None,
        })
    }

    fn text(&self, name: &str, otherwise: &str) -> Result<String, Why> {
        let value = self.of_type(name, &Attribute::Text(String::new()), |attribute| match attribute {
            Attribute::Text(text) => Some(text.clone()),
            Attribute::Empty => Some(String::new()),
            _ => None,
        })?;
        Ok(value.unwrap_or_else(|| otherwise.to_owned()))
    }

    fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, Why> {
        self.of_type(name, &Attribute::Integers(Vec::new()), |attribute| match attribute {
            Attribute::Integers(list) => Some(list.clone()),
            Attribute::Empty => Some(Vec::new()),
            _ => None,
        })
    }

    fn singles(&self, name: &str) -> Result<Option<Vec<f32>>, Why> {
        self.of_type(name, &Attribute::Singles(Vec::new()), |attribute| match attribute {
            Attribute::Singles(list) => Some(list.clone()),
            Attribute::Empty => Some(Vec::new()),
            _ => None,
        })
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, Why> {
        let list = self.of_type(name, &Attribute::Texts(Vec::new()), |attribute| match attribute {
            Attribute::Texts(list) => Some(list.clone()),
            Attribute::Empty => Some(Vec::new()),
            _ => None,
        })?;
        Ok(list.unwrap_or_default())
    }

    /// The message of a tensor that is an attribute.
    fn tensor(&self, name: &str) -> Result<Option<&[u8]>, Why> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        self.of_type(name, &Attribute::Tensor(&[]), |_| attribute.tensor())
    }

    /// The elements of operand `index`, which have to be known.
    fn known(&self, index: usize) -> Result<&Array, Why> {
        let value = self.x(index)?;
        let name = || self.network.values[value].name.clone();
        let array =
            self.network.known(value).ok_or_else(|| Why::NotKnown { operand: index, name: name() })?;
        self.network.count_looks(array.values().len())?;
        Ok(array)
    }

    /// The only element of operand `index`, which has to be known.
    fn number(&self, index: usize) -> Result<f64, Why> {
        let array = self.known(index)?;
        array
            .only()
            .ok_or_else(|| Self::mode(format!("operand {index} of {:?} is not one number", array.dims())))
    }

    /// The halves that hold operand `index`, where it is whole numbers that only the run knows.
    fn halves_at(&self, index: usize) -> Result<Option<ValueId>, Why> {
        let value = self.x(index)?;
        Ok(if self.network.known(value).is_some() { None } else { self.network.halves_of(value) })
    }

    /// A list of whole numbers that is an operand.
    fn list(&self, index: usize) -> Result<Vec<i64>, Why> {
        let values = self.known(index)?.values();
        match values.len() {
            ..=LIST_MAX => Ok(values.iter().map(|&value| array::whole(value)).collect::<Result<_, _>>()?),
            length => {
                Err(Call::mode(format!("a list of {length} numbers is longer than any that is mapped")))
            }
        }
    }

    /// The same, where the operand is there.
    fn list_or(&self, index: usize, otherwise: impl FnOnce() -> Vec<i64>) -> Result<Vec<i64>, Why> {
        if self.optional(index).is_some() { self.list(index) } else { Ok(otherwise()) }
    }

    /// Layers that other readers have as well.
    fn compose(&mut self) -> Compose<'_> {
        Compose { network: self.network, name: self.name }
    }

    fn constant(&mut self, array: Array, kind: Kind) -> ValueId {
        self.network.constant(self.name, array, kind)
    }

    fn scalar(&mut self, value: f64) -> ValueId {
        self.constant(Array::scalar(value), Kind::Real)
    }

    /// Part of one axis.
    fn cut(&mut self, x: ValueId, axis: usize, cut: Cut) -> Result<ValueId, Why> {
        let mut cuts: Vec<Cut> = self.network.dims(x).iter().map(|&extent| Cut::all(extent)).collect();
        let rank = cuts.len();
        match cuts.get_mut(axis) {
            Some(whole) => *whole = cut,
            None => return Err(Self::mode(format!("an operand of {rank} axes is too small"))),
        }
        self.add(Operation::Cut(cuts), &[x])
    }

    fn mode(what: impl Into<String>) -> Why {
        Why::Mode(what.into())
    }
}
