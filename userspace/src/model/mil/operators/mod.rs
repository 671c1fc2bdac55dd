//! Operations, by families. Where an operator of ONNX does the same, the operation becomes that one.

mod arrange;
mod compressed;
mod elementwise;
mod linear;
mod normal;
mod recurrent;
mod resize;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use crate::container::excerpt;
use crate::model::layers::Layers;
use crate::model::network::compose::Compose;
use crate::model::network::{Array, Kind, Network, Operation, ValueId, array};
use crate::model::onnx::operators::{Setting, apply};
use crate::model::problem::Why;

/// An operand of an operation.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Value(ValueId),
    Text(String),
}

/// An operation that is mapped.
pub(super) struct Call<'a> {
    network: &'a mut Network,
    operator: &'a str,
    name: &'a str,
    arguments: BTreeMap<String, Vec<Operand>>,
    /// How many results are wanted.
    outputs: usize,
    /// Operands that were looked at.
    seen: BTreeSet<&'static str>,
}

/// Operands that change no number: whether indices are checked when it runs.
const IDLE: &[&str] = &["validate_indices"];

/// The result of a family for an operation; `None` if the operation is another's.
type Made = Result<Option<Vec<ValueId>>, Why>;

fn one(value: ValueId) -> Made {
    Ok(Some(vec![value]))
}

/// The results of an operation.
pub(super) fn call(call: &mut Call<'_>) -> Result<Vec<ValueId>, Why> {
    let families = [
        elementwise::call,
        arrange::call,
        linear::call,
        window::call,
        normal::call,
        resize::call,
        compressed::call,
        recurrent::call,
    ];
    for family in families {
        if let Some(values) = family(call)? {
            let names = call.arguments.keys();
            let other = names
                .into_iter()
                .find(|name| !call.seen.contains(name.as_str()) && !IDLE.contains(&name.as_str()));
            return other.map_or(Ok(values), |name| Err(mode(format!("operand {name:?} is not mapped"))));
        }
    }
    Err(Why::Operation)
}

/// Whether there is such an operation here, for whatever operands.
pub(super) fn is_mapped(operator: &str) -> bool {
    let mut network = Network::default();
    let mut without_operands = Call::new(&mut network, operator, "", BTreeMap::new(), 1);
    !matches!(call(&mut without_operands), Err(Why::Operation))
}

fn mode(what: impl Into<String>) -> Why {
    Why::Mode(what.into())
}

impl Layers for Call<'_> {
    fn network(&self) -> &Network {
        self.network
    }

    fn add_as(&mut self, operation: Operation, inputs: &[ValueId], kind: Kind) -> Result<ValueId, Why> {
        Ok(self.network.add(self.name, operation, inputs, kind)?)
    }
}

impl<'a> Call<'a> {
    pub(super) fn new(
        network: &'a mut Network,
        operator: &'a str,
        name: &'a str,
        arguments: BTreeMap<String, Vec<Operand>>,
        outputs: usize,
    ) -> Self {
        Self { network, operator, name, arguments, outputs, seen: BTreeSet::new() }
    }

    fn operand(&mut self, name: &'static str) -> Option<&Operand> {
        self.seen.insert(name);
        self.arguments.get(name).and_then(|operands| operands.first())
    }

    /// An operand that may be left out.
    fn optional(&mut self, name: &'static str) -> Result<Option<ValueId>, Why> {
        match self.operand(name) {
            Some(Operand::Value(value)) => Ok(Some(*value)),
            Some(Operand::Text(text)) => {
                let text = excerpt(text);
                Err(mode(format!("operand {name:?} is the text {text:?}, where a tensor belongs")))
            }
            None => Ok(None),
        }
    }

    fn tensor(&mut self, name: &'static str) -> Result<ValueId, Why> {
        self.optional(name)?.ok_or_else(|| mode(format!("operand {name:?} is missing")))
    }

    fn x(&mut self) -> Result<ValueId, Why> {
        self.tensor("x")
    }

    /// Operands of which there are several under one name.
    fn several(&mut self, name: &'static str) -> Result<Vec<ValueId>, Why> {
        self.seen.insert(name);
        let operands = self.arguments.get(name).map_or(&[][..], Vec::as_slice);
        let tensor = |operand: &Operand| match operand {
            Operand::Value(value) => Ok(*value),
            Operand::Text(_) => Err(mode(format!("operand {name:?} has a text among its tensors"))),
        };
        let list = operands.iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
        if list.is_empty() { Err(mode(format!("operand {name:?} is missing"))) } else { Ok(list) }
    }

    fn text(&mut self, name: &'static str, otherwise: &str) -> Result<String, Why> {
        match self.operand(name) {
            Some(Operand::Text(text)) => Ok(text.clone()),
            Some(Operand::Value(_)) => Err(mode(format!("operand {name:?} is no text"))),
            None => Ok(otherwise.to_owned()),
        }
    }

    /// The elements of an operand, which have to be known; `None` if it is left out.
    fn array(&mut self, name: &'static str) -> Result<Option<Array>, Why> {
        let Some(value) = self.optional(name)? else { return Ok(None) };
        match self.network.known(value) {
            Some(array) => {
                self.network.count_looks(array.values().len())?;
                Ok(Some(array.clone()))
            }
            None => {
                let of = self.network.values.get(value).map(|value| value.name.clone()).unwrap_or_default();
                Err(mode(format!("operand {name:?}, which is {of:?}, has to be known before the run")))
            }
        }
    }

    fn list(&mut self, name: &'static str) -> Result<Option<Vec<i64>>, Why> {
        let array = self.array(name)?;
        let whole = |array: Array| array.values().iter().map(|&value| array::whole(value)).collect();
        Ok(array.map(whole).transpose()?)
    }

    fn number(&mut self, name: &'static str, otherwise: f64) -> Result<f64, Why> {
        match self.array(name)? {
            None => Ok(otherwise),
            Some(array) => array.only().ok_or_else(|| mode(format!("operand {name:?} is not one number"))),
        }
    }

    fn integer(&mut self, name: &'static str, otherwise: i64) -> Result<i64, Why> {
        Ok(array::whole(self.number(name, otherwise as f64)?)?)
    }

    fn truth(&mut self, name: &'static str) -> Result<bool, Why> {
        Ok(self.number(name, 0.0)? != 0.0)
    }

    fn rank(&self, value: ValueId) -> usize {
        self.network.dims(value).len()
    }

    fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, Why> {
        let mut axes = axes.iter().map(|&axis| self.axis(axis, rank)).collect::<Result<Vec<_>, _>>()?;
        axes.sort_unstable();
        axes.dedup();
        Ok(axes)
    }

    /// The last two axes exchanged.
    fn turned(&mut self, x: ValueId) -> Result<ValueId, Why> {
        Ok(self.compose().turned(x)?)
    }

    /// Layers that other readers have as well.
    fn compose(&mut self) -> Compose<'_> {
        Compose { network: self.network, name: self.name }
    }

    fn constant(&mut self, array: Array) -> ValueId {
        self.network.constant(self.name, array, Kind::Real)
    }

    fn whole(&mut self, list: impl IntoIterator<Item = i64>) -> ValueId {
        let array = Array::list(list.into_iter().map(|value| value as f64));
        self.network.constant(self.name, array, Kind::Integer)
    }

    /// The results of an operator of ONNX.
    fn onnx(
        &mut self,
        operator: &str,
        inputs: &[Option<ValueId>],
        settings: &[(&str, Setting)],
    ) -> Result<Vec<ValueId>, Why> {
        apply(self.network, self.name, operator, inputs.to_vec(), settings, self.outputs)
    }

    /// The same, of an operator with one result.
    fn onnx_one(
        &mut self,
        operator: &str,
        inputs: &[ValueId],
        settings: &[(&str, Setting)],
    ) -> Result<ValueId, Why> {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        let made = apply(self.network, self.name, operator, inputs, settings, 1)?;
        made.first().copied().ok_or(Why::Operation)
    }
}
